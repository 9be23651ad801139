"""What goes through the door: a request, a reply, and the protocol that answers one with the other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import orjson

from ccfw.records import Message


@dataclass(frozen=True)
class ChatRequest:
    """One call, complete: whatever could change the reply is in here, and no secret is."""

    model: Mapping[str, Any]
    """``ModelConfig.identity``: provider model, base URL, accepted parameters, output bound, extra body."""
    messages: tuple[Message, ...]
    temperature: float | None
    seed: int | None
    schema_name: str | None
    schema: Mapping[str, Any] | None
    replicate: int = 0
    """Tells repeats of an otherwise identical request apart."""
    role: str = ""
    """Who is asked (``assistant``, ``simulator``, ``judge``): the same request is the same whoever it is asked of."""
    top_p: float | None = None
    """Share of the probability that is sampled from; ``None``: the provider's default."""
    top_logprobs: int | None = None
    """How many of the likeliest tokens at each place of the reply are wanted; ``None``: none."""

    @cached_property
    def key(self) -> str:
        """SHA-256 over the canonical JSON of every field that can change the reply."""
        content = {
            "model": self.model,
            "messages": [[message.role, message.content] for message in self.messages],
            "temperature": self.temperature,
            "seed": self.seed,
            "schema_name": self.schema_name,
            "schema": self.schema,
            "replicate": self.replicate,
        }
        later = {"top_p": self.top_p, "top_logprobs": self.top_logprobs}  # requests without them keep their keys
        content |= {name: value for name, value in later.items() if value is not None}
        try:
            canonical = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # half a character, which UTF-8 cannot write
            canonical = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
        return hashlib.sha256(canonical).hexdigest()


@dataclass(frozen=True)
class Usage:
    """Tokens as the provider counted them; ``None`` is unknown, not zero."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    """Of the prompt, read from the provider's cache."""
    written_tokens: int | None = None
    """Of the prompt, written to the provider's cache."""


@dataclass(frozen=True)
class Token:
    """One token of a reply, with the likeliest tokens that could have stood in its place."""

    text: str
    likeliest: Mapping[str, float]
    """Token → natural log-probability; of tokens that are written alike the likelier."""


@dataclass(frozen=True)
class ChatReply:
    """What came back, as it came back."""

    text: str
    finish_reason: str
    has_reasoning: bool
    """Whether the provider sent thinking apart from the text; the thinking itself is not kept."""
    served_model: str
    usage: Usage
    cost: float | None
    """US dollars; ``None`` when the price is unknown."""
    seconds: float
    cached: bool = False
    """Whether the ledger held it and nobody was called."""
    tokens: tuple[Token, ...] | None = None
    """Its tokens; ``None`` where they were not asked for, or the provider gave none."""


class ChatClient(Protocol):
    """Anything that answers a chat request."""

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer a request; raise ``ProviderError`` when no reply can be had."""
        ...
