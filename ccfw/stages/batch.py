"""Many items through one worker: bounded, resumable, each result on disk as soon as it is there."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tqdm import tqdm

from ccfw.errors import CcfwError
from ccfw.records import Record
from ccfw.stages.context import StageResult
from ccfw.store import Output, RecordFile, done_ids, read_records, write_atomically

log = logging.getLogger(__name__)
_REASONS = 3
_PULSE_S = 30.0
T = TypeVar("T")
R = TypeVar("R", bound=Record)


def run_batch(
    runner: asyncio.Runner,
    output: Output,
    result: StageResult,
    items: Sequence[tuple[str, T]],
    work: Callable[[T], Awaitable[R]],
    *,
    broken: Callable[[R], str | None],
    kind: type[R],
    concurrency: int,
) -> None:
    """Work on every item whose id is not in the output yet, and count into ``result``.

    A record that ``broken`` gives a reason for goes to ``failures.jsonl`` and is tried again by the next run;
    everything else is appended to ``records.jsonl``. An interruption keeps what is done and is counted.
    """
    have = done_ids(output.records)
    todo = [(key, item) for key, item in items if key not in have]
    result.skipped = len(items) - len(todo)
    failures: dict[str, R] = {}
    ended: set[str] = set()
    try:
        with RecordFile(output.records) as records:
            runner.run(_work_through(todo, work, broken, records, failures, ended, result, concurrency))
    except KeyboardInterrupt:
        result.interrupted = True
        log.warning("interrupted: %d of %d are kept; run the same line again to go on", result.done, len(todo))
    except BaseExceptionGroup as group:
        raise _first(group) from None
    finally:
        _keep_failures(output, failures, ended, kind)
        _tell(result, [reason for record in failures.values() if (reason := broken(record))], output)


async def _work_through(
    todo: Sequence[tuple[str, T]],
    work: Callable[[T], Awaitable[R]],
    broken: Callable[[R], str | None],
    records: RecordFile,
    failures: dict[str, R],
    ended: set[str],
    result: StageResult,
    concurrency: int,
) -> None:
    queue: Iterator[tuple[str, T]] = iter(todo)
    pulse = Pulse()

    async def worker() -> None:
        for key, item in queue:  # one iterator shared by all workers: the queue never outgrows the list
            record = await work(item)
            ended.add(key)
            if broken(record) is not None:
                failures[key] = record
                result.failed += 1
            else:
                records.append(record)
                result.done += 1
            bar.update()
            pulse.beat(result, len(todo))

    with tqdm(total=len(todo), desc=result.stage, unit="", file=sys.stderr, disable=None, dynamic_ncols=True) as bar:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(todo))):
                group.create_task(worker())


@dataclass
class Pulse:
    """Says in the log how far a long batch is, where no terminal shows the bar."""

    last: float = field(default_factory=time.monotonic)

    def beat(self, result: StageResult, total: int) -> None:
        """Log a line if the last one is long ago."""
        if sys.stderr.isatty() or time.monotonic() - self.last < _PULSE_S:
            return
        self.last = time.monotonic()
        log.info("stage=%s: %d of %d, %d failed", result.stage, result.done + result.failed, total, result.failed)


def _tell(result: StageResult, reasons: Sequence[str], output: Output) -> None:
    """Say what failed and why, the commonest reasons first; every one is in the file."""
    for reason, times in Counter(reasons).most_common(_REASONS):
        log.warning(
            "stage=%s: %d failed: %s (all in %s)", result.stage, times, reason, output.folder / "failures.jsonl"
        )


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    flat = [_first(error) if isinstance(error, BaseExceptionGroup) else error for error in group.exceptions]
    return next((error for error in flat if isinstance(error, CcfwError)), flat[0])


def _keep_failures(output: Output, failures: dict[str, R], attempted: set[str], kind: type[R]) -> None:
    path = output.folder / "failures.jsonl"
    identity = next(iter(kind.model_fields))
    older = {str(getattr(r, identity)): r for r in read_records(path, kind)}
    kept = {key: record for key, record in older.items() if key not in attempted} | failures
    if kept or path.exists():
        write_atomically(path, "".join(kept[key].model_dump_json() + "\n" for key in sorted(kept)))
