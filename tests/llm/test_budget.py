"""Spending never passes the cap, at any concurrency, and whatever was lost counts as spent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
import stamina
from hypothesis import given, settings
from hypothesis import strategies as st

from ccfw.errors import BudgetError, ProviderError, StoppedError
from ccfw.llm import transports
from ccfw.llm.budget import Budget, of_the_process
from ccfw.llm.client import Client, Meter
from ccfw.llm.ledger import Ledger
from ccfw.llm.types import ChatReply, ChatRequest, Usage
from ccfw.stop import Stop
from tests.fakes import faults
from tests.fakes.provider import FakeReply
from tests.llm.raw import Raw, RawProvider, completion
from tests.samples import chat_request, model_config, reply

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


# ---- the cap


async def spend(
    budget: Budget, calls: list[tuple[float, float]], concurrency: int, seed: int
) -> tuple[list[float], int, list[str]]:
    """Make calls of (worst case, cost) by so many workers; return costs paid, free calls made, and what stopped."""
    paid: list[float] = []
    told: list[str] = []
    free, random, queue = 0, Random(seed), iter(calls)

    async def worker() -> None:
        nonlocal free
        for most, cost in queue:
            try:
                await budget.reserve(most)
            except BudgetError as error:
                told.append(str(error))
                continue
            for _ in range(random.randrange(4)):
                await asyncio.sleep(0)
            paid.append(cost)
            free += most == 0.0
            budget.settle(most, cost)

    await asyncio.wait_for(asyncio.gather(*(worker() for _ in range(concurrency))), 60)
    return paid, free, told


AMOUNTS = st.floats(0, 3) | st.sampled_from([0.0, 1e-13, 1e-6, 0.1, 0.25])


@settings(max_examples=200)
@given(
    st.floats(0, 20) | st.sampled_from([0.0, 0.3, 1.0, 25.0]),
    st.lists(st.tuples(AMOUNTS, st.floats(0, 1)), max_size=60),
    st.sampled_from([1, 2, 7, 50, 500]),
    st.integers(0, 2**16),
)
def test_spending_never_passes_the_cap_and_nobody_waits_for_ever(
    cap: float, calls: list[tuple[float, float]], concurrency: int, seed: int
) -> None:
    budget = Budget(cap)
    asked = [(most, most * share) for most, share in calls]
    paid, free, told = run(spend(budget, asked, concurrency, seed))
    assert sum(map(Fraction, paid)) <= Fraction(cap)
    assert len(paid) + len(told) == len(asked)
    assert free == sum(most == 0.0 for most, _ in asked)
    assert (budget._set_aside, len(budget._waiting)) == (0, 0)


@given(st.lists(st.floats(0, 3), max_size=40), st.sampled_from([1, 3, 500]))
def test_without_a_cap_everything_is_paid_for(costs: list[float], concurrency: int) -> None:
    budget = Budget(None)
    paid, _, told = run(spend(budget, [(cost, cost) for cost in costs], concurrency, 0))
    assert (sorted(paid), told) == (sorted(costs), [])
    assert sum(costs) <= budget.spent + 1e-9
    assert budget.spent <= sum(costs) + 1e-12 * len(costs) + 1e-9  # each is rounded up to a trillionth


def test_money_that_a_call_did_not_need_is_for_the_next() -> None:
    """A cap of one dollar pays for ten calls of ten cents, though each might have cost a dollar."""
    paid, _, told = run(spend(Budget(1.0), [(1.0, 0.1)] * 10, 10, 3))
    assert (len(paid), len(told)) == (1, 9)
    paid, _, told = run(spend(Budget(1.0), [(0.1, 0.1)] * 12, 12, 3))
    assert (len(paid), len(told)) == (10, 2)


def test_a_call_waits_for_money_that_those_in_flight_may_give_back() -> None:
    async def wait() -> list[str]:
        budget, order = Budget(1.0), []
        await budget.reserve(0.9)

        async def second() -> None:
            await budget.reserve(0.5)
            order.append("second")

        task = asyncio.ensure_future(second())
        await asyncio.sleep(0)
        order.append("first ends")
        budget.settle(0.9, 0.2)
        await task
        return order

    assert run(wait()) == ["first ends", "second"]


def test_a_waiting_call_is_told_when_nothing_came_back() -> None:
    async def wait() -> str:
        budget = Budget(1.0)
        await budget.reserve(0.9)
        task = asyncio.ensure_future(budget.reserve(0.5))
        await asyncio.sleep(0)
        budget.settle(0.9, 0.75)
        with pytest.raises(BudgetError) as caught:
            await task
        return str(caught.value)

    assert run(wait()) == "budget=1: spent 0.7500, the next call may cost 0.5000 more"


def test_whoever_gives_up_waiting_holds_nothing() -> None:
    async def give_up() -> float:
        budget = Budget(1.0)
        await budget.reserve(0.9)
        tasks = [asyncio.ensure_future(budget.reserve(0.5)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        budget.settle(0.9, 0.0)
        await asyncio.gather(*tasks[1:])
        return budget._set_aside / 10**12

    assert run(give_up()) == 1.0


def test_a_budget_of_nothing_lets_pass_what_costs_nothing() -> None:
    paid, free, told = run(spend(Budget(0.0), [(0.0, 0.0), (1e-12, 0.0)], 2, 0))
    assert (len(paid), free) == (1, 1)
    assert told == ["budget=0: spent 0.0000, the next call may cost 0.0000 more"]


def test_the_jobs_of_a_process_share_one_budget() -> None:
    assert of_the_process(3.5) is of_the_process(3.5)
    assert of_the_process(3.5) is not of_the_process(4.5)


# ---- through the client


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "calls.db") as opened:
        yield opened


class Provider:
    """A provider whose answers a test writes."""

    def __init__(self, answer: Callable[[ChatRequest], Coroutine[Any, Any, ChatReply]]) -> None:
        self.answer, self.asked = answer, 0

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.asked += 1
        return await self.answer(request)


def client_of(ledger: Ledger, budget: Budget, provider: Any = None, **changes: object) -> Client:
    config = model_config("scripted", **({"attempts": 1} | changes))
    return Client(config, ledger, Meter(), provider, budget=budget, stop=Stop())


PRICED = {"input": 1.0, "output": 2.0, "cached_input": None}


def most_of(text: str, max_output_tokens: int) -> float:
    """Return what a request of one message may cost at a dollar in and two out per million tokens."""
    return (len(text.encode()) + 2 * 16 + 1024 + 2 * max_output_tokens) / 1e6


@pytest.mark.parametrize("concurrency", [1, 10, 500])
@pytest.mark.parametrize("seed", range(4))
def test_clients_together_stay_under_the_cap(ledger: Ledger, concurrency: int, seed: int) -> None:
    random = Random(seed)
    price = {"input": random.uniform(0, 900), "output": random.uniform(0, 900), "cached_input": None}
    spent = Fraction(0)

    async def answer(request: ChatRequest) -> ChatReply:
        nonlocal spent
        for _ in range(random.randrange(5)):
            await asyncio.sleep(0)
        usage = Usage(random.randrange(1000), random.randrange(4096), None)
        cost = client._tariff.cost(usage) if client._tariff else None
        assert cost is not None
        spent += Fraction(cost)
        return reply(usage=usage, cost=cost)

    cap = random.uniform(0, 60)
    client = client_of(ledger, Budget(cap), Provider(answer), price=price, max_in_flight=concurrency)

    async def ask(number: int) -> ChatReply | BaseException:
        try:
            return await client.complete(chat_request(str(number)))
        except StoppedError as error:
            return error

    async def everybody() -> list[ChatReply | BaseException]:
        return await asyncio.gather(*(ask(number) for number in range(200)))

    outcomes = run(everybody())
    assert spent <= Fraction(cap)
    assert client.meter.cost == pytest.approx(float(spent))
    stopped = [outcome for outcome in outcomes if isinstance(outcome, BudgetError)]
    assert len(stopped) + client.meter.calls == 200
    dearest = client._tariff.most(chat_request("000"), 4096) if client._tariff else 0.0
    assert not stopped or cap - float(spent) <= dearest * (1 + 1e-9)  # what is left would not have done for one more


def lost_calls(provider_error: ProviderError) -> Callable[[ChatRequest], Coroutine[Any, Any, ChatReply]]:
    async def fail(_: ChatRequest) -> ChatReply:
        await asyncio.sleep(0)
        raise provider_error

    return fail


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        pytest.param(ProviderError("cut", transient=True, maybe_paid=True), 1, id="cut-off"),
        pytest.param(ProviderError("500", transient=True), 0, id="refused"),
        pytest.param(ProviderError("401", transient=False, hopeless=True), 0, id="no-key"),
    ],
)
def test_what_may_be_billed_counts_in_full_and_what_was_refused_does_not(
    ledger: Ledger, error: ProviderError, lost: int
) -> None:
    client = client_of(ledger, Budget(1.0), Provider(lost_calls(error)), price=PRICED, max_output_tokens=1000)
    with pytest.raises(ProviderError):
        run(client.complete(chat_request("hello")))
    most = most_of("hello", 1000)
    assert client.budget.spent == pytest.approx(lost * most, abs=1e-12)
    assert (client.meter.calls, client.meter.lost) == (0, lost)
    assert client.meter.lost_cost == pytest.approx(lost * most)


@pytest.mark.parametrize("ending", ["timeout", "deadline", "left"])
def test_a_call_that_was_cut_short_counts_in_full(ledger: Ledger, ending: str) -> None:
    async def cut() -> Client:
        started = asyncio.Event()

        async def never(_: ChatRequest) -> ChatReply:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

        patience = {"timeout": (0.01, 60), "deadline": (60, 0.01), "left": (60, 60)}[ending]
        times = dict(zip(("timeout_s", "deadline_s"), patience, strict=True))
        client = client_of(ledger, Budget(1.0), Provider(never), price=PRICED, max_output_tokens=1000, **times)
        task = asyncio.ensure_future(client.complete(chat_request("hello")))
        await started.wait()
        if ending == "left":
            task.cancel()
        with pytest.raises((ProviderError, asyncio.CancelledError)):
            await task
        return client

    client = run(cut())
    assert client.budget.spent == pytest.approx(most_of("hello", 1000))
    assert client.meter.lost == 1
    assert client.meter.lost_cost == pytest.approx(most_of("hello", 1000))
    assert client.budget._set_aside == 0


def test_a_call_whose_tokens_nobody_counted_counts_in_full(ledger: Ledger) -> None:
    async def uncounted(_: ChatRequest) -> ChatReply:
        return reply(usage=Usage(None, None, None), cost=None)

    client = client_of(ledger, Budget(1.0), Provider(uncounted), price=PRICED, max_output_tokens=1000)
    run(client.complete(chat_request("hello")))
    assert client.budget.spent == pytest.approx(most_of("hello", 1000))
    assert (client.meter.calls, client.meter.unpriced, client.meter.lost) == (1, 1, 0)


def test_what_the_ledger_holds_costs_no_budget(ledger: Ledger) -> None:
    async def good(_: ChatRequest) -> ChatReply:
        return reply(cost=0.001)

    run(client_of(ledger, Budget(1.0), Provider(good), price=PRICED).complete(chat_request()))
    second = client_of(ledger, Budget(0.0), Provider(good), price=PRICED)
    assert run(second.complete(chat_request())).cached is True
    assert second.budget.spent == 0.0


def test_a_budget_that_is_spent_sends_nothing(ledger: Ledger) -> None:
    async def good(_: ChatRequest) -> ChatReply:
        return reply()

    provider = Provider(good)
    client = client_of(ledger, Budget(0.002), provider, price=PRICED, max_output_tokens=1000)
    with pytest.raises(BudgetError) as caught:
        run(client.complete(chat_request("hello")))
    assert str(caught.value) == "budget=0.002: spent 0.0000, the next call may cost 0.0031 more"
    assert (provider.asked, client.meter.lost, client._limiter.in_flight) == (0, 0, 0)


@pytest.mark.parametrize(
    ("answer", "lost"),
    [
        pytest.param(faults.CLOSED, 2, id="closed"),
        pytest.param(faults.MALFORMED, 2, id="malformed"),
        pytest.param(faults.NO_CHOICES, 2, id="no-choices"),
        pytest.param(faults.STALL, 2, id="stalled"),
        pytest.param(faults.RATE_LIMITED, 0, id="busy"),
        pytest.param(faults.SERVER_ERROR, 0, id="server-error"),
        pytest.param(faults.CONTEXT_EXCEEDED, 0, id="refused"),
        pytest.param(completion(usage=...), 0, id="answered"),
    ],
)
def test_over_http_the_tries_that_were_lost_count_one_by_one(
    ledger: Ledger, answer: Raw | FakeReply | faults.Fault, lost: int
) -> None:
    async def ask(client: Client) -> None:
        try:
            await asyncio.gather(client.complete(chat_request("hello")), return_exceptions=True)
        finally:
            await transports.close()

    with RawProvider(answer) as provider, stamina.set_testing(True, attempts=2, cap=True):
        client = client_of(
            ledger, Budget(1.0), api_base=provider.base_url, price=PRICED, attempts=2, timeout_s=0.3, deadline_s=60
        )
        run(ask(client))
    answered = isinstance(answer, Raw)
    assert client.meter.lost == lost
    assert client.meter.lost_cost == pytest.approx(lost * most_of("hello", 4096))
    assert client.budget.spent == pytest.approx((lost + answered) * most_of("hello", 4096))


# ---- what nobody foresaw


@pytest.mark.parametrize("budget", [1.0, None], ids=str)
def test_a_reply_that_costs_more_than_its_request_allows_counts_and_is_told_once(
    ledger: Ledger, caplog: pytest.LogCaptureFixture, budget: float | None
) -> None:
    async def dear(_: ChatRequest) -> ChatReply:
        return reply(usage=Usage(10, 50_000, None), cost=0.1)

    client = client_of(ledger, Budget(budget), Provider(dear), price=PRICED, max_output_tokens=1000)
    for text in ("hello", "again"):
        run(client.complete(chat_request(text)))
    assert client.budget.spent == pytest.approx(0.2)
    told = (
        "scripted: the provider counted more tokens than the request allows: 10 in, 50000 out, where 1000 out was "
        "the bound; 0.1000 US dollars, where 0.0031 were set aside. Such replies count in full, so the budget may be "
        "passed"
    )
    assert caplog.messages == ([told] if budget else [])


def test_a_reply_that_costs_all_that_its_request_allows_is_nothing_to_tell(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    async def whole(_: ChatRequest) -> ChatReply:
        return reply(cost=most_of("hello", 1000))

    run(
        client_of(ledger, Budget(1.0), Provider(whole), price=PRICED, max_output_tokens=1000).complete(
            chat_request("hello")
        )
    )
    assert caplog.messages == []


# ---- a key that is refused


def hopeless() -> ProviderError:
    return ProviderError("HTTP 401: no", transient=False, hopeless=True)


async def asked_in_turn(client: Client, number: int) -> list[str]:
    outcomes = await asyncio.gather(
        *(client.complete(chat_request(str(each))) for each in range(number)), return_exceptions=True
    )
    return [outcome.text if isinstance(outcome, ChatReply) else str(outcome) for outcome in outcomes]


@pytest.mark.parametrize(("in_flight", "sent"), [(1, 5), (4, 8)], ids=str)
def test_after_five_refusals_in_a_row_nothing_more_is_sent(ledger: Ledger, in_flight: int, sent: int) -> None:
    """But what was under way by then: three more, where four are."""
    provider = Provider(lost_calls(hopeless()))
    client = client_of(ledger, Budget(None), provider, max_in_flight=in_flight)
    assert run(asked_in_turn(client, 20)) == ["HTTP 401: no"] * 20
    assert provider.asked == sent


def test_an_answer_in_between_starts_the_count_anew(ledger: Ledger) -> None:
    async def now_and_then(request: ChatRequest) -> ChatReply:
        if int(request.messages[0].content) % 5 == 4:
            return reply("yes")
        raise hopeless()

    provider = Provider(now_and_then)
    client = client_of(ledger, Budget(None), provider, max_in_flight=1)
    outcomes = run(asked_in_turn(client, 20))
    assert outcomes == (["HTTP 401: no"] * 4 + ["yes"]) * 4
    assert provider.asked == 20


def test_refusals_of_another_kind_stop_nobody(ledger: Ledger) -> None:
    provider = Provider(lost_calls(ProviderError("HTTP 404: no", transient=False)))
    run(asked_in_turn(client_of(ledger, Budget(None), provider, max_in_flight=1), 20))
    assert provider.asked == 20
