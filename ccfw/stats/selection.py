"""What choosing the best of many panels is worth once the choice is not rewarded for luck.

The best of 165 on the items that chose it looks better than it is. Here the choice is made on some groups of items and
its loss taken on the others (cross-validation by group, repeated), so that no item judges the choice that it helped to
make.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.stats.agreement import Differences, Scores, Target, differences
from ccfw.stats.intervals import Method, ratio_intervals
from ccfw.stats.panels import Rule, panel_scores
from ccfw.stats.resampling import Array, Ints, one_thread, units_of


class Losses(NamedTuple):
    """A loss that is best small, by item and candidate (items × candidates); 0 where absent."""

    values: Array
    present: NDArray[np.bool_]


class Selection(NamedTuple):
    """The best of many, honestly."""

    best: int
    """The candidate with the least loss on all items."""
    apparent: float
    """Its loss on those items."""
    honest: float
    """Loss, on items held out, of what the other items chose."""
    reference: float
    """Loss of the reference candidate, or the mean loss of all candidates."""
    gain: float
    """``reference − honest``: what choosing is worth."""
    gain_low: float
    gain_high: float
    """Ends of the gain's interval."""
    picks: Ints
    """How often each candidate was chosen (candidates,), over folds and repeats."""
    items: int
    """Items that every candidate has: the others are left out."""

    @property
    def optimism(self) -> float:
        """How much better the best looks than choosing is."""
        return self.honest - self.apparent


class JudgeValue(NamedTuple):
    """What one judge adds to the panel of all."""

    judge: int
    everyone: float
    """Loss of the panel of all, on the items that have a score with and without the judge."""
    without: float
    """Loss of the panel without the judge, on the same."""
    value: float
    """``without − everyone``: above 0 the judge helps."""
    low: float
    high: float


def absolute_losses(found: Differences) -> Losses:
    """Return |score − target| as the loss."""
    return Losses((np.abs(found.numerators) / found.denominators).astype(np.float64), found.present)


def outside_one_losses(found: Differences) -> Losses:
    """Return 1 where |score − target| > 1 as the loss."""
    return Losses((np.abs(found.numerators) > found.denominators).astype(np.float64), found.present)


def nested_selection(
    losses: Losses,
    rng: np.random.Generator,
    *,
    groups: NDArray[np.int64] | None = None,
    folds: int = 5,
    repeats: int = 20,
    reference: int | None = None,
    level: float = 0.95,
) -> Selection:
    """Choose the candidate of least loss on all folds but one, take its loss on that one, and so on for all folds.

    Items of one group (items,) are in one fold. Without ``reference`` the gain is over a candidate picked by chance.
    Folds share what chose, so their gains depend on each other: the interval is that of Nadeau & Bengio (Machine
    Learning 52, 2003), ``gain ± z · √((1/folds + 1/(folds − 1)) · s²)``, s² being the variance of the gain over the
    folds of a repeat. Intervals that resample items given the choice would find a gain of nothing in a quarter of runs.
    Raises ``ValueError`` when fewer groups than folds have an item that every candidate scored.
    """
    complete = losses.present.all(axis=1)
    units, size = units_of(int(complete.sum()), None if groups is None else groups[complete])
    if not 2 <= folds <= size:
        raise ValueError(f"{folds} folds of {size} groups of items that all candidates have")
    units = np.arange(size) if units is None else units
    items = np.bincount(units, minlength=size)
    order = np.argsort(units, kind="stable")
    sums = np.add.reduceat(losses.values[complete][order], np.cumsum(items) - items, axis=0)
    fold = rng.permuted(np.tile(np.arange(size) % folds, (repeats, 1)), axis=1)
    held_out = (fold[:, None, :] == np.arange(folds)[:, None]).astype(np.float64)
    with one_thread().limit(limits=1):
        lost, held = held_out @ sums, held_out @ items
    trained = (sums.sum(axis=0) - lost) / (items.sum() - held)[..., None]
    chosen = trained.argmin(axis=2)
    picked = np.take_along_axis(lost, chosen[..., None], axis=2)[..., 0]
    against = lost.mean(axis=2) if reference is None else lost[:, :, reference]
    honest, by_chance = (float(each.sum()) / repeats / int(items.sum()) for each in (picked, against))
    spread = ((against - picked) / held).var(axis=1, ddof=1).mean() * (1.0 / folds + 1.0 / (folds - 1))
    reach = NormalDist().inv_cdf((1.0 + level) / 2.0) * float(np.sqrt(spread))
    means = sums.sum(axis=0) / items.sum()
    return Selection(
        best=int(means.argmin()),
        apparent=float(means.min()),
        honest=honest,
        reference=by_chance,
        gain=by_chance - honest,
        gain_low=by_chance - honest - reach,
        gain_high=by_chance - honest + reach,
        picks=np.bincount(chosen.ravel(), minlength=len(means)),
        items=int(items.sum()),
    )


def leave_one_judge_out(
    scores: Scores,
    target: Target,
    rng: np.random.Generator,
    *,
    rule: Rule = "mean",
    losses: Callable[[Differences], Losses] = absolute_losses,
    resamples: int,
    level: float,
    clusters: NDArray[np.int64] | None = None,
    method: Method = "percentile",
) -> list[JudgeValue]:
    """Return what each of two or more judges adds to the panel of all under ``rule``, in the order of the columns.

    Figures are ``nan`` where no item has a score both with and without the judge.
    """
    judges = np.arange(scores.present.shape[1])
    others = np.array([np.delete(judges, judge) for judge in judges])
    everyone = losses(differences(panel_scores(scores, judges[None], rule), target))
    without = losses(differences(panel_scores(scores, others, rule), target))
    both = everyone.present & without.present
    apart = np.where(both, without.values - everyone.values, 0.0)
    bounds = ratio_intervals(apart, both, rng, resamples=resamples, level=level, method=method, clusters=clusters)
    items = np.where(both.any(axis=0), both.sum(axis=0), np.nan)
    rows = zip(
        *(np.where(both, each.values, 0.0).sum(axis=0) / items for each in (everyone, without)),
        *(each[0] for each in bounds),
        strict=True,
    )
    return [JudgeValue(judge, *map(float, row)) for judge, row in enumerate(rows)]


def pareto_front(costs: Array, losses: Array) -> Ints:
    """Return the candidates that no other beats in cost or loss without being worse in the other, by rising cost.

    ``nan`` is never among them; of equal candidates all are.
    """
    no_worse = (costs[:, None] <= costs) & (losses[:, None] <= losses)
    better = (costs[:, None] < costs) | (losses[:, None] < losses)
    beaten = (no_worse & better).any(axis=0) | np.isnan(costs) | np.isnan(losses)
    front = np.flatnonzero(~beaten)
    return front[np.lexsort((losses[front], costs[front]))]
