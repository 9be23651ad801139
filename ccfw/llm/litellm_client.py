"""The only import of litellm: our request in, our reply out, its errors in our words.

litellm is imported when the first client is made (it costs seconds), with its price list read from the package and
not from the network. What it reads from the environment at import is set unless the user did; of its globals only its
printing is changed. Its own retries are off: there is one retry layer.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ccfw.errors import ProviderError
from ccfw.llm import prices
from ccfw.llm.batch import URL, BatchState
from ccfw.llm.replies import (
    HOPELESS,
    NO_ACCESS,
    OVERLOAD,
    PASSING,
    keyless,
    plain_text,
    reading,
    response_format,
    said,
    seconds_to_wait,
    tokens_of,
    usage_of,
)
from ccfw.llm.types import ChatReply, ChatRequest, Token, Usage
from ccfw.settings.knowledge import EmbedderConfig
from ccfw.settings.models import ModelConfig

_UNPRICED = {"batch_ignore_default_logging": True}
"""Keeps litellm from downloading a finished batch's output once more, to price it for nobody."""
_RETRYING = frozenset({"deepinfra"})
"""Providers to which litellm hands ``max_retries`` only when told that it may; without, its SDK tries three times."""
_EMBEDDING_RETRIES = 8
_NO_KEY = "none"
"""Sent to servers that need no key, so that litellm does not offer them a key meant for somebody else."""


@lru_cache(maxsize=1)
def _litellm() -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    os.environ.setdefault("AIOHTTP_CONNECTOR_LIMIT", "4000")
    os.environ.setdefault("AIOHTTP_CONNECTOR_LIMIT_PER_HOST", "2000")
    import litellm

    litellm.suppress_debug_info = True
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)  # of replies of odd types
    logging.getLogger("httpx").setLevel(logging.ERROR)
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # its errors are raised too; logged, they are tracebacks
    return litellm


class LitellmClient:
    """A ``ChatClient`` for one model through litellm."""

    def __init__(self, model: ModelConfig, api_base: str | None) -> None:
        self.model = model
        self.api_base = api_base
        self.tariff = prices.tariff(model)
        _litellm()  # the import takes seconds, which are no call's

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Send one request once; raise ``ProviderError`` with what the provider said, secrets removed."""
        litellm = _litellm()
        started = time.perf_counter()
        try:
            response = await litellm.acompletion(**self._arguments(request))
        except Exception as error:  # noqa: BLE001 litellm raises its own tree, openai's, aiohttp's and plain ones
            raise _translated(error, litellm) from None
        with reading():
            return self._reply(response, time.perf_counter() - started, litellm)

    def _arguments(self, request: ChatRequest) -> dict[str, Any]:
        model = self.model
        arguments: dict[str, Any] = {
            "model": model.provider_model,
            "messages": [{"role": each.role, "content": plain_text(each.content)} for each in request.messages],
            "max_tokens": model.max_output_tokens,
            **self._access(),
        }
        if model.extra_body:
            arguments["extra_body"] = model.extra_body
        if request.temperature is not None:
            arguments["temperature"] = request.temperature
        if request.seed is not None:
            arguments["seed"] = request.seed + request.replicate  # a repeat is to differ
        if request.top_p is not None:
            arguments["top_p"] = request.top_p
        if request.top_logprobs is not None:
            arguments |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        if request.schema is not None:
            arguments["response_format"] = response_format(request, model)
        return {key: value for key, value in arguments.items() if value is not None}

    def _access(self) -> dict[str, Any]:
        model = self.model
        access: dict[str, Any] = {
            "timeout": model.timeout_s,
            "num_retries": 0,
            "max_retries": 0,
            "api_key": os.environ.get(model.api_key_env, "") if model.api_key_env else _NO_KEY,
        }
        if model.provider_model.partition("/")[0] in _RETRYING:
            access["allowed_openai_params"] = ["max_retries"]
        return access | ({"api_base": self.api_base} if self.api_base else {})

    def _reply(self, response: Any, seconds: float, litellm: Any) -> ChatReply:
        choices = getattr(response, "choices", None)
        if not choices:
            raise ProviderError("the provider sent no choices", transient=True, maybe_paid=True)
        message = choices[0].message
        text = plain_text(message.content) or plain_text(getattr(message, "refusal", None))
        usage = _usage(getattr(response, "usage", None), wordless=not text)
        made = ChatReply(
            text=text,
            finish_reason=plain_text(choices[0].finish_reason) or "unknown",
            has_reasoning=bool(getattr(message, "reasoning_content", None)),
            served_model=plain_text(getattr(response, "model", None)) or self.model.provider_model,
            usage=usage,
            cost=self._cost(response, usage, litellm),
            seconds=seconds,
            tokens=_tokens(getattr(choices[0], "logprobs", None)),
        )
        return keyless(made, self.model.api_key_env)

    def _cost(self, response: Any, usage: Usage, litellm: Any) -> float | None:
        if self.tariff is not None:
            return self.tariff.cost(usage)
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        try:
            cost = litellm.completion_cost(completion_response=response, model=self.model.provider_model)
        except Exception:  # noqa: BLE001 a model that the price list lacks: unknown, which is not free
            return None
        return float(cost) if cost else None


class LitellmBatches(LitellmClient):
    """A ``BatchTransport`` for one model through litellm's file and batch calls."""

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """Return the HTTP body that the direct call of a request would send."""
        arguments = self._arguments(request)
        litellm = _litellm()
        name, provider, *_ = litellm.get_llm_provider(arguments["model"])
        messages = arguments["messages"]
        wanted = {key: arguments[key] for key in arguments.keys() - {"model", "messages"} - self._access().keys()}
        options = litellm.utils.get_optional_params(model=name, custom_llm_provider=provider, **wanted)
        extra = options.pop("extra_body", None) or {}
        options = {key: value for key, value in options.items() if value is not False or key != "stream"}
        return {"model": name, "messages": messages, **options, **extra}

    def reply(self, body: Mapping[str, Any]) -> ChatReply:
        """Read the HTTP body of a reply, at the direct price."""
        litellm = _litellm()
        try:
            response = litellm.utils.convert_to_model_response_object(
                response_object=dict(body), model_response_object=litellm.ModelResponse()
            )
        except Exception as error:  # noqa: BLE001 litellm raises what it meets in a body that is no reply
            raise _translated(error, litellm) from None
        with reading():
            return self._reply(response, 0.0, litellm)

    async def upload(self, content: bytes) -> str:
        """Upload an input file and return its id."""
        file = ("ccfw.jsonl", content, "application/jsonl")
        return str((await self._called(_litellm().acreate_file(file=file, purpose="batch", **self._provider()))).id)

    async def create(self, file: str) -> str:
        """Create a batch of an input file and return its id."""
        call = _litellm().acreate_batch(completion_window="24h", endpoint=URL, input_file_id=file, **self._provider())
        return str((await self._called(call)).id)

    async def find(self, file: str) -> str | None:
        """Return the id of the batch of an input file, if one of the last hundred batches is."""
        page = await self._called(_litellm().alist_batches(limit=100, **self._provider()))
        with reading():
            return next((str(batch.id) for batch in page.data if batch.input_file_id == file), None)

    async def retrieve(self, batch: str) -> BatchState:
        """Return where a batch stands."""
        litellm = _litellm()
        try:
            found = await litellm.aretrieve_batch(batch_id=batch, litellm_metadata=_UNPRICED, **self._provider())
        except Exception as error:  # noqa: BLE001 as in complete
            if getattr(error, "status_code", None) == 404:
                return BatchState("lost")
            raise _translated(error, litellm) from None
        with reading():
            faults = (found.errors.data or []) if found.errors else []
            detail = "; ".join(dict.fromkeys(str(fault.message or fault.code) for fault in faults))
            return BatchState(str(found.status), found.output_file_id, found.error_file_id, detail)

    async def cancel(self, batch: str) -> None:
        """Ask the provider to stop a batch."""
        await self._called(_litellm().acancel_batch(batch_id=batch, **self._provider()))

    async def content(self, file: str) -> bytes:
        """Download a file."""
        found = await self._called(_litellm().afile_content(file_id=file, **self._provider()))
        return bytes(found.content)

    def _provider(self) -> dict[str, Any]:
        return {"custom_llm_provider": self.model.provider_model.partition("/")[0], **self._access()}

    async def _called(self, call: Awaitable[Any]) -> Any:
        try:
            return await call
        except Exception as error:  # noqa: BLE001 as in complete
            raise _translated(error, _litellm()) from None


def _usage(usage: Any, *, wordless: bool) -> Usage:
    """Read the usage, in which litellm fills in 0 for what is not said."""
    return usage_of(
        getattr(usage, "prompt_tokens", None),
        getattr(usage, "completion_tokens", None),
        getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None),
        getattr(usage, "cache_creation_input_tokens", None),
        wordless=wordless,
    )


def _tokens(logs: Any) -> tuple[Token, ...] | None:
    """Read log-probabilities, which litellm hands on as an object of its own or as the provider wrote them."""
    content = (logs if isinstance(logs, dict) else {"content": getattr(logs, "content", None)}).get("content")
    if not isinstance(content, list):
        return None
    return tokens_of([each.model_dump() if hasattr(each, "model_dump") else each for each in content])


def _translated(error: Exception, litellm: Any) -> ProviderError:
    """Return an error of litellm's in our words; what the provider answered is in the errors that it came of."""
    from httpx import ConnectError, ConnectTimeout

    causes = list(_causes(error))
    status = getattr(error, "status_code", None)
    answer = next((headers for each in causes if (headers := _headers(each))), None)
    unanswered = isinstance(error, litellm.Timeout | litellm.APIConnectionError | TimeoutError | ConnectionError)
    text = _text(error)
    hopeless = status in NO_ACCESS or any(word in f"{text} {_text(getattr(error, 'body', None))}" for word in HOPELESS)
    passing = unanswered or status == 200 or status in PASSING or (isinstance(status, int) and status >= 500)
    unsent = any(isinstance(each, ConnectError | ConnectTimeout) for each in causes)
    return ProviderError(
        f"{type(error).__name__}: {said(text)}",
        transient=passing and not hopeless,
        retry_after=seconds_to_wait((answer or {}).get("retry-after")),
        overload=status in OVERLOAD and not hopeless,
        maybe_paid=not unsent and (status == 200 or (answer is None and (unanswered or status == 500))),
        hopeless=hopeless,
    )


def _text(told: object) -> str:
    try:
        return str(told)
    except Exception:  # noqa: BLE001 nested past writing, or a number of more digits than Python writes
        return "what the provider answered cannot be read"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that it came of, which litellm's own often say less than."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _headers(error: BaseException) -> Mapping[str, str] | None:
    """Return the headers of the answer that an error tells of; one that litellm made up has none."""
    return getattr(getattr(error, "response", None), "headers", None) or None


def embed(config: EmbedderConfig, texts: Sequence[str]) -> list[list[float]]:
    """Embed texts with a provider's model; raise ``ProviderError``.

    The retries are litellm's here, which takes 0 of them for its default: one layer, and not ours.
    """
    litellm = _litellm()
    key = os.environ.get(config.api_key_env, "") if config.api_key_env else _NO_KEY
    try:
        response = litellm.embedding(
            model=config.model, input=list(texts), api_key=key, api_base=config.api_base, max_retries=_EMBEDDING_RETRIES
        )
    except Exception as error:  # noqa: BLE001 as in complete
        raise _translated(error, litellm) from None
    with reading():
        found = sorted(response.data, key=lambda each: int(each["index"]))
        return [[float(number) for number in each["embedding"]] for each in found]


async def close() -> None:
    """Close litellm's HTTP sessions, if it was ever imported."""
    if _litellm.cache_info().currsize:
        await _litellm().close_litellm_async_clients()
