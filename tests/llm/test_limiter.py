"""How many calls are in flight: windows worked out by hand, schedules drawn at random, a provider of known capacity."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.errors import ProviderError
from ccfw.llm.limiter import Limiter

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def overload() -> ProviderError:
    return ProviderError("429", transient=True, overload=True)


async def call(limiter: Limiter, error: Exception | None = None) -> None:
    async with limiter.slot():
        if error is not None:
            raise error


async def settled() -> None:
    """Let everybody run who can."""
    for _ in range(20):
        await asyncio.sleep(0)


class Held:
    """Calls that are begun and end when a test says so."""

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.open: list[AbstractAsyncContextManager[None]] = []

    async def begin(self, number: int) -> None:
        for _ in range(number):
            slot = self.limiter.slot()
            await slot.__aenter__()
            self.open.append(slot)

    async def end(self, error: Exception | None = None) -> None:
        slot = self.open.pop()
        assert not await slot.__aexit__(type(error) if error else None, error, None)  # an error goes on to the caller


async def window(limiter: Limiter, overloads: int, *, full: bool) -> float:
    """End as many calls as there are slots, so many of them in overload, and return the limit after it."""
    size, held = int(limiter.limit), Held(limiter)
    at_once = size if full else 1
    outcomes = [overload()] * overloads + [None] * (size - overloads)
    for start in range(0, size, at_once):
        part = outcomes[start : start + at_once]
        await held.begin(len(part))
        for outcome in part:
            await held.end(outcome)
    return limiter.limit


@pytest.mark.parametrize(
    ("overloads", "full", "after"),
    [
        pytest.param(100, False, 50.0, id="all-halve-it"),
        pytest.param(10, False, 95.0, id="one-in-ten-takes-a-twentieth"),
        pytest.param(1, False, 99.5, id="one-in-a-hundred-takes-little"),
        pytest.param(100, True, 52.0, id="and-a-fiftieth-of-the-ceiling-comes-back-if-every-slot-was-used"),
        pytest.param(10, True, 97.0, id="so-it-sinks-by-less"),
        pytest.param(2, True, 100.0, id="and-stays-under-the-ceiling"),
        pytest.param(0, True, 100.0, id="where-it-is-at-the-ceiling"),
        pytest.param(0, False, 100.0, id="where-nothing-happens"),
    ],
)
def test_a_window_moves_the_limit_by_its_share_of_overloads(overloads: int, full: bool, after: float) -> None:
    limiter = Limiter(1, 100)
    assert run(window(limiter, overloads, full=full)) == pytest.approx(after)
    assert limiter.lowest == pytest.approx(after)
    assert limiter.in_flight == 0


def test_the_limit_moves_once_a_window_and_not_before() -> None:
    async def most_of_it() -> list[float]:
        limiter, limits = Limiter(1, 10), []
        for number in range(10):
            with pytest.raises(ProviderError):
                await call(limiter, overload())
            limits.append(limiter.limit)
            assert number == 9 or limiter.limit == 10.0
        return limits

    assert run(most_of_it())[-1] == 5.0


def test_windows_of_overload_alone_come_down_to_the_floor_and_stay() -> None:
    async def down() -> list[float]:
        limiter = Limiter(3, 40)
        return [await window(limiter, int(limiter.limit), full=False) for _ in range(6)]

    assert run(down()) == [20.0, 10.0, 5.0, 3.0, 3.0, 3.0]


def test_full_windows_without_overload_come_back_to_the_ceiling_by_steps() -> None:
    async def up() -> list[float]:
        limiter = Limiter(1, 200)  # a fiftieth is 4
        limiter.limit = 185.0
        limiter._open_window()
        return [await window(limiter, 0, full=True) for _ in range(5)]

    assert run(up()) == [189.0, 193.0, 197.0, 200.0, 200.0]


def test_a_small_ceiling_is_come_back_to_by_whole_slots() -> None:
    async def up() -> list[float]:
        limiter = Limiter(1, 4)
        await window(limiter, 4, full=False)
        return [limiter.limit, *[await window(limiter, 0, full=True) for _ in range(3)]]

    assert run(up()) == [2.0, 3.0, 4.0, 4.0]


def test_a_limit_that_is_not_used_up_does_not_rise() -> None:
    async def idle() -> list[float]:
        limiter = Limiter(1, 100)
        await window(limiter, 100, full=False)
        return [await window(limiter, 0, full=False) for _ in range(3)]

    assert run(idle()) == [50.0, 50.0, 50.0]


@pytest.mark.parametrize(
    "error",
    [ProviderError("500", transient=True), ProviderError("400", transient=False), KeyError("bug"), None],
    ids=["server-error", "refused", "bug", "answered"],
)
def test_no_other_outcome_counts_as_overload(error: Exception | None) -> None:
    async def others() -> float:
        limiter = Limiter(1, 8)
        for _ in range(8):
            await asyncio.gather(call(limiter, error), return_exceptions=True)
        return limiter.limit

    assert run(others()) == 8.0


def test_one_slot_is_a_limit_too() -> None:
    async def alone() -> list[float]:
        limiter = Limiter(1, 1)
        return [await window(limiter, overloads, full=True) for overloads in (1, 1, 0)]

    assert run(alone()) == [1.0, 1.0, 1.0]


# ---- who gets a slot


def test_who_waits_longest_is_next() -> None:
    async def queue() -> list[int]:
        limiter, order, go = Limiter(1, 2), [], asyncio.Event()

        async def one(number: int) -> None:
            async with limiter.slot():
                order.append(number)
                await go.wait()

        tasks = [asyncio.ensure_future(one(number)) for number in range(9)]
        await settled()
        assert order == [0, 1]
        go.set()
        await asyncio.gather(*tasks)
        return order

    assert run(queue()) == list(range(9))


def test_a_newcomer_does_not_pass_those_who_wait() -> None:
    async def newcomer() -> list[str]:
        limiter, order = Limiter(1, 1), []

        async def one(name: str) -> None:
            async with limiter.slot():
                order.append(name)

        held = Held(limiter)
        await held.begin(1)
        waiting = asyncio.ensure_future(one("waiting"))
        await settled()
        await held.end()
        await one("newcomer")
        await waiting
        return order

    assert run(newcomer()) == ["waiting", "newcomer"]


@pytest.mark.parametrize("steps", [0, 1, 2, 3], ids=str)
def test_who_gives_up_waiting_takes_no_slot_along(steps: int) -> None:
    """Cancelled before it is admitted, in the same moment, and just after."""

    async def give_up() -> tuple[int, int]:
        limiter = Limiter(1, 1)
        held = Held(limiter)
        await held.begin(1)
        tasks = [asyncio.ensure_future(call(limiter)) for _ in range(3)]
        await settled()
        await held.end()
        for _ in range(steps):
            await asyncio.sleep(0)
        tasks[0].cancel()
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait_for(call(limiter), 5)
        return limiter.in_flight, len(limiter._waiting)

    assert run(give_up()) == (0, 0)


SCHEDULES = st.lists(st.sampled_from(["begin", "end", "overload", "cancel", "turn"]), max_size=120)


@given(SCHEDULES, st.integers(1, 4), st.integers(0, 12))
def test_no_schedule_has_more_in_flight_than_the_limit_lets_in_or_leaks_a_slot(
    schedule: list[str], floor: int, more: int
) -> None:
    async def play() -> tuple[int, int, int]:
        limiter = Limiter(floor, floor + more)
        inside: dict[int, asyncio.Future[None]] = {}
        waiting: dict[int, asyncio.Future[None]] = {}
        numbers = itertools.count()

        async def one(number: int) -> None:
            async with limiter.slot():
                assert limiter.in_flight <= int(limiter.limit)  # at the moment of being let in
                inside[number] = asyncio.get_running_loop().create_future()
                waiting.pop(number, None)
                try:
                    await inside[number]
                finally:
                    del inside[number]

        tasks: dict[int, asyncio.Future[None]] = {}
        for step in schedule:
            open_calls = [number for number, end in inside.items() if not end.done()]
            if step == "begin":
                number = next(numbers)
                tasks[number] = waiting[number] = asyncio.ensure_future(one(number))
            elif step == "end" and open_calls:
                inside[open_calls[0]].set_result(None)
            elif step == "overload" and open_calls:
                inside[open_calls[-1]].set_exception(overload())
            elif step == "cancel" and waiting:
                waiting.popitem()[1].cancel()
            elif step == "turn":
                await asyncio.sleep(0)
            assert floor <= limiter.limit <= floor + more
        while any(not task.done() for task in tasks.values()):
            for end in inside.values():
                if not end.done():
                    end.set_result(None)
            await asyncio.sleep(0)
        failed = [task for task in tasks.values() if not task.cancelled() and task.exception() is not None]
        assert all(isinstance(task.exception(), ProviderError) for task in failed)
        return limiter.in_flight, len(limiter._waiting), len(inside)

    assert run(play()) == (0, 0, 0)


# ---- a provider of known capacity


class Simulated:
    """A provider that bears so many calls and refuses what is more at once; time is counted, not waited for."""

    def __init__(self, capacity: Callable[[int], int], seed: int) -> None:
        self.capacity, self.random = capacity, Random(seed)
        self.now, self.running, self.answered, self.refused = 0.0, 0, 0, 0
        self.ends: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    async def serve(self) -> None:
        self.running += 1
        refuse = self.running > self.capacity(self.answered)
        await self.pause(0.02 if refuse else self.random.uniform(0.5, 1.5))
        self.running -= 1
        if refuse:
            self.refused += 1
            raise overload()
        self.answered += 1

    async def pause(self, seconds: float) -> None:
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self.ends, (self.now + seconds, next(self._order), end))
        await end

    async def pass_time(self, done: Callable[[], bool]) -> None:
        while not done():
            await settled()
            if self.ends:
                self.now, _, end = heapq.heappop(self.ends)
                end.set_result(None)


async def worked(limiter: Limiter, provider: Simulated, calls: int) -> list[float]:
    """Have so many calls answered, each tried until it is, and return the limit after each."""
    limits: list[float] = []

    async def worker() -> None:
        while len(limits) < calls:
            try:
                async with limiter.slot():
                    await provider.serve()
            except ProviderError:
                await provider.pause(provider.random.uniform(0.5, 1.5))  # as the client waits before another try
                continue
            limits.append(limiter.limit)

    workers = [asyncio.ensure_future(worker()) for _ in range(limiter.ceiling)]
    await provider.pass_time(lambda: len(limits) >= calls)
    for each in workers:
        each.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    assert (limiter.in_flight, len(limiter._waiting)) == (0, 0)
    return limits


@pytest.mark.parametrize("capacity", [5, 20, 60])
def test_the_limit_settles_about_what_a_provider_bears(capacity: int) -> None:
    provider, limiter = Simulated(lambda _: capacity, seed=capacity), Limiter(1, 100)
    limits = run(worked(limiter, provider, 40 * capacity))
    late = sorted(limits[len(limits) // 2 :])
    assert capacity * 0.8 <= late[len(late) // 2] <= capacity * 1.3


def test_a_provider_that_recovers_is_used_in_full_again() -> None:
    provider, limiter = Simulated(lambda answered: 10 if answered < 300 else 1000, seed=1), Limiter(1, 100)
    limits = run(worked(limiter, provider, 6_000))
    assert limiter.lowest < 20
    assert limits[-1] == 100.0


def test_a_provider_without_a_limit_is_never_held_back() -> None:
    provider, limiter = Simulated(lambda _: 1000, seed=2), Limiter(1, 100)
    run(worked(limiter, provider, 500))
    assert (provider.refused, limiter.lowest) == (0, 100.0)
