"""Differences between what is compared on the same items, tested all at once (docs/statistics.md). Pure.

Models asked the same questions, or scorers of the same answers, have paired figures. Each difference is over the items
that both have; whether any is there is asked of all of them together, by the signs of whole clusters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ccfw.align.alignment import Figure, Terms
from ccfw.stats.intervals import FEW
from ccfw.stats.pairs import Pairs, paired
from ccfw.stats.resampling import Array, Ints


class Item(NamedTuple):
    """One thing that was scored."""

    cluster: str
    """What was drawn as a whole, as the question of several norms."""
    name: str
    """Of its own in its cluster and measure."""


class Difference(NamedTuple):
    """Two of what is compared, in one measure: the first has the higher mean on what both have."""

    measure: str
    first: str
    second: str
    figure: Figure
    """First minus second; no interval where they share fewer than ten clusters."""
    p: float
    """Two-sided, adjusted over all differences; ``nan`` where they share fewer than ten clusters."""
    items: int
    """That both have."""


Scores = Mapping[str, Mapping[str, Mapping[Item, float]]]
"""Name of what is compared → measure → item → score."""


def averages(values: Mapping[Item, Sequence[float]]) -> dict[Item, float]:
    """Return the mean score of each item that was scored several times."""
    return {item: math.fsum(own) / len(own) for item, own in values.items()}


def differences(scores: Scores, terms: Terms) -> list[Difference]:
    """Return every difference by measure, those of one measure in the order of ``scores``; none of one alone."""
    names = list(scores)
    measures = list(dict.fromkeys(measure for own in scores.values() for measure in own))
    values, units = _table(scores, measures)
    if len(names) < 2 or not len(values):
        return []
    found = paired(values, units, terms.generator(), resamples=terms.resamples, level=terms.level, fewest=FEW)
    return [
        difference
        for place, measure in enumerate(measures)
        for pair in range(len(found.first))
        if (difference := _difference(found, pair, place, names, measure)) is not None
    ]


def _table(scores: Scores, measures: Sequence[str]) -> tuple[Array, Ints]:
    """Return scores as items × names × measures, each item in one measure alone, and the cluster of each item."""
    items = dict.fromkeys(
        (place, item)
        for place, measure in enumerate(measures)
        for own in scores.values()
        for item in sorted(own.get(measure, ()))
    )
    values: Array = np.full((len(items), len(scores), len(measures)), np.nan)
    for row, (place, item) in enumerate(items):
        for column, own in enumerate(scores.values()):
            values[row, column, place] = own.get(measures[place], {}).get(item, np.nan)
    clusters = np.asarray([item.cluster for _, item in items], dtype=np.str_)
    return values, np.unique(clusters, return_inverse=True)[1].astype(np.int64)


def _difference(found: Pairs, pair: int, place: int, names: Sequence[str], measure: str) -> Difference | None:
    first, second = names[found.first[pair]], names[found.second[pair]]
    point, low, high, p = (float(each[pair, place]) for each in (found.difference, found.low, found.high, found.p))
    if math.isnan(point):
        return None
    if point < 0:
        first, second, point, low, high = second, first, -point, -high, -low
    figure = Figure(point, None, None) if math.isnan(p) else Figure(point, low, high)
    return Difference(measure, first, second, figure, p, int(found.items[pair, place]))
