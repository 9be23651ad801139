"""Percentile bootstrap of column means over episodes (paper 1, Appendix O.1)."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

_CHUNK = 64
"""Resamples drawn at a time: bounds memory at ``64 × n`` counts and leaves the result unchanged."""


@cache
def _one_thread() -> ThreadpoolController:
    """Return what holds the linear algebra library to one thread: on products so small more wait for each other.

    Made once, as it looks through every library that is loaded.
    """
    return ThreadpoolController().select(user_api="blas")


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
    if n == 0:
        return tuple(Interval(None, None, None, 0) for _ in range(columns))
    missing = np.isnan(values)
    counts = n - missing.sum(axis=0)
    gaps = np.flatnonzero(counts < n)
    filled = np.where(missing, 0.0, values) if gaps.size else values
    present = (~missing[:, gaps]).astype(np.float64)
    means = np.empty((resamples, columns))
    weights = np.empty((_CHUNK, n))
    with _one_thread().limit(limits=1):
        for start in range(0, resamples, _CHUNK):
            size = min(_CHUNK, resamples - start)
            for row, draw in enumerate(rng.integers(0, n, size=(size, n), dtype=np.int32)):
                weights[row] = np.bincount(draw, minlength=n)
            sums = np.matmul(weights[:size], filled, out=means[start : start + size])
            held = weights[:size] @ present
            sums[:, gaps] = np.divide(sums[:, gaps], held, out=np.full_like(held, np.nan), where=held > 0)
    means[:, counts == n] /= n
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
