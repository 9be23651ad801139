"""The client of one model: ledger, limit, budget and retries around one transport."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import stamina

from ccfw.errors import ProviderError
from ccfw.llm import prices
from ccfw.llm.budget import Budget
from ccfw.llm.ledger import LEAST_FREE, Ledger
from ccfw.llm.limiter import Limiter
from ccfw.llm.transports import open_transport
from ccfw.llm.types import ChatClient, ChatReply, ChatRequest
from ccfw.settings.models import ModelConfig
from ccfw.stop import Stop

log = logging.getLogger(__name__)

_ENOUGH = 5
"""Refusals of a key or of an empty account, none answered in between, after which nothing more is sent."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
"""Before another try, and up to a second more."""
_ROUNDING = 1e-9
"""By which share two sums of the same money may differ."""


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
    lost: int = 0
    """Calls that were cut off or answered by nothing readable, which the provider may bill all the same."""
    lost_cost: float = 0.0
    """What those can have cost at most, where the price is known."""

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
        self.lost += other.lost
        self.lost_cost += other.lost_cost

    @property
    def cost_text(self) -> str:
        """Dollars, or ``unknown`` as soon as one call's price is."""
        return "unknown" if self.unpriced else f"{self.cost:.4f}"


@dataclass
class Client:
    """Answers requests of one model: from the ledger, or by as many calls at a time as the provider bears."""

    model: ModelConfig
    ledger: Ledger
    meter: Meter
    transport: ChatClient | None = None
    budget: Budget = field(default_factory=lambda: Budget(None))
    stop: Stop = field(default_factory=Stop)
    limiter: Limiter | None = None
    _pending: dict[str, asyncio.Future[ChatReply]] = field(default_factory=dict)
    _hopeless: list[ProviderError] = field(default_factory=list)
    _answered: int = 0
    _warned: bool = False

    def __post_init__(self) -> None:
        self._limiter = self.limiter or Limiter(self.model.min_in_flight, self.model.max_in_flight)
        self._tariff = prices.tariff(self.model)

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer a request; identical requests in flight share one call.

        Raises ``ProviderError`` after the model's bounded tries, ``StoppedError`` when the job is to begin no more,
        and ``RequestError`` when an embedded model is not installed.
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
        reply = await self._retried(request)
        self.meter.count(reply)
        await self.ledger.put(request.key, self.model.provider_model, reply, request.role)
        return reply

    async def _retried(self, request: ChatRequest) -> ChatReply:
        """Try until a reply comes, or tries or deadline run out; the clock starts with the first sending."""
        try:
            async with asyncio.timeout(None) as deadline:
                try:
                    return await self._once(request, deadline)  # nearly every call: setting up retries costs more
                except ProviderError as error:
                    return await self._tried_again(request, deadline, error)
        except TimeoutError:
            raise ProviderError(
                f"{self.model.name}: no reply within the deadline of {self.model.deadline_s:g} s", transient=False
            ) from None

    async def _tried_again(self, request: ChatRequest, deadline: asyncio.Timeout, first: ProviderError) -> ChatReply:
        """Go on after a first try that failed, which counts as one of the tries."""
        failed: ProviderError | None = first
        async for attempt in stamina.retry_context(on=self._patience(), attempts=self.model.attempts, timeout=None):
            with attempt:
                if failed is not None:
                    error, failed = failed, None
                    raise error
                return await self._once(request, deadline)
        raise AssertionError("stamina's last attempt raises")

    async def _once(self, request: ChatRequest, deadline: asyncio.Timeout) -> ChatReply:
        transport = self._transport()
        async with self._limiter.slot():
            if len(self._hopeless) >= _ENOUGH:  # raised anew: one error raised for every call would hold all of them
                raise ProviderError(str(self._hopeless[-1]), transient=False, hopeless=True)
            if self.ledger.full:
                self.stop.ask(f"{self.ledger.path.parent}: less than {LEAST_FREE >> 20} MB of disk are left")
            self.stop.check()
            most = self._most(request) if self.budget.usd is not None else 0.0
            await self.budget.reserve(most)
            if self.stop.reason is not None:  # asked for while this call waited for money
                self.budget.settle(most, 0.0)
                self.stop.check()
            if deadline.when() is None:
                deadline.reschedule(asyncio.get_running_loop().time() + self.model.deadline_s)
            try:
                return await self._sent(transport, request, most)
            except ProviderError as error:
                raise _in_time(error, deadline) from None

    async def _sent(self, transport: ChatClient, request: ChatRequest, most: float) -> ChatReply:
        cost = most  # what is not known to cost less counts in full
        try:
            async with asyncio.timeout(self.model.timeout_s):
                reply = await transport.complete(request)
        except TimeoutError:
            self._lose(request)
            raise ProviderError(
                f"{self.model.name}: no reply within {self.model.timeout_s:g} s", transient=True
            ) from None
        except ProviderError as error:
            if error.maybe_paid:
                self._lose(request)
            else:
                cost = 0.0
            if error.hopeless:
                self._hopeless.append(error)
            raise
        except asyncio.CancelledError:
            self._lose(request)
            raise
        else:
            cost = most if reply.cost is None else reply.cost
            if self.budget.usd is not None and cost > most * (1 + _ROUNDING):
                self._warn(reply, most, cost)
            self._hopeless.clear()
            self._answered += 1
            return reply
        finally:
            self.budget.settle(most, cost)

    def _patience(self) -> Callable[[Exception], bool | float]:
        """Return what says, after each failure of one call, whether another try is worth it, and after how long.

        Twice as long each time that the provider has answered nobody meanwhile: where others are answered, the call
        met bad luck and no outage, and how many are in flight is the limit's business. Longer where the provider wants
        it, and never shorter: a wish of no time at all, or of one that is past, would spend all tries at once.
        """
        answered, doublings = self._answered, -1

        def pause(error: Exception) -> bool | float:
            nonlocal answered, doublings
            if not isinstance(error, ProviderError) or not error.transient:
                return False
            doublings = 0 if self._answered > answered else doublings + 1
            answered = self._answered
            own = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0**doublings) + random.random()  # noqa: S311 spreads calls
            return max(own, error.retry_after or 0.0)

        return pause

    def _warn(self, reply: ChatReply, most: float, cost: float) -> None:
        """Say once that a provider bills for more than was asked for, which no budget can foresee."""
        if self._warned:
            return
        self._warned = True
        log.warning(
            "%s: the provider counted more tokens than the request allows: %s in, %s out, where %d out was the bound; "
            "%.4f US dollars, where %.4f were set aside. Such replies count in full, so the budget may be passed",
            self.model.name,
            reply.usage.prompt_tokens,
            reply.usage.completion_tokens,
            self.model.max_output_tokens,
            cost,
            most,
        )

    def _lose(self, request: ChatRequest) -> None:
        self.meter.lost += 1
        self.meter.lost_cost += self._most(request)

    def _most(self, request: ChatRequest) -> float:
        """Return what a request can cost at most; 0 where the price is unknown, which no budget admits."""
        return self._tariff.most(request, self.model.max_output_tokens) if self._tariff else 0.0

    def _transport(self) -> ChatClient:
        if self.transport is None:
            self.transport = open_transport(self.model)
        return self.transport


def _in_time(error: ProviderError, deadline: asyncio.Timeout) -> ProviderError:
    """Return a provider's refusal, as final where it wants a wait that the deadline does not leave."""
    end = deadline.when()
    wait, left = error.retry_after or 0.0, math.inf if end is None else end - asyncio.get_running_loop().time()
    if wait < left:
        return error
    return ProviderError(f"{error}; it asks to wait {wait:g} s, which the deadline does not leave", transient=False)
