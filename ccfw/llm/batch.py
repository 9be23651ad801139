"""Provider batches: many requests in one file, answered within a day, at a share of the price.

A batch only fills the ledger. What it answers, the usual path finds there; what it does not answer, the usual path
asks for. ``batches.json`` beside the records says which batches are with the provider, and is written before they are
waited for, so that a run after a kill waits for the same ones and submits nothing twice.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ccfw.errors import ProviderError, StoreError
from ccfw.llm.ledger import Ledger
from ccfw.llm.replies import said
from ccfw.llm.types import ChatReply, ChatRequest
from ccfw.settings.models import ModelConfig
from ccfw.stop import Stop
from ccfw.store import write_atomically

log = logging.getLogger(__name__)

NAME = "batches.json"
URL = "/v1/chat/completions"
_PROVIDERS = frozenset({"openai", "hosted_vllm", "litellm_proxy"})
"""Those that litellm reaches by OpenAI's own file and batch calls."""
_OVER = frozenset({"completed", "failed", "expired", "cancelled", "lost"})
_MOST_BYTES = 150_000_000
"""Of one input file; OpenAI takes 200 MB."""
_CANCEL_S = 600.0
"""How long a provider may take to cancel: ten minutes at OpenAI."""
_KEPT_AT_ONCE = 1000
_REASON = 300
T = TypeVar("T")


@dataclass(frozen=True)
class BatchState:
    """What the provider says of a batch."""

    status: str
    """OpenAI's word, or ``lost`` for a batch that the provider does not know."""
    output_file: str | None = None
    error_file: str | None = None
    detail: str = ""
    """Why it failed, in the provider's words."""


class BatchTransport(Protocol):
    """A provider's file and batch calls for one model; each raises ``ProviderError``."""

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """Return the HTTP body that the direct call of a request would send."""
        ...

    def reply(self, body: Mapping[str, Any]) -> ChatReply:
        """Read the HTTP body of a reply, at the direct price."""
        ...

    async def upload(self, content: bytes) -> str:
        """Upload an input file and return its id."""
        ...

    async def create(self, file: str) -> str:
        """Create a batch of an input file and return its id."""
        ...

    async def find(self, file: str) -> str | None:
        """Return the id of the batch of an input file, if there is one."""
        ...

    async def retrieve(self, batch: str) -> BatchState:
        """Return where a batch stands."""
        ...

    async def cancel(self, batch: str) -> None:
        """Ask the provider to stop a batch."""
        ...

    async def content(self, file: str) -> bytes:
        """Download a file."""
        ...


class Terms(Protocol):
    """How batches are submitted and waited for; ``ccfw.settings.BatchConfig`` is one."""

    @property
    def poll_s(self) -> float: ...  # noqa: D102
    @property
    def deadline_s(self) -> float: ...  # noqa: D102
    @property
    def max_requests(self) -> int: ...  # noqa: D102
    @property
    def discount(self) -> float: ...  # noqa: D102
    @property
    def direct_rest(self) -> bool: ...  # noqa: D102


@dataclass
class Batch:
    """One batch as ``batches.json`` has it."""

    file: str
    keys: list[str]
    """Of the requests in it."""
    id: str | None = None
    """``None`` while it is being created; a kill then leaves open whether it was."""
    status: str = "creating"
    counts: dict[str, int] = field(default_factory=dict)
    """What came of its lines, once they are read."""

    @property
    def open(self) -> bool:
        """Whether there is something to wait for."""
        return self.status not in _OVER

    @property
    def shown(self) -> str:
        """What a log calls it: the provider's name for it, or for its file, which are the provider's words."""
        return said(self.id or self.file, _REASON)


def unsupported(model: ModelConfig) -> str | None:
    """Return why a model cannot be asked in batches, or ``None``."""
    provider = model.provider_model.partition("/")[0]
    if model.embedded is None and provider in _PROVIDERS:
        return None
    return f"{model.provider_model} has no batch endpoint that ccfw can use; {', '.join(sorted(_PROVIDERS))} have"


async def prefill(
    requests: Sequence[ChatRequest],
    *,
    model: ModelConfig,
    transport: BatchTransport,
    ledger: Ledger,
    count: Callable[[ChatReply], None],
    folder: Path,
    terms: Terms,
    stop: Stop,
) -> dict[str, str]:
    """Have every request that the ledger lacks answered by batches, and return what was not: the reason by key.

    ``count`` is told of every reply that was paid for. Raises ``ProviderError`` when the provider takes no batch or no
    longer says how one stands, and ``StoppedError`` between two calls once the stop is asked for. Whatever is with the
    provider then stays in ``batches.json``, and the next call waits for it.
    """
    return await _Prefill(model, transport, ledger, count, folder / NAME, terms, stop).run(requests)


@dataclass
class _Prefill:
    model: ModelConfig
    transport: BatchTransport
    ledger: Ledger
    count: Callable[[ChatReply], None]
    path: Path
    terms: Terms
    stop: Stop
    batches: list[Batch] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)

    async def run(self, requests: Sequence[ChatRequest]) -> dict[str, str]:
        self.batches = _read(self.path)
        missing = {r.key: r for r in requests if self.ledger.get(r.key) is None}
        before = [batch for batch in self.batches if batch.open]
        if before:
            log.info("batch: going on with %s", ", ".join(batch.shown for batch in before))
        for batch in before:
            await self._create(batch)
        self.roles = {key: request.role for key, request in missing.items()}
        under_way = {key for batch in before for key in batch.keys}
        for content, keys in self._files([request for key, request in missing.items() if key not in under_way]):
            await self._submit(content, keys)
        await self._wait()
        return {
            key: self.reasons.get(key, "the batch was not over in time")
            for key in missing
            if self.ledger.get(key) is None
        }

    def _files(self, requests: Sequence[ChatRequest]) -> Iterator[tuple[bytes, list[str]]]:
        lines: list[bytes] = []
        keys: list[str] = []
        size = 0
        for request in requests:
            line = _line(request.key, self.transport.body(request))
            if keys and (len(keys) >= self.terms.max_requests or size + len(line) > _MOST_BYTES):
                yield b"".join(lines), keys
                lines, keys, size = [], [], 0
            lines.append(line)
            keys.append(request.key)
            size += len(line)
        if keys:
            yield b"".join(lines), keys

    async def _submit(self, content: bytes, keys: list[str]) -> None:
        file = await self._patiently(lambda: self.transport.upload(content))
        batch = Batch(file, keys)
        self.batches.append(batch)
        self._write()
        await self._create(batch, fresh=True)
        log.info("batch: %s has %d requests; looked at every %g s", batch.shown, len(keys), self.terms.poll_s)

    async def _create(self, batch: Batch, *, fresh: bool = False) -> None:
        """Create a batch unless the provider has it: an answer that got lost must not lead to a second one."""
        if batch.id is not None:
            return
        tried = not fresh

        async def create() -> str:
            nonlocal tried
            found = await self.transport.find(batch.file) if tried else None
            tried = True
            return found or await self.transport.create(batch.file)

        try:
            batch.id = await self._patiently(create)
        except ProviderError as error:
            if not error.transient:  # refused: there is nothing to wait for
                batch.status = "failed"
                self._write()
            raise
        batch.status = "submitted"
        self._write()

    async def _wait(self) -> None:
        """Look at the open batches until they are over; after the deadline, cancel them if the rest is asked for."""
        if await self._over_before(self.terms.deadline_s):
            return
        still = [batch for batch in self.batches if batch.open]
        names = ", ".join(batch.shown for batch in still)
        if not self.terms.direct_rest:
            log.warning("batch: not over within %g s: %s; run the same line again", self.terms.deadline_s, names)
            return
        log.warning("batch: not over within %g s, cancelled: %s", self.terms.deadline_s, names)
        for batch in still:
            try:
                await self.transport.cancel(str(batch.id))
            except ProviderError as error:  # it may have ended just now, which the next look will tell
                log.warning("batch: %s could not be cancelled: %s", batch.shown, error)
        await self._over_before(min(_CANCEL_S, self.terms.deadline_s))

    async def _over_before(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while True:
            for batch in [batch for batch in self.batches if batch.open]:
                await self._look(batch)
            if not any(batch.open for batch in self.batches):
                return True
            left = end - time.monotonic()
            if left <= 0:
                return False
            await self._pause(min(self.terms.poll_s, left))

    async def _look(self, batch: Batch) -> None:
        """Ask how a batch stands, and take in what it has answered if it is over."""
        try:
            state = await self.transport.retrieve(str(batch.id))
            if state.status in _OVER:
                await self._collect(batch, state)
        except ProviderError as error:
            if not error.transient:
                raise
            log.debug("batch: %s: %s", batch.shown, error)  # the next look is the retry
            return
        if state.status != batch.status:
            batch.status = state.status
            self._write()

    async def _collect(self, batch: Batch, state: BatchState) -> None:
        detail = f": {state.detail}" if state.detail else ""
        why = said(f"the batch {batch.id} ended as {state.status}{detail}", _REASON)
        outcome = _Outcome(set(batch.keys), self.transport.reply)
        for file in (state.output_file, state.error_file):
            if file:
                outcome.read(await self.transport.content(file))
        await self._keep(outcome.replies)
        unanswered = [key for key in batch.keys if key not in outcome.replies]
        self.reasons |= {key: outcome.errors.get(key, why) for key in unanswered}
        batch.counts = {"answered": len(outcome.replies), "unanswered": len(unanswered), **outcome.counts}
        told = ", ".join(f"{name} {number}" for name, number in batch.counts.items())
        clean = not unanswered and not outcome.counts
        log.log(logging.INFO if clean else logging.WARNING, "batch: %s: %s", why, told)

    async def _keep(self, replies: Mapping[str, ChatReply]) -> None:
        """Put replies into the ledger at the batch's price; every one was paid for, also one that is held by now."""
        kept = list(replies.items())
        for start in range(0, len(kept), _KEPT_AT_ONCE):
            part = [(key, discounted(reply, self.terms.discount)) for key, reply in kept[start : start + _KEPT_AT_ONCE]]
            model, roles = self.model.provider_model, self.roles
            await asyncio.gather(*(self.ledger.put(key, model, reply, roles.get(key, "")) for key, reply in part))
            for _, reply in part:
                self.count(reply)

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        self.stop.check()
        for attempt in range(1, self.model.attempts + 1):
            try:
                return await call()
            except ProviderError as error:
                if not error.transient or attempt == self.model.attempts:
                    raise
                await self._pause(max(min(30.0, 0.5 * 2 ** (attempt - 1)), error.retry_after or 0.0))
        raise AssertionError("the last attempt raises")

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stop.asked(), seconds)
        self.stop.check()

    def _write(self) -> None:
        content = {"batches": [asdict(batch) for batch in self.batches]}
        write_atomically(self.path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def discounted(reply: ChatReply, discount: float) -> ChatReply:
    """Return a reply at the batch's price; an unknown one stays unknown."""
    return reply if reply.cost is None else replace(reply, cost=reply.cost * discount)


def _line(key: str, body: Mapping[str, Any]) -> bytes:
    content = {"custom_id": key, "method": "POST", "url": URL, "body": body}
    return json.dumps(content, ensure_ascii=True).encode() + b"\n"


def _read(path: Path) -> list[Batch]:
    if not path.exists():
        return []
    try:
        return [Batch(**each) for each in json.loads(path.read_text("utf-8"))["batches"]]
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(f"{path}: not a list of batches: {error}") from None


@dataclass
class _Outcome:
    """What the lines of a batch's files say; they come in any order, and not always once."""

    wanted: set[str]
    read_reply: Callable[[Mapping[str, Any]], ChatReply]
    replies: dict[str, ChatReply] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def read(self, content: bytes) -> None:
        for line in content.splitlines():
            if line.strip():
                self._read_line(line)

    def _read_line(self, raw: bytes) -> None:
        try:
            line = json.loads(raw)
            key = str(line["custom_id"])
        except (ValueError, TypeError, KeyError, RecursionError):
            self.counts["unreadable"] += 1
            return
        if key not in self.wanted:
            self.counts["unknown"] += 1
            return
        if key in self.replies:
            self.counts["duplicate"] += 1
            return
        response = line.get("response")
        response = response if isinstance(response, dict) else {}
        body = response.get("body")
        if line.get("error") or response.get("status_code") != 200 or not isinstance(body, dict):
            self._refuse(key, _words_of(line.get("error") or body, response.get("status_code")))
            return
        try:
            self.replies[key] = self.read_reply(body)
        except ProviderError as error:
            self._refuse(key, str(error))

    def _refuse(self, key: str, reason: str) -> None:
        self.counts["errored"] += 1
        self.errors[key] = f"the batch answered with an error: {said(reason)}"[:_REASON]


def _words_of(error: Any, status: object) -> str:
    """Return an error of a line in the provider's words, wherever it put them."""
    inner = error.get("error", error) if isinstance(error, dict) else error
    try:
        if isinstance(inner, dict):
            inner = ": ".join(str(inner[name]) for name in ("code", "message") if inner.get(name))
        return str(inner or f"status {status}")
    except RecursionError:  # nested past writing
        return f"status {status}"
