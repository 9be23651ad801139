"""Reliability and association: kappa, alpha, intraclass correlation, rank correlations.

Each is a function of sums over items, so that it is resampled by matrix products: ``*_features`` gives an item's part,
the function of the same name turns sums (… × features) into the figure (…), and both go into ``resampled``: alpha of
raters as ``resampled(alpha_features(raters, levels), lambda sums: alpha(sums, levels, "ordinal")[..., None], …)``. What
has no value (one rater, one score throughout) is ``nan``.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ccfw.stats.agreement import Scores
from ccfw.stats.resampling import Array, Ints

Level = Literal["nominal", "ordinal", "interval"]

_ROUNDING = 1e-12


class IntraclassCorrelation(NamedTuple):
    """One-way random effects, each item by raters of its own (Shrout & Fleiss 1979, case 1)."""

    single: float
    """ICC(1): of one rating."""
    average: float
    """ICC(1,k): of an item's mean rating, by the raters that an item has on average."""


class Association(NamedTuple):
    """How two columns of scores go together over the items that have both."""

    kappa: float
    """With quadratic weights."""
    spearman: float
    kendall: float
    """Tau-b."""
    items: int


def categories(*scores: Scores) -> Array:
    """Return every score that occurs, ascending."""
    return np.unique(np.concatenate([_values(each)[each.present] for each in scores]))


def table_features(first: Scores, second: Scores, levels: Array) -> Ints:
    """Return the cell of each item in the table of two single columns of scores (items × levels²), row by row.

    An item that lacks either is in no cell. Rows are the levels of ``first``. Raises ``ValueError`` when a score is
    none of the levels.
    """
    size = len(levels)
    cells = _codes(first, levels)[:, 0] * size + _codes(second, levels)[:, 0]
    both = np.flatnonzero(first.present[:, 0] & second.present[:, 0])
    table = np.zeros((len(cells), size * size), dtype=np.int64)
    table[both, cells[both]] = 1
    return table


def _values(scores: Scores) -> Array:
    found: Array = (scores.numerators / scores.denominator).astype(np.float64)
    return found


def _codes(scores: Scores, levels: Array) -> Ints:
    """Return the place of each score among the levels; 0 where absent."""
    values = _values(scores)
    codes = np.minimum(np.searchsorted(levels, values), max(len(levels) - 1, 0))
    if len(levels) and (levels[codes] != values)[scores.present].any():
        raise ValueError("a score that is none of the levels")
    return np.where(scores.present, codes, 0)


def weighted_kappa(tables: Array, levels: Array) -> Array:
    """Return Cohen's kappa with quadratic weights of score distance (Cohen 1968) from tables (… × levels²).

    ``nan`` where either side gave one score throughout: such a table says nothing of agreement beyond chance.
    """
    square = _square(tables)
    varied = np.logical_and(*((square.sum(axis=axis) > 0).sum(axis=-1) > 1 for axis in (-1, -2)))
    distance = (levels[:, None] - levels) ** 2
    total = square.sum(axis=(-2, -1))
    by_chance = np.einsum("...i,...j,ij->...", square.sum(axis=-1), square.sum(axis=-2), distance)
    disagreement = _divided((square * distance).sum(axis=(-2, -1)) * total, by_chance)
    found: Array = np.where(varied, 1.0 - disagreement, np.nan)
    return found


def spearman(tables: Array) -> Array:
    """Return Spearman's rho, ties at their mean rank, from tables (… × levels²) with ascending levels."""
    square = _square(tables)
    rows, columns = (_centred_ranks(square.sum(axis=axis)) for axis in (-1, -2))
    together = np.einsum("...ij,...i,...j->...", square, rows, columns)
    apart = (square.sum(axis=-1) * rows**2).sum(axis=-1) * (square.sum(axis=-2) * columns**2).sum(axis=-1)
    return _divided(together, np.sqrt(apart))


def _centred_ranks(margins: Array) -> Array:
    """Return the mean rank of each level, less the mean of all ranks."""
    ranks: Array = np.cumsum(margins, axis=-1) - (margins - 1.0) / 2.0
    centred: Array = ranks - (margins.sum(axis=-1, keepdims=True) + 1.0) / 2.0
    return centred


def kendall(tables: Array) -> Array:
    """Return Kendall's tau-b from tables (… × levels²) with ascending levels."""
    square = _square(tables)
    after = np.flip(np.cumsum(np.flip(square, -2), axis=-2), -2) - square
    right = np.flip(np.cumsum(np.flip(after, -1), axis=-1), -1) - after
    left = np.cumsum(after, axis=-1) - after
    balance = (square * (right - left)).sum(axis=(-2, -1))
    total = square.sum(axis=(-2, -1))
    untied = [total * (total - 1.0) - (m * (m - 1.0)).sum(axis=-1) for m in (square.sum(axis=-1), square.sum(axis=-2))]
    return _divided(2.0 * balance, np.sqrt(untied[0] * untied[1]))


def association(first: Scores, second: Scores) -> Association:
    """Return kappa and rank correlations of two single columns; of a consensus give ``as_scores(target)``."""
    levels = categories(first, second)
    table = table_features(first, second, levels).sum(axis=0).astype(np.float64)
    return Association(
        float(weighted_kappa(table, levels)), float(spearman(table)), float(kendall(table)), int(table.sum())
    )


def alpha_features(raters: Scores, levels: Array) -> Array:
    """Return each item's coincidences (items × levels²): pairs of its ratings, each 1/(number of ratings − 1)."""
    items = np.arange(len(raters.present))
    counts = np.zeros((len(items), len(levels)))
    for codes, present in zip(_codes(raters, levels).T, raters.present.T, strict=True):
        counts[items[present], codes[present]] += 1.0
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(len(levels)))
    ratings = counts.sum(axis=1)
    found: Array = (pairs / np.maximum(ratings - 1.0, 1.0)[:, None, None]).reshape(len(items), len(levels) ** 2)
    return found


def alpha(coincidences: Array, levels: Array, level: Level) -> Array:
    """Return Krippendorff's alpha (Content Analysis, 4th ed. 2019, chapter 12) from coincidences (… × levels²)."""
    square = _square(coincidences)
    margins = square.sum(axis=-1)
    distance = _distance(margins, levels, level)
    by_chance = np.einsum("...i,...j,...ij->...", margins, margins, distance)
    return 1.0 - _divided((square * distance).sum(axis=(-2, -1)) * (margins.sum(axis=-1) - 1.0), by_chance)


def _distance(margins: Array, levels: Array, level: Level) -> Array:
    if level == "nominal":
        return np.broadcast_to(1.0 - np.eye(len(levels)), (*margins.shape, len(levels)))
    places = _centred_ranks(margins) if level == "ordinal" else np.broadcast_to(levels, margins.shape)
    found: Array = (places[..., :, None] - places[..., None, :]) ** 2
    return found


def pairable(raters: Scores) -> int:
    """Return how many items have two ratings or more, which are what alpha is made of."""
    return int((raters.present.sum(axis=1) > 1).sum())


def krippendorff_alpha(raters: Scores, level: Level) -> float:
    """Return Krippendorff's alpha of ratings (items × raters); ``nan`` with fewer than two items that two rated."""
    if pairable(raters) < 2:
        return float("nan")
    levels = categories(raters)
    return float(alpha(alpha_features(raters, levels).sum(axis=0), levels, level))


def icc_features(raters: Scores) -> Array:
    """Return each item's part of the one-way analysis of variance (items × 6); an item without a rating is zeros."""
    values, n = _values(raters), raters.present.sum(axis=1)
    sums = values.sum(axis=1)
    return np.column_stack([n > 0, n, n**2, sums, (values**2).sum(axis=1), sums**2 / np.maximum(n, 1)]).astype(float)


def icc(sums: Array) -> Array:
    """Return ICC(1) and ICC(1,k) (… × 2) from the sums of ``icc_features``.

    With k the mean number of ratings as corrected for unequal ones: ``(MSB − MSW) / (MSB + (k − 1) · MSW)`` and
    ``(MSB − MSW) / MSB``. Below 0 items differ less than their raters do.
    """
    items, ratings, squared, total, squares, between = np.moveaxis(sums, -1, 0)
    mean_square = _divided(between - _divided(total**2, ratings), items - 1.0)
    within = _divided(squares - between, ratings - items)
    size = _divided(ratings - _divided(squared, ratings), items - 1.0)
    slack = _ROUNDING * np.maximum(squares, 1.0)
    mean_square = np.where(mean_square > slack, mean_square, np.where(np.isnan(mean_square), np.nan, 0.0))
    gain = mean_square - within
    found: Array = np.stack([_divided(gain, mean_square + (size - 1.0) * within), _divided(gain, mean_square)], axis=-1)
    return found


def intraclass_correlation(raters: Scores) -> IntraclassCorrelation:
    """Return both intraclass correlations of ratings (items × raters)."""
    single, average = icc(icc_features(raters).sum(axis=0)).tolist()
    return IntraclassCorrelation(single, average)


def _square(tables: Array) -> Array:
    size = round(tables.shape[-1] ** 0.5)
    return tables.reshape(*tables.shape[:-1], size, size)


def _divided(above: Array, below: Array) -> Array:
    found: Array = np.divide(above, below, out=np.full(np.shape(below), np.nan), where=below > 0)
    return found
