"""Differences between systems over what they share, all judged at once (paper 1, section 4.1: paired comparisons).

Systems that met the same seeds have paired scores, and what grew from one seed hangs together: a unit is a seed. For
every two systems the figure is the mean difference over the items that both have. A resample draws units, the same for
all pairs, so that the misses of all differences have the joint distribution that they need for a simultaneous test: the
largest studentised miss over all of them (Westfall & Young 1993, single step; Romano & Wolf 2005 for the bootstrap).
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.stats.intervals import percentile
from ccfw.stats.resampling import Array, Ints, distinct_columns, ratios, resampled

_UNITS = (1, 2, 3, 6, 9, 18)
"""Parts of a point that scores come in: whole ones, their means over two or three, and means of three of those."""
_ROUNDING = 1e-9


class Pairs(NamedTuple):
    """Every two systems (first × second in the order of ``combinations``), by measure (pairs × measures)."""

    first: Ints
    second: Ints
    items: Ints
    """Items that both have."""
    difference: Array
    """First minus second; ``nan`` where they share nothing."""
    low: Array
    high: Array
    """Percentile interval of this difference alone."""
    p: Array
    """Two-sided, adjusted over all pairs and measures; ``nan`` where too few units are shared for a test."""


def whole(values: Array) -> tuple[NDArray[np.float64], int]:
    """Return values as multiples of a unit that makes them whole numbers, and how many of it a point has.

    Values in no such unit stay as they are, in units of 1.
    """
    filled = np.nan_to_num(values)
    for unit in _UNITS:
        scaled = filled * unit
        rounded = np.rint(scaled)
        if np.abs(scaled - rounded).max(initial=0.0) <= _ROUNDING * unit:
            return np.where(np.isnan(values), np.nan, rounded), unit
    return values, 1


def paired(
    values: Array,
    units: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    resamples: int,
    level: float,
    fewest: int = 2,
) -> Pairs:
    """Compare every two systems; ``values`` is items × systems × measures with ``nan`` for what is missing.

    ``units`` (items,) names what was drawn as a whole. Pairs that share fewer than ``fewest`` units get no p-value.
    """
    systems, measures = values.shape[1:]
    pairs = np.array(list(combinations(range(systems), 2)), dtype=np.int64).reshape(-1, 2).T
    scaled = [whole(values[:, :, measure]) for measure in range(measures)]
    apart = np.stack([found[:, pairs[0]] - found[:, pairs[1]] for found, _ in scaled], axis=2)
    there = ~np.isnan(apart)
    flat, held = np.where(there, apart, 0.0).reshape(len(apart), -1), there.reshape(len(there), -1)
    scale = np.tile(np.array([float(unit) for _, unit in scaled]), pairs.shape[1])
    distinct, places = distinct_columns(held)
    features = np.concatenate([flat, distinct], axis=1)
    found = resampled(features, ratios(flat.shape[1], places, scale), rng, resamples=resamples, clusters=units)
    bounds = percentile(found, level)
    shared = _units_shared(distinct, units)[places]
    p = adjusted(found.point[0], found.draws[:, 0], shared >= fewest)
    shape = (pairs.shape[1], measures)
    point, low, high = (each[0].reshape(shape) for each in bounds)
    return Pairs(pairs[0], pairs[1], held.sum(axis=0).reshape(shape), point, low, high, p.reshape(shape))


def _units_shared(held: NDArray[np.bool_], units: NDArray[np.int64]) -> Ints:
    """Return of how many units each column has an item."""
    return np.array([len(np.unique(units[column])) for column in held.T], dtype=np.int64)


def adjusted(point: Array, draws: Array, tested: NDArray[np.bool_]) -> Array:
    """Return two-sided p-values of ``point = 0`` (figures,), adjusted over all that are ``tested``.

    It is the share of resamples (resamples × figures) whose largest studentised miss is at least a figure's own size.
    """
    p = np.full(point.shape, np.nan)
    tested = tested & ~np.isnan(point) & ~np.isnan(draws).any(axis=0)
    if not tested.any() or len(draws) < 2:
        return p
    misses = np.abs(draws[:, tested] - point[tested])
    error = np.sqrt((misses**2).mean(axis=0))
    sizes = np.abs(point[tested])
    flat = error <= _ROUNDING * np.maximum(1.0, sizes)  # every unit differs by the same: surely, or not at all
    scaled = np.divide(misses, error, out=np.zeros_like(misses), where=~flat)
    largest = np.sort(scaled.max(axis=1))
    own = np.divide(sizes, error, out=np.where(sizes > _ROUNDING, np.inf, 0.0), where=~flat)
    as_large = len(largest) - np.searchsorted(largest, own - _ROUNDING)
    p[tested] = (1.0 + as_large) / (1.0 + len(largest))
    return p
