"""Adjusted p-values of several tests: reject where the adjusted one is at most the level.

A ``nan`` is a test that was not made: it stays and does not count.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ccfw.stats.resampling import Array


def holm(p_values: Array) -> Array:
    """Adjust so that the chance of any false rejection is at most the level (Holm 1979), whatever the dependence."""
    return _adjusted(p_values, lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1)))


def benjamini_hochberg(p_values: Array) -> Array:
    """Adjust so that the expected share of false rejections is at most the level (Benjamini & Hochberg 1995), for tests
    that are independent or positively dependent.
    """
    return _adjusted(p_values, lambda p: np.minimum.accumulate((p * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1])


def _adjusted(p_values: Array, rule: Callable[[Array], Array]) -> Array:
    """Apply a rule for ascending p-values to those that there are, whatever their order and shape."""
    flat = p_values.ravel()
    made = np.flatnonzero(~np.isnan(flat))
    ascending = made[np.argsort(flat[made], kind="stable")]
    adjusted = np.full(flat.shape, np.nan)
    adjusted[ascending] = np.minimum(rule(flat[ascending]), 1.0)
    return adjusted.reshape(p_values.shape)
