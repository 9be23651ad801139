"""The client of one model: ledger, limit and retries around one transport."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import stamina

from ccfw.errors import ProviderError
from ccfw.llm import local
from ccfw.llm.ledger import Ledger
from ccfw.llm.litellm_client import LitellmClient
from ccfw.llm.types import ChatClient, ChatReply, ChatRequest
from ccfw.settings import ModelConfig


@dataclass
class Meter:
    """What a stage's calls came to."""

    calls: int = 0
    """Replies that somebody was asked, and may be paid, for."""
    cached: int = 0
    """Replies that the ledger held."""
    cost: float = 0.0
    cached_cost: float = 0.0
    """What the cached replies cost when they were paid for."""
    unpriced: int = 0
    """Calls whose price is unknown."""

    def count(self, reply: ChatReply) -> None:
        """Add one reply."""
        if reply.cached:
            self.cached += 1
            self.cached_cost += reply.cost or 0.0
            return
        self.calls += 1
        if reply.cost is None:
            self.unpriced += 1
        else:
            self.cost += reply.cost

    def count_ahead(self, reply: ChatReply) -> None:
        """Add a reply that was paid for ahead of its use, when it comes from the ledger and must not cost twice."""
        self.count(reply)
        self.cached_cost -= reply.cost or 0.0

    def add(self, other: Meter) -> None:
        """Add another meter's counts."""
        self.calls += other.calls
        self.cached += other.cached
        self.cost += other.cost
        self.cached_cost += other.cached_cost
        self.unpriced += other.unpriced

    @property
    def cost_text(self) -> str:
        """Dollars, or ``unknown`` as soon as one call's price is."""
        return "unknown" if self.unpriced else f"{self.cost:.4f}"


@dataclass
class Client:
    """Answers requests of one model: from the ledger, or by at most ``max_in_flight`` calls at a time."""

    model: ModelConfig
    ledger: Ledger
    meter: Meter
    transport: ChatClient | None = None
    _pending: dict[str, asyncio.Future[ChatReply]] = field(default_factory=dict)
    _slots: asyncio.Semaphore | None = None

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer a request; identical requests in flight share one call.

        Raises ``ProviderError`` after the model's bounded tries, and ``RequestError`` when an embedded model
        is not installed.
        """
        kept = self.ledger.get(request.key)
        if kept is not None:
            self.meter.count(kept)
            return kept
        if request.key in self._pending:
            shared = replace(await asyncio.shield(self._pending[request.key]), cached=True)
            self.meter.count(shared)
            return shared
        future: asyncio.Future[ChatReply] = asyncio.get_running_loop().create_future()
        self._pending[request.key] = future
        try:
            reply = await self._call(request)
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else ProviderError("cancelled", transient=False))
            future.exception()  # nobody else may be waiting for it
            raise
        finally:
            del self._pending[request.key]
        future.set_result(reply)
        return reply

    async def _call(self, request: ChatRequest) -> ChatReply:
        if self._slots is None:
            self._slots = asyncio.Semaphore(self.model.max_in_flight)
        async with self._slots:
            reply = await self._retried(request)
        self.meter.count(reply)
        await self.ledger.put(request.key, self.model.provider_model, reply)
        return reply

    async def _retried(self, request: ChatRequest) -> ChatReply:
        transport = self._transport()
        try:
            async with asyncio.timeout(self.model.deadline_s):
                async for attempt in stamina.retry_context(
                    on=_backoff,
                    attempts=self.model.attempts,
                    timeout=None,
                    wait_initial=0.5,
                    wait_max=30.0,
                    wait_jitter=1.0,
                ):
                    with attempt:
                        return await self._once(transport, request)
        except TimeoutError:
            raise ProviderError(
                f"{self.model.name}: no reply within the deadline of {self.model.deadline_s:g} s", transient=False
            ) from None
        raise AssertionError("stamina's last attempt raises")

    async def _once(self, transport: ChatClient, request: ChatRequest) -> ChatReply:
        try:
            async with asyncio.timeout(self.model.timeout_s):
                return await transport.complete(request)
        except TimeoutError:
            raise ProviderError(
                f"{self.model.name}: no reply within {self.model.timeout_s:g} s", transient=True
            ) from None

    def _transport(self) -> ChatClient:
        if self.transport is None:
            base = local.base_url(self.model) if self.model.embedded else self.model.api_base
            self.transport = LitellmClient(self.model, base)
        return self.transport


def _backoff(error: Exception) -> bool | float:
    if not isinstance(error, ProviderError) or not error.transient:
        return False
    return True if error.retry_after is None else error.retry_after
