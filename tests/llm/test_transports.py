"""Both transports do the same with whatever a provider sends, and send the same."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import socket
from collections.abc import Iterator, Mapping
from email.utils import format_datetime
from typing import Any, NamedTuple

import pytest

from ccfw.errors import ProviderError
from ccfw.llm import openai_http, transports
from ccfw.llm.openai_http import OpenAIHttpClient
from ccfw.llm.replies import seconds_to_wait
from ccfw.llm.transports import open_transport
from ccfw.llm.types import ChatReply, ChatRequest, Token, Usage
from ccfw.records import Message
from tests.fakes import faults
from tests.fakes.faults import Fault
from tests.fakes.provider import FakeReply
from tests.llm.raw import Raw, RawProvider, completion
from tests.samples import chat_request, model_config

BOTH = ("litellm", "openai_http")
KEY = "sk-canary-7d1f0b2c9e"
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # litellm's, of replies of odd types


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One loop for all of them: litellm keeps its sessions by it."""
    with asyncio.Runner() as opened:
        yield opened
        opened.run(transports.close())


@pytest.fixture(scope="module")
def provider() -> Iterator[RawProvider]:
    with RawProvider() as opened:
        yield opened


class Line:
    """One transport to the provider."""

    def __init__(self, transport: str, provider: RawProvider, runner: asyncio.Runner) -> None:
        self.transport, self.provider, self.runner = transport, provider, runner

    def ask(self, answer: Any, request: ChatRequest | None = None, **model: Any) -> ChatReply:
        self.provider.clear()
        self.provider.answer = answer
        base = {"transport": self.transport, "api_base": self.provider.base_url}
        config = model_config("scripted", **(base | model))
        return self.runner.run(open_transport(config).complete(request or chat_request()))

    def fail(self, answer: Any, **model: Any) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            self.ask(answer, **model)
        return caught.value

    def sent(self, request: ChatRequest, **model: Any) -> Mapping[str, Any]:
        self.ask(completion(), request, **model)
        [seen] = self.provider.requests
        return seen.body


@pytest.fixture(params=BOTH)
def line(request: pytest.FixtureRequest, provider: RawProvider, runner: asyncio.Runner) -> Line:
    return Line(request.param, provider, runner)


@pytest.fixture
def http(provider: RawProvider, runner: asyncio.Runner) -> Line:
    return Line("openai_http", provider, runner)


def message(content: object, **more: object) -> Raw:
    return completion({"role": "assistant", "content": content} | more)


def choice(**fields: object) -> Raw:
    return completion(choices=[{"index": 0, "message": {"role": "assistant", "content": "hello"}} | fields])


def usage(**counts: object) -> Raw:
    return completion(usage={"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105} | counts)


# ---- replies


def test_a_plain_reply_comes_as_it_was_sent(line: Line) -> None:
    reply = line.ask(completion())
    assert reply.seconds > 0
    assert vars(reply) | {"seconds": 0} == {
        "text": "hello",
        "finish_reason": "stop",
        "has_reasoning": False,
        "served_model": "served",
        "usage": Usage(10, 5, None),
        "cost": pytest.approx((10 * 1.0 + 5 * 2.0) / 1e6),
        "seconds": 0,
        "cached": False,
        "tokens": None,
    }


def _place(token: object, logprob: object, *others: tuple[object, object]) -> dict[str, Any]:
    likeliest = [{"token": text, "logprob": log, "bytes": None} for text, log in others]
    return {"token": token, "logprob": logprob, "bytes": None, "top_logprobs": likeliest}


def test_log_probabilities_are_asked_for_and_read(line: Line) -> None:
    content = [_place("hel", -0.1, ("hel", -0.1), ("x", -3.5)), _place("lo", -0.25)]
    wanted = chat_request(top_p=0.9, top_logprobs=5)
    reply = line.ask(choice(finish_reason="stop", logprobs={"content": content}), wanted)
    assert reply.tokens == (Token("hel", {"hel": -0.1, "x": -3.5}), Token("lo", {"lo": -0.25}))
    [seen] = line.provider.requests
    assert (seen.body["logprobs"], seen.body["top_logprobs"], seen.body["top_p"]) == (True, 5, 0.9)
    plain = line.sent(chat_request())
    assert not {"logprobs", "top_logprobs", "top_p"} & set(plain)


@pytest.mark.parametrize(
    ("logs", "tokens"),
    [
        (None, None),
        ({}, None),
        ({"content": None}, None),
        ({"content": []}, None),
        ("none", None),
        ({"content": [{"logprob": -1.0}]}, None),
        ({"content": [_place("a", -1.0), "b"]}, None),
        ({"content": [_place("a", None, ("b", "-1"), (7, -1.0), ("c", -2))]}, (Token("a", {"c": -2.0}),)),
        ({"content": [_place("a", -1.0, ("a", -2.0), ("a", -0.5))]}, (Token("a", {"a": -0.5}),)),
    ],
    ids=repr,
)
def test_log_probabilities_of_odd_types_are_none_and_cost_no_reply(http: Line, logs: Any, tokens: Any) -> None:
    reply = http.ask(choice(finish_reason="stop", logprobs=logs), chat_request(top_logprobs=5))
    assert (reply.text, reply.tokens) == ("hello", tokens)


def test_a_reply_of_an_unnamed_model_is_the_asked_ones(line: Line) -> None:
    assert line.ask(completion(model=...)).served_model == "openai/scripted"


@pytest.mark.parametrize(
    ("answer", "counted", "cost"),
    [
        pytest.param(usage(), Usage(100, 5, None), 110, id="no-cache"),
        pytest.param(usage(prompt_tokens_details={"cached_tokens": 64}), Usage(100, 5, 64), 36 + 6.4 + 10, id="openai"),
        pytest.param(
            usage(prompt_cache_hit_tokens=64, prompt_cache_miss_tokens=36),
            Usage(100, 5, 64),
            36 + 6.4 + 10,
            id="deepseek",
        ),
        pytest.param(usage(prompt_tokens_details={"cached_tokens": 0}), Usage(100, 5, 0), 110, id="nothing-cached"),
        pytest.param(usage(prompt_tokens_details=None), Usage(100, 5, None), 110, id="details-null"),
        pytest.param(completion(usage=...), Usage(None, None, None), None, id="not-counted"),
        pytest.param(completion(usage=None), Usage(None, None, None), None, id="null"),
        pytest.param(completion(usage={"prompt_tokens": 7}), Usage(7, None, None), None, id="half-counted"),
        pytest.param(usage(prompt_tokens=0, completion_tokens=0), Usage(None, None, None), None, id="zeros"),
        pytest.param(usage(completion_tokens=0), Usage(100, None, None), None, id="a-text-of-no-tokens"),
        pytest.param(
            usage(prompt_tokens_details={"cached_tokens": 10**6}),
            Usage(100, 5, 100),
            10 + 10,
            id="more-cached-than-sent",
        ),
        pytest.param(usage(prompt_tokens=10**9 + 1), Usage(None, 5, None), None, id="more-than-there-are"),
    ],
)
def test_tokens_are_those_that_the_provider_counted_and_unknown_ones_are_not_free(
    line: Line, answer: Raw, counted: Usage, cost: float | None
) -> None:
    reply = line.ask(answer, price={"input": 1.0, "output": 2.0, "cached_input": 0.1})
    assert reply.usage == counted
    assert reply.cost == (None if cost is None else pytest.approx(cost / 1e6))


@pytest.mark.parametrize("odd", ["many", 7, [1], {"prompt_tokens": "7", "completion_tokens": -1}], ids=repr)
def test_a_usage_of_an_odd_type_is_an_unknown_one(http: Line, odd: object) -> None:
    """Litellm takes a text for a number, and refuses the whole reply for the others."""
    reply = http.ask(completion(usage=odd))
    assert (reply.text, reply.usage, reply.cost) == ("hello", Usage(None, None, None), None)


HUGE = 10**400


@pytest.mark.parametrize(
    "price", [{"input": 1.0, "output": 2.0, "cached_input": 0.1}, None], ids=["priced", "unpriced"]
)
@pytest.mark.parametrize("field", ["prompt_tokens", "completion_tokens"])
def test_a_count_of_four_hundred_digits_is_none(line: Line, field: str, price: object) -> None:
    reply = line.ask(usage(**{field: HUGE}), price=price)
    assert (reply.text, getattr(reply.usage, field), reply.cost) == ("hello", None, None)


def test_no_tokens_of_no_text_are_known_ones(line: Line) -> None:
    body = json.loads(message("").body) | {"usage": {"prompt_tokens": 100, "completion_tokens": 0}}
    assert line.ask(Raw(json.dumps(body).encode())).usage == Usage(100, 0, None)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_is_told_and_not_kept(line: Line, field: str) -> None:
    reply = line.ask(message("hello", **{field: "a secret thought"}))
    assert (reply.text, reply.has_reasoning) == ("hello", True)
    assert "secret" not in repr(reply)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param(message(None), "", id="null"),
        pytest.param(completion({"role": "assistant"}), "", id="left-out"),
        pytest.param(message(""), "", id="empty"),
        pytest.param(message(None, refusal="I would rather not."), "I would rather not.", id="refusal"),
        pytest.param(message("yes", refusal="no"), "yes", id="text-before-refusal"),
        pytest.param(message("தமிழ் 😀\u2028"), "தமிழ் 😀\u2028", id="any-script"),
        pytest.param(message("a\ud83d"), "a\ufffd", id="half-a-character"),
        pytest.param(message("hello", tool_calls=[], extra={"a": 1}), "hello", id="fields-of-its-own"),
        pytest.param(Raw(completion(more=0.5).body.replace(b"0.5", b"NaN")), "hello", id="nan-somewhere"),
    ],
)
def test_a_replys_text_is_read(line: Line, answer: Raw, text: str) -> None:
    reply = line.ask(answer)
    assert (reply.text, reply.usage) == (text, Usage(10, 5, None))


ODD = [
    pytest.param(message([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", id="parts"),
    pytest.param(message(["a", {"text": "b"}, None, {"type": "image"}]), "ab", id="parts-of-all-kinds"),
    pytest.param(
        message([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "b"}]),
        "b",
        id="a-thinking-part",
    ),
    pytest.param(message(5), "5", id="number"),
    pytest.param(message(True), "true", id="truth"),
    pytest.param(message({"score": 4}), '{"score": 4}', id="object"),
    pytest.param(message({"text": "\ud83d"}), '{"text": "\ufffd"}', id="half-a-character-inside"),
    pytest.param(Raw(message("a__b").body.replace(b"__", b"\xff\xfe")), "a\ufffd\ufffdb", id="bytes-of-no-character"),
    pytest.param(Raw(b"\xef\xbb\xbf" + completion().body), "hello", id="byte-order-mark"),
]


@pytest.mark.parametrize(("answer", "text"), ODD)
def test_content_of_an_odd_type_is_text_too(http: Line, answer: Raw, text: str) -> None:
    assert http.ask(answer).text == text


@pytest.mark.parametrize("answer", [param.values[0] for param in ODD[:-1]], ids=[str(param.id) for param in ODD[:-1]])
def test_litellm_refuses_content_of_an_odd_type_and_the_call_counts_as_lost(
    provider: RawProvider, runner: asyncio.Runner, answer: Raw
) -> None:
    error = Line("litellm", provider, runner).fail(answer)
    assert (error.transient, error.maybe_paid) == (True, True)


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
def test_why_a_reply_ended_is_told(line: Line, reason: str) -> None:
    assert line.ask(choice(finish_reason=reason)).finish_reason == reason


@pytest.mark.parametrize(("reason", "told"), [(None, "unknown"), ("eos", "eos"), (3, "3")])
def test_a_reason_of_the_providers_own_is_told_as_it_is(http: Line, reason: object, told: str) -> None:
    """Litellm calls them all ``stop``."""
    assert http.ask(choice(finish_reason=reason)).finish_reason == told


# ---- requests


SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("structured", "wanted"),
    [
        pytest.param(
            "json_schema",
            {"type": "json_schema", "json_schema": {"name": "judge", "schema": SCHEMA, "strict": True}},
            id="schema",
        ),
        pytest.param("json_object", {"type": "json_object"}, id="object"),
        pytest.param("none", None, id="none"),
    ],
)
def test_everything_that_was_asked_is_sent_and_nothing_else(line: Line, structured: str, wanted: object) -> None:
    request = chat_request(
        messages=(Message(role="system", content="Be kind."), Message(role="user", content="நன்றி 😀")),
        temperature=0.25,
        seed=7,
        replicate=2,
        schema_name="judge",
        schema=SCHEMA,
    )
    accepts = {"temperature": True, "seed": True, "structured": structured}
    body = line.sent(request, accepts=accepts, max_output_tokens=77, extra_body={"top_p": 0.5, "cache_prompt": True})
    expected = {
        "model": "scripted",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "நன்றி 😀"}],
        "max_tokens": 77,
        "temperature": 0.25,
        "seed": 9,
        "top_p": 0.5,
        "cache_prompt": True,
    }
    assert body == expected | ({"response_format": wanted} if wanted else {})


def test_what_was_not_asked_is_not_sent(line: Line) -> None:
    assert sorted(line.sent(chat_request())) == ["max_tokens", "messages", "model"]


@pytest.mark.parametrize(("transport", "text"), [("openai_http", "a\ud83d"), ("litellm", "a\ufffd")])
def test_half_a_character_does_not_stop_a_request(
    provider: RawProvider, runner: asyncio.Runner, transport: str, text: str
) -> None:
    """Litellm's SDKs cannot write one; it is sent as the mark that stands for it."""
    body = Line(transport, provider, runner).sent(chat_request("a\ud83d"))
    assert body["messages"] == [{"role": "user", "content": text}]


@pytest.mark.parametrize(("base", "limit"), [("http://h/v1/", "max_tokens"), (None, "max_completion_tokens")])
def test_openai_itself_is_told_the_bound_by_its_newer_name(base: str | None, limit: str) -> None:
    client = OpenAIHttpClient(model_config(max_output_tokens=77), base)
    body = json.loads(client._body(chat_request()))
    assert {key: value for key, value in body.items() if key.startswith("max")} == {limit: 77}
    assert client.url == f"{base.rstrip('/') if base else 'https://api.openai.com/v1'}/chat/completions"


def test_the_key_is_sent_as_a_bearer_token(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    line.ask(completion(), api_key_env="SOME_API_KEY")
    assert [seen.headers["authorization"] for seen in line.provider.requests] == [f"Bearer {KEY}"]


def test_a_server_that_needs_no_key_is_offered_no_key_meant_for_another(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    line.ask(completion())
    assert KEY not in repr(line.provider.requests[0].headers)


# ---- errors


def refusal(status: int, code: object = None, kind: str = "error", **headers: str) -> Raw:
    content = {"error": {"message": f"said {status}", "type": kind, "code": code}}
    return Raw(json.dumps(content).encode(), status, headers)


class Meant(NamedTuple):
    """What an error means for the next call."""

    transient: bool = False
    overload: bool = False
    maybe_paid: bool = False
    hopeless: bool = False
    retry_after: float | None = None


def meant(error: ProviderError) -> Meant:
    return Meant(error.transient, error.overload, error.maybe_paid, error.hopeless, error.retry_after)


FINAL, PASSING, HOPELESS = Meant(), Meant(transient=True), Meant(hopeless=True)
BUSY, LOST = Meant(transient=True, overload=True), Meant(transient=True, maybe_paid=True)
DEEP = b"[" * 900 + b"]" * 900
ERRORS: list[tuple[str, Raw | Fault, Meant]] = [
    *((f"status-{status}", refusal(status), FINAL) for status in (400, 403, 404, 405, 413, 422)),
    *((f"status-{status}", refusal(status), HOPELESS) for status in (401, 402)),
    *((f"status-{status}", refusal(status), PASSING) for status in (408, 409, 425, 500, 501, 502, 504)),
    *((f"status-{status}", refusal(status), BUSY) for status in (429, 503, 529)),
    ("quota-by-code", refusal(429, "insufficient_quota"), HOPELESS),
    ("quota-by-type", refusal(429, kind="insufficient_quota"), HOPELESS),
    ("billing-limit", refusal(400, "billing_hard_limit_reached"), HOPELESS),
    ("wait-seconds", refusal(429, **{"Retry-After": "7"}), BUSY._replace(retry_after=7.0)),
    ("wait-on-500", refusal(500, **{"Retry-After": "0.5"}), PASSING._replace(retry_after=0.5)),
    ("wait-past", refusal(429, **{"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), BUSY._replace(retry_after=0.0)),
    ("wait-negative", refusal(429, **{"Retry-After": "-3"}), BUSY._replace(retry_after=0.0)),
    ("wait-unreadable", refusal(429, **{"Retry-After": "soon"}), BUSY),
    ("no-words", Raw(b"", 500), PASSING),
    ("plain-words", Raw(b"oops", 500), PASSING),
    ("odd-json", Raw(b'{"error": null}', 500), PASSING),
    ("gateway-page", faults.HTML, PASSING),
    ("context-exceeded", faults.CONTEXT_EXCEEDED, FINAL),
    ("anthropics-overload", faults.OVERLOADED, BUSY),
    ("page-under-200", faults.html(200), LOST),
    ("malformed", faults.MALFORMED, LOST),
    ("closed", faults.CLOSED, LOST),
    ("no-choices", faults.NO_CHOICES, LOST),
    ("choices-null", completion(choices=None), LOST),
    ("choice-of-no-type", completion(choices=["x"]), LOST),
    ("no-message", completion(choices=[{"index": 0}]), LOST),
    ("a-list", Raw(b"[]"), LOST),
    ("nothing", Raw(b""), LOST),
    ("nested-without-end", Raw(b"[" * 200_000), LOST),
    ("content-nested", Raw(message("@").body.replace(b'"@"', DEEP)), LOST),
    ("content-of-objects", Raw(message("@").body.replace(b'"@"', b'{"a":' * 990 + b"1" + b"}" * 990)), LOST),
    ("choices-nested", Raw(b'{"choices": ' + DEEP + b"}"), LOST),
    ("gateways-502", Raw(b'{"error": {"code": 502, "message": "upstream"}}'), PASSING),
    ("gateways-429", Raw(b'{"error": {"code": 429, "message": "upstream"}}'), BUSY),
    ("gateways-400", Raw(b'{"error": {"code": 400, "message": "upstream"}}'), FINAL),
    ("gateways-402", Raw(b'{"error": {"code": 402, "message": "upstream"}}'), HOPELESS),
]


@pytest.mark.parametrize(("answer", "means"), [pytest.param(*rest, id=name) for name, *rest in ERRORS])
def test_an_error_means_the_same_through_either(line: Line, answer: Raw | Fault, means: Meant) -> None:
    assert meant(line.fail(answer)) == means
    assert len(line.provider.requests) == 1  # one sending, one retry layer


@pytest.mark.parametrize(
    ("answer", "means"),
    [
        pytest.param(Raw(b'{"error": "boom"}'), LOST, id="in-words-alone"),  # litellm: a 400, which is final
        pytest.param(Raw(b'{"error": {"code": "429", "message": "x"}}'), BUSY, id="code-in-words"),  # litellm: final
        pytest.param(Raw(b'{"error": {"code": 500, "message": "x"}}'), PASSING, id="code-500"),  # litellm: maybe paid
        pytest.param(Raw(b'{"error": {"code": "insufficient_quota", "message": "x"}}'), HOPELESS, id="quota"),
    ],
)
def test_an_error_under_200_means_what_its_code_says(http: Line, answer: Raw, means: Meant) -> None:
    assert meant(http.fail(answer)) == means


@pytest.mark.parametrize(
    ("answer", "means", "words"),
    [
        pytest.param(Raw(b'{"error": {"message": ' + DEEP + b"}}", 400), FINAL, "HTTP 400", id="refused-nested"),
        pytest.param(
            Raw(b'{"error": {"code": ' + DEEP + b', "message": "x"}}', 401), HOPELESS, "HTTP 401: x", id="code"
        ),
        pytest.param(
            Raw(b'{"error": {"message": ' + DEEP + b"}}"), LOST, "the provider sent no choices", id="message-nested"
        ),
        pytest.param(
            Raw(b'{"error": {"code": 429, "message": "a\\ud83d"}}'), BUSY, "HTTP 429: a\ufffd", id="half-a-character"
        ),
        pytest.param(
            Raw(b'{"error": {"code": 500, "message": "x", "limit": %d}}' % HUGE), PASSING, "HTTP 500: x", id="huge"
        ),
        pytest.param(
            Raw(b'{"error": {"code": %d, "message": "x"}}' % HUGE),
            LOST,
            "the provider sent no choices: x",
            id="huge-code",
        ),
    ],
)
def test_an_error_of_any_shape_is_an_error(http: Line, answer: Raw, means: Meant, words: str) -> None:
    error = http.fail(answer)
    assert (meant(error), str(error)) == (means, words)


def test_a_reply_that_cannot_be_read_is_told_so(http: Line) -> None:
    error = http.fail(Raw(message("@").body.replace(b'"@"', DEEP)))
    assert str(error) == "the provider's reply cannot be read (RecursionError)"


def test_no_traceback_of_litellms_is_told(provider: RawProvider, runner: asyncio.Runner) -> None:
    error = Line("litellm", provider, runner).fail(message(5))
    assert "Traceback" not in str(error)
    assert str(error).endswith("OpenAIException - Invalid response object")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(refusal(404), "HTTP 404: said 404", id="message"),
        pytest.param(Raw(b"", 500), "HTTP 500", id="nothing"),
        pytest.param(Raw(b'{"error": "no such model"}', 404), "HTTP 404: no such model", id="text"),
        pytest.param(Raw(b'{"detail": [1]}', 422), 'HTTP 422: {"detail": [1]}', id="no-message"),
        pytest.param(Raw(b"\x1b[31mred\r\n\tpaint", 500), "HTTP 500: ⟨U+001B⟩[31mred paint", id="terminal-codes"),
        pytest.param(Raw(b"x" * 5000, 500), f"HTTP 500: {'x' * 400}", id="long"),
        pytest.param(Raw(b"no"), "the provider's reply is no JSON", id="no-json"),
        pytest.param(completion(choices=[]), "the provider sent no choices", id="no-choices"),
        pytest.param(Raw(b'{"error": "boom"}'), "the provider sent no choices: boom", id="error-in-words"),
        pytest.param(faults.CLOSED, "ServerDisconnectedError: Server disconnected", id="closed"),
    ],
)
def test_an_error_is_told_in_one_bounded_line(http: Line, answer: Raw | Fault, words: str) -> None:
    assert str(http.fail(answer)) == words


def test_a_key_that_a_refusal_echoes_is_not_told(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    error = line.fail(faults.UNAUTHORIZED, api_key_env="SOME_API_KEY")
    assert str(error).endswith("Incorrect API key provided: <SOME_API_KEY>.")
    assert KEY not in repr(error)


def test_a_key_that_no_header_can_hold_is_not_told_either(http: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", f"{KEY}\nX-Other: 1")
    error = http.fail(completion(), api_key_env="SOME_API_KEY")
    assert KEY not in str(error)
    assert error.transient is False
    assert http.provider.requests == []


def test_a_server_that_is_not_there_was_sent_nothing(line: Line) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        error = line.fail(completion(), api_base=f"http://127.0.0.1:{one.getsockname()[1]}/v1")
    assert meant(error) == PASSING


def test_a_date_to_wait_for_is_read_as_the_seconds_until_then() -> None:
    later = dt.datetime.now(dt.UTC) + dt.timedelta(hours=2)
    wait = seconds_to_wait(format_datetime(later, usegmt=True))
    assert wait is not None
    assert 7100 < wait <= 7200


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_with_the_key(http: Line, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    with RawProvider() as elsewhere:
        moved = Raw(b"", status, {"Location": f"{elsewhere.base_url}/chat/completions"})
        error = http.fail(moved, api_key_env="SOME_API_KEY")
        assert elsewhere.requests == []
    assert (str(error), meant(error)) == (f"HTTP {status}", FINAL)


def test_a_reply_that_is_too_long_is_cut(http: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_http, "_MOST_BYTES", 10_000)
    assert http.ask(FakeReply("x" * 5_000)).text == "x" * 5_000
    error = http.fail(FakeReply("x" * 20_000))
    assert str(error) == "ValueError: the reply is longer than 10000 bytes"
    assert meant(error) == Meant(maybe_paid=True)


@pytest.mark.parametrize("proxy", ["http://me:pa/ssword@proxy:1", "http://me:ssword1@[proxy:1"])
def test_a_proxy_whose_url_cannot_be_read_is_told_without_its_login(
    http: Line, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    error = http.fail(completion(), api_base="http://elsewhere.invalid/v1")
    assert str(error) == f"InvalidURL: http://<login>@{proxy.rpartition('@')[2]}"


@pytest.mark.parametrize("spared", [False, True], ids=["proxied", "spared"])
def test_a_proxy_of_the_environment_is_asked_unless_the_server_is_spared(
    http: Line, monkeypatch: pytest.MonkeyPatch, spared: bool
) -> None:
    monkeypatch.setenv("http_proxy", http.provider.base_url.removesuffix("/v1"))
    monkeypatch.setenv("no_proxy", "elsewhere.invalid" if spared else "localhost")
    if spared:
        assert meant(http.fail(completion(), api_base="http://elsewhere.invalid/v1")) == PASSING
    else:
        assert http.ask(completion(), api_base="http://elsewhere.invalid/v1").text == "hello"
    assert len(http.provider.requests) == (0 if spared else 1)


def test_no_proxy_is_asked_for_a_server_on_this_machine(http: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://elsewhere.invalid:1")
    assert http.ask(completion()).text == "hello"


# ---- providers that litellm reaches in other ways


@pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class")  # what litellm imports for a provider's first call
@pytest.mark.parametrize("name", ["novita", "mistral", "xai", "hosted_vllm", "deepinfra", "dashscope"])
@pytest.mark.parametrize(
    ("answer", "means"),
    [
        pytest.param(refusal(429, **{"Retry-After": "7"}), BUSY._replace(retry_after=7.0), id="busy"),
        pytest.param(refusal(429, "insufficient_quota"), HOPELESS, id="quota"),
        pytest.param(refusal(500), PASSING, id="500"),
        pytest.param(faults.MALFORMED, LOST, id="malformed"),
        pytest.param(faults.CLOSED, LOST, id="closed"),
    ],
)
def test_litellm_sends_once_and_errors_mean_the_same_whoever_is_asked(
    provider: RawProvider, runner: asyncio.Runner, name: str, answer: Raw | Fault, means: Meant
) -> None:
    line = Line("litellm", provider, runner)
    assert meant(line.fail(answer, provider_model=f"{name}/scripted")) == means
    assert len(provider.requests) == 1
