"""The fake provider does to a plain client, and to litellm, what it says it does."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.fakes import faults
from tests.fakes.faults import Fault, FaultPlan
from tests.fakes.provider import FakeProvider, FakeReply, FakeRequest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

Answer = tuple[int, dict[str, str], str]
HEADERS = {"Authorization": "Bearer sk-secret"}
ROOT = Path(__file__).parents[2]


def asking(text: str = "How do I refuse politely?", **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


async def post(provider: FakeProvider, body: Any) -> Answer:
    async with (
        aiohttp.ClientSession(headers=HEADERS) as session,
        session.post(f"{provider.base_url}/chat/completions", json=body) as response,
    ):
        return response.status, dict(response.headers), await response.text()


def ask(provider: FakeProvider, body: Any = None) -> Answer:
    return asyncio.run(post(provider, asking() if body is None else body))


def text_of(answer: Answer) -> str:
    return str(json.loads(answer[2])["choices"][0]["message"]["content"])


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as running:
        yield running


def failing(provider: FakeProvider, fault: Fault) -> FakeProvider:
    provider.script = lambda request: fault
    return provider


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        (faults.CONTEXT_EXCEEDED, 400, "context_length_exceeded"),
        (faults.UNAUTHORIZED, 401, "sk-secret"),
        (faults.UNKNOWN_MODEL, 404, "model_not_found"),
        (faults.RATE_LIMITED, 429, "rate_limit_exceeded"),
        (faults.SERVER_ERROR, 500, "server_error"),
        (faults.UNAVAILABLE, 503, "server_error"),
        (faults.OVERLOADED, 529, "overloaded_error"),
    ],
)
def test_an_error_status_comes_with_the_providers_json(
    provider: FakeProvider, fault: Fault, status: int, words: str
) -> None:
    got, headers, text = ask(failing(provider, fault))
    assert (got, provider.counts()) == (status, {status: 1})
    assert words in json.dumps(json.loads(text)["error"])
    assert "Retry-After" not in headers


def test_a_rate_limit_says_when_to_come_back(provider: FakeProvider) -> None:
    status, headers, _ = ask(failing(provider, faults.rate_limited(2)))
    assert (status, headers["Retry-After"]) == (429, "2")


@pytest.mark.parametrize("status", [200, 502])
def test_a_gateway_page_is_html(provider: FakeProvider, status: int) -> None:
    got, headers, text = ask(failing(provider, faults.html(status)))
    assert (got, headers["Content-Type"]) == (status, "text/html")
    assert text.startswith("<html>")


def test_malformed_json_comes_as_a_success(provider: FakeProvider) -> None:
    status, headers, text = ask(failing(provider, faults.MALFORMED))
    assert (status, headers["Content-Type"]) == (200, "application/json")
    with pytest.raises(ValueError):
        json.loads(text)


def test_choices_can_be_empty(provider: FakeProvider) -> None:
    assert json.loads(ask(failing(provider, faults.NO_CHOICES))[2])["choices"] == []


def test_a_drip_arrives_whole(provider: FakeProvider) -> None:
    assert text_of(ask(failing(provider, faults.drip(0)))) == faults.DRIP.reply.text


def test_a_closed_connection_has_no_reply(provider: FakeProvider) -> None:
    with pytest.raises(aiohttp.ServerDisconnectedError):
        ask(failing(provider, faults.CLOSED))
    assert provider.counts() == {None: 1}


@pytest.mark.parametrize("fault", [faults.STALL, faults.drip(60)])
def test_a_stall_ends_when_the_client_goes(provider: FakeProvider, fault: Fault) -> None:
    async def give_up() -> None:
        call = asyncio.create_task(post(failing(provider, fault), asking()))
        await asyncio.to_thread(provider.wait_until, lambda log: log.in_flight == 1)
        call.cancel()
        await asyncio.wait([call])

    asyncio.run(give_up())
    provider.wait_until(lambda log: log.in_flight == 0)


def test_a_stall_ends_when_the_provider_stops() -> None:
    async def outlive() -> None:
        with FakeProvider(lambda request: faults.STALL) as provider:
            call = asyncio.create_task(post(provider, asking()))
            await asyncio.to_thread(provider.wait_until, lambda log: log.in_flight == 1)
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await call

    asyncio.run(outlive())


def test_streaming_and_bodies_without_messages_are_refused(provider: FakeProvider) -> None:
    bodies = [asking(stream=True), {"model": "m"}, ["not an object"]]
    assert [ask(provider, body)[0] for body in bodies] == [400, 400, 400]


def test_models_and_health_are_served(provider: FakeProvider) -> None:
    async def get() -> list[Any]:
        async with aiohttp.ClientSession() as session:
            urls = [f"{provider.base_url}/models", provider.base_url.replace("/v1", "/health")]
            return [await (await session.get(url)).json() for url in urls]

    models, health = asyncio.run(get())
    assert (models["data"][0]["id"], health["status"]) == ("fake-model", "ok")


def test_identical_bodies_get_identical_replies_and_count_as_attempts(provider: FakeProvider) -> None:
    first, second, other = ask(provider), ask(provider), ask(provider, asking("What should I bring?"))
    assert first[2] == second[2] != other[2]
    assert [(each.index, each.attempt, each.status) for each in provider.requests] == [
        (0, 0, 200),
        (1, 1, 200),
        (2, 0, 200),
    ]
    provider.clear()
    assert (provider.requests, provider.counts(), provider.peak_in_flight) == ([], {}, 0)


def test_the_peak_is_the_most_requests_at_once(provider: FakeProvider) -> None:
    async def crowd() -> None:
        calls = [asyncio.create_task(post(provider, asking(str(n)))) for n in range(7)]
        await asyncio.to_thread(provider.wait_until, lambda log: log.in_flight == 7)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)

    failing(provider, faults.STALL)
    asyncio.run(crowd())
    assert provider.peak_in_flight == 7


def test_a_scripts_mistake_is_raised_at_the_end() -> None:
    def mistaken(request: FakeRequest) -> str:
        raise KeyError(request.model)

    with pytest.raises(KeyError), FakeProvider(mistaken) as provider:
        assert ask(provider)[0] == 500


def test_a_plan_does_not_depend_on_order() -> None:
    plan = FaultPlan(7, {faults.RATE_LIMITED: 0.3, faults.SERVER_ERROR: 0.3}, last_attempt=1)
    calls = [(text, attempt) for text in map(str, range(40)) for attempt in range(3)]

    def drawn(order: list[tuple[str, int]]) -> dict[tuple[str, int], Fault | None]:
        return {
            (text, attempt): plan.draw(FakeRequest(asking(text), {}, index, attempt, 0.0))
            for index, (text, attempt) in enumerate(order)
        }

    assert (faults_drawn := drawn(calls)) == drawn(calls[::-1])
    assert set(faults_drawn.values()) == {None, faults.RATE_LIMITED, faults.SERVER_ERROR}
    assert all(fault is None for (_, attempt), fault in faults_drawn.items() if attempt == 2)
    with pytest.raises(ValueError):
        FaultPlan(7, {faults.STALL: 0.6, faults.CLOSED: 0.6})


def test_a_plan_strikes_through_the_server() -> None:
    with FakeProvider(plan=FaultPlan(1, {faults.OVERLOADED: 1.0}, last_attempt=0)) as provider:
        assert [ask(provider)[0] for _ in range(2)] == [529, 200]


def test_litellm_gets_the_text_the_usage_and_the_reasoning(provider: FakeProvider) -> None:
    import litellm

    provider.script = lambda request: FakeReply("Cut", "length", 11, 5, reasoning="Hm.", model="m-2")
    call = litellm.acompletion(model="openai/x", api_base=provider.base_url, api_key="k", messages=asking()["messages"])
    reply: Any = asyncio.run(call)
    choice = reply.choices[0]
    assert (choice.message.content, choice.finish_reason) == ("Cut", "length")
    assert (choice.message.reasoning_content, reply.model) == ("Hm.", "m-2")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, 5)
    assert (provider.requests[0].model, provider.requests[0].api_key) == ("x", "k")


def test_it_runs_as_a_process() -> None:
    command = [sys.executable, "-m", "tests.fakes.provider", "--script", "roles"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        client = FakeProvider(port=int(url.split(":")[2].removesuffix("/v1")))
        assert ask(client)[0] == 200
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
