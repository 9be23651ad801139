"""What both transports do with a reply: odd types to text, tokens to counts, words of a provider to one safe line."""

from __future__ import annotations

import re
from typing import Any

from ccfw.llm.types import ChatRequest
from ccfw.secrets import scrub
from ccfw.settings import ModelConfig
from ccfw.terminal import printable

_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON can carry and no file can."""
_LONGEST = 400


def plain_text(content: Any) -> str:
    """Return a reply's text, whatever type the provider gave it: a string, a list of parts, nothing."""
    if isinstance(content, str):
        return _SURROGATE.sub("\ufffd", content)
    if isinstance(content, list):
        return "".join(plain_text(part.get("text") if isinstance(part, dict) else part) for part in content)
    return "" if content is None else str(content)


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
