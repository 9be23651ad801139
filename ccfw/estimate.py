"""What a run would take: calls, tokens, dollars and minutes, from calls of the same kind or from an assumption.

Pure arithmetic. With ``LEAST_PILOT`` earlier calls of a model in a role, its figures are their means, and the dollars
have an interval (normal approximation to the mean's sampling error, relative variances of calls and of cost added).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

LEAST_PILOT = 20
"""Calls, or dialogues, from which means are read."""


@dataclass(frozen=True)
class Mean:
    """A mean and its standard error; an assumed one has no error that is known."""

    value: float
    error: float | None = None

    @property
    def relative_variance(self) -> float | None:
        """Squared standard error by squared mean."""
        if self.error is None:
            return None
        return (self.error / self.value) ** 2 if self.value else 0.0


def mean_of(values: Sequence[float], least: int = LEAST_PILOT) -> Mean | None:
    """Return the mean of a pilot, ``None`` where it has fewer values than the least."""
    if len(values) < max(2, least):
        return None
    return Mean(fmean(values), stdev(values) / math.sqrt(len(values)))


def tries_of(first: int, further: int) -> Mean:
    """Return the calls that one request takes, from a pilot's first and further tries (their number as Poisson's)."""
    return Mean(1 + further / first, math.sqrt(max(further, 1)) / first)


def product(one: Mean, other: Mean) -> Mean:
    """Return the product of independent means: relative variances add; an unknown one leaves it unknown."""
    value = one.value * other.value
    variances = (one.relative_variance, other.relative_variance)
    if None in variances:
        return Mean(value)
    return Mean(value, value * math.sqrt(sum(each or 0.0 for each in variances)))


@dataclass(frozen=True)
class PerCall:
    """What one call of a model in a role takes."""

    prompt_tokens: float
    completion_tokens: float
    seconds: float
    usd: Mean | None
    """``None``: the price is unknown."""
    usd_batch: float | None
    usd_shared_prefix: float | None
    pilot: int
    """Earlier calls that say so; 0: an assumption."""


@dataclass(frozen=True)
class Estimate:
    """What one role of one stage would take."""

    stage: str
    role: str
    model: str
    calls: Mean
    least: int
    most: int
    per_call: PerCall
    at_once: int
    """Calls that run at the same time."""
    otherwise: bool = False
    """Whether the stage can have it judged in other ways, by batch or with a shared prefix."""

    @property
    def usd(self) -> float | None:
        """Expected US dollars."""
        return None if self.per_call.usd is None else self.calls.value * self.per_call.usd.value

    def interval(self, level: float) -> tuple[float, float] | None:
        """Return the bounds of the expected dollars at a level, ``None`` without a pilot."""
        cost, usd = self.per_call.usd, self.usd
        if cost is None or usd is None:
            return None
        variances = (self.calls.relative_variance, cost.relative_variance)
        if None in variances:
            return None
        half = NormalDist().inv_cdf((1 + level) / 2) * usd * math.sqrt(sum(each or 0.0 for each in variances))
        return max(0.0, usd - half), usd + half

    @property
    def minutes(self) -> float:
        """Expected minutes with as many calls at once as allowed."""
        return self.calls.value * self.per_call.seconds / max(1.0, min(self.at_once, self.calls.value)) / 60

    def row(self, level: float) -> tuple[str, ...]:
        """Write the estimate as a row of ``HEAD``."""
        each, calls = self.per_call, self.calls.value
        return (
            self.stage,
            self.role,
            self.model,
            f"{calls:.0f}",
            f"{self.least}..{self.most}",
            f"{calls * each.prompt_tokens:.0f}",
            f"{calls * each.completion_tokens:.0f}",
            dollars(self.usd),
            _interval(self.interval(level)),
            f"{self.minutes:.1f}",
            _apart(each.usd_batch, calls) if self.otherwise else "-",
            _apart(each.usd_shared_prefix, calls) if self.otherwise else "-",
            f"{each.pilot} calls" if each.pilot else "assumed",
        )


HEAD = (
    *("stage", "role", "model", "calls", "range", "tokens in", "tokens out", "US$", "interval", "minutes"),
    *("by batch", "shared prefix", "basis"),
)


def _interval(bounds: tuple[float, float] | None) -> str:
    return f"{dollars(bounds[0])}..{dollars(bounds[1])}" if bounds else "unknown"


def _apart(usd: float | None, calls: float) -> str:
    """Write what a way of judging would cost."""
    return dollars(None if usd is None else usd * calls)


def dollars(usd: float | None) -> str:
    """Write US dollars to a hundredth of a cent."""
    return "unknown" if usd is None else f"{usd:.4f}"


def sum_of(estimates: Sequence[Estimate]) -> float | None:
    """Return the expected dollars of all; unknown as soon as one of them is."""
    known = [each.usd for each in estimates]
    return None if None in known else sum(each or 0.0 for each in known)


def table(estimates: Sequence[Estimate], level: float) -> str:
    """Write estimates as a table with their sum."""
    usd = sum_of(estimates)
    bounds = [each.interval(level) for each in estimates]
    halves = [((high - low) / 2) for found in bounds if found for low, high in [found]]
    together = None
    if usd is not None and len(halves) == len(bounds):
        half = math.sqrt(sum(each * each for each in halves))
        together = (max(0.0, usd - half), usd + half)
    calls, minutes = (sum(values) for values in zip(*((e.calls.value, e.minutes) for e in estimates), strict=True))
    last = ("all", "", "", f"{calls:.0f}", "", "", "", dollars(usd), _interval(together), f"{minutes:.1f}", "", "", "")
    rows = [HEAD, *(each.row(level) for each in estimates), last]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)
