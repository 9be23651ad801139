"""The ways in which a provider fails, and a seeded plan that draws them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from tests.fakes.wire import FakeReply, FakeRequest

SPOILED = FakeReply("The reply that the fault spoils.")


class Kind(StrEnum):
    """What goes wrong; ``STATUS`` is an error that the provider words itself, in JSON."""

    STATUS = "status"
    STALL = "stall"
    DRIP = "drip"
    MALFORMED = "malformed"
    CLOSED = "closed"
    HTML = "html"
    NO_CHOICES = "no_choices"


@dataclass(frozen=True)
class Fault:
    """One failure, given by a script in place of a reply."""

    kind: Kind
    status: int = 200
    retry_after: float | None = None
    """Seconds in the ``Retry-After`` header; no header if ``None``."""
    pause: float = 0.0
    """Seconds between the bytes of a drip."""
    reply: FakeReply = SPOILED
    """What a drip sends slowly, and what malformed JSON and empty choices are made from."""


def rate_limited(seconds: float | None) -> Fault:
    """Return a 429 that says to come back after ``seconds``, or that does not say when."""
    return Fault(Kind.STATUS, 429, retry_after=seconds)


def drip(pause: float) -> Fault:
    """Return a reply sent byte by byte with ``pause`` seconds between two bytes."""
    return Fault(Kind.DRIP, pause=pause)


def html(status: int) -> Fault:
    """Return a gateway's HTML page under ``status`` (200 happens too)."""
    return Fault(Kind.HTML, status)


CONTEXT_EXCEEDED = Fault(Kind.STATUS, 400)
UNAUTHORIZED = Fault(Kind.STATUS, 401)
UNKNOWN_MODEL = Fault(Kind.STATUS, 404)
RATE_LIMITED = rate_limited(None)
SERVER_ERROR = Fault(Kind.STATUS, 500)
UNAVAILABLE = Fault(Kind.STATUS, 503)
OVERLOADED = Fault(Kind.STATUS, 529)
STALL = Fault(Kind.STALL)
DRIP = drip(0.01)
MALFORMED = Fault(Kind.MALFORMED)
CLOSED = Fault(Kind.CLOSED)
HTML = html(502)
NO_CHOICES = Fault(Kind.NO_CHOICES)

Script = Callable[[FakeRequest], FakeReply | Fault | str]


class Payload(NamedTuple):
    """A complete HTTP answer."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}


def as_json(value: Any) -> bytes:
    """Encode as providers do: UTF-8, unescaped."""
    return json.dumps(value, ensure_ascii=False).encode()


def error_payload(status: int, message: str, kind: str, code: str | None, param: str | None = None) -> Payload:
    """Return an error in OpenAI's shape."""
    error = {"message": message, "type": kind, "param": param, "code": code}
    return Payload(status, as_json({"error": error}))


def status_payload(status: int, request: FakeRequest) -> Payload:
    """Return the JSON error of a ``STATUS`` fault, worded as the large providers word it."""
    invalid = "invalid_request_error"
    long = "This model's maximum context length is 8192 tokens. Please reduce the length of the messages."
    match status:
        case 400:
            return error_payload(400, long, invalid, "context_length_exceeded", "messages")
        case 401:
            wrong = f"Incorrect API key provided: {request.api_key}."
            return error_payload(401, wrong, invalid, "invalid_api_key")
        case 404:
            missing = f"The model `{request.model}` does not exist or you do not have access to it."
            return error_payload(404, missing, invalid, "model_not_found")
        case 429:
            busy = f"Rate limit reached for {request.model}."
            return error_payload(429, busy, "requests", "rate_limit_exceeded")
        case 529:
            return Payload(529, as_json({"type": "error", "error": _OVERLOADED_ERROR}))
        case _:
            return error_payload(status, "The server had an error.", "server_error", None)


_OVERLOADED_ERROR = {"type": "overloaded_error", "message": "Overloaded"}
_PAGE = "<html>\n<head><title>{0} Gateway</title></head>\n<body><h1>{0} Gateway</h1></body>\n</html>\n"


def fault_payload(fault: Fault, request: FakeRequest) -> Payload:
    """Return what a fault sends, for the kinds that send a whole HTTP answer."""
    completion = fault.reply.completion(request)
    match fault.kind:
        case Kind.STATUS:
            payload = status_payload(fault.status, request)
        case Kind.HTML:
            payload = Payload(fault.status, _PAGE.format(fault.status).encode(), "text/html")
        case Kind.MALFORMED:
            payload = Payload(200, as_json(completion)[:-20])
        case Kind.NO_CHOICES:
            payload = Payload(200, as_json({**completion, "choices": []}))
        case _:
            payload = Payload(200, as_json(completion))
    if fault.retry_after is None:
        return payload
    return payload._replace(headers={"Retry-After": f"{fault.retry_after:g}"})


def overlaid(script: Script, draw: Callable[[FakeRequest], Fault | None]) -> Script:
    """Return ``script`` with the drawn faults; a fault with a body spoils the script's own reply."""

    def play(request: FakeRequest) -> FakeReply | Fault | str:
        answer, fault = script(request), draw(request)
        if fault is None or isinstance(answer, Fault):
            return answer
        return replace(fault, reply=FakeReply(answer) if isinstance(answer, str) else answer)

    return play


@dataclass(frozen=True)
class FaultPlan:
    """Faults at given rates, fixed by the seed, the body and its attempt: never by arrival order."""

    seed: int
    rates: Mapping[Fault, float] = field(hash=False)
    """The chance of each fault; what is left of 1 is no fault."""
    last_attempt: int | None = None
    """Attempts after this one always succeed, so that a bounded retry can finish."""

    def __post_init__(self) -> None:
        if min(self.rates.values(), default=0) < 0 or sum(self.rates.values()) > 1 + 1e-9:
            raise ValueError("fault rates must be chances that sum to at most 1")

    def draw(self, request: FakeRequest) -> Fault | None:
        """Return the fault that strikes this body at this attempt, if any."""
        if self.last_attempt is not None and request.attempt > self.last_attempt:
            return None
        key = f"{self.seed}:{request.digest}:{request.attempt}".encode()
        point = int.from_bytes(hashlib.sha256(key).digest()[:8]) / 2**64
        for fault, rate in self.rates.items():
            if point < rate:
                return fault
            point -= rate
        return None

    def over(self, script: Script) -> Script:
        """Return ``script`` with this plan's faults."""
        return overlaid(script, self.draw)
