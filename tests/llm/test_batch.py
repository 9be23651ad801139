"""Provider batches through litellm over HTTP: what they fill, what they leave, and what a kill leaves behind."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ccfw.errors import ProviderError, StoreError
from ccfw.llm import batch as batching
from ccfw.llm.batch import BatchState, prefill, unsupported
from ccfw.llm.client import Meter
from ccfw.llm.ledger import Ledger
from ccfw.llm.litellm_client import LitellmBatches, close
from ccfw.llm.types import ChatReply, ChatRequest
from ccfw.settings.dialogues import BatchConfig
from ccfw.settings.models import ModelConfig
from ccfw.stop import Stop
from tests.fakes import faults
from tests.fakes.batches import BatchPlan, BatchProvider
from tests.samples import chat_request, model_config, reply

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""litellm makes a client for every file or batch call and leaves it to the garbage collector."""

REQUESTS = [chat_request(f"question {number}") for number in range(8)]
CANARY = "sk-canary-8d1f0c37b2e64a95"


@pytest.fixture(autouse=True, scope="module")
def _all_collected() -> Iterator[None]:
    gc.collect()
    yield
    gc.collect()  # what a test left and the next froze is found here, where the mark above still holds


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    gc.freeze()  # what is there already need not be looked through again after every test
    yield
    gc.collect()
    gc.unfreeze()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


def terms(**changes: Any) -> BatchConfig:
    plain = {"poll_s": 0.01, "deadline_s": 20, "max_requests": 100, "discount": 0.5, "direct_rest": True}
    return BatchConfig.model_validate({"name": "provider"} | plain | changes)


class Filled:
    """What a call of ``prefill`` came to."""

    def __init__(
        self,
        provider: BatchProvider,
        ledger: Ledger,
        folder: Path,
        requests: Sequence[ChatRequest] = REQUESTS,
        model: ModelConfig | None = None,
        transport: Callable[[ModelConfig], LitellmBatches] | None = None,
        **changes: Any,
    ) -> None:
        self.meter = Meter()
        chosen = model or model_config(api_base=provider.base_url)
        made = transport(chosen) if transport else LitellmBatches(chosen, chosen.api_base)

        async def run() -> dict[str, str]:
            try:
                return await prefill(
                    requests,
                    model=chosen,
                    transport=made,
                    ledger=ledger,
                    count=self.meter.count,
                    folder=folder,
                    terms=terms(**changes),
                    stop=Stop(),
                )
            finally:
                await close()

        self.left = asyncio.run(run())


def held(ledger: Ledger, requests: Sequence[ChatRequest] = REQUESTS) -> list[bool]:
    return [ledger.get(request.key) is not None for request in requests]


def state(folder: Path) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads((folder / "batches.json").read_text("utf-8"))["batches"]
    return content


def direct(provider: BatchProvider, requests: Sequence[ChatRequest] = REQUESTS, **changes: Any) -> list[ChatReply]:
    async def run() -> list[ChatReply]:
        client = LitellmBatches(model_config(api_base=provider.base_url, **changes), provider.base_url)
        try:
            return [await client.complete(request) for request in requests]
        finally:
            await close()

    return asyncio.run(run())


# ---- what is sent


FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "everything": ({}, {"temperature": 0.5, "seed": 7, "schema_name": "judge", "schema": {"type": "object"}}),
    "thinking-model": (
        {"provider_model": "openai/gpt-5-mini-2025-08-07"},
        {"seed": 7, "schema_name": "judge", "schema": {"type": "object"}},
    ),
    "extra-body": ({"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}, {"temperature": 0.0}),
    "own-server": ({"provider_model": "hosted_vllm/meta-llama/Llama-3.1-8B-Instruct"}, {"temperature": 0.0}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_line_asks_what_the_direct_call_asks(form: str) -> None:
    model, request = FORMS[form]
    with BatchProvider() as provider:
        direct(provider, [chat_request(**request)], **model)
        made = LitellmBatches(model_config(api_base=provider.base_url, **model), provider.base_url)
        assert made.body(chat_request(**request)) == provider.requests[0].body


def test_a_line_is_named_by_its_requests_key(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider() as provider:
        Filled(provider, ledger, tmp_path)
        lines = provider.lines(provider.batches["batch_0"])
    assert [line["custom_id"] for line in lines] == [request.key for request in REQUESTS]
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}


# ---- what comes back


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_ledger_holds_what_direct_calls_would_at_half_the_price(
    ledger: Ledger, tmp_path: Path, shuffled: bool
) -> None:
    with BatchProvider(batch_plan=BatchPlan(polls=3, shuffled=shuffled)) as provider:
        filled = Filled(provider, ledger, tmp_path)
        assert provider.requests == []
        asked = direct(provider)
    found = [ledger.get(request.key) for request in REQUESTS]
    assert [replace(each, seconds=0.0, cost=each.cost / 2, cached=True) for each in asked if each.cost] == found
    assert filled.left == {}
    assert (filled.meter.calls, filled.meter.cached, filled.meter.unpriced) == (8, 0, 0)
    assert filled.meter.cost == pytest.approx(sum(each.cost or 0.0 for each in asked) / 2)
    assert provider.calls("GET /batches/id") == 4


def test_an_unknown_price_stays_unknown(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider() as provider:
        filled = Filled(provider, ledger, tmp_path, model=model_config(api_base=provider.base_url, price=None))
    assert {ledger.get(request.key).cost for request in REQUESTS} == {None}  # type: ignore[union-attr]
    assert (filled.meter.calls, filled.meter.unpriced, filled.meter.cost) == (8, 8, 0.0)


def test_what_the_ledger_holds_and_what_is_asked_twice_is_left_out(ledger: Ledger, tmp_path: Path) -> None:
    asyncio.run(ledger.put(REQUESTS[0].key, "m", reply("kept")))
    with BatchProvider() as provider:
        Filled(provider, ledger, tmp_path, [*REQUESTS, *REQUESTS])
        lines = provider.lines(provider.batches["batch_0"])
    assert [line["custom_id"] for line in lines] == [request.key for request in REQUESTS[1:]]
    assert ledger.get(REQUESTS[0].key) == reply("kept", cached=True)


def test_where_nothing_is_missing_nobody_is_called(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider() as provider:
        Filled(provider, ledger, tmp_path)
        before = list(provider.traffic.calls)
        again = Filled(provider, ledger, tmp_path)
        assert provider.traffic.calls == before
    assert (again.left, again.meter) == ({}, Meter())


@pytest.mark.parametrize(("most", "sizes"), [(3, [3, 3, 2]), (8, [8]), (1, [1] * 8)])
def test_more_requests_than_a_batch_takes_are_several_batches_at_once(
    ledger: Ledger, tmp_path: Path, most: int, sizes: list[int]
) -> None:
    with BatchProvider() as provider:
        filled = Filled(provider, ledger, tmp_path, max_requests=most)
        assert [len(provider.lines(each)) for each in provider.batches.values()] == sizes
        first_look = provider.traffic.calls.index("GET /batches/id")
        assert provider.traffic.calls[:first_look].count("POST /batches") == len(sizes)
    assert (filled.left, all(held(ledger))) == ({}, True)


def test_a_file_stays_below_the_providers_bound(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "_MOST_BYTES", 700)
    with BatchProvider() as provider:
        Filled(provider, ledger, tmp_path)
        sizes = [len(provider.files[each.file]) for each in provider.batches.values()]
    assert len(sizes) > 1
    assert max(sizes) <= 700


# ---- lines that are no answer


def test_errors_strays_doubles_and_silence_are_told_apart(
    ledger: Ledger, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stray = ('{"custom_id": "of somebody else", "response": null, "error": null}', "not JSON", '["a list"]', "[" * 9999)
    plan = BatchPlan(errored=frozenset({1}), doubled=frozenset({2, 3}), silent=frozenset({4}), stray=stray)
    with BatchProvider(batch_plan=plan) as provider, caplog.at_level(logging.WARNING):
        filled = Filled(provider, ledger, tmp_path)
    [batch] = state(tmp_path)
    assert held(ledger) == [number not in (1, 4) for number in range(8)]
    assert batch["counts"] == {
        "answered": 6,
        "unanswered": 2,
        "unknown": 1,
        "unreadable": 3,
        "duplicate": 2,
        "errored": 1,
    }
    assert filled.left == {
        REQUESTS[1].key: "the batch answered with an error: The server had an error.",
        REQUESTS[4].key: "the batch batch_0 ended as completed",
    }
    assert filled.meter.calls == 6
    assert "duplicate 2" in caplog.text


def test_of_two_answers_the_first_wins(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider(batch_plan=BatchPlan(doubled=frozenset({0}))) as provider:
        Filled(provider, ledger, tmp_path, REQUESTS[:1])
        [first] = direct(provider, REQUESTS[:1])
    found = ledger.get(REQUESTS[0].key)
    assert found is not None
    assert found.text == first.text != "the second time"


def test_a_reply_without_choices_is_no_reply(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider(lambda _: faults.NO_CHOICES) as provider:
        filled = Filled(provider, ledger, tmp_path)
    assert not any(held(ledger))
    assert set(filled.left) == {request.key for request in REQUESTS}
    assert filled.meter.calls == 0


def test_an_expired_batch_gives_what_it_has(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider(batch_plan=BatchPlan(ending="expired", answered=0.5)) as provider:
        filled = Filled(provider, ledger, tmp_path)
    assert held(ledger) == [True] * 4 + [False] * 4
    why = "the batch answered with an error: batch_expired: This request could not be executed in time."
    assert filled.left == {request.key: why for request in REQUESTS[4:]}
    assert (state(tmp_path)[0]["status"], filled.meter.calls) == ("expired", 4)


def test_a_batch_that_fails_validation_says_why(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider(batch_plan=BatchPlan(ending="failed")) as provider:
        filled = Filled(provider, ledger, tmp_path)
    assert set(filled.left.values()) == {"the batch batch_0 ended as failed: Enqueued token limit reached."}
    assert len(filled.left) == 8


def test_what_a_batch_left_goes_into_the_next_runs_batch(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider(batch_plan=BatchPlan(ending="expired", answered=0.5)) as provider:
        Filled(provider, ledger, tmp_path)
        provider.batch_plan = BatchPlan()
        filled = Filled(provider, ledger, tmp_path)
        assert len(provider.lines(provider.batches["batch_1"])) == 4
    assert (filled.left, all(held(ledger))) == ({}, True)


# ---- a deadline


def test_after_the_deadline_a_batch_is_cancelled_and_gives_what_it_has(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider(batch_plan=BatchPlan(polls=10**6, answered=0.25)) as provider:
        filled = Filled(provider, ledger, tmp_path, deadline_s=0.3)
        assert provider.calls("POST /batches/id/cancel") == 1
    assert held(ledger) == [True] * 2 + [False] * 6
    assert len(filled.left) == 6
    assert state(tmp_path)[0]["status"] == "cancelled"


def test_a_batch_that_cannot_be_cancelled_in_time_is_taken_in_by_the_next_run(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider(batch_plan=BatchPlan(polls=10**6, cancels=False)) as provider:
        filled = Filled(provider, ledger, tmp_path, deadline_s=0.2)
        assert set(filled.left.values()) == {"the batch was not over in time"}
        provider.batch_plan = BatchPlan()
        later = Filled(provider, ledger, tmp_path)
        assert provider.calls("POST /files") == 1
    assert (later.left, later.meter.calls, all(held(ledger))) == ({}, 8, True)


def test_where_the_rest_is_not_asked_directly_the_batch_goes_on_after_the_deadline(
    ledger: Ledger, tmp_path: Path
) -> None:
    with BatchProvider(batch_plan=BatchPlan(polls=10**6)) as provider:
        filled = Filled(provider, ledger, tmp_path, deadline_s=0.2, direct_rest=False)
        assert provider.calls("POST /batches/id/cancel") == 0
        assert len(filled.left) == 8
        provider.batch_plan = BatchPlan()
        later = Filled(provider, ledger, tmp_path, direct_rest=False)
        assert (provider.calls("POST /files"), provider.calls("POST /batches")) == (1, 1)
    assert later.left == {}


# ---- a kill, and calls that fail


class Killed(BaseException):
    """Stands for the end of the process."""


class Dying(LitellmBatches):
    """Dies at a given call, before or after it had its effect."""

    def __init__(self, model: ModelConfig, at: str) -> None:
        super().__init__(model, model.api_base)
        self.at = at

    async def _called(self, call: Any) -> Any:
        name = call.__name__
        if self.at == f"before {name}":
            call.close()
            raise Killed
        found = await super()._called(call)
        if self.at == f"after {name}":
            raise Killed
        return found

    async def retrieve(self, batch: str) -> BatchState:
        if self.at == "before aretrieve_batch":
            raise Killed
        return await super().retrieve(batch)


@pytest.mark.parametrize(
    ("at", "uploads"),
    [
        ("before acreate_file", 1),
        ("after acreate_file", 2),  # an upload that nobody has written down yet; it costs nothing
        ("before acreate_batch", 1),
        ("after acreate_batch", 1),
        ("before aretrieve_batch", 1),
        ("before afile_content", 1),
        ("after afile_content", 1),
    ],
)
def test_after_a_kill_the_same_batch_is_waited_for(ledger: Ledger, tmp_path: Path, at: str, uploads: int) -> None:
    with BatchProvider() as provider:
        with pytest.raises(Killed):
            Filled(provider, ledger, tmp_path, transport=lambda model: Dying(model, at))
        assert not any(held(ledger))
        filled = Filled(provider, ledger, tmp_path)
        assert (provider.calls("POST /files"), len(provider.batches)) == (uploads, 1)
    assert (filled.left, filled.meter.calls, all(held(ledger))) == ({}, 8, True)


def test_after_a_kill_new_requests_get_a_batch_of_their_own(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider() as provider:
        with pytest.raises(Killed):
            Filled(provider, ledger, tmp_path, REQUESTS[:5], transport=lambda m: Dying(m, "before aretrieve_batch"))
        Filled(provider, ledger, tmp_path)
        assert [len(provider.lines(each)) for each in provider.batches.values()] == [5, 3]
    assert all(held(ledger))


def test_a_batch_is_written_down_before_it_is_waited_for(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider() as provider, pytest.raises(Killed):
        Filled(provider, ledger, tmp_path, transport=lambda model: Dying(model, "before aretrieve_batch"))
    assert state(tmp_path) == [
        {
            "file": "file-0",
            "keys": [request.key for request in REQUESTS],
            "id": "batch_0",
            "status": "submitted",
            "counts": {},
        }
    ]


def test_a_creation_whose_answer_is_lost_is_not_repeated(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider() as provider:
        provider.faults["POST /batches"] = [faults.UNAVAILABLE]
        filled = Filled(provider, ledger, tmp_path)
        assert (provider.calls("POST /batches"), len(provider.batches)) == (1, 1)
    assert filled.left == {}


def test_calls_that_pass_are_tried_again(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider() as provider:
        provider.faults = {name: [faults.UNAVAILABLE] for name in ("POST /files", "GET /batches/id", "GET /files")}
        filled = Filled(provider, ledger, tmp_path)
        assert (len(provider.batches), provider.calls("GET /files")) == (1, 2)
    assert (filled.left, filled.meter.calls) == ({}, 8)


@pytest.mark.parametrize("name", ["POST /files", "POST /batches", "GET /batches/id"])
def test_a_refusal_ends_the_run_and_asks_nobody_directly(ledger: Ledger, tmp_path: Path, name: str) -> None:
    with BatchProvider() as provider:
        provider.faults[name] = [faults.UNAUTHORIZED]
        with pytest.raises(ProviderError, match="Incorrect API key"):
            Filled(provider, ledger, tmp_path)
        assert (provider.calls(name), provider.requests) == (1, [])


def test_a_batch_that_the_provider_no_longer_knows_leaves_its_requests_open(ledger: Ledger, tmp_path: Path) -> None:
    with BatchProvider() as provider:
        with pytest.raises(Killed):
            Filled(provider, ledger, tmp_path, transport=lambda model: Dying(model, "before aretrieve_batch"))
        provider.batches.clear()
        filled = Filled(provider, ledger, tmp_path)
    assert set(filled.left.values()) == {"the batch batch_0 ended as lost"}
    assert state(tmp_path)[0]["status"] == "lost"


def test_a_spoilt_list_of_batches_is_not_overwritten(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "batches.json").write_text('{"batches": [{"file"', "utf-8")
    with BatchProvider() as provider:
        with pytest.raises(StoreError, match=r"batches\.json: not a list of batches"):
            Filled(provider, ledger, tmp_path)
        assert provider.traffic.calls == []


# ---- secrets, and who has batches


def test_the_key_is_sent_and_kept_nowhere(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", CANARY)
    with BatchProvider(lambda _: faults.UNAUTHORIZED) as provider, caplog.at_level(logging.DEBUG, "ccfw"):
        model = model_config(api_base=provider.base_url, api_key_env="SCRIPTED_KEY")
        filled = Filled(provider, ledger, tmp_path, model=model)
        assert provider.traffic.keys == {CANARY}
        assert not any(CANARY.encode() in content for content in provider.files.values())
    assert len(filled.left) == 8
    exposed = [path for path in tmp_path.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert exposed == []
    assert CANARY not in caplog.text


def test_an_error_that_echoes_the_key_is_told_without_it(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", CANARY)
    line = {"custom_id": REQUESTS[0].key, "response": None, "error": {"code": "denied", "message": f"bad {CANARY}"}}
    with BatchProvider(batch_plan=BatchPlan(silent=frozenset({0}), stray=(json.dumps(line),))) as provider:
        filled = Filled(provider, ledger, tmp_path)
    assert filled.left[REQUESTS[0].key] == "the batch answered with an error: denied: bad <SCRIPTED_KEY>"


DEEP = "[" * 900 + "]" * 900


@pytest.mark.parametrize(
    ("line", "why"),
    [
        pytest.param(
            '"error": {"code": "x", "message": "\\u001b[2Jno\\nmore"}', "x: ⟨U+001B⟩[2Jno more", id="terminal-codes"
        ),
        pytest.param(f'"error": {{"message": {DEEP}}}', "[" * 266, id="an-error-nested"),
        pytest.param(
            f'"response": {{"status_code": 200, "body": {{"choices": {DEEP}}}}}',
            "Exception: Invalid response object",
            id="a-reply-nested",
        ),
    ],
)
def test_a_line_of_any_shape_ends_no_batch(ledger: Ledger, tmp_path: Path, line: str, why: str) -> None:
    stray = f'{{"custom_id": "{REQUESTS[0].key}", {line}}}'
    with BatchProvider(batch_plan=BatchPlan(silent=frozenset({0}), stray=(stray,))) as provider:
        filled = Filled(provider, ledger, tmp_path)
    assert filled.left == {REQUESTS[0].key: f"the batch answered with an error: {why}"}
    assert held(ledger) == [False] + [True] * 7


@pytest.mark.parametrize(
    ("name", "taken"),
    [("scripted", True), ("gpt5mini", True), ("openai_compatible", True), ("haiku45", False), ("smollm2", False)],
)
def test_a_model_without_openais_batch_calls_is_refused_by_name(name: str, taken: bool) -> None:
    reason = unsupported(model_config(name))
    assert (reason is None) is taken
    if reason:
        assert reason.startswith(model_config(name).provider_model)
