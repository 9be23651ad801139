"""Seeds to blueprints to shards: how many a second, in how much memory, and what a kill costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from benchmarks.page import Bar, Section
from benchmarks.sides import serving

STAGES = ("blueprints", "shards")
KILLED = 1_000
"""Seeds of the runs that are killed."""
IN_FLIGHT = 100
"""Calls at a time, of ``model=scripted``."""
UNDER_WAY = 2 * IN_FLIGHT
"""Calls that a run has begun and not kept, at most: some wait for the ledger, others for a slot."""
RATE, SLOPE = 100, 10
_LOOK_S = 0.25
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6
ABOUT = (
    "`python -m ccfw stage=blueprints` and `stage=shards` as a user starts them over {seeds:,} seeds of the test split "
    "(`retriever=bm25`, `transport: openai_http`, {in_flight} calls at once), against a process that writes a good, "
    "different reply to every request at once (`benchmarks/author.py`): every draft passes at the first try. Seconds "
    "are the whole process's, from its start to its report, which takes some seconds before the first call; so is CPU. "
    "Memory is what the process holds, and its growth the slope of a line through the second half of the calls. The "
    "provider and the program share the machine. Other runs over {killed:,} seeds are killed (`kill -9`) in the midst "
    "of each stage and started again: a call is repeated if the provider had seen it before."
)


class Looked(NamedTuple):
    """What a look at a running stage found."""

    calls: int
    mb: float


@dataclass
class Ran:
    """One run of one stage."""

    stage: str
    items: int
    given_up: int = 0
    calls: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    peak_mb: float = 0.0
    looks: list[Looked] = field(default_factory=list)

    @property
    def slope(self) -> float:
        """MB by which it grew for each 1,000 items, over the second half of its calls (least squares)."""
        late = [each for each in self.looks if each.calls >= self.calls / 2]
        if len(late) < 3:
            return float("nan")
        x, y = (sum(values) / len(late) for values in zip(*late, strict=True))
        spread = sum((each.calls - x) ** 2 for each in late)
        by_call = sum((each.calls - x) * (each.mb - y) for each in late) / spread if spread else float("nan")
        return by_call * self.calls / self.items * 1000

    @property
    def rate(self) -> float:
        """Items a second."""
        return self.items / self.seconds

    def row(self) -> tuple[str, ...]:
        """Write it as a row of the table."""
        figures = (f"{self.seconds:.0f}", f"{self.rate:.0f}", f"{self.calls / self.seconds:,.0f}")
        each = (f"{self.cpu / self.items * 1e3:.1f}", f"{self.cpu / self.calls * 1e3:.2f}")
        items = f"{self.items:,}" + (f" and {self.given_up} given up" if self.given_up else "")
        return self.stage, items, f"{self.calls:,}", *figures, *each, f"{self.peak_mb:.0f}", _mb(self.slope)


def _mb(value: float) -> str:
    return f"{value:.1f}"


def seen(root: str) -> Counter[str]:
    """Return how many calls the provider has had, and how many of them were different."""
    with urlopen(f"{root}/seen", timeout=10) as reply:  # noqa: S310 our own server
        return Counter(json.loads(reply.read()))


def command(root: str, stage: str, seeds: int | None) -> list[str]:
    """Return the command line of a stage."""
    run = [sys.executable, "-m", "ccfw", f"stage={stage}", "model=scripted", f"model.api_base={root}/v1"]
    run.append("tracking=none")
    if stage == "seeds":
        return run
    return [*run, "split=test", "retriever=bm25", *([f"limit={seeds}"] if seeds else [])]


@contextmanager
def looked_at(process: int, root: str, ran: Ran, before: int) -> Iterator[None]:
    """Look at a process now and then as long as the context is open."""
    over = threading.Event()

    def look() -> None:
        statm = Path(f"/proc/{process}/statm")
        with suppress(OSError):  # it has ended
            while statm.exists() and not over.wait(_LOOK_S):
                pages = statm.read_text("utf-8").split()
                ran.looks.append(Looked(seen(root)["calls"] - before, int(pages[1]) * _PAGE_MB))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def run_stage(folder: Path, root: str, stage: str, seeds: int | None) -> Ran:
    """Run one stage to its end."""
    before, started = seen(root)["calls"], time.perf_counter()
    ran = Ran(stage, 0)
    with subprocess.Popen(command(root, stage, seeds), cwd=folder, stdout=subprocess.DEVNULL) as process:  # noqa: S603
        with looked_at(process.pid, root, ran, before):
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # 1: some seeds were given up, which is no fault of the run
        raise RuntimeError(f"stage={stage} ended with {process.returncode}")
    ran.seconds, ran.cpu = time.perf_counter() - started, usage.ru_utime + usage.ru_stime
    ran.peak_mb, ran.calls = usage.ru_maxrss / 1e3, seen(root)["calls"] - before
    ran.items = sum(1 for _ in ids(folder, stage))
    ran.given_up = sum(1 for _ in ids(folder, stage, "failures.jsonl"))
    return ran


def ids(folder: Path, stage: str, name: str = "records.jsonl") -> Iterator[str]:
    """Yield the seeds of a stage's records, as often as they stand there."""
    for path in folder.glob(f"workspace/universe/{stage}/*/{name}"):
        with path.open("rb") as file:
            yield from (line.split(b'"', 4)[3].decode() for line in file)


def kill_midway(folder: Path, root: str, stage: str, seeds: int, calls: int) -> None:
    """Start a stage and kill it once it has made half of its calls."""
    before = seen(root)["calls"]
    with subprocess.Popen(command(root, stage, seeds), cwd=folder, stdout=subprocess.DEVNULL) as process:  # noqa: S603
        while process.poll() is None and seen(root)["calls"] - before < calls / 2:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)


class Killed(NamedTuple):
    """What a stage came to that was killed and started again."""

    stage: str
    repeated: int
    doubled: int
    missing: int
    again: int
    """Calls of a third run, which finds everything there."""


def killed(folder: Path, root: str, stage: str, seeds: int, calls: int) -> Killed:
    """Kill a stage midway, run it again, and once more."""
    before = seen(root)
    kill_midway(folder, root, stage, seeds, calls)
    run_stage(folder, root, stage, seeds)
    after = seen(root)
    run_stage(folder, root, stage, seeds)
    made = Counter(ids(folder, stage))
    spent = after - before
    return Killed(
        stage,
        spent["calls"] - spent["different"],
        made.total() - len(made),
        seeds - len(made | Counter(ids(folder, stage, "failures.jsonl"))),
        seen(root)["calls"] - after["calls"],
    )


def measure(quick: bool) -> Section:
    """Make scenarios of the test seeds, and of some of them once more with kills."""
    seeds, few = (24, 12) if quick else (None, KILLED)
    with tempfile.TemporaryDirectory() as name:
        whole, broken = Path(name) / "whole", Path(name) / "broken"
        for folder in (whole, broken):
            folder.mkdir()
        with serving("benchmarks.author", "starter") as root:
            for folder in (whole, broken):
                subprocess.run(command(root, "seeds", None), cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
            ran = [run_stage(whole, root, stage, seeds) for stage in STAGES]
        with serving("benchmarks.author", "starter") as root:  # which has seen nothing
            ended = [killed(broken, root, each.stage, few, each.calls * few // each.items) for each in ran]
    return _section(ran, ended, few)


def _section(ran: list[Ran], ended: list[Killed], few: int) -> Section:
    head = ("Stage", "Seeds", "Calls", "Seconds", "Seeds/s", "Calls/s", "CPU, ms a seed", "CPU, ms a call")
    about = ABOUT.format(seeds=ran[0].items + ran[0].given_up, killed=few, in_flight=IN_FLIGHT)
    return Section(
        "Scenarios from seeds",
        about,
        (*head, "Peak, MB", "Growth, MB for 1,000 seeds"),
        tuple(each.row() for each in ran),
        tuple(_bars(ran, ended)),
    )


def _bars(ran: list[Ran], ended: list[Killed]) -> Iterator[Bar]:
    for each in ran:
        yield Bar(f"{each.stage}: seeds a second", f"≥ {RATE}", f"{each.rate:.0f}", each.rate >= RATE)
        yield Bar(f"{each.stage}: growth", f"≤ {SLOPE} MB for 1,000", f"{_mb(each.slope)} MB", each.slope <= SLOPE)
    for found in ended:
        what = f"{found.stage}, killed midway"
        met = found.repeated <= UNDER_WAY
        yield Bar(f"{what}: calls repeated", f"those begun and not kept (≤ {UNDER_WAY})", str(found.repeated), met)
        lost = found.doubled + found.missing
        yield Bar(f"{what}: records doubled or missing", "0", str(lost), lost == 0)
        yield Bar(f"{what}: calls of a third run", "0", str(found.again), found.again == 0)
