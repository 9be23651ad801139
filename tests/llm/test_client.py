"""One model's client: ledger first, identical requests once, bounded at a time and in patience."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import stamina
import stamina.instrumentation

from ccfw.errors import ProviderError, StoppedError
from ccfw.llm.client import Client, Meter
from ccfw.llm.ledger import Ledger
from ccfw.llm.types import ChatReply, ChatRequest
from tests.samples import chat_request, model_config, reply

T = TypeVar("T")
Answer = Callable[[ChatRequest], Awaitable[ChatReply]]


class Provider:
    """A provider that counts what it is asked, one call after another and at once."""

    def __init__(self, *script: ChatReply | Exception, answer: Answer | None = None) -> None:
        self.script = list(script)
        self.answer = answer
        self.calls = 0
        self.now = 0
        self.peak = 0

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        self.now += 1
        self.peak = max(self.peak, self.now)
        try:
            if self.answer is not None:
                return await self.answer(request)
            step = self.script.pop(0) if self.script else reply()
            if isinstance(step, Exception):
                raise step
            return step
        finally:
            self.now -= 1


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "calls.db") as opened:
        yield opened


@pytest.fixture
def at_once() -> Iterator[None]:
    """Retries come without a pause."""
    with stamina.set_testing(True, attempts=100, cap=True):
        yield


def client_of(ledger: Ledger, provider: Provider, **changes: object) -> Client:
    return Client(model_config(**changes), ledger, Meter(), provider)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def passing(retry_after: float | None = None) -> ProviderError:
    return ProviderError("503: busy", transient=True, retry_after=retry_after)


async def all_of(client: Client, requests: list[ChatRequest]) -> list[ChatReply | BaseException]:
    return await asyncio.gather(*(client.complete(each) for each in requests), return_exceptions=True)


def test_no_more_calls_than_allowed_are_in_flight(ledger: Ledger) -> None:
    async def slow(request: ChatRequest) -> ChatReply:
        for _ in range(10):
            await asyncio.sleep(0)
        return reply(request.messages[0].content)

    provider = Provider(answer=slow)
    client = client_of(ledger, provider, max_in_flight=3)
    replies = run(all_of(client, [chat_request(str(n)) for n in range(12)]))
    assert [each.text for each in replies if isinstance(each, ChatReply)] == [str(n) for n in range(12)]
    assert (provider.calls, provider.peak) == (12, 3)


def test_a_failed_call_gives_its_place_back(ledger: Ledger) -> None:
    provider = Provider(*[ProviderError("400", transient=False)] * 5)
    client = client_of(ledger, provider, max_in_flight=1)
    replies = run(all_of(client, [chat_request(str(n)) for n in range(6)]))
    assert [isinstance(each, ChatReply) for each in replies] == [False] * 5 + [True]


def test_identical_requests_in_flight_share_one_call(ledger: Ledger) -> None:
    async def together() -> tuple[list[ChatReply | BaseException], Provider, Meter]:
        started, go = asyncio.Event(), asyncio.Event()

        async def when_told(_: ChatRequest) -> ChatReply:
            started.set()
            await go.wait()
            return reply()

        provider = Provider(answer=when_told)
        client = client_of(ledger, provider)
        everyone = asyncio.ensure_future(all_of(client, [chat_request()] * 5))
        await started.wait()
        go.set()
        return await everyone, provider, client.meter

    replies, provider, meter = run(together())
    assert provider.calls == 1
    assert [each.cached for each in replies if isinstance(each, ChatReply)] == [False, True, True, True, True]
    assert (meter.calls, meter.cached, meter.cost) == (1, 4, 0.25)


def test_identical_requests_share_one_failure_and_can_be_asked_again(ledger: Ledger) -> None:
    async def bad(_: ChatRequest) -> ChatReply:
        await asyncio.sleep(0)
        raise ProviderError("400: bad", transient=False)

    async def twice() -> list[str]:
        provider = Provider(answer=bad)
        client = client_of(ledger, provider)
        first = await all_of(client, [chat_request()] * 3)
        assert provider.calls == 1
        provider.answer = None
        return [str(each) for each in first] + [(await client.complete(chat_request())).text]

    assert run(twice()) == ["400: bad"] * 3 + ["hello"]


def test_repeats_of_a_request_are_calls_of_their_own(ledger: Ledger) -> None:
    provider = Provider()
    run(all_of(client_of(ledger, provider), [chat_request(replicate=n) for n in range(3)]))
    assert provider.calls == 3


def test_what_the_ledger_holds_is_asked_of_nobody(ledger: Ledger) -> None:
    first = client_of(ledger, Provider(reply("kept")))
    assert run(first.complete(chat_request())).cached is False
    nobody = Provider()
    second = client_of(ledger, nobody)
    again = run(second.complete(chat_request()))
    assert (again.text, again.cached) == ("kept", True)
    assert nobody.calls == 0
    assert (second.meter.calls, second.meter.cached, second.meter.cost) == (0, 1, 0.0)


def test_a_reply_is_on_disk_before_anybody_has_it(ledger: Ledger) -> None:
    run(client_of(ledger, Provider(reply("kept"))).complete(chat_request()))
    with Ledger(ledger.path) as other:
        found = other.get(chat_request().key)
    assert found is not None
    assert found.text == "kept"


def test_a_failed_call_is_not_kept(ledger: Ledger) -> None:
    client = client_of(ledger, Provider(ProviderError("400", transient=False)))
    with pytest.raises(ProviderError):
        run(client.complete(chat_request()))
    assert ledger.get(chat_request().key) is None
    assert (client.meter.calls, client.meter.cached) == (0, 0)


@pytest.mark.usefixtures("at_once")
def test_a_passing_error_is_tried_again(ledger: Ledger) -> None:
    provider = Provider(passing(), passing(0.0), reply("at last"))
    client = client_of(ledger, provider, attempts=3)
    assert run(client.complete(chat_request())).text == "at last"
    assert (provider.calls, client.meter.calls) == (3, 1)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("attempts", [1, 2, 4], ids=str)
def test_tries_are_bounded_and_the_last_error_is_the_one_raised(ledger: Ledger, attempts: int) -> None:
    errors = [ProviderError(f"503: busy {n}", transient=True) for n in range(1, 10)]
    provider = Provider(*errors)
    with pytest.raises(ProviderError) as caught:
        run(client_of(ledger, provider, attempts=attempts).complete(chat_request()))
    assert provider.calls == attempts
    assert str(caught.value) == f"503: busy {attempts}"


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ProviderError("401: no key", transient=False), id="permanent"),
        pytest.param(ProviderError("400: bad", transient=False, retry_after=1.0), id="permanent-with-a-wish"),
        pytest.param(KeyError("bug"), id="not-the-providers"),
    ],
)
def test_no_other_error_is_tried_again(ledger: Ledger, error: Exception) -> None:
    provider = Provider(error)
    with pytest.raises(type(error)) as caught:
        run(client_of(ledger, provider, attempts=5).complete(chat_request()))
    assert caught.value is error
    assert provider.calls == 1


def test_the_providers_wish_when_to_try_again_is_honoured(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccfw.llm.client._FIRST_WAIT_S", 0.001)
    monkeypatch.setattr("random.random", lambda: 0.0)
    waits: list[float] = []
    stamina.instrumentation.set_on_retry_hooks([lambda details: waits.append(details.wait_for)])
    try:
        run(client_of(ledger, Provider(passing(0.015), passing(0.0)), attempts=3).complete(chat_request()))
    finally:
        stamina.instrumentation.set_on_retry_hooks(None)
    assert waits == [0.015, pytest.approx(0.002)]


def test_a_wish_past_the_deadline_ends_at_the_deadline(ledger: Ledger) -> None:
    provider = Provider(passing(3_600.0))
    with pytest.raises(ProviderError) as caught:
        run(client_of(ledger, provider, attempts=3, deadline_s=0.02).complete(chat_request()))
    assert str(caught.value) == "503: busy; it asks to wait 3600 s, which the deadline does not leave"
    assert (caught.value.transient, provider.calls) == (False, 1)


async def never(_: ChatRequest) -> ChatReply:
    await asyncio.Event().wait()
    raise AssertionError


def test_a_call_without_end_stops_at_the_deadline(ledger: Ledger) -> None:
    client = client_of(ledger, Provider(answer=never), deadline_s=0.02, timeout_s=60)
    with pytest.raises(ProviderError) as caught:
        run(client.complete(chat_request()))
    assert str(caught.value) == "scripted: no reply within the deadline of 0.02 s"


@pytest.mark.usefixtures("at_once")
def test_a_single_call_without_end_is_tried_again(ledger: Ledger) -> None:
    provider = Provider(answer=never)
    with pytest.raises(ProviderError) as caught:
        run(client_of(ledger, provider, timeout_s=0.01, deadline_s=60, attempts=2).complete(chat_request()))
    assert str(caught.value) == "scripted: no reply within 0.01 s"
    assert (caught.value.transient, provider.calls) == (True, 2)


def test_a_caller_that_leaves_leaves_no_call_behind(ledger: Ledger) -> None:
    async def leave() -> tuple[int, int]:
        started = asyncio.Event()

        async def hanging(request: ChatRequest) -> ChatReply:
            started.set()
            return await never(request)

        provider = Provider(answer=hanging)
        client = client_of(ledger, provider, max_in_flight=1)
        task = asyncio.ensure_future(client.complete(chat_request()))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        running = provider.now
        provider.answer = None
        await client.complete(chat_request())
        return running, provider.calls

    assert run(leave()) == (0, 2)


def test_one_unknown_price_makes_the_cost_unknown() -> None:
    meter = Meter()
    meter.count(reply(cost=0.25))
    assert (meter.calls, meter.cost_text) == (1, "0.2500")
    meter.count(reply(cost=None, cached=True))
    assert meter.cost_text == "0.2500"
    meter.count(reply(cost=None))
    assert (meter.calls, meter.cached, meter.cost_text) == (2, 1, "unknown")


def test_a_reply_that_was_paid_for_ahead_costs_once_and_is_cached_when_it_is_used() -> None:
    meter = Meter()
    meter.count_ahead(reply(cost=0.25))
    meter.count(reply(cost=0.25, cached=True))
    assert (meter.calls, meter.cached, meter.cost, meter.cached_cost) == (1, 1, 0.25, 0.0)


def test_meters_add_up() -> None:
    total = Meter(calls=1, cached=2, cost=0.5, cached_cost=0.125, unpriced=0, lost=1, lost_cost=0.5)
    total.add(Meter(calls=3, cached=4, cost=0.25, cached_cost=0.5, unpriced=1, lost=2, lost_cost=0.25))
    assert total == Meter(calls=4, cached=6, cost=0.75, cached_cost=0.625, unpriced=1, lost=3, lost_cost=0.75)


# ---- how long a call waits for another try


def waits(client: Client, *errors: ProviderError) -> list[float]:
    pause = client._patience()
    return [float(pause(error)) for error in errors]


def test_while_nobody_is_answered_a_call_waits_twice_as_long_each_time_up_to_half_a_minute(ledger: Ledger) -> None:
    found = waits(client_of(ledger, Provider()), *[passing()] * 9)
    least = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert all(low <= wait < low + 1 for low, wait in zip(least, found, strict=True))
    assert len(set(found)) == len(found)  # calls that failed together do not come back together


def test_where_others_are_answered_a_call_waits_no_longer_each_time(ledger: Ledger) -> None:
    client = client_of(ledger, Provider())
    pause = client._patience()
    found = []
    for number in range(6):
        found.append(float(pause(passing())))
        run(client.complete(chat_request(str(number))))
    assert all(0.5 <= wait < 1.5 for wait in found)


def test_the_providers_own_wish_is_waited_for_where_it_is_longer(ledger: Ledger) -> None:
    first, second, third = waits(client_of(ledger, Provider()), passing(7.0), passing(0.0), passing(7.0))
    assert (first, third) == (7.0, 7.0)
    assert 1.0 <= second < 2.0


# ---- when nothing more is begun


def test_a_disk_that_is_nearly_full_stops_the_job_before_it_pays(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Provider()
    client = client_of(ledger, provider)
    monkeypatch.setattr(ledger, "full", True)
    with pytest.raises(StoppedError) as caught:
        run(client.complete(chat_request()))
    assert str(caught.value) == f"{ledger.path.parent}: less than 256 MB of disk are left"
    assert (client.stop.reason, client.stop.interrupted) == (str(caught.value), False)
    assert provider.calls == 0


def test_once_the_stop_is_asked_for_only_the_ledger_answers(ledger: Ledger) -> None:
    provider = Provider(reply("kept"))
    client = client_of(ledger, provider)
    run(client.complete(chat_request()))
    client.stop.ask("SIGINT", interrupted=True)
    assert run(client.complete(chat_request())).text == "kept"
    with pytest.raises(StoppedError) as caught:
        run(client.complete(chat_request("other")))
    assert str(caught.value) == "SIGINT"
    assert provider.calls == 1


@pytest.mark.usefixtures("at_once")
def test_overload_lowers_the_limit_and_other_errors_do_not(ledger: Ledger) -> None:
    def client(*errors: ProviderError) -> Client:
        return client_of(ledger, Provider(*errors), max_in_flight=4, attempts=20)

    busy = client(*[ProviderError("429", transient=True, overload=True)] * 4)
    broken = client(*[ProviderError("500", transient=True)] * 4)
    run(busy.complete(chat_request("busy")))
    run(broken.complete(chat_request("broken")))
    assert (busy._limiter.lowest, broken._limiter.lowest) == (2.0, 4.0)
