"""What both transports do with an answer.

Of a reply: odd types to text, tokens to counts. Of a refusal: what its status and its words mean for the next call.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any

from ccfw.errors import ProviderError
from ccfw.llm.types import ChatReply, ChatRequest, Token, Usage
from ccfw.secrets import SHORTEST, scrub
from ccfw.settings.models import ModelConfig
from ccfw.terminal import printable

PASSING = frozenset({408, 409, 425, 429})
"""Client errors that another try can mend, besides every 5xx."""
OVERLOAD = frozenset({429, 503, 529})
NO_ACCESS = frozenset({401, 402})
"""Statuses of a key that is refused, or of an account that is empty."""
HOPELESS = frozenset({"insufficient_quota", "billing_hard_limit_reached", "invalid_api_key"})
"""Codes that say the same under any status."""
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON can carry and no file can."""
_LONGEST = 400
_MOST_TOKENS = 10**9
"""No call has more; a larger count is no count, and may be larger than a number can be multiplied."""
_TRACE = "Traceback (most recent call last)"


@contextmanager
def reading() -> Iterator[None]:
    """Turn whatever befalls the reader of a reply into a ``ProviderError``: no reply may end a job."""
    try:
        yield
    except ProviderError:
        raise
    except Exception as error:  # noqa: BLE001 what a provider sends may be anything
        told = f"the provider's reply cannot be read ({type(error).__name__})"
        raise ProviderError(told, transient=True, maybe_paid=True) from None


def plain_text(content: Any) -> str:
    """Return a reply's text, whatever type the provider gave it: a string, a list of parts, nothing, other JSON."""
    if isinstance(content, str):
        return _SURROGATE.sub("\ufffd", content)
    if isinstance(content, list):
        return "".join(plain_text(part.get("text") if isinstance(part, dict) else part) for part in content)
    return "" if content is None else plain_text(json.dumps(content, ensure_ascii=False))


def keyless(reply: ChatReply, key_name: str | None) -> ChatReply:
    """Return a reply without the key that its request was sent with, should the provider echo it."""
    key = os.environ.get(key_name, "") if key_name else ""
    if len(key) < SHORTEST or not any(key in text for text in (reply.text, reply.finish_reason, reply.served_model)):
        return reply
    return replace(
        reply,
        text=reply.text.replace(key, f"<{key_name}>"),
        finish_reason=reply.finish_reason.replace(key, f"<{key_name}>"),
        served_model=reply.served_model.replace(key, f"<{key_name}>"),
    )


def counted(tokens: Any) -> int | None:
    """Return a count of tokens, ``None`` for what is none."""
    known = isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens <= _MOST_TOKENS
    return tokens if known else None


def usage_of(prompt: Any, completion: Any, cached: Any, written: Any = None, *, wordless: bool) -> Usage:
    """Read counts of tokens; a 0 for what must have some is unknown: a prompt has tokens, and so has a text."""
    prompt_tokens, completion_tokens, cached_tokens = counted(prompt) or None, counted(completion), counted(cached)
    if prompt_tokens is not None and cached_tokens is not None:
        cached_tokens = min(cached_tokens, prompt_tokens)
    return Usage(
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens if wordless and prompt_tokens else completion_tokens or None,
        cached_tokens=cached_tokens,
        written_tokens=counted(written),
    )


def tokens_of(content: Any) -> tuple[Token, ...] | None:
    """Read ``choices[0].logprobs.content``: tokens, each with the likeliest at its place; ``None``: there are none.

    A place that cannot be read makes all of it unread: what follows would no longer stand where it does in the reply.
    """
    if not isinstance(content, list) or not content:
        return None
    found = []
    for place in content:
        if not isinstance(place, dict) or not isinstance(place.get("token"), str):
            return None
        likeliest: dict[str, float] = {}
        others = place.get("top_logprobs")
        for each in (place, *(others if isinstance(others, list) else ())):
            token, log = (each.get("token"), each.get("logprob")) if isinstance(each, dict) else (None, None)
            if isinstance(token, str) and isinstance(log, int | float) and math.isfinite(log):
                written = plain_text(token)
                likeliest[written] = max(float(log), likeliest.get(written, -math.inf))
        found.append(Token(plain_text(place["token"]), likeliest))
    return tuple(found)


def said(text: str, longest: int = _LONGEST) -> str:
    """Return a provider's words as one bounded line without secrets, terminal codes or a program's traceback."""
    words = scrub(text)  # before blanks collapse, which a secret may hold
    before, _, after = words.partition(_TRACE)
    kept = before.strip() or after.strip().rpartition("\n")[2]
    return printable(scrub(" ".join(kept.split()))[:longest])


def response_format(request: ChatRequest, model: ModelConfig) -> dict[str, Any] | None:
    """Return how the reply's form is asked for, as far as the model takes a schema."""
    if model.accepts.structured == "none":
        return None
    if model.accepts.structured == "json_object":
        return {"type": "json_object"}
    return {
        "type": "json_schema",
        "json_schema": {"name": request.schema_name, "schema": dict(request.schema or {}), "strict": True},
    }


def seconds_to_wait(retry_after: str | None) -> float | None:
    """Read a ``Retry-After`` header: seconds, or a date."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
