"""What both transports do with an answer.

Of a reply: odd types to text, tokens to counts. Of a refusal: what its status and its words mean for the next call.
"""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any

from ccfw.llm.types import ChatReply, ChatRequest
from ccfw.secrets import SHORTEST, scrub
from ccfw.settings import ModelConfig
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
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0 else None


def said(text: str) -> str:
    """Return a provider's words as one bounded line without secrets or terminal codes."""
    return printable(scrub(" ".join(text.split()))[:_LONGEST])


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
