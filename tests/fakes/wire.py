"""What crosses the wire: one chat completion request, one reply, and their OpenAI shape."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, Literal

CREATED = 1_700_000_000
"""The ``created`` of every reply: fixed, so that one body always gets one reply."""


def count_tokens(text: str) -> int:
    """Count tokens by the fake's rule: one per four characters, rounded up."""
    return -(-len(text) // 4)


def content_text(message: Mapping[str, Any]) -> str:
    """Return a message's text, whether its content is a string, a list of parts or absent."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def body_digest(body: Mapping[str, Any]) -> str:
    """Return the identity of a body: a hash that the order of its keys does not change."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


@dataclass(eq=False)
class FakeRequest:
    """One request as the provider received it."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    """Names are in lower case."""
    index: int
    """How many requests came before this one."""
    attempt: int
    """How many requests with an identical body came before this one."""
    arrived: float
    """``time.monotonic()`` when the body had been read."""
    status: int | None = None
    """The HTTP status sent; ``None`` while in flight and for ever if none was sent."""

    @cached_property
    def digest(self) -> str:
        """The identity of the body."""
        return body_digest(self.body)

    @property
    def model(self) -> str:
        """The model asked for."""
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages as sent."""
        messages: list[dict[str, Any]] = self.body.get("messages", [])
        return messages

    @property
    def schema_name(self) -> str | None:
        """The name of the response schema, if one was sent."""
        name: str | None = self._json_schema.get("name")
        return name

    @property
    def schema(self) -> dict[str, Any] | None:
        """The response schema itself, if one was sent."""
        schema: dict[str, Any] | None = self._json_schema.get("schema")
        return schema

    @property
    def api_key(self) -> str:
        """The bearer token sent."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    def said(self, role: str) -> list[str]:
        """Return the texts of the messages of one role, oldest first."""
        return [content_text(message) for message in self.messages if message.get("role") == role]

    def rng(self) -> Random:
        """Return a fresh generator seeded by the body alone."""
        return Random(self.digest)

    @property
    def _json_schema(self) -> dict[str, Any]:
        response_format = self.body.get("response_format") or {}
        return response_format.get("json_schema") or {}


@dataclass(frozen=True)
class FakeReply:
    """A successful answer; token counts left at ``None`` follow :func:`count_tokens`."""

    text: str
    finish_reason: Literal["stop", "length", "content_filter"] = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning: str | None = None
    refusal: str | None = None
    """With a refusal and an empty text, ``content`` is null."""
    model: str | None = None
    """The model name served; the one asked for if ``None``."""
    tokens: Sequence[tuple[str, Mapping[str, float]]] | None = None
    """Of the text, each with log-probabilities of what could stand there; sent when they are asked for."""

    def completion(self, request: FakeRequest) -> dict[str, Any]:
        """Return the ``chat.completion`` object that answers ``request``."""
        choice = {"index": 0, "message": self._message(), "finish_reason": self.finish_reason}
        return {
            "id": f"chatcmpl-{request.digest[:24]}",
            "object": "chat.completion",
            "created": CREATED,
            "model": self.model or request.model,
            "choices": [{**choice, "logprobs": self._logprobs() if request.body.get("logprobs") else None}],
            "usage": self._usage(request),
        }

    def _logprobs(self) -> dict[str, Any] | None:
        if self.tokens is None:
            return None
        places = [
            {
                "token": text,
                "logprob": likeliest.get(text),
                "bytes": list(text.encode()),
                "top_logprobs": [{"token": each, "logprob": log, "bytes": None} for each, log in likeliest.items()],
            }
            for text, likeliest in self.tokens
        ]
        return {"content": places, "refusal": None}

    def _message(self) -> dict[str, Any]:
        content = None if self.refusal is not None and not self.text else self.text
        message = {"role": "assistant", "content": content, "refusal": self.refusal}
        return message if self.reasoning is None else {**message, "reasoning_content": self.reasoning}

    def _usage(self, request: FakeRequest) -> dict[str, Any]:
        thought = count_tokens(self.reasoning or "")
        prompt, completion = self.prompt_tokens, self.completion_tokens
        if prompt is None:
            prompt = sum(4 + count_tokens(content_text(message)) for message in request.messages)
        if completion is None:
            completion = thought + count_tokens(self.text or self.refusal or "")
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        return {**usage, "completion_tokens_details": {"reasoning_tokens": thought}}
