"""A cap on spending that holds at any concurrency: the worst case of a call is set aside before it is sent."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache

from ccfw.errors import BudgetError

_PER_DOLLAR = 10**12
"""Money is counted in whole trillionths of a dollar, so that sums are exact."""


def _units(usd: float) -> int:
    return math.ceil(usd * _PER_DOLLAR)


@dataclass
class Budget:
    """US dollars that calls may cost: ``None`` bounds nothing."""

    usd: float | None
    _spent: int = 0
    _set_aside: int = 0
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    @property
    def spent(self) -> float:
        """US dollars spent so far, with what may have been billed for calls that were lost."""
        return self._spent / _PER_DOLLAR

    async def reserve(self, usd: float) -> None:
        """Set money aside, waiting while calls in flight hold what they may not need.

        Raises ``BudgetError`` when the money does not suffice even so.
        """
        amount = _units(usd)
        while not self._fits(amount):
            if not self._set_aside:
                self._wake()
                raise BudgetError(f"budget={self.usd:g}: spent {self.spent:.4f}, the next call may cost {usd:.4f} more")
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._set_aside += amount

    def settle(self, reserved: float, cost: float) -> None:
        """Give back what was set aside, less what the call cost."""
        self._set_aside -= _units(reserved)
        self._spent += _units(cost)
        self._wake()

    def _fits(self, amount: int) -> bool:
        return self.usd is None or not amount or self._spent + self._set_aside + amount <= int(self.usd * _PER_DOLLAR)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


@lru_cache
def of_the_process(usd: float | None) -> Budget:
    """Return the budget that every job of this process shares, so that a sweep as a whole keeps to it."""
    return Budget(usd)
