"""One question to a model until the reply can be read, a bounded number of times, with the reason each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from ccfw.errors import ProviderError
from ccfw.llm.replies import said
from ccfw.llm.types import ChatClient, ChatReply, ChatRequest
from ccfw.parsing import Refusal, visible
from ccfw.records import Failure, FailureKind, Message
from ccfw.settings.models import ModelConfig

V = TypeVar("V")
_LONGEST_REASON = 80
_TRIES = 1000
"""Keeps the tries of one question apart from the repeats of the question: the ledger tells requests by replicate."""

AGAIN = "+"
"""Ends the role of a request that is a further try."""


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
    role: str,
    temperature: float | None,
    seed: int | None,
    schema_name: str | None = None,
    schema: Mapping[str, Any] | None = None,
    replicate: int = 0,
) -> ChatRequest:
    """Build a request that names only the parameters which the model accepts."""
    return ChatRequest(
        model=model.identity,
        messages=messages,
        temperature=temperature if model.accepts.temperature else None,
        seed=seed if model.accepts.seed else None,
        schema_name=schema_name,
        schema=schema if model.accepts.structured != "none" else None,
        replicate=replicate,
        role=role,
    )


def unusable(reply: ChatReply) -> Failure | None:
    """Return why a reply has no text worth reading, or ``None``."""
    if reply.finish_reason == "content_filter":
        return Failure(kind=FailureKind.REFUSED, detail="the provider's content filter stopped the reply")
    if not visible(reply.text):
        thought = reply.has_reasoning or bool(reply.text.strip())
        kind = FailureKind.EMPTY_AFTER_THINKING if thought else FailureKind.EMPTY
        reason = said(reply.finish_reason, _LONGEST_REASON)  # it goes into logs, records and the next prompt
        return Failure(kind=kind, detail=f"no text; the provider's reason for stopping: {reason}")
    return None


async def ask(client: ChatClient, request: ChatRequest, read: Callable[[str], V | Failure], tries: int) -> Asked[V]:
    """Ask until ``read`` gives a value, at most ``tries`` times; each time with the reason of the last refusal.

    ``read`` may return a failure or raise ``Refusal``. A call that the provider fails ends the asking.
    """
    failure = Failure(kind=FailureKind.UNPARSED, detail="never asked")
    again = request
    for number in range(1, tries + 1):
        try:
            reply = await client.complete(again)
        except ProviderError as error:
            return Asked(None, Failure(kind=FailureKind.INFRASTRUCTURE, detail=str(error)), number)
        outcome = _outcome(reply, read)
        if not isinstance(outcome, Failure):
            return Asked(outcome, None, number)
        failure = outcome
        if failure.kind is FailureKind.UNPARSED and reply.finish_reason == "length":
            failure = Failure(kind=FailureKind.TRUNCATED, detail="the reply hit the bound on output tokens")
        again = _again(request, failure, number)
    return Asked(None, failure, tries)


def _outcome(reply: ChatReply, read: Callable[[str], V | Failure]) -> V | Failure:
    fault = unusable(reply)
    if fault is not None:
        return fault
    try:
        return read(reply.text)
    except Refusal as refusal:
        return Failure(kind=refusal.kind, detail=refusal.detail)


def _again(request: ChatRequest, failure: Failure, number: int) -> ChatRequest:
    """Repeat a request with the reason at its end.

    Nothing of the rejected reply goes back: it may quote text under evaluation, and outside its frame that would
    be an instruction.
    """
    reason = f"An earlier reply was not accepted: {failure.detail}. Send the whole reply, in the required form only."
    *before, last = request.messages
    asked = Message(role=last.role, content=f"{last.content}\n\n{reason}")
    role = request.role if request.role.endswith(AGAIN) else request.role + AGAIN
    return replace(request, messages=(*before, asked), replicate=request.replicate + number * _TRIES, role=role)
