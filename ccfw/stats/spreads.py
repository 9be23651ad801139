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


def dealt_ranges(
    values: Array, sizes: Sequence[Sequence[Ints]], rng: np.random.Generator, *, permutations: int
) -> Array:
    """Return the ranges when scored units are dealt out to groups at random (permutations × axes × systems).

    ``values`` is occasions × units × systems, ``nan`` for no score. ``sizes`` holds, for each axis and system, how many
    of the system's own scored units each of its groups has: what one group lacks is lacking in that group alone. One
    order of the units serves all systems and axes; of fewer than two groups there is no range (``nan``).
    """
    there = ~np.isnan(values)
    sums, counts = np.nan_to_num(values).sum(axis=0), there.sum(axis=0)
    units, systems = counts.shape
    small = (sums == np.rint(sums)).all() and np.abs(sums).sum(axis=0).max(initial=0.0) < np.iinfo(np.int32).max
    both = np.concatenate([sums, counts], axis=1).astype(np.int32 if small else np.float64)
    found = np.full((permutations, len(sizes), systems), np.nan)
    lines = [
        (system, axis, line[system])
        for system in range(systems)
        for axis, line in enumerate(sizes)
        if len(line[system]) > 1
    ]
    if not lines:
        return found
    edges = np.concatenate([np.stack([each.cumsum() - each, each.cumsum()]) for *_, each in lines], axis=1)
    owner = np.concatenate([np.full(len(each), system) for system, _, each in lines])
    starts = np.cumsum([0, *(len(each) for *_, each in lines)])[:-1]
    owners, axes = (np.array([line[part] for line in lines]) for part in (0, 1))
    gaps = [
        (np.flatnonzero(counts[:, system] == 0), slice(*np.searchsorted(owner, [system, system + 1])))
        for system in range(systems)
    ]
    running = np.zeros((units + 1, 2 * systems), dtype=both.dtype)
    place, numbers = np.empty(units, dtype=np.int64), np.arange(units)
    for draw in range(permutations):
        order = rng.permutation(units)
        both.take(order, axis=0).cumsum(axis=0, dtype=both.dtype, out=running[1:])
        place[order] = numbers
        at = edges.copy()
        for gone, own in gaps:
            if len(gone):  # the first k scored units end where k and the unscored ones between them do
                at[:, own] += (np.sort(place[gone]) - numbers[: len(gone)]).searchsorted(edges[:, own])
        total, count = (np.diff(running[at, owner + part], axis=0)[0] for part in (0, systems))
        means = total / count
        found[draw, axes, owners] = np.maximum.reduceat(means, starts) - np.minimum.reduceat(means, starts)
    return found


def swapped_ranges(first: Array, second: Array, rng: np.random.Generator, *, permutations: int) -> Array:
    """Return the ranges over two groups that units are in both when their scores swap places (permutations × systems).

    Both are units × systems, ``nan`` for no score; what has no score in the other group stays where it is.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    half, middle = np.where(both, (first - second) / 2, 0.0), (first + second) / 2
    signs = rng.integers(0, 2, size=(permutations, len(both))).astype(np.float64) * 2.0 - 1.0
    apart = signs @ half
    with np.errstate(divide="ignore", invalid="ignore"):
        means = [
            (np.nansum(np.where(both, middle, side), axis=0) + sign * apart) / np.count_nonzero(~np.isnan(side), axis=0)
            for side, sign in ((first, 1), (second, -1))
        ]
    found: Array = np.abs(means[0] - means[1])
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
