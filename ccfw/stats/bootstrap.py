"""Percentile bootstrap of column means over episodes (paper 1, Appendix O.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_CHUNK = 64
"""Resamples drawn at a time: bounds memory at ``64 × n`` counts and leaves the result unchanged."""


class Interval(NamedTuple):
    """A mean with its percentile interval."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    """Observations that are there."""


def bootstrap_means(
    values: NDArray[np.float64], rng: np.random.Generator, *, resamples: int, level: float
) -> tuple[Interval, ...]:
    """Return one interval per column of ``values`` (episodes × columns; ``nan`` is a missing observation).

    Whole rows are resampled, so columns stay paired. A column's mean is over the observations that a
    resample holds; resamples that hold none are left out, and when all of them do there are no bounds. With no
    observation everything is ``None``.
    """
    n, columns = values.shape
    present = ~np.isnan(values)
    counts = present.sum(axis=0)
    if n == 0:
        return tuple(Interval(None, None, None, 0) for _ in range(columns))
    filled = np.where(present, values, 0.0)
    stacked = np.hstack([filled, present.astype(np.float64)])
    means = np.full((resamples, columns), np.nan)
    for start in range(0, resamples, _CHUNK):
        size = min(_CHUNK, resamples - start)
        draws = rng.integers(0, n, size=(size, n), dtype=np.int32)
        weights = np.stack([np.bincount(draw, minlength=n) for draw in draws]).astype(np.float64)
        sums = weights @ stacked
        held = sums[:, columns:]
        np.divide(sums[:, :columns], held, out=means[start : start + size], where=held > 0)
    tail = (1.0 - level) / 2.0
    result = []
    for column in range(columns):
        if counts[column] == 0:
            result.append(Interval(None, None, None, 0))
            continue
        drawn = means[:, column][~np.isnan(means[:, column])]
        point = float(filled[:, column].sum() / counts[column])
        if drawn.size == 0:
            result.append(Interval(point, None, None, int(counts[column])))
            continue
        low, high = np.quantile(drawn, [tail, 1.0 - tail])
        result.append(Interval(point, float(low), float(high), int(counts[column])))
    return tuple(result)
