"""OpenAI's chat protocol, spoken directly: for OpenAI and every server that speaks it too.

The other transport (``litellm_client``) reaches every provider, at many times the CPU of a call. One HTTP session a
loop, kept alive, without a bound of its own on connections: ``ccfw.llm.limiter`` bounds the calls.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import aiohttp
import orjson

from ccfw.errors import ProviderError
from ccfw.llm import prices
from ccfw.llm.replies import (
    HOPELESS,
    NO_ACCESS,
    OVERLOAD,
    PASSING,
    counted,
    keyless,
    plain_text,
    reading,
    response_format,
    said,
    seconds_to_wait,
    tokens_of,
    usage_of,
)
from ccfw.llm.types import ChatReply, ChatRequest, Usage
from ccfw.settings.models import ModelConfig

OPENAI = "https://api.openai.com/v1"
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
"""Where no proxy reaches, and the embedded model is."""
_MOST_BYTES = 64 * 2**20
"""Of one reply: a server that sends for ever must not fill the memory."""
_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = WeakKeyDictionary()


class OpenAIHttpClient:
    """A ``ChatClient`` for one model behind an OpenAI-compatible endpoint."""

    def __init__(self, model: ModelConfig, api_base: str | None) -> None:
        self.model = model
        self.tariff = prices.tariff(model)
        self.name = model.provider_model.partition("/")[2]
        self.url = f"{(api_base or OPENAI).rstrip('/')}/chat/completions"
        self.proxy = _proxy(self.url)
        self.limit_name = "max_tokens" if api_base else "max_completion_tokens"  # OpenAI's newer models refuse the old

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Send one request once; raise ``ProviderError`` with what the provider said, secrets removed."""
        started = time.perf_counter()
        try:
            async with _session().post(
                self.url, data=self._body(request), headers=self._headers(), proxy=self.proxy, allow_redirects=False
            ) as response:
                content = await _read(response)
                status, headers = response.status, response.headers
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:  # nothing was sent
            raise ProviderError(f"{type(error).__name__}: {said(str(error))}", transient=True) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            lost = f"{type(error).__name__}: {said(str(error) or 'the connection was lost')}"
            raise ProviderError(lost, transient=not isinstance(error, ValueError), maybe_paid=True) from None
        with reading():
            if status != 200:
                raise _refusal(status, _error_in(content), headers.get("Retry-After"))
            return self._reply(_parsed(content), time.perf_counter() - started)

    def _headers(self) -> dict[str, str]:
        key = os.environ.get(self.model.api_key_env, "") if self.model.api_key_env else ""
        return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def _body(self, request: ChatRequest) -> bytes:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            self.limit_name: self.model.max_output_tokens,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body["seed"] = request.seed + request.replicate  # a repeat is to differ
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.top_logprobs is not None:
            body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        if request.schema is not None and (wanted := response_format(request, self.model)):
            body["response_format"] = wanted
        body |= self.model.extra_body
        try:
            return orjson.dumps(body)
        except TypeError:  # half a character: JSON can escape it, UTF-8 cannot write it
            return json.dumps(body).encode()

    def _reply(self, body: Mapping[str, Any], seconds: float) -> ChatReply:
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict) or not isinstance(message := choice.get("message"), dict):
            raise _no_choices(body)
        if isinstance(choice.get("error"), dict):  # OpenRouter's way of passing on what broke behind it
            raise _no_choices(choice)
        text = plain_text(message.get("content")) or plain_text(message.get("refusal"))
        usage = _usage(body.get("usage"), wordless=not text)
        made = ChatReply(
            text=text,
            finish_reason=plain_text(choice.get("finish_reason")) or "unknown",
            has_reasoning=bool(message.get("reasoning_content") or message.get("reasoning")),
            served_model=plain_text(body.get("model")) or self.model.provider_model,
            usage=usage,
            cost=self.tariff.cost(usage) if self.tariff else None,
            seconds=seconds,
            tokens=tokens_of(logs.get("content")) if isinstance(logs := choice.get("logprobs"), dict) else None,
        )
        return keyless(made, self.model.api_key_env)


def _session() -> aiohttp.ClientSession:
    loop = asyncio.get_running_loop()
    session = _sessions.get(loop)
    if session is None or session.closed:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=30)  # the whole is timed by the caller
        session = aiohttp.ClientSession(connector=connector, timeout=timeout)
        _sessions[loop] = session
    return session


def _proxy(url: str) -> str | None:
    """Return the environment's proxy for a URL, looked up once: aiohttp would read ``.netrc`` too, at every call."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return None if host in _HERE or proxy_bypass(host) else getproxies().get(parts.scheme)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise ValueError(f"the reply is longer than {_MOST_BYTES} bytes")
    return b"".join(parts)


def _parsed(content: bytes) -> Mapping[str, Any]:
    try:
        body = orjson.loads(content)
    except ValueError:
        try:
            body = json.loads(content.decode("utf-8-sig", "replace"))  # half a character, a bad byte, a NaN, a mark
        except (ValueError, RecursionError):
            raise ProviderError("the provider's reply is no JSON", transient=True, maybe_paid=True) from None
    return body if isinstance(body, dict) else {}


def _no_choices(body: Mapping[str, Any]) -> ProviderError:
    """Return what a reply without choices means; gateways put errors of the provider behind them into a 200."""
    error = body.get("error")
    code = _word(error, "code")
    if code in HOPELESS or re.fullmatch("[45][0-9]{2}", code):
        return _refusal(int(code) if code.isdigit() else 400, error, None)
    words = said(_words(error)) if error else ""
    told = f"the provider sent no choices: {words}" if words else "the provider sent no choices"
    return ProviderError(told, transient=True, maybe_paid=True)


def _error_in(content: bytes) -> Any:
    try:
        body = orjson.loads(content)
    except ValueError:
        body = content[:1000].decode("utf-8", "replace")
    return body.get("error", body) if isinstance(body, dict) else body


def _refusal(status: int, error: Any, retry_after: str | None) -> ProviderError:
    codes = {_word(error, "code"), _word(error, "type")}
    hopeless = status in NO_ACCESS or not codes.isdisjoint(HOPELESS)
    words = said(_words(error))
    return ProviderError(
        f"HTTP {status}: {words}" if words else f"HTTP {status}",
        transient=not hopeless and (status in PASSING or status >= 500),
        retry_after=seconds_to_wait(retry_after),
        overload=status in OVERLOAD and not hopeless,
        hopeless=hopeless,
    )


def _word(error: Any, name: str) -> str:
    """Return a code that an error holds; what is neither a text nor a number is none."""
    value = error.get(name) if isinstance(error, dict) else None
    return str(value) if isinstance(value, str | int) else ""


def _words(error: Any) -> str:
    """Return an error's message, or all of it where it has none; nothing where it is nested past reading."""
    try:
        return plain_text((error.get("message") or error) if isinstance(error, dict) else error)
    except RecursionError:
        return ""


def _usage(usage: Any, *, wordless: bool) -> Usage:
    said_of = usage if isinstance(usage, dict) else {}
    details = said_of.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    cached = details.get("cached_tokens")
    return usage_of(
        said_of.get("prompt_tokens"),
        said_of.get("completion_tokens"),
        cached if counted(cached) is not None else said_of.get("prompt_cache_hit_tokens"),
        wordless=wordless,
    )


async def close() -> None:
    """Close the HTTP session of this loop, if there is one."""
    session = _sessions.pop(asyncio.get_running_loop(), None)
    if session is not None:
        await session.close()
