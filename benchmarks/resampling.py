"""The ways of resampling a table of scores that are held against each other."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from ccfw.stats.bootstrap import bootstrap_means

Scores = NDArray[np.float64]
COLUMNS, LEVEL, BATCH = 9, 0.95, 64


def scores(episodes: int, models: int) -> Scores:
    """Return whole scores, none missing."""
    drawn = np.random.default_rng(0).integers(1, 6, size=(episodes, COLUMNS * models))
    return drawn.astype(np.float64)


def continuous(values: Scores) -> Scores:
    """Return scores of which hardly two are alike: those are resampled by row and not as histograms."""
    return values + np.random.default_rng(5).random(values.shape)


def ours(values: Scores, resamples: int) -> Scores:
    """Return the bounds that ccfw gives, lower and upper by column."""
    found = bootstrap_means(values, np.random.default_rng(1), resamples=resamples, level=LEVEL)
    return np.array([[each.low, each.high] for each in found], dtype=np.float64)


def with_gaps(values: Scores) -> Scores:
    """Return the scores with one in twenty missing."""
    return np.where(np.random.default_rng(2).random(values.shape) < 0.05, np.nan, values)


def loop(values: Scores, resamples: int) -> Scores:
    """Return the bounds of a plain loop over models and resamples."""
    n, bounds = len(values), []
    for start in range(0, values.shape[1], COLUMNS):
        rng, model = np.random.default_rng(1), np.ascontiguousarray(values[:, start : start + COLUMNS])
        mean = np.nanmean if np.isnan(model).any() else np.mean
        means = [mean(model[rng.integers(0, n, size=n, dtype=np.int32)], axis=0) for _ in range(resamples)]
        bounds.append(np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0).T)
    return np.concatenate(bounds)


def scipys(values: Scores, resamples: int) -> object:
    """Return scipy's result for the first column."""
    return import_module("scipy.stats").bootstrap(  # by name: it has no stubs
        (values[:, 0],),
        np.mean,
        n_resamples=resamples,
        batch=BATCH,
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(1),
    )


def peak_mb(work: Callable[[], object]) -> float:
    """Return the most memory that work holds at once, in MB."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
