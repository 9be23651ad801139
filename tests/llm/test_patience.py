"""How long a call waits before another try: by what the provider says, and by whether it answers anybody."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina.instrumentation

from ccfw.errors import ProviderError
from ccfw.llm import client as module
from ccfw.llm.client import Client, Meter
from ccfw.llm.ledger import Ledger
from ccfw.llm.replies import seconds_to_wait
from ccfw.llm.types import ChatReply, ChatRequest
from tests.samples import chat_request, model_config, reply

UNIT = 2.0**-12


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The waits, in units of the shortest."""
    found: list[float] = []
    monkeypatch.setattr(module, "_FIRST_WAIT_S", UNIT)
    monkeypatch.setattr(module, "_LONGEST_WAIT_S", 8 * UNIT)
    monkeypatch.setattr("random.random", lambda: 0.0)
    stamina.instrumentation.set_on_retry_hooks([lambda details: found.append(details.wait_for / UNIT)])
    yield found
    stamina.instrumentation.set_on_retry_hooks(None)


class Provider:
    """Fails at one request a number of times; may be asked something else, which it answers, just before."""

    def __init__(self, failures: int, others_after: frozenset[int] = frozenset(), wish: float | None = None) -> None:
        self.failures, self.others_after, self.wish = failures, others_after, wish
        self.failed = 0
        self.client: Client | None = None

    async def complete(self, request: ChatRequest) -> ChatReply:
        if request.messages[0].content != "unlucky" or self.failed == self.failures:
            return reply()
        if self.failed in self.others_after:
            assert self.client
            await self.client.complete(chat_request(f"lucky {self.failed}"))
        self.failed += 1
        raise ProviderError("500", transient=True, retry_after=self.wish)


def asked(folder: Path, provider: Provider) -> None:
    with Ledger(folder / "calls.db") as ledger:
        model = model_config(attempts=20, max_in_flight=4)
        provider.client = Client(model, ledger, Meter(), provider)
        asyncio.run(provider.client.complete(chat_request("unlucky")))


def test_where_nobody_is_answered_each_wait_is_twice_the_last_up_to_the_longest(
    tmp_path: Path, waits: list[float]
) -> None:
    asked(tmp_path, Provider(6))
    assert waits == [1, 2, 4, 8, 8, 8]


def test_where_others_are_answered_no_wait_grows(tmp_path: Path, waits: list[float]) -> None:
    asked(tmp_path, Provider(6, others_after=frozenset(range(6))))
    assert waits == [1] * 6


def test_an_answer_to_others_begins_the_waits_anew(tmp_path: Path, waits: list[float]) -> None:
    asked(tmp_path, Provider(6, others_after=frozenset({3})))
    assert waits == [1, 2, 4, 1, 2, 4]


def test_a_wish_of_the_provider_is_waited_for_and_at_least_ones_own_time(tmp_path: Path, waits: list[float]) -> None:
    asked(tmp_path, Provider(4, wish=3 * UNIT))
    assert waits == [3, 3, 4, 8]


@pytest.mark.parametrize("wish", [0.0, -5.0, seconds_to_wait("-3"), seconds_to_wait("Wed, 21 Oct 2015 07:28:00 GMT")])
def test_a_wish_of_no_time_or_of_one_that_is_past_shortens_no_wait(
    tmp_path: Path, waits: list[float], wish: float
) -> None:
    asked(tmp_path, Provider(4, wish=wish))
    assert waits == [1, 2, 4, 8]
