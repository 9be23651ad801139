"""How sure an order is: intervals on ranks, tied groups, and the difference that a planned sample can show."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.stats.resampling import Array, Ints, units_of

_NORMAL = NormalDist()


class Ranking(NamedTuple):
    """An order of systems with what is sure about it; rank 1 is the best."""

    rank: Ints
    """By the figures themselves (systems,); equal figures share the better rank."""
    low: Ints
    """Best rank that cannot be ruled out."""
    high: Ints
    """Worst one."""
    group: Ints
    """Tied groups from 1: every system of a group is surely better than every one of later groups."""
    better: NDArray[np.bool_]
    """Whether a system (row) is surely better than another (column)."""


def ranking(point: Array, better: NDArray[np.bool_], *, higher_is_better: bool = True) -> Ranking:
    """Return ranks by the figures ``point`` (systems,), with the bounds that sure differences leave.

    ``better`` (systems × systems) says whether a system (row) is surely better than another, all at once at a level:
    the best rank is 1 + those surely better, the worst all − those surely worse, and all bounds hold at once at that
    level (Mogstad, Romano, Shaikh & Wilhelm, Review of Economic Studies 2024). A system without a figure (``nan``) has
    rank, bounds and group 0.
    """
    there = np.flatnonzero(~np.isnan(point))
    sign = 1.0 if higher_is_better else -1.0
    sure = np.zeros_like(better)
    sure[np.ix_(there, there)] = better[np.ix_(there, there)]
    rank, low, high = (np.zeros(len(point), dtype=np.int64) for _ in range(3))
    rank[there] = 1 + (sign * point[there] > sign * point[there][:, None]).sum(axis=1)
    low[there] = 1 + sure.sum(axis=0)[there]
    high[there] = len(there) - sure.sum(axis=1)[there]
    return Ranking(rank, low, high, _groups(rank, sure), sure)


def surely_better(
    point: Array, draws: Array, *, level: float = 0.95, higher_is_better: bool = True
) -> NDArray[np.bool_]:
    """Return whether each system (row) is better than each other (column), all at once with probability ``level``.

    ``point`` (systems,) and ``draws`` (resamples × systems) come from one resampling, so that differences are paired:
    sure is what exceeds ``c`` standard errors, ``c`` being the level's quantile over resamples of the largest
    studentised miss of any pair. For samples of few units ``ccfw.stats.pairs`` is exact where this is not.
    """
    found = np.zeros((len(point), len(point)), dtype=np.bool_)
    there = np.flatnonzero(~np.isnan(point))
    sign = 1.0 if higher_is_better else -1.0
    found[np.ix_(there, there)] = _apart(sign * point[there], sign * draws[:, there], level)
    return found


def _apart(point: Array, draws: Array, level: float) -> NDArray[np.bool_]:
    draws = draws[~np.isnan(draws).any(axis=1)]
    difference = point[:, None] - point
    if len(draws) < 2:
        return np.zeros(difference.shape, dtype=np.bool_)
    centred = draws - draws.mean(axis=0)
    covariance = centred.T @ centred / (len(draws) - 1)
    variance = covariance.diagonal()
    error = np.sqrt(np.maximum(variance[:, None] + variance - 2.0 * covariance, 0.0))
    error[error <= 1e-9 * np.sqrt(np.maximum(variance[:, None], variance))] = 0.0
    largest = np.zeros(len(draws))
    misses = draws - point
    for system in range(len(point)):  # a resample's pairs one system at a time, as all of them at once need the memory
        apart = np.abs(misses[:, [system]] - misses)
        scaled = np.divide(apart, error[system], out=np.zeros_like(apart), where=error[system] > 0)
        np.maximum(largest, scaled.max(axis=1, initial=0.0), out=largest)
    sure: NDArray[np.bool_] = (difference > 0) & (difference > np.quantile(largest, level) * error)
    return sure


def _groups(rank: Ints, better: NDArray[np.bool_]) -> Ints:
    """Return the group of each system: one begins where all above are surely better than all from there on."""
    order = np.flatnonzero(rank)
    order = order[np.argsort(rank[order], kind="stable")]
    group, number = np.zeros(len(rank), dtype=np.int64), 0
    for place, system in enumerate(order):
        number += bool(better[np.ix_(order[:place], order[place:])].all())
        group[system] = number
    return group


def minimum_detectable_difference(spread: float, n: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the paired difference that ``n`` units show with probability ``power`` in a two-sided test at ``alpha``.

    ``(z(1 − α/2) + z(power)) · spread / √n``, ``spread`` being the standard deviation of a unit's difference.
    """
    return (_NORMAL.inv_cdf(1.0 - alpha / 2.0) + _NORMAL.inv_cdf(power)) * spread / math.sqrt(n)


def units_needed(spread: float, difference: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Return the least number of units whose minimum detectable difference is at most ``difference``, above 0."""
    return max(1, math.ceil((minimum_detectable_difference(spread, 1, alpha=alpha, power=power) / difference) ** 2))


def unit_spread(values: Array, clusters: NDArray[np.int64] | None = None) -> float:
    """Return what the mean of ``values`` (items,) has for a standard error, times the root of the number of units.

    Units are items, or clusters of them; ``nan`` is left out. Without clusters it is the standard deviation.
    """
    there = ~np.isnan(values)
    units, count = units_of(int(there.sum()), None if clusters is None else clusters[there])
    if count < 2:
        return math.nan
    centred = values[there] - values[there].mean()
    sums = centred if units is None else np.bincount(units, weights=centred, minlength=count)
    return float(np.sqrt((sums**2).sum() * count / (count - 1))) * math.sqrt(count) / len(centred)
