"""A provider that sends whatever bytes a test wants, in HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.faults import Fault, Payload
from tests.fakes.provider import FakeProvider, FakeReply, FakeRequest


@dataclass(frozen=True)
class Raw:
    """An answer as it goes over the wire."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def completion(message: Mapping[str, Any] | None = None, **changes: Any) -> Raw:
    """Return a chat completion with a message and other fields of its own; a field that is ``...`` is left out."""
    choice = {"index": 0, "message": message or {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "served",
        "choices": [choice],
        "usage": usage,
    } | changes
    return Raw(json.dumps({key: value for key, value in body.items() if value is not ...}).encode())


class RawProvider(FakeProvider):
    """A fake provider with one answer for everybody, which a test may change."""

    def __init__(self, answer: Raw | Fault | FakeReply | None = None) -> None:
        super().__init__()
        self.answer: Any = answer or completion()

    def _ask(self, request: FakeRequest) -> FakeReply | Fault:
        answer: FakeReply | Fault = self.answer
        return answer

    async def _respond(self, http: web.Request, request: FakeRequest, answer: Any) -> web.StreamResponse:
        if not isinstance(answer, Raw):
            return await super()._respond(http, request, answer)
        return self._send(request, Payload(answer.status, answer.body, headers=answer.headers))
