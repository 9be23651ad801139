"""How many calls of one model are in flight: additive increase, decrease by the share of calls that met overload.

A window is as many replies as there were slots when it began. After each, the limit falls by half the share of
overloads in it (all of them: by half; one in ten: by a twentieth) and rises by a step if every slot was in use, so
that a few stray refusals cost little and a real limit is found in a few windows. A provider's ``Retry-After`` is
waited for by the call that was told so and is no business of the limit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ccfw.errors import ProviderError


@dataclass
class Limiter:
    """Slots for calls, between ``floor`` and ``ceiling`` of them; begins at the ceiling."""

    floor: int
    ceiling: int
    limit: float = 0.0
    in_flight: int = 0
    lowest: float = 0.0
    """The lowest limit so far."""
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    _left: int = 0
    _size: int = 0
    _overloads: int = 0
    _full: bool = False

    def __post_init__(self) -> None:
        self.limit = self.lowest = float(self.ceiling)
        self._open_window()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold a slot for one call; a ``ProviderError`` of overload counts against the limit."""
        await self._acquire()
        overload = False
        try:
            yield
        except ProviderError as error:
            overload = error.overload
            raise
        finally:
            self.in_flight -= 1
            self._count(overload)
            self._admit()

    async def _acquire(self) -> None:
        if self.in_flight < int(self.limit) and not self._waiting:
            self._enter()
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # admitted in the same moment: the slot goes to the next
                self.in_flight -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        while self._waiting and self.in_flight < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._enter()

    def _enter(self) -> None:
        self.in_flight += 1
        self._full = self._full or self.in_flight >= int(self.limit)

    def _count(self, overload: bool) -> None:
        self._overloads += overload
        self._left -= 1
        if self._left <= 0:
            share = self._overloads / self._size
            step = max(1.0, self.ceiling / 50) if self._full else 0.0
            self.limit = min(float(self.ceiling), max(float(self.floor), self.limit * (1 - share / 2) + step))
            self.lowest = min(self.lowest, self.limit)
            self._open_window()

    def _open_window(self) -> None:
        self._left = self._size = int(self.limit)
        self._overloads, self._full = 0, self.in_flight >= int(self.limit)
