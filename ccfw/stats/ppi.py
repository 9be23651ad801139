"""Prediction-powered inference: a mean of human ratings from few rated items and many judged ones.

The judge's mean over the many, corrected by what it is off by on the few (Angelopoulos et al., Science 382, 2023), with
the weight λ of the judge chosen for the least variance (PPI++, Angelopoulos, Duchi & Zrnic, arXiv:2311.01453)::

    θ   = λ · mean(judge on judged) + mean(human − λ · judge on rated)
    SE² = λ² · Var(judge on judged) / N + Var(human − λ · judge on rated) / n

``rated`` and ``judged`` items are different ones, drawn alike: an item that people rated is not among the judged. The
intervals are those of large samples; for few units the bootstrap of the human ratings alone is the safer reading.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.stats.resampling import Array, units_of


class Powered(NamedTuple):
    """A prediction-powered mean or difference."""

    estimate: float
    low: float
    high: float
    error: float
    """Standard error."""
    weight: float
    """λ: 0 ignores the judge, 1 takes it at its word."""
    rated: int
    judged: int
    classical: float
    """The mean of the human ratings alone."""
    classical_error: float

    @property
    def effective(self) -> float:
        """Rated items that would give the same standard error without a judge; ``inf`` when that is 0."""
        return self.rated * (self.classical_error / self.error) ** 2 if self.error > 0 else math.inf

    @property
    def bought(self) -> float:
        """Rated items that the judge saves."""
        return self.effective - self.rated


def powered_mean(
    human: Array,
    judge: Array,
    judged: Array,
    *,
    level: float = 0.95,
    weight: float | None = None,
    clusters: NDArray[np.int64] | None = None,
    judged_clusters: NDArray[np.int64] | None = None,
) -> Powered:
    """Return the mean of human ratings over all items like these.

    ``human`` and ``judge`` (rated items,) are of the same items, ``judged`` (N,) of others. Without ``weight`` λ is
    tuned, between 0 and 1. With clusters (items,) variances are those of cluster sums. For a paired difference of two
    assistants give the differences of their ratings and scores.
    Raises ``ValueError`` on unequal lengths, a ``nan`` or fewer than two units on a side.
    """
    if human.shape != judge.shape or np.isnan([human.sum(), judge.sum(), judged.sum()]).any():
        raise ValueError("human and judge must be of the same items, and all three without nan")
    rated_units, units = units_of(len(human), clusters)
    judged_units, judged_count = units_of(len(judged), judged_clusters)
    if units < 2 or judged_count < 2:
        raise ValueError(f"{units} rated and {judged_count} judged units: two of each are needed")
    people, machine = _parts(human, rated_units, units), _parts(judge, rated_units, units)
    many = _parts(judged, judged_units, judged_count)
    if weight is None:
        spread = float(machine @ machine + many @ many)
        weight = min(1.0, max(0.0, float(people @ machine) / spread)) if spread > 0 else 0.0
    rest = people - weight * machine
    error = math.sqrt(float(rest @ rest + weight**2 * (many @ many)))
    estimate = float(weight * judged.mean() + (human - weight * judge).mean())
    reach = NormalDist().inv_cdf((1.0 + level) / 2.0) * error
    return Powered(
        estimate=estimate,
        low=estimate - reach,
        high=estimate + reach,
        error=error,
        weight=weight,
        rated=len(human),
        judged=len(judged),
        classical=float(human.mean()),
        classical_error=math.sqrt(float(people @ people)),
    )


def _parts(values: Array, units: NDArray[np.int64] | None, count: int) -> Array:
    """Return each unit's part in the error of the mean: their squares add up to its variance."""
    centred = values - values.mean()
    sums = centred if units is None else np.bincount(units, weights=centred, minlength=count)
    found: Array = sums / len(values) * math.sqrt(count / (count - 1))
    return found


def powered_difference(first: Powered, second: Powered, *, level: float = 0.95) -> Powered:
    """Return first − second of independent samples: other rated items, and other judged ones.

    ``weight`` is ``nan``, ``rated`` and ``judged`` are sums.
    """
    error = math.hypot(first.error, second.error)
    estimate = first.estimate - second.estimate
    reach = NormalDist().inv_cdf((1.0 + level) / 2.0) * error
    return Powered(
        estimate=estimate,
        low=estimate - reach,
        high=estimate + reach,
        error=error,
        weight=math.nan,
        rated=first.rated + second.rated,
        judged=first.judged + second.judged,
        classical=first.classical - second.classical,
        classical_error=math.hypot(first.classical_error, second.classical_error),
    )


def powered_slices(
    human: Array,
    judge: Array,
    slices: NDArray[np.int64],
    judged: Array,
    judged_slices: NDArray[np.int64],
    *,
    level: float = 0.95,
    clusters: NDArray[np.int64] | None = None,
    judged_clusters: NDArray[np.int64] | None = None,
) -> dict[int, Powered | None]:
    """Return the mean of each slice, with λ of its own; ``None`` where one has fewer than two units on a side.

    ``slices`` (rated items,) and ``judged_slices`` (N,) say which slice an item is in.
    """
    found: dict[int, Powered | None] = {}
    for name in np.union1d(slices, judged_slices).tolist():
        few, many = slices == name, judged_slices == name
        own = clusters[few] if clusters is not None else None
        others = judged_clusters[many] if judged_clusters is not None else None
        enough = units_of(int(few.sum()), own)[1] >= 2 and units_of(int(many.sum()), others)[1] >= 2
        found[name] = (
            powered_mean(human[few], judge[few], judged[many], level=level, clusters=own, judged_clusters=others)
            if enough
            else None
        )
    return found
