"""Differences between systems over what they share, all judged at once (paper 1, section 4.1: paired comparisons).

Systems that met the same seeds have paired scores, and what grew from one seed hangs together: a unit is a seed. For
every two systems the figure is the mean difference over the items that both have. Whether differences are there is
tested on all of them at once, by the signs of units (``ccfw.stats.randomization``); intervals are the bootstrap's.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.stats.intervals import percentile
from ccfw.stats.randomization import sign_flipped
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
    p = sign_flipped(np.where(held, flat, np.nan), units, rng, resamples=resamples, fewest=fewest)
    shape = (pairs.shape[1], measures)
    point, low, high = (each[0].reshape(shape) for each in bounds)
    return Pairs(pairs[0], pairs[1], held.sum(axis=0).reshape(shape), point, low, high, p.reshape(shape))
