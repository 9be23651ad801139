"""A job stops in good order: nothing new is begun, calls in flight end, and what was done is kept."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ccfw.errors import BudgetError, ProviderError, StoppedError, StoreError
from ccfw.records import Judgement, Metric
from ccfw.stages import batch
from ccfw.stages.batch import in_good_order, run_batch
from ccfw.stages.context import StageResult
from ccfw.stop import Stop, take_early_signals
from ccfw.store import Output, read_records
from tests.samples import judgement_of

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


# ---- asking


def test_nothing_is_asked_for_at_first() -> None:
    stop = Stop()
    stop.check()
    assert (stop.reason, stop.interrupted) == (None, False)


def test_once_it_is_asked_for_nothing_more_begins_and_the_first_reason_stays() -> None:
    stop = Stop()
    stop.ask("the disk is full")
    stop.ask("SIGINT", interrupted=True)
    assert (stop.reason, stop.interrupted) == ("the disk is full", False)
    with pytest.raises(StoppedError) as caught:
        stop.check()
    assert str(caught.value) == "the disk is full"


def test_whoever_watches_is_told_at_once_also_from_another_thread() -> None:
    async def watch() -> int:
        stop = Stop()
        watchers = [asyncio.ensure_future(stop.asked()) for _ in range(3)]
        await asyncio.sleep(0)
        thread = threading.Thread(target=stop.ask, args=("why",))
        thread.start()
        await asyncio.wait_for(asyncio.gather(*watchers), 10)
        thread.join()
        await asyncio.wait_for(stop.asked(), 10)  # who comes later is told too
        return len(stop._watchers)

    assert run(watch()) == 0


def test_whoever_stops_watching_leaves_nothing_behind() -> None:
    async def leave() -> int:
        stop = Stop()
        watcher = asyncio.ensure_future(stop.asked())
        await asyncio.sleep(0)
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
        return len(stop._watchers)

    assert run(leave()) == 0


@pytest.fixture
def handlers() -> Iterator[tuple[signal.Signals, ...]]:
    """Put the handlers back that the runner had."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    yield tuple(before)
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_is_the_systems(
    number: signal.Signals, handlers: tuple[signal.Signals, ...]
) -> None:
    stop = Stop()
    with stop.on_signals():
        os.kill(os.getpid(), number)
        assert (stop.reason, stop.interrupted) == (number.name, True)
        assert {signal.getsignal(each) for each in handlers} == {signal.SIG_DFL}
    assert {signal.getsignal(each) for each in handlers} == {signal.SIG_DFL}


def test_a_signal_before_the_first_job_stops_it_where_it_begins(
    handlers: tuple[signal.Signals, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ccfw.stop._early", [])
    take_early_signals()
    os.kill(os.getpid(), signal.SIGTERM)
    assert {signal.getsignal(each) for each in handlers} == {signal.SIG_DFL}
    stop = Stop()
    with stop.on_signals():
        assert (stop.reason, stop.interrupted) == ("SIGTERM", True)


def test_without_a_signal_handlers_are_as_they_were() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop().on_signals():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_a_thread_that_may_set_no_handler_works_without() -> None:
    ran = []

    def work() -> None:
        with Stop().on_signals():
            ran.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ran == [True]


# ---- workers


class Desk:
    """Workers that do items in turns, and what became of them."""

    def __init__(self) -> None:
        self.stop = Stop()
        self.kept: list[str] = []
        self.cancelled: list[str] = []

    async def turns(self, name: str, *, calls: int, turns: int = 3, end: Callable[[], None] | None = None) -> None:
        """Make calls that take some turns of the loop each; begin none once the stop is asked for."""
        for number in range(calls):
            if self.stop.reason is not None:
                return
            try:
                for _ in range(turns):
                    await asyncio.sleep(0)
            except asyncio.CancelledError:
                self.cancelled.append(f"{name}{number}")
                raise
            self.kept.append(f"{name}{number}")
            if end is not None:
                end()

    async def never(self, name: str, begun: asyncio.Event) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise


def breaking(error: Exception) -> Callable[[], None]:
    def end() -> None:
        raise error

    return end


def test_where_nothing_happens_everybody_ends() -> None:
    desk = Desk()
    run(in_good_order([desk.turns("a", calls=2), desk.turns("b", calls=3)], desk.stop))
    assert sorted(desk.kept) == ["a0", "a1", "b0", "b1", "b2"]
    assert desk.stop.reason is None


def test_no_workers_are_done_at_once() -> None:
    run(in_good_order([], Stop()))


def test_a_worker_that_breaks_lets_the_others_end_their_call_and_no_more() -> None:
    desk, error = Desk(), StoreError("a paid reply could not be kept: disk full")
    workers = [
        desk.turns("breaks", calls=5, end=breaking(error)),
        desk.turns("slow", calls=5, turns=50),
        desk.turns("slower", calls=5, turns=90),
    ]
    with pytest.raises(StoreError) as caught:
        run(in_good_order(workers, desk.stop))
    assert caught.value is error
    assert desk.kept == ["breaks0", "slow0", "slower0"]
    assert (desk.stop.reason, desk.stop.interrupted) == ("a paid reply could not be kept: disk full", False)


def test_of_several_that_break_the_first_is_told() -> None:
    desk = Desk()
    workers = [
        desk.turns("a", calls=1, turns=1, end=breaking(KeyError("first"))),
        desk.turns("b", calls=1, turns=30, end=breaking(ValueError("second"))),
    ]
    with pytest.raises(KeyError):
        run(in_good_order(workers, desk.stop))
    assert desk.kept == ["a0", "b0"]


def test_an_error_without_words_is_told_by_its_name() -> None:
    desk = Desk()
    with pytest.raises(AssertionError):
        run(in_good_order([desk.turns("a", calls=1, end=breaking(AssertionError()))], desk.stop))
    assert desk.stop.reason == "AssertionError"


def test_a_spent_budget_ends_quietly() -> None:
    desk, spent = Desk(), BudgetError("budget=1: spent 0.9000, the next call may cost 0.5000 more")
    workers = [desk.turns("a", calls=5, end=breaking(spent)), desk.turns("slow", calls=5, turns=50)]
    run(in_good_order(workers, desk.stop))
    assert desk.kept == ["a0", "slow0"]
    assert (desk.stop.reason, desk.stop.interrupted) == (str(spent), False)


def test_after_an_interruption_calls_that_do_not_end_are_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "GRACE_S", 0.02)

    async def interrupt() -> Desk:
        desk, begun = Desk(), asyncio.Event()
        work = asyncio.ensure_future(
            in_good_order([desk.never("stalled", begun), desk.turns("good", calls=9, turns=20)], desk.stop)
        )
        await begun.wait()
        desk.stop.ask("SIGINT", interrupted=True)
        await asyncio.wait_for(work, 30)
        return desk

    desk = run(interrupt())
    assert (desk.cancelled, desk.kept) == (["stalled"], ["good0"])


def test_calls_that_end_in_time_are_kept_after_an_interruption() -> None:
    desk = Desk()
    desk.stop.ask("SIGTERM", interrupted=True)

    async def one_call() -> None:
        for _ in range(30):
            await asyncio.sleep(0)
        desk.kept.append("in time")

    run(in_good_order([one_call()], desk.stop))
    assert (desk.kept, desk.cancelled) == (["in time"], [])


def test_without_an_interruption_nobody_is_cancelled_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "GRACE_S", 0.0)
    desk = Desk()
    workers = [
        desk.turns("a", calls=1, turns=1, end=breaking(BudgetError("spent"))),
        desk.turns("slow", calls=2, turns=500),
    ]
    run(in_good_order(workers, desk.stop))
    assert (desk.kept, desk.cancelled) == (["a0", "slow0"], [])


# ---- a batch of items


def broken(judgement: Judgement) -> str | None:
    return judgement.failure.detail if judgement.failure else None


def done(
    folder: Path, names: list[str], work: Callable[[str], Awaitable[Judgement]], stop: Stop, concurrency: int = 2
) -> StageResult:
    output = Output(folder)
    result = StageResult("evaluate", folder)
    items = [(judgement_of(Metric.HELPFUL, 3, episode_id=name).judgement_id, name) for name in names]
    with asyncio.Runner() as runner:
        run_batch(
            runner,
            output,
            result,
            items,
            work,
            broken=broken,
            kind=Judgement,
            concurrency=concurrency,
            stop=stop,
        )
    return result


def stored(folder: Path, name: str = "records.jsonl") -> list[str]:
    return sorted(each.episode_id for each in read_records(folder / name, Judgement))


def counts(result: StageResult) -> tuple[int, int, int, str]:
    return result.done, result.failed, result.skipped, result.status


async def judged(name: str) -> Judgement:
    await asyncio.sleep(0)
    return judgement_of(Metric.HELPFUL, None if name.startswith("bad") else 4, episode_id=name)


def test_a_batch_keeps_what_is_good_and_what_broke_apart_and_goes_on_later(tmp_path: Path) -> None:
    first = done(tmp_path, ["a", "bad", "c"], judged, Stop())
    assert counts(first) == (2, 1, 0, "partial")
    assert (stored(tmp_path), stored(tmp_path, "failures.jsonl")) == (["a", "c"], ["bad"])
    asked: list[str] = []

    async def well_now(name: str) -> Judgement:
        asked.append(name)
        return judgement_of(Metric.HELPFUL, 5, episode_id=name)

    again = done(tmp_path, ["a", "bad", "c"], well_now, Stop())
    assert (asked, counts(again)) == (["bad"], (1, 0, 2, "ok"))
    assert (stored(tmp_path), stored(tmp_path, "failures.jsonl")) == (["a", "bad", "c"], [])


def test_once_the_stop_is_asked_for_no_further_item_is_begun(tmp_path: Path) -> None:
    stop, begun = Stop(), []

    async def until_the_third(name: str) -> Judgement:
        begun.append(name)
        if len(begun) == 3:
            stop.ask("less than 64 MB of disk are left")
        return await judged(name)

    result = done(tmp_path, [str(number) for number in range(20)], until_the_third, stop)
    assert counts(result) == (len(begun), 0, 0, "partial")
    assert len(begun) in (3, 4)
    assert stored(tmp_path) == sorted(begun)
    assert (result.stopped, result.interrupted) == ("less than 64 MB of disk are left", False)
    again = done(tmp_path, [str(number) for number in range(20)], judged, Stop())
    assert counts(again) == (20 - len(begun), 0, len(begun), "ok")


def test_a_budget_that_is_spent_leaves_what_is_not_done_undone_and_not_failed(tmp_path: Path) -> None:
    spent = BudgetError("budget=1: spent 0.9000, the next call may cost 0.5000 more")

    async def until_it_is_spent(name: str) -> Judgement:
        if name == "c":
            raise spent
        return await judged(name)

    result = done(tmp_path, ["a", "b", "c", "d", "e"], until_it_is_spent, Stop(), concurrency=1)
    assert counts(result) == (2, 0, 0, "partial")
    assert (result.stopped, result.interrupted) == (str(spent), False)
    assert (stored(tmp_path), (tmp_path / "failures.jsonl").exists()) == (["a", "b"], False)


def test_what_breaks_the_batch_is_raised_and_what_others_had_in_flight_is_kept(tmp_path: Path) -> None:
    async def one_breaks(name: str) -> Judgement:
        if name == "b":
            await asyncio.sleep(0)
            raise StoreError("a paid reply could not be kept: disk full")
        for _ in range(20):
            await asyncio.sleep(0)
        return await judged(name)

    with pytest.raises(StoreError) as caught:
        done(tmp_path, ["a", "b", "c", "d"], one_breaks, Stop(), concurrency=3)
    assert str(caught.value) == "a paid reply could not be kept: disk full"
    assert stored(tmp_path) == ["a", "c"]


@pytest.mark.usefixtures("handlers")
def test_a_signal_ends_the_batch_after_the_calls_in_flight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "GRACE_S", 0.02)

    async def interrupted(name: str) -> Judgement:
        if name == "a":
            os.kill(os.getpid(), signal.SIGINT)
        if name == "stalled":
            await asyncio.Event().wait()
        return await judged(name)

    stop = Stop()
    result = done(tmp_path, ["stalled", "a", "b", "c"], interrupted, stop, concurrency=2)
    assert counts(result) == (1, 0, 0, "partial")
    assert (result.stopped, result.interrupted, stored(tmp_path)) == ("SIGINT", True, ["a"])


def test_an_interruption_before_anything_is_done_leaves_the_stage_partial(tmp_path: Path) -> None:
    stop = Stop()
    stop.ask("SIGTERM", interrupted=True)
    result = done(tmp_path, ["a", "b"], judged, stop)
    assert (counts(result), result.interrupted) == ((0, 0, 0, "partial"), True)


def test_more_workers_than_items_are_no_mistake(tmp_path: Path) -> None:
    assert counts(done(tmp_path, ["a"], judged, Stop(), concurrency=64)) == (1, 0, 0, "ok")
    assert counts(done(tmp_path, [], judged, Stop(), concurrency=64)) == (0, 0, 0, "ok")


def test_a_call_that_the_provider_fails_is_no_stop(tmp_path: Path) -> None:
    """Stages turn it into a failed record; only what they let out stops the batch."""

    async def let_out(name: str) -> Judgement:
        raise ProviderError("HTTP 500: no", transient=True)

    with pytest.raises(ProviderError):
        done(tmp_path, ["a", "b"], let_out, Stop(), concurrency=1)
    assert stored(tmp_path) == []
