"""Figures of agreement, by slice, with intervals and paired differences (paper 1, Tables 3 and 11–13)."""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.stats.agreement import Differences
from ccfw.stats.intervals import Bounds, Method, bca, p_values, percentile, ratio_intervals
from ccfw.stats.resampling import Array, Slices, Statistic, distinct_columns, ratios, resampled

_LARGEST_UNIT = 10_000
"""Parts of a point that errors are counted in at most; beyond them they are floats."""


class Figures(NamedTuple):
    """Figures of agreement by slice and column (slices × columns); ``nan`` where nothing could be compared."""

    within_one: Array
    """Share with |score − target| ≤ 1."""
    mae: Array
    """Mean |score − target|, in points."""
    bias: Array
    """Mean score − target, in points: below 0 is stricter. Of a pair of raters its sign means nothing."""
    exact: Array
    """Share with score = target; rare against a mean of three, whose thirds no judge can give."""
    items: Array
    """Items compared: of a mean over columns, their mean."""
    missing: Array
    """Items of the slice that were not."""


class FigureIntervals(NamedTuple):
    """The same with intervals."""

    within_one: Bounds
    mae: Bounds
    bias: Bounds
    exact: Bounds
    items: Array
    missing: Array


class PairedIntervals(NamedTuple):
    """Figures of every column minus those of a reference over the items that both have, on the same resamples."""

    within_one: Bounds
    mae: Bounds
    bias: Bounds
    p_within_one: Array
    """Two-sided, unadjusted, as the others: ``ccfw.stats.multiplicity`` adjusts them."""
    p_mae: Array
    items: Array
    """Items that both have."""


class _Measured(NamedTuple):
    """What is averaged over items, in whole numbers where a small unit allows it."""

    values: NDArray[Any]
    """Items × (4 × columns): within one, absolute error, error, exact; errors in ``1 / scale`` points."""
    scale: Array
    """Of each of these columns."""


def _measured(found: Differences) -> _Measured:
    common, columns = math.lcm(*np.unique(found.denominators).tolist()), found.present.shape[1]
    values: NDArray[Any]
    errors: NDArray[Any]
    if common <= _LARGEST_UNIT:
        unit, errors = common, found.numerators * (common // found.denominators)
        small = np.abs(errors).max(initial=0) <= np.iinfo(np.int32).max
        values = np.empty((len(errors), 4, columns), dtype=np.int32 if small else np.int64)
    else:
        unit, errors = 1, found.numerators / found.denominators
        values = np.empty((len(errors), 4, columns))
    values[:, 0] = (np.abs(found.numerators) <= found.denominators) & found.present
    values[:, 1] = np.abs(errors)
    values[:, 2] = errors
    values[:, 3] = (found.numerators == 0) & found.present
    scale = np.repeat(np.array([1, unit, unit, 1], dtype=np.float64), columns)
    return _Measured(values.reshape(len(errors), 4 * columns), scale)


def _statistic(columns: int, places: NDArray[np.intp], scale: Array, average: bool) -> Statistic:
    """Return what turns sums into the four figures of every column, or of their mean over those that have any."""
    each = ratios(4 * columns, np.tile(places, 4), scale)
    if not average:
        return each

    def mean(sums: Array) -> Array:
        values = each(sums).reshape(*sums.shape[:-1], 4, columns)
        there = ~np.isnan(values)
        held = there.sum(axis=-1)
        total = np.where(there, values, 0.0).sum(axis=-1)
        found: Array = np.divide(total, held, out=np.full(total.shape, np.nan), where=held > 0)
        return found

    return mean


def _counted(found: Differences, slices: Slices, average: bool) -> tuple[Array, Array]:
    """Return the items compared and those missing, by slice and column."""
    items = slices.sums(found.present.astype(np.int64)).astype(np.float64)
    size = slices.sums(np.ones((len(found.present), 1), dtype=np.int64))
    items = items.mean(axis=1, keepdims=True) if average and items.shape[1] else items
    return items, size - items


def figures(found: Differences, slices: Slices | None = None, *, average: bool = False) -> Figures:
    """Return the figures of every slice and column; with ``average`` their mean over the columns that have any."""
    slices = slices or Slices.of()
    measured, (distinct, places) = _measured(found), distinct_columns(found.present)
    features = np.concatenate([measured.values, distinct], axis=1)
    statistic = _statistic(found.present.shape[1], places, measured.scale, average)
    values = statistic(slices.sums(features).astype(np.float64))
    within, mae, bias, exact = np.split(values, 4, axis=1)
    return Figures(within, mae, bias, exact, *_counted(found, slices, average))


def figure_intervals(
    found: Differences,
    rng: np.random.Generator,
    *,
    resamples: int,
    level: float,
    slices: Slices | None = None,
    clusters: NDArray[np.int64] | None = None,
    average: bool = False,
    method: Method = "percentile",
) -> FigureIntervals:
    """Return the figures with bootstrap intervals, all columns and slices from the same resamples.

    ``clusters`` names what was drawn as a whole (an episode, a seed), (items,). ``method`` is ``percentile`` or
    ``bca``, and ``studentised`` only without ``average``.
    """
    slices = slices or Slices.of()
    measured = _measured(found)
    if method == "studentised":
        if average:
            raise ValueError("studentised intervals are of single columns, not of their mean")
        bounds = ratio_intervals(
            measured.values,
            np.tile(found.present, 4),
            rng,
            resamples=resamples,
            level=level,
            method=method,
            slices=slices,
            clusters=clusters,
        )
        bounds = Bounds(*(each / measured.scale for each in bounds))
    else:
        distinct, places = distinct_columns(found.present)
        drawn = resampled(
            np.concatenate([measured.values, distinct], axis=1),
            _statistic(found.present.shape[1], places, measured.scale, average),
            rng,
            resamples=resamples,
            slices=slices,
            clusters=clusters,
            accelerate=method == "bca",
        )
        bounds = bca(drawn, level) if method == "bca" else percentile(drawn, level)
    within, mae, bias, exact = _split(bounds, 4)
    return FigureIntervals(within, mae, bias, exact, *_counted(found, slices, average))


def _split(bounds: Bounds, parts: int) -> list[Bounds]:
    return [Bounds(*each) for each in zip(*(np.split(array, parts, axis=1) for array in bounds), strict=True)]


def paired_intervals(
    found: Differences,
    reference: int,
    rng: np.random.Generator,
    *,
    resamples: int,
    level: float,
    slices: Slices | None = None,
    clusters: NDArray[np.int64] | None = None,
    method: Method = "percentile",
) -> PairedIntervals:
    """Return how every column's figures differ from those of column ``reference``, with intervals and p-values."""
    slices = slices or Slices.of()
    both = found._replace(present=found.present & found.present[:, [reference]])
    theirs = np.repeat(np.arange(3), found.present.shape[1]) * found.present.shape[1] + reference
    measured = _measured(found)
    values, scale = measured.values[:, : len(theirs)], measured.scale[: len(theirs)]
    apart = (values - measured.values[:, theirs]) * np.tile(both.present, 3)
    distinct, places = distinct_columns(both.present)
    twin = copy.deepcopy(rng)
    drawn = resampled(
        np.concatenate([apart, distinct], axis=1),
        ratios(len(theirs), np.tile(places, 3), scale),
        rng,
        resamples=resamples,
        slices=slices,
        clusters=clusters,
        accelerate=method == "bca",
    )
    if method == "studentised":
        bounds = ratio_intervals(
            apart,
            np.tile(both.present, 3),
            twin,
            resamples=resamples,
            level=level,
            method=method,
            slices=slices,
            clusters=clusters,
        )
        bounds = Bounds(*(each / scale for each in bounds))
    else:
        bounds = bca(drawn, level) if method == "bca" else percentile(drawn, level)
    p_within, p_mae, _ = np.split(p_values(drawn), 3, axis=1)
    within, mae, bias = _split(bounds, 3)
    return PairedIntervals(within, mae, bias, p_within, p_mae, _counted(both, slices, average=False)[0])
