"""Percentile bootstrap of column means over episodes (paper 1, Appendix O.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.stats.intervals import percentile
from ccfw.stats.resampling import Array, Ints, Resampled, distinct_columns, ratios, resampled

_UNITS = (1, 2, 3, 6)
"""Parts of a point that scores may come in: whole ones, and means of two or three of them."""
_MOST_CELLS = 64
_COLUMNS = 16
"""Columns counted at a time, for memory."""
_ROUNDING = 1e-9


class Interval(NamedTuple):
    """A mean with its percentile interval."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    """Observations that are there."""


class _Histogram(NamedTuple):
    """How often each value occurs in a column."""

    counts: Ints
    """Of each value, and last of what is missing."""
    values: Ints
    """In ``1 / unit`` points."""
    unit: int


def bootstrap_means(
    values: NDArray[np.float64], rng: np.random.Generator, *, resamples: int, level: float
) -> tuple[Interval, ...]:
    """Return one interval per column of ``values`` (episodes × columns; ``nan`` is a missing observation).

    A column's mean is over the observations that a resample holds; resamples that hold none are left out, and when all
    of them do there are no bounds. With no observation everything is ``None``. Columns share their stream of random
    numbers: equal columns have equal intervals, whatever stands beside them.

    Scores in few steps (whole, halves, thirds, sixths) are resampled as histograms: how often each value is drawn is
    multinomial, the distribution that drawing whole rows gives each column, at a fraction of the cost. Other values are
    resampled row by row.
    """
    present = ~np.isnan(values)
    histograms = _histograms(values, present)
    if histograms is None:
        drawn = _by_row(values, present, rng, resamples)
    else:
        drawn = _by_histogram(histograms, rng, resamples)
    ends = [[None if np.isnan(x) else x for x in array[0].tolist()] for array in percentile(drawn, level)]
    return tuple(map(Interval, *ends, present.sum(axis=0).tolist()))


def _by_row(values: Array, present: NDArray[np.bool_], rng: np.random.Generator, resamples: int) -> Resampled:
    distinct, places = distinct_columns(present)
    features = np.concatenate([np.where(present, values, 0.0), distinct], axis=1)
    return resampled(features, ratios(values.shape[1], places), rng, resamples=resamples)


def _histograms(values: Array, present: NDArray[np.bool_]) -> list[_Histogram] | None:
    """Count the values of each column; ``None`` when they are too many in any."""
    found: list[_Histogram] = []
    for start in range(0, values.shape[1], _COLUMNS):
        counted = _counted(values[:, start : start + _COLUMNS], present[:, start : start + _COLUMNS])
        if counted is None:
            return None
        found += counted
    return found


def _counted(values: Array, present: NDArray[np.bool_]) -> list[_Histogram] | None:
    filled = np.where(present, values, values[present][0] if present.any() else 0.0)
    unit = next((unit for unit in _UNITS if _is_whole(filled * unit)), None)
    if unit is None:
        return None
    whole = np.rint(filled * unit).astype(np.int64)
    low, high = (int(whole.min()), int(whole.max())) if whole.size else (0, 0)
    cells = high - low + 2
    if cells > _MOST_CELLS:
        return None
    codes = np.where(present, whole - low, cells - 1) + np.arange(0, present.shape[1] * cells, cells)
    counts = np.bincount(codes.ravel(), minlength=present.shape[1] * cells).reshape(-1, cells)
    return [_Histogram(each, np.arange(low, high + 1), unit) for each in counts]


def _is_whole(values: Array) -> bool:
    return bool(np.abs(values - np.rint(values)).max(initial=0.0) <= _ROUNDING)


def _by_histogram(columns: list[_Histogram], rng: np.random.Generator, resamples: int) -> Resampled:
    seed = int(rng.integers(2**63))
    point, draws = np.full((1, len(columns)), np.nan), np.full((resamples, 1, len(columns)), np.nan)
    for place, (counts, values, unit) in enumerate(columns):
        held = np.flatnonzero(counts)
        if counts[:-1].any():
            table = np.column_stack([np.append(values, 0), np.append(np.ones_like(values), 0)])[held]
            own = np.random.Generator(np.random.PCG64(seed))
            drawn = own.multinomial(counts.sum(), counts[held] / counts.sum(), size=resamples)
            mean = ratios(1, np.zeros(1, dtype=np.intp), unit)
            point[:, place], draws[:, :, place] = mean(counts[held] @ table), mean(drawn @ table)
    return Resampled(point, draws, None)
