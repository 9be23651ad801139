"""One question to a model until the reply can be read, a bounded number of times, with the reason each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from ccfw.errors import ProviderError
from ccfw.llm.types import ChatClient, ChatReply, ChatRequest
from ccfw.parsing import Refusal, visible
from ccfw.records import Failure, FailureKind, Message
from ccfw.settings import ModelConfig

V = TypeVar("V")


@dataclass(frozen=True)
class Asked(Generic[V]):
    """The value that was read, or the failure of the last try."""

    value: V | None
    failure: Failure | None
    tries: int


def build_request(
    model: ModelConfig,
    messages: tuple[Message, ...],
    *,
    temperature: float | None,
    seed: int | None,
    schema_name: str | None = None,
    schema: Mapping[str, Any] | None = None,
) -> ChatRequest:
    """Build a request that names only the parameters which the model accepts."""
    return ChatRequest(
        model=model.identity,
        messages=messages,
        temperature=temperature if model.accepts.temperature else None,
        seed=seed if model.accepts.seed else None,
        schema_name=schema_name,
        schema=schema if model.accepts.structured != "none" else None,
    )


def unusable(reply: ChatReply) -> Failure | None:
    """Return why a reply has no text worth reading, or ``None``."""
    if reply.finish_reason == "content_filter":
        return Failure(kind=FailureKind.REFUSED, detail="the provider's content filter stopped the reply")
    if not visible(reply.text):
        thought = reply.has_reasoning or bool(reply.text.strip())
        kind = FailureKind.EMPTY_AFTER_THINKING if thought else FailureKind.EMPTY
        return Failure(kind=kind, detail=f"no text; the provider's reason for stopping: {reply.finish_reason}")
    return None


async def ask(client: ChatClient, request: ChatRequest, read: Callable[[str], V | Failure], tries: int) -> Asked[V]:
    """Ask until ``read`` gives a value, at most ``tries`` times; a rejected reply goes back with the reason.

    ``read`` may return a failure or raise ``Refusal``. A call that the provider fails ends the asking.
    """
    failure = Failure(kind=FailureKind.UNPARSED, detail="never asked")
    for number in range(1, tries + 1):
        try:
            reply = await client.complete(request)
        except ProviderError as error:
            return Asked(None, Failure(kind=FailureKind.INFRASTRUCTURE, detail=str(error)), number)
        outcome = _outcome(reply, read)
        if not isinstance(outcome, Failure):
            return Asked(outcome, None, number)
        failure = outcome
        if failure.kind is FailureKind.UNPARSED and reply.finish_reason == "length":
            failure = Failure(kind=FailureKind.TRUNCATED, detail="the reply hit the bound on output tokens")
        request = _again(request, reply.text, failure)
    return Asked(None, failure, tries)


def _outcome(reply: ChatReply, read: Callable[[str], V | Failure]) -> V | Failure:
    fault = unusable(reply)
    if fault is not None:
        return fault
    try:
        return read(reply.text)
    except Refusal as refusal:
        return Failure(kind=refusal.kind, detail=refusal.detail)


def _again(request: ChatRequest, text: str, failure: Failure) -> ChatRequest:
    reason = f"Your reply was not accepted: {failure.detail}. Send the whole reply again, in the required form only."
    messages = (
        *request.messages,
        Message(role="assistant", content=text.strip() or "(empty)"),
        Message(role="user", content=reason),
    )
    return replace(request, messages=messages)
