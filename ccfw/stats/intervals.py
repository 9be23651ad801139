"""Intervals from resamples: percentile, BCa and studentised, linear combinations and p-values."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.stats.resampling import (
    Array,
    Resampled,
    Slices,
    distinct_columns,
    exact_blocks,
    ratios,
    resampled,
    resampled_sums,
    total_sums,
    units_of,
)

Method = Literal["percentile", "bca", "studentised"]

FEW = 10
"""Units, drawn as wholes, below which there is no interval and no test."""
_ROUNDING = 1e-12
_NORMAL = NormalDist()


class Bounds(NamedTuple):
    """Figures with the ends of their intervals, arrays of one shape; ``nan`` where there is none."""

    point: Array
    low: Array
    high: Array


def supported(bounds: Bounds, enough: NDArray[np.bool_]) -> Bounds:
    """Return bounds (slices × figures) without an interval where ``enough`` is not set."""
    return bounds._replace(low=np.where(enough, bounds.low, np.nan), high=np.where(enough, bounds.high, np.nan))


def _quantiles(draws: Array, shares: Array) -> Array:
    """Return quantiles over the resamples that have a figure (shares × …), interpolated as ``numpy.quantile`` does.

    ``shares`` is q or q × …: one share for every figure, or each its own.
    """
    resamples, shape = len(draws), draws.shape[1:]
    ordered = draws.reshape(resamples, -1).T.copy()
    ordered.sort(axis=1)  # nan comes last
    there = resamples - np.isnan(ordered).sum(axis=1)
    each = np.broadcast_to(shares.reshape(len(shares), -1), (len(shares), len(ordered)))
    place = each * np.maximum(there - 1, 0)
    below = np.floor(place).astype(np.int64)
    rows = np.arange(len(ordered))
    low, high = ordered[rows, below], ordered[rows, np.minimum(below + 1, np.maximum(there - 1, 0))]
    part = place - below
    with np.errstate(invalid="ignore"):  # inf − inf
        found = np.where(high == low, low, low + part * (high - low))
    quantiles: Array = found.reshape(len(shares), *shape)
    return quantiles


def percentile(found: Resampled, level: float) -> Bounds:
    """Return percentile intervals (Efron 1979; paper 1, Appendix O.1)."""
    tail = (1.0 - level) / 2.0
    return Bounds(found.point, *_quantiles(found.draws, np.array([tail, 1.0 - tail])))


def bca(found: Resampled, level: float) -> Bounds:
    """Return bias-corrected and accelerated intervals (Efron 1987); needs ``accelerate=True``."""
    if found.acceleration is None:
        raise ValueError("BCa needs figures resampled with accelerate=True")
    there = np.maximum((~np.isnan(found.draws)).sum(axis=0), 1)
    slack = _ROUNDING * np.maximum(np.abs(found.point), 1.0)
    below = (found.draws < found.point - slack).sum(axis=0) + (found.draws <= found.point + slack).sum(axis=0)
    bias = _inverse(np.clip(below / (2.0 * there), 0.5 / there, 1.0 - 0.5 / there))
    ends = []
    for z in (_NORMAL.inv_cdf((1.0 - level) / 2.0), _NORMAL.inv_cdf((1.0 + level) / 2.0)):
        moved = bias + z
        ends.append(_cumulative(bias + moved / np.maximum(1.0 - found.acceleration * moved, _ROUNDING)))
    return Bounds(found.point, *_quantiles(found.draws, np.stack(ends)))


def _inverse(shares: Array) -> Array:
    return np.array([_NORMAL.inv_cdf(share) for share in shares.ravel().tolist()]).reshape(shares.shape)


def _cumulative(values: Array) -> Array:
    return np.array([_NORMAL.cdf(value) for value in values.ravel().tolist()]).reshape(values.shape)


def contrast(found: Resampled, coefficients: Array) -> Resampled:
    """Return linear combinations of figures, resample by resample; ``coefficients`` is figures × combinations."""
    return Resampled(found.point @ coefficients, found.draws @ coefficients, None)


def p_values(found: Resampled, null: float = 0.0) -> Array:
    """Return two-sided p-values (slices × figures) of ``figure = null``: the share of resamples that lie as far from
    the sample's figure as that lies from ``null``, ``(1 + #) / (1 + resamples)``; ``nan`` where there is no figure.
    """
    distance = np.abs(found.point - null)
    slack = _ROUNDING * np.maximum(distance, 1.0)
    as_far = (np.abs(found.draws - found.point) >= distance - slack).sum(axis=0)
    shares = (1.0 + as_far) / (1.0 + (~np.isnan(found.draws)).sum(axis=0))
    return np.where(np.isnan(found.point), np.nan, shares)


def ratio_intervals(
    values: NDArray[Any],
    weights: NDArray[Any],
    rng: np.random.Generator,
    *,
    resamples: int,
    level: float,
    method: Method = "percentile",
    slices: Slices | None = None,
    clusters: NDArray[Any] | None = None,
) -> Bounds:
    """Return intervals (slices × columns) of ``Σ values / Σ weights``: a mean, where weights are 1 or 0 for absent.

    ``values`` and ``weights`` are items × columns, values 0 where the weight is. Studentised intervals (Efron &
    Tibshirani 1993, section 12.5) scale each resample's miss by its own standard error, that of a ratio of unit sums.
    """
    if method == "studentised":
        return _studentised(values, weights, rng, resamples, level, slices or Slices.of(), clusters)
    distinct, places = distinct_columns(weights)
    found = resampled(
        np.concatenate([values, distinct], axis=1),
        ratios(values.shape[1], places),
        rng,
        resamples=resamples,
        slices=slices,
        clusters=clusters,
        accelerate=method == "bca",
    )
    return bca(found, level) if method == "bca" else percentile(found, level)


def _studentised(
    values: NDArray[Any],
    weights: NDArray[Any],
    rng: np.random.Generator,
    resamples: int,
    level: float,
    slices: Slices,
    clusters: NDArray[Any] | None,
) -> Bounds:
    columns, features = values.shape[1], np.concatenate([values, weights], axis=1)
    units, n = units_of(len(values), clusters)
    slices.check(len(values))
    blocks = exact_blocks(
        features, units, n, slices.partitions(len(values)), n, lambda sums: _with_products(sums, columns)
    )
    apart = np.eye(len(blocks))
    point, error = _ratio_and_error(total_sums(blocks, apart, np.ones(n, dtype=np.int64)), columns)
    scaled = np.empty((resamples, *point.shape))
    for start, sums in resampled_sums(blocks, apart, n, rng, resamples):
        means, errors = _ratio_and_error(sums, columns)
        misses = np.where(np.abs(means - point) <= _ROUNDING * np.maximum(np.abs(point), 1.0), 0.0, means - point)
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled[start : start + len(sums)] = misses / errors
    tail = (1.0 - level) / 2.0
    high, low = _quantiles(scaled, np.array([tail, 1.0 - tail]))
    flat = error == 0.0
    low, high = (
        np.where(flat, point, point - each * error) for each in (np.where(flat, 0, low), np.where(flat, 0, high))
    )
    infinite = ~(np.isfinite(low) & np.isfinite(high))
    return Bounds(point, np.where(infinite, np.nan, low), np.where(infinite, np.nan, high))


def _with_products(sums: NDArray[Any], columns: int) -> NDArray[Any]:
    wide = sums.astype(np.float64 if sums.dtype.kind == "f" else np.int64)  # squares of small integers overflow
    values, weights = wide[:, :columns], wide[:, columns:]
    return np.concatenate([values, weights, values * values, values * weights, weights * weights], axis=1)


def _ratio_and_error(sums: Array, columns: int) -> tuple[Array, Array]:
    """Return ``r = Σv / Σw`` and its standard error ``√Σ(v − r·w)² / Σw``, by linearisation, from the five sums."""
    value, weight, squares, cross, weights = (sums[..., k * columns : (k + 1) * columns] for k in range(5))
    empty = np.full(value.shape, np.nan)
    ratio = np.divide(value, weight, out=empty, where=weight > 0)
    residual = squares - 2.0 * ratio * cross + ratio**2 * weights
    residual = np.where(residual > 1e-9 * np.maximum(squares, 1e-300), residual, np.where(np.isnan(ratio), np.nan, 0.0))
    return ratio, np.divide(np.sqrt(residual), weight, out=np.full(value.shape, np.nan), where=weight > 0)
