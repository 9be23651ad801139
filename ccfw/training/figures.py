"""Means and ratios over items with intervals, whole clusters resampled, as this package's tables need them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ccfw.align.alignment import Figure, Group, Terms
from ccfw.stats.intervals import FEW, Bounds, ratio_intervals, supported
from ccfw.stats.resampling import Array, Slices, units_in


def intervals_note(level: float, units: str) -> str:
    """Say what intervals are made of, and where there is none; ``units`` is what is drawn: ``norms``."""
    return (
        f"{level:.0%} percentile bootstrap intervals, whole {units} resampled; over fewer than {FEW} {units} there is "
        "none."
    )


class Ratios(NamedTuple):
    """Figures by group, each group's in the order of the columns; and how many items each rests on."""

    figures: Mapping[Group, tuple[Figure, ...]]
    items: Mapping[Group, tuple[int, ...]]


def means(
    values: Array, clusters: Sequence[str], terms: Terms, partitions: Mapping[str, Sequence[str]] | None = None
) -> Ratios:
    """Return the mean of each column of ``values`` (items × columns; ``nan`` is missing), over all and by group."""
    there = ~np.isnan(values)
    return ratios(np.where(there, values, 0.0), there.astype(np.float64), clusters, terms, partitions)


def ratios(
    values: Array,
    weights: Array,
    clusters: Sequence[str],
    terms: Terms,
    partitions: Mapping[str, Sequence[str]] | None = None,
) -> Ratios:
    """Return ``Σ values / Σ weights`` of each column (items × columns) with percentile intervals.

    ``clusters`` names for every item what was drawn as a whole; ``partitions`` the groups that figures are also wanted
    for. A figure that fewer than ``FEW`` clusters have a weight in has no interval. Every call starts from the same
    random numbers, so that figures over the same items pair.
    """
    slices = Slices.of(partitions)
    if not len(values):
        nothing = tuple(Figure(None, None, None) for _ in range(values.shape[1]))
        return Ratios({("all", "all"): nothing}, {("all", "all"): (0,) * values.shape[1]})
    units = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)[1].astype(np.int64)
    bounds = ratio_intervals(
        values,
        weights,
        terms.generator(),
        resamples=terms.resamples,
        level=terms.level,
        slices=slices,
        clusters=units,
    )
    bounds = supported(bounds, units_in(slices, weights > 0, units) >= FEW)
    counts = slices.sums((weights > 0).astype(np.int64))
    return Ratios(
        {name: _figures(bounds, place) for place, name in enumerate(slices.names)},
        {name: tuple(counts[place].tolist()) for place, name in enumerate(slices.names)},
    )


def _figures(bounds: Bounds, place: int) -> tuple[Figure, ...]:
    return tuple(
        Figure(*(None if np.isnan(end) else float(end) for end in ends))
        for ends in zip(*(side[place] for side in bounds), strict=True)
    )
