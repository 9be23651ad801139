"""Intervals for a mean that hold at every look at once, and the rule that stops at a wanted width.

The intervals are the hedged-capital confidence sequence of Waudby-Smith & Ramdas, "Estimating means of bounded random
variables by betting", JRSS B 86 (2024) 1–27, and for a finite set of episodes its form without replacement (section 5
there, and "Confidence sequences for sampling without replacement", NeurIPS 2020). Values are scaled to [0, 1]. Against
a candidate mean ``m`` one gambler bets that the mean is higher and one that it is lower::

    up_t(m)   = Π_{i≤t} (1 + min(λ_i, c / m_i)       · (x_i − m_i))
    down_t(m) = Π_{i≤t} (1 − min(λ_i, c / (1 − m_i)) · (x_i − m_i))

``m_i`` is what the next value would be on average if the mean were ``m``: ``m`` itself, or ``(N·m − Σ_{j<i} x_j) /
(N − i + 1)`` when the ``N`` episodes are all there are. At the true mean both are nonnegative martingales that start
at 1, so by Ville's inequality neither ever reaches ``2/α``, but with probability ``α``. The interval is every ``m``
against which neither has. Each factor of ``up`` falls as ``m`` rises (``min(λ, c/m)·(x − m)`` does), each of ``down``
rises, so the set is an interval and its two ends are found apart.

A bet may use the past only. With ``μ_t = (1/2 + Σx) / (t + 1)`` and ``v_t = (1/4 + Σ(x_i − μ_i)²) / (t + 1)``:

- no width in view: ``λ_t = √(2 log(2/α) / (v_{t−1} · t · log(1 + t)))``, the paper's predictable plug-in;
- a width ``w`` in view, ``h = w/2``: ``λ_t = max(h / v_{t−1}, √(2 log(2/α) / (v_{t−1} · horizon)))``. This is the
  paper's bet for a fixed ``n``, ``√(2 log(2/α) / (v·n))``, at the ``n`` where the half-width would be ``h``, or at the
  last ``n`` there is. Without replacement it is multiplied by ``N / (N − t + 1)``, as a miss of ``h`` in the mean
  shows in ``m_t`` by that much more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_CAP = 0.75
"""``c``: the share of its capital that a gambler may lose to one value (the paper takes 1/2 or 3/4)."""
_CELLS = 4_000
"""Candidate means when no width is in view."""
_CELLS_PER_WIDTH = 100
"""Candidate means within the width in view: rounding outward to them costs at most a fiftieth of it."""
_MOST_CELLS = 100_000
_BLOCK = 400_000
"""Candidates × values worked on at a time: bounds memory and leaves the result unchanged."""
_ROUNDING = 1e-9


class ConfidenceSequence(NamedTuple):
    """Lower and upper bounds after each value, each interval inside the one before it."""

    lower: Array
    upper: Array


class Column(NamedTuple):
    """Scores of episodes in the order of judging, ``nan`` where there is none, and the range they come from."""

    values: Array
    low: float
    high: float


class Reading(NamedTuple):
    """What one column says at a look."""

    mean: float | None
    low: float
    high: float
    n: int
    """Scores that are there."""
    missing: int
    """Scores that are not."""

    @property
    def width(self) -> float:
        """The full width of the interval."""
        return self.high - self.low

    def is_within(self, precision: float) -> bool:
        """Whether the interval is as narrow as wanted and holds the mean of what was seen.

        An interval that lost the mean says that the order was not random or that a rare event came: no reason to stop.
        """
        return (
            self.mean is not None
            and self.width <= precision + _ROUNDING
            and self.low - _ROUNDING <= self.mean <= self.high + _ROUNDING
        )


class StoppedAt(NamedTuple):
    """The first look at which every interval was narrow enough, else the last look that could be taken."""

    n: int
    """Episodes that the look was taken at; 0 when there are too few for the first."""
    planned: int
    readings: dict[str, Reading]
    reached: bool

    @property
    def saved(self) -> int:
        """Episodes that need no judging."""
        return self.planned - self.n if self.reached else 0

    @property
    def widths(self) -> dict[str, float]:
        """Full width of each column's interval."""
        return {name: reading.width for name, reading in self.readings.items()}


def confidence_sequence(
    values: Array,
    *,
    low: float,
    high: float,
    alpha: float,
    population: int | None = None,
    width: float | None = None,
    horizon: int | None = None,
) -> ConfidenceSequence:
    """Return intervals that all hold the mean at once with probability at least ``1 − alpha``.

    ``values`` lie in [``low``, ``high``] and come in random order; a ``nan`` is skipped and repeats the interval before
    it. The mean is that of the process which the values are drawn from, or with ``population`` that of a set of so many
    values, seen without replacement. ``width`` is the full width that the bets aim at and ``horizon`` the most values
    that could come; neither changes what the interval promises, if chosen before the values are seen.
    """
    present = ~np.isnan(values)
    seen = values[present]
    _check(seen, low, high, alpha, population)
    span = high - low
    scaled = (seen - low) / span
    aim = None if width is None else width / span
    bets = _bets(scaled, alpha, aim, population, horizon)
    cells = _CELLS if aim is None else min(_MOST_CELLS, max(_CELLS_PER_WIDTH, math.ceil(_CELLS_PER_WIDTH / aim)))
    lower, upper = _bounds(scaled, bets, math.log(2.0 / alpha), cells, population)
    at = np.cumsum(present)  # 0 before the first value: then all that is known is the range
    return ConfidenceSequence(
        low + span * np.concatenate([[0.0], lower])[at], low + span * np.concatenate([[1.0], upper])[at]
    )


def stopping_point(
    columns: Mapping[str, Column], *, precision: float, alpha: float, batch: int, planned: int, finite: bool = False
) -> StoppedAt:
    """Return the first look at which every column's interval is at most ``precision`` wide.

    Looks are taken at multiples of ``batch`` and at ``planned``, as far as the columns reach. ``alpha`` is shared
    equally among the columns, so that all intervals at all looks hold together. With ``finite`` the means are those of
    the ``planned`` episodes; otherwise of the process that they are a sample of. The answer for a column's beginning is
    that for the whole as long as it was not reached, so the rule can be asked again after each batch.
    """
    lengths = {len(column.values) for column in columns.values()}
    if len(lengths) != 1:
        raise ValueError(f"columns must be there and of one length; lengths: {sorted(lengths)}")
    rows = lengths.pop()
    if not (precision > 0 and batch > 0 and rows <= planned):
        raise ValueError(f"precision={precision}, batch={batch} and planned={planned} do not fit {rows} rows")
    sequences = {
        name: confidence_sequence(
            column.values,
            low=column.low,
            high=column.high,
            alpha=alpha / len(columns),
            population=planned if finite else None,
            width=precision,
            horizon=planned,
        )
        for name, column in columns.items()
    }
    last, readings = 0, {name: _reading(column, sequences[name], 0) for name, column in columns.items()}
    for look in sorted({*range(batch, rows + 1, batch), *([planned] if rows == planned else [])}):
        last, readings = look, {name: _reading(column, sequences[name], look) for name, column in columns.items()}
        if all(reading.is_within(precision) for reading in readings.values()):
            return StoppedAt(look, planned, readings, reached=True)
    return StoppedAt(last, planned, readings, reached=False)


def _reading(column: Column, sequence: ConfidenceSequence, look: int) -> Reading:
    seen = column.values[:look]
    scored = seen[~np.isnan(seen)]
    return Reading(
        mean=float(scored.mean()) if scored.size else None,
        low=float(sequence.lower[look - 1]) if look else column.low,
        high=float(sequence.upper[look - 1]) if look else column.high,
        n=int(scored.size),
        missing=look - int(scored.size),
    )


def _check(seen: Array, low: float, high: float, alpha: float, population: int | None) -> None:
    if not (low < high and 0 < alpha < 1):
        raise ValueError(f"low={low}, high={high}, alpha={alpha}: low < high and 0 < alpha < 1 are needed")
    if seen.size and not (seen.min() >= low and seen.max() <= high):
        raise ValueError(f"values from {seen.min()} to {seen.max()} are not all in [{low}, {high}]")
    if population is not None and seen.size > population:
        raise ValueError(f"{seen.size} values of a population of {population}")


def _bets(x: Array, alpha: float, width: float | None, population: int | None, horizon: int | None) -> Array:
    """Return ``λ_t`` of the module's head."""
    t = np.arange(1, x.size + 1, dtype=np.float64)
    means = (0.5 + np.cumsum(x)) / (t + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variances])[: x.size]
    price = 2.0 * math.log(2.0 / alpha)
    if width is None:
        plug_in: Array = np.sqrt(price / (before * t * np.log1p(t)))
        return plug_in
    bets: Array = width / 2.0 / before
    if horizon is not None:
        bets = np.maximum(bets, np.sqrt(price / (before * horizon)))
    return bets if population is None else bets * population / (population - t + 1)


def _bounds(x: Array, bets: Array, threshold: float, cells: int, population: int | None) -> tuple[Array, Array]:
    """Return the bounds after each value, rounded outward to multiples of ``1/cells``.

    Only candidates strictly between the bounds are still bet against, so the work shrinks with the interval.
    """
    n = x.size
    floor, ceiling = np.zeros(n, dtype=np.int64), np.full(n, cells, dtype=np.int64)
    sums = np.concatenate([[0.0], np.cumsum(x)])
    left, right = 0, cells
    up, down = np.zeros(cells + 1), np.zeros(cells + 1)
    start = 0
    while start < n:
        stop = n if right - left < 2 else min(n, start + max(1, _BLOCK // (right - left)))
        if right - left > 1:
            index = np.arange(left + 1, right)
            mean = np.broadcast_to(index / cells, (stop - start, index.size))
            if population is not None:
                t = np.arange(start, stop)[:, None]
                mean = np.clip((population * mean - sums[start:stop, None]) / (population - t), 0.0, 1.0)
            surprise = x[start:stop, None] - mean
            bet = bets[start:stop, None]
            rise = np.log1p(np.minimum(bet, _CAP / np.maximum(mean, 1e-12)) * surprise)
            fall = np.log1p(-np.minimum(bet, _CAP / np.maximum(1.0 - mean, 1e-12)) * surprise)
            rise[0] += up[index]
            fall[0] += down[index]
            np.cumsum(rise, axis=0, out=rise)
            np.cumsum(fall, axis=0, out=fall)
            up[index], down[index] = rise[-1], fall[-1]
            floor[start:stop] = np.where(rise >= threshold, index, left).max(axis=1)
            ceiling[start:stop] = np.where(fall >= threshold, index, right).min(axis=1)
            np.maximum.accumulate(floor[start:stop], out=floor[start:stop])
            np.minimum.accumulate(ceiling[start:stop], out=ceiling[start:stop])
        else:
            floor[start:stop], ceiling[start:stop] = left, right
        left, right = int(floor[stop - 1]), int(ceiling[stop - 1])
        start = stop
    lower, upper = floor / cells, ceiling / cells
    if population is not None:  # what is unseen lies in the range
        lower = np.maximum(lower, sums[1:] / population)
        upper = np.minimum(upper, (sums[1:] + population - np.arange(1, n + 1)) / population)
    return _held(lower, upper)


def _held(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Hold the last interval from where the bounds cross: nothing can be said of a mean that does not exist."""
    crossed = np.flatnonzero(lower > upper + _ROUNDING)
    if crossed.size:
        first = int(crossed[0])
        lower[first:], upper[first:] = (lower[first - 1], upper[first - 1]) if first else (0.0, 1.0)
    return np.minimum(lower, upper), upper
