"""Many items through one worker: bounded, resumable, each result on disk as soon as it is there."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from ccfw.errors import StoppedError
from ccfw.records import Record
from ccfw.settings.models import ModelConfig
from ccfw.stages.context import Context, StageResult
from ccfw.stages.course import next_attempts
from ccfw.stop import GRACE_S, Stop
from ccfw.store import Output, RecordFile, done_ids, read_records, write_atomically

log = logging.getLogger(__name__)

RECORDS = "records.jsonl"
FAILURES = "failures.jsonl"
"""Beside the records: what could not be made, until a run makes it."""
_REASONS = 3
_PULSE_S = 30.0
T = TypeVar("T")
R = TypeVar("R", bound=Record)


def run_batch(
    runner: asyncio.Runner,
    output: Output,
    result: StageResult,
    items: Collection[tuple[str, T]],
    work: Callable[[T], Awaitable[R]],
    *,
    broken: Callable[[R], str | None],
    kind: type[R],
    concurrency: int,
    stop: Stop,
) -> None:
    """Work on every item whose id is not in the output yet, and count into ``result``.

    A record that ``broken`` gives a reason for goes to ``failures.jsonl`` and is tried again by the next run;
    everything else is appended to ``records.jsonl``. Once ``stop`` is asked for, as by Ctrl-C, nothing new is begun.
    """
    have = done_ids(output.records)
    todo = [(key, item) for key, item in items if key not in have]
    result.skipped = len(items) - len(todo)
    failures: dict[str, R] = {}
    standing = done_ids(output.folder / FAILURES) - have  # what earlier runs failed at and none has mended
    gc.freeze()  # what is loaded by now stays: looking through it again and again cost a fifth of a call
    try:
        with RecordFile(output.records) as records, stop.on_signals():
            work_through = _work_through(todo, work, broken, records, failures, standing, result, concurrency, stop)
            runner.run(work_through)
    finally:
        gc.unfreeze()
        result.stopped, result.interrupted = stop.reason, stop.interrupted
        _keep_failures(output, failures, standing, kind)
        _tell(result, [reason for record in failures.values() if (reason := broken(record))], output)
    if result.stopped:
        log.warning(
            "stopped (%s): %d of %d done, replies paid for are kept; the same line goes on",
            result.stopped,
            result.done,
            len(todo),
        )


def run_attempts(
    context: Context,
    output: Output,
    result: StageResult,
    items: Iterable[tuple[str, T]],
    work: Callable[[T, int], Awaitable[R]],
    *,
    kind: type[R],
    model: ModelConfig,
) -> None:
    """Work on every item that the output has nothing of, and again on those that were given up.

    Records have their id first, and ``attempt`` and ``failure``; one with a failure was given up, and ``work`` is told
    which attempt it makes. Raises ``StoreError`` for a line of the output that is no such record, before anything is
    paid for.
    """
    check_records(output.records, kind)
    identity = next(iter(kind.model_fields))
    given_up: Iterator[Any] = read_records(output.folder / FAILURES, kind)
    attempts = next_attempts((getattr(each, identity), each.attempt, each.failure) for each in given_up)

    async def attempt(item: tuple[T, int]) -> R:
        return await work(*item)

    def broken(record: Any) -> str | None:
        return record.failure.detail if record.failure else None

    run_batch(
        context.runner,
        output,
        result,
        [(key, (item, attempts.get(key, 0))) for key, item in items],
        attempt,
        broken=broken,
        kind=kind,
        concurrency=workers(model),
        stop=context.stop,
    )


def check_records(path: Path, kind: type[R]) -> None:
    """Raise ``StoreError`` for a line of a file that is no record of a kind: better before the calls than after."""
    for _ in read_records(path, kind):
        pass


async def _work_through(
    todo: Sequence[tuple[str, T]],
    work: Callable[[T], Awaitable[R]],
    broken: Callable[[R], str | None],
    records: RecordFile,
    failures: dict[str, R],
    standing: set[str],
    result: StageResult,
    concurrency: int,
    stop: Stop,
) -> None:
    queue: Iterator[tuple[str, T]] = iter(todo)
    pulse = Pulse()

    async def worker() -> None:
        for key, item in queue:  # one iterator shared by all workers: the queue never outgrows the list
            if stop.reason is not None:
                return
            record = await work(item)
            if broken(record) is not None:
                failures[key] = record
                result.failed += 1
            else:
                records.append(record)
                standing.discard(key)
                result.done += 1
            bar.update()
            pulse.beat(result, len(todo))

    with tqdm(total=len(todo), desc=result.stage, unit="", file=sys.stderr, disable=None, dynamic_ncols=True) as bar:
        await in_good_order([worker() for _ in range(min(concurrency, len(todo)))], stop)


async def in_good_order(workers: Sequence[Coroutine[Any, Any, None]], stop: Stop) -> None:
    """Run workers to their end; what breaks one stops the job, and the others end the calls that they are in.

    After an interruption they have ``GRACE_S`` for it. Raises what broke the first of them.
    """
    everyone: asyncio.Future[Any] = asyncio.gather(*(_until_stopped(worker, stop) for worker in workers))
    asked: asyncio.Future[Any] = asyncio.ensure_future(stop.asked())
    await asyncio.wait((everyone, asked), return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if not everyone.done():
        if stop.interrupted:
            log.warning("%s: calls in flight have %g s to end; once more ends the run at once", stop.reason, GRACE_S)
        await asyncio.wait((everyone,), timeout=GRACE_S if stop.interrupted else None)
    if not everyone.done():
        everyone.cancel()
        with suppress(asyncio.CancelledError):
            await everyone
        return
    broken = [error for error in everyone.result() if error is not None]
    if broken:
        raise broken[0]


async def _until_stopped(worker: Coroutine[Any, Any, None], stop: Stop) -> Exception | None:
    try:
        await worker
    except StoppedError as stopped:
        stop.ask(str(stopped))
    except Exception as error:  # noqa: BLE001 raised again once the other workers have kept what they paid for
        stop.ask(str(error) or type(error).__name__)
        return error
    return None


def workers(model: ModelConfig) -> int:
    """Return how many items are under way for a model: calls that wait for another try hold no slot of its limit."""
    return 1 if model.max_in_flight == 1 else 2 * model.max_in_flight


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
    common = Counter(reasons).most_common(_REASONS)
    result.reason = common[0][0] if common else None
    for reason, times in common:
        log.warning("stage=%s: %d failed: %s (all in %s)", result.stage, times, reason, output.folder / FAILURES)


def _keep_failures(output: Output, failures: dict[str, R], standing: set[str], kind: type[R]) -> None:
    path = output.folder / FAILURES
    identity = next(iter(kind.model_fields))
    older = {str(getattr(r, identity)): r for r in read_records(path, kind)}
    kept = {key: record for key, record in older.items() if key in standing} | failures
    if kept or path.exists():
        write_atomically(path, "".join(kept[key].model_dump_json() + "\n" for key in sorted(kept)))
