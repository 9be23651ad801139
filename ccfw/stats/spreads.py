"""How far the means of groups lie apart, and how far chance alone would put them (paper 1, section 5.3, Figure 40).

The range over many groups is never 0, even where no group differs from another: the more groups there are and the
smaller they are, the wider. So a range stands beside what it comes to when units are dealt out to the groups at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ccfw.stats.resampling import Array, Ints

_ROUNDING = 1e-9


class Spread(NamedTuple):
    """The range of the means over groups."""

    lowest: int
    """Group with the lowest mean."""
    highest: int
    range: float
    low: float
    """Ends of an interval for the range between the true means, whichever groups are the outermost."""
    high: float


class Chance(NamedTuple):
    """What the ranges come to without any difference between groups (axes × systems)."""

    expected: Array
    high: Array
    """Quantile at the level asked for."""
    p: Array
    """Adjusted over all axes and systems at once; ``nan`` where there is no range."""


def spread(point: Array, draws: Array, level: float) -> Spread | None:
    """Return the range of some groups' means (groups,), with an interval from resamples (resamples × groups).

    With probability ``level`` every difference of two means lies within ``c`` standard errors of the truth at once, so
    the true range lies between the largest lower and the largest upper end of any. It errs on the wide side. ``None``
    with fewer than two groups, or where a resample lacks one.
    """
    if len(point) < 2 or np.isnan(point).any():
        return None
    there = ~np.isnan(draws).any(axis=1)
    misses = draws[there] - point
    lowest, highest = int(point.argmin()), int(point.argmax())
    width = float(point[highest] - point[lowest])
    if len(misses) < 2:
        return Spread(lowest, highest, width, np.nan, np.nan)
    covariance = misses.T @ misses / len(misses)
    variance = covariance.diagonal()
    error = np.sqrt(np.maximum(variance[:, None] + variance - 2.0 * covariance, 0.0))
    scale = np.divide(1.0, error, out=np.zeros_like(error), where=error > _ROUNDING)
    largest = np.zeros(len(misses))
    for group in range(len(point) - 1):  # one group's pairs at a time, as all of them at once need the memory
        apart = np.abs(misses[:, group + 1 :] - misses[:, [group]]) * scale[group, group + 1 :]
        np.maximum(largest, apart.max(axis=1), out=largest)
    reach = float(np.quantile(largest, level)) * error
    apart = np.abs(point[:, None] - point)
    return Spread(lowest, highest, width, max(0.0, float((apart - reach).max())), float((apart + reach).max()))


def chance_ranges(
    sums: Array, counts: Array, sizes: Sequence[Ints], rng: np.random.Generator, *, permutations: int
) -> Array:
    """Return the ranges when units are dealt out at random (permutations × axes × systems).

    ``sums`` and ``counts`` are units × systems: what a unit's scores add up to and how many they are. ``sizes`` holds
    for each axis the units of its groups.
    """
    systems = sums.shape[1]
    both = np.concatenate([sums, counts], axis=1).astype(_kind(sums, counts))
    edges = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), *(np.cumsum(each) for each in sizes)]))
    starts = edges[edges < len(both)]
    bounds = [np.searchsorted(edges, np.concatenate([[0], np.cumsum(each)])) for each in sizes]
    found = np.full((permutations, len(sizes), systems), np.nan)
    for number in range(permutations):
        parts = np.add.reduceat(both[rng.permutation(len(both))], starts, axis=0)
        running = np.concatenate([np.zeros((1, both.shape[1])), parts.astype(np.float64).cumsum(axis=0)])
        for axis, places in enumerate(bounds):
            groups = np.diff(running[places], axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                means = groups[:, :systems] / groups[:, systems:]
            found[number, axis] = np.ptp(means, axis=0) if len(means) > 1 else np.nan
    return found


def flipped_ranges(differences: Array, rng: np.random.Generator, *, permutations: int) -> Array:
    """Return the ranges over two groups that every unit is in (permutations × systems): each unit's two scores swap
    places at random. ``differences`` is units × systems, ``nan`` where a unit lacks one.
    """
    there = ~np.isnan(differences)
    filled, count = np.where(there, differences, 0.0), there.sum(axis=0)
    signs = rng.integers(0, 2, size=(permutations, len(filled))).astype(np.float64) * 2.0 - 1.0
    total = np.abs(signs @ filled)
    found: Array = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return found


def against_chance(ranges: Array, by_chance: Array, level: float) -> Chance:
    """Hold ranges (axes × systems) against those by chance (permutations × axes × systems).

    Each is measured in standard deviations from what chance gives on average, and a p-value is the share of the
    permutations in which any of them lies as far out: so all of them hold at once.
    """
    expected, spread_of = by_chance.mean(axis=0), by_chance.std(axis=0)
    shown = ~np.isnan(ranges) & ~np.isnan(expected)
    scale = np.divide(1.0, spread_of, out=np.zeros_like(spread_of), where=shown & (spread_of > _ROUNDING))
    out = np.where(shown, (by_chance - expected) * scale, -np.inf)
    largest = np.sort(out.reshape(len(out), -1).max(axis=1))
    own = np.where(shown, (ranges - expected) * scale, np.nan)
    as_far = len(largest) - np.searchsorted(largest, own - _ROUNDING)
    p = np.where(shown, (1.0 + as_far) / (1.0 + len(largest)), np.nan)
    return Chance(expected, np.quantile(by_chance, level, axis=0), p)


def _kind(*arrays: Array) -> type[np.float32 | np.float64]:
    """Return the cheapest floats in which the sums of whole numbers are exact."""
    small = all(np.abs(each).sum(axis=0).max(initial=0.0) < 2**24 for each in arrays)
    exact = all((each == np.rint(each)).all() for each in arrays)
    return np.float32 if small and exact else np.float64
