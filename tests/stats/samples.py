"""Ratings to test on, and slow and plain ways to the same figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from ccfw.stats.agreement import Scores, exact_scores

Array = NDArray[np.float64]
NAN = float("nan")


def ratings(seed: int, items: int, raters: int, missing: float = 0.0) -> Array:
    """Return whole scores that agree more than by chance, some missing."""
    rng = np.random.default_rng(seed)
    table = np.clip(np.rint(rng.normal(3.4, 0.9, (items, 1)) + rng.normal(0, 0.8, (items, raters))), 1, 5)
    table[rng.random(table.shape) < missing] = np.nan
    return table


def scores(*columns: Sequence[float]) -> Scores:
    """Return whole scores given column by column."""
    return exact_scores(np.array(columns, dtype=np.float64).T)


def tables(most_items: int = 12, most_columns: int = 4) -> st.SearchStrategy[Array]:
    """Return items × columns of scores from 1 to 5, any of them missing."""
    shape = st.tuples(st.integers(1, most_items), st.integers(1, most_columns))
    return shape.flatmap(lambda size: arrays(np.float64, size, elements=st.integers(1, 5).map(float) | st.just(NAN)))


def fractions(values: Array) -> list[Fraction | None]:
    """Return whole scores exactly."""
    return [None if np.isnan(value) else Fraction(int(value)) for value in values]


def mean(values: Sequence[Fraction | None]) -> Fraction | None:
    """Return the exact mean of what is there."""
    there = [value for value in values if value is not None]
    return sum(there, Fraction()) / len(there) if there else None


def draws_of(seed: int, n: int, resamples: int) -> NDArray[np.int64]:
    """Return the units of each resample, as the stream of a seed gives them (resamples × n)."""
    return np.random.default_rng(seed).integers(0, n, size=(resamples, n))


def by_loop(
    figure: Callable[[NDArray[np.int64]], Any], seed: int, units: Sequence[NDArray[np.int64]], resamples: int
) -> Array:
    """Return a figure of the items of every resample of units, one after the other."""
    return np.array(
        [figure(np.concatenate([units[unit] for unit in draw])) for draw in draws_of(seed, len(units), resamples)],
        dtype=np.float64,
    )
