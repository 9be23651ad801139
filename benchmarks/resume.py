"""How fast records are written, and how fast a second run finds out which are there."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.clock import Times, interleaved
from benchmarks.judging import long_episode, played, work
from benchmarks.page import Bar, Section
from ccfw.datasets import load
from ccfw.records import Episode, Judgement, Metric, Record
from ccfw.settings.dialogues import DatasetConfig
from ccfw.store import Output, RecordFile, done_ids, read_records

FASTER = 10
APPEND_US, GROUP = 10, 32
WRITTEN = 5_000
"""Records written in a round: flushes take long on some disks."""
ABOUT = (
    "Synthetic records of the given size, medians of {rounds} rounds in turn. Both ways read the same file, by now in "
    "the page cache, and return the same ids: `done_ids` from the head of each line, pydantic by parsing every record. "
    "An append is `RecordFile.append`, serialising included, while a thread flushes to the device; beside it the same "
    "lines, ready-made, with a flush after every {group} and without; at most {written:,} are written in a round."
)


class Found(NamedTuple):
    """What one kind of record came to."""

    noun: str
    total: int
    size: int
    """Bytes of the file."""
    reading: dict[str, Times]
    writing: dict[str, Times]

    @property
    def faster(self) -> float:
        """How many times faster the ids are found without parsing."""
        return self.reading["parsed"].slower(self.reading["prefix"])

    @property
    def written(self) -> int:
        """Records written in a round."""
        return min(self.total, WRITTEN)

    @property
    def append_us(self) -> float:
        """CPU microseconds of an append, less what the flushes of ready-made lines take."""
        ours, flushed, unflushed = (self.writing[name].cpu for name in ("ours", "flushed", "unflushed"))
        return (ours - flushed + unflushed) / self.written * 1e6

    def row(self) -> tuple[str, ...]:
        """Write it as a row of the table."""
        what = f"{self.total:,} {self.noun} of {self.size / self.total / 1e3:.1f} KB"
        seconds = (f"{self.reading[name].wall:.3f}" for name in ("prefix", "parsed"))
        appends = (f"{self.writing[name].wall / self.written * 1e6:.0f}" for name in ("ours", "flushed", "unflushed"))
        return what, *seconds, f"{self.faster:.1f} x", *appends


def judgements(count: int, folder: Path) -> list[Judgement]:
    """Return judgements as the fake judge gives them, over and over under ids of their own."""
    made = work(12 * len(Metric))
    with asyncio.Runner() as runner:
        played(made, runner, folder)
    shapes = list(read_records(Output(folder / "played").records, Judgement))
    return [_named(shapes[i % len(shapes)], i // len(shapes)) for i in range(count)]


def _named(shape: Judgement, number: int) -> Judgement:
    episode = f"{shape.episode_id}_{number}"
    return shape.model_copy(update={"episode_id": episode, "judgement_id": f"{episode}::{shape.metric.value}"})


def episodes(count: int) -> list[Episode]:
    """Return episodes of eight turns."""
    scenarios = load(DatasetConfig(name="starter", path=None)).scenarios
    return [long_episode(scenarios[i % len(scenarios)], i) for i in range(count)]


def _append(path: Path, records: Sequence[Record]) -> None:
    path.unlink(missing_ok=True)
    with RecordFile(path) as file:
        for record in records:
            file.append(record)


def _write(path: Path, lines: Sequence[bytes], flush: bool) -> None:
    with path.open("wb") as file:
        for number, line in enumerate(lines, 1):
            file.write(line)
            file.flush()
            if flush and number % GROUP == 0:
                os.fsync(file.fileno())


def found(noun: str, records: Sequence[Judgement] | Sequence[Episode], folder: Path, rounds: int) -> Found:
    """Write records, then find their ids, each way in turn."""
    path, kind = folder / f"{noun}.jsonl", type(records[0])
    identity = next(iter(kind.model_fields))
    lines = [record.model_dump_json().encode() + b"\n" for record in records]
    writing = {
        "ours": lambda _: _append(folder / "ours", records[:WRITTEN]),
        "flushed": lambda _: _write(folder / "plain", lines[:WRITTEN], True),
        "unflushed": lambda _: _write(folder / "plain", lines[:WRITTEN], False),
    }
    written = interleaved(rounds, writing)
    path.write_bytes(b"".join(lines))

    def parsed() -> set[str]:
        return {getattr(record, identity) for record in read_records(path, kind)}

    if parsed() != done_ids(path):
        raise RuntimeError("the two ways disagree")
    reading = interleaved(rounds, {"prefix": lambda _: done_ids(path), "parsed": lambda _: parsed()})
    return Found(noun, len(records), path.stat().st_size, reading, written)


def measure(quick: bool) -> Section:
    """Measure judgements and episodes."""
    rounds, many, few = (1, 60, 12) if quick else (5, 50_000, 5_000)
    with tempfile.TemporaryDirectory() as folder:
        made = found("judgements", judgements(many, Path(folder)), Path(folder), rounds)
        held = found("episodes", episodes(few), Path(folder), rounds)
    append = made.append_us
    bars = (
        Bar("Done ids of episodes", f"≥ {FASTER} x parsing", f"{held.faster:.1f} x", held.faster >= FASTER),
        Bar("Done ids of judgements", f"≥ {FASTER} x parsing", f"{made.faster:.1f} x", made.faster >= FASTER),
        Bar("Append a judgement, the flush apart", f"≤ {APPEND_US} µs", f"{append:.0f} µs of CPU", append <= APPEND_US),
    )
    head = ("Records", "Ids by prefix, s", "By pydantic, s", "Faster", "Append, µs", "Lines, µs", "Unflushed, µs")
    about = ABOUT.format(rounds=rounds, group=GROUP, written=WRITTEN)
    return Section("Resuming", about, head, (made.row(), held.row()), bars)
