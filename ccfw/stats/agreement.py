"""Scores held against people, and people against each other, exactly (paper 1, section 5.2, Appendix M).

An *item* is one metric of one episode. Scores are whole numbers, and so is an item's consensus once multiplied by the
number of its raters; all comparisons are made on such whole numbers, as a third has no exact float and a difference of
exactly one decides ±1. An item that lacks a score or a target is in no figure of that column and is counted as missing.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.stats.resampling import Array, Ints

Flags = NDArray[np.bool_]

_INT64 = 2**63 - 1
_PRINTED = 1e-4
"""How far off a printed multiple may be."""


class Scores(NamedTuple):
    """Exact scores of several judges, raters or panels: ``numerators / denominator`` where ``present``."""

    numerators: Ints
    """Items × columns; 0 where absent."""
    present: Flags
    """Items × columns."""
    denominator: int = 1


class Target(NamedTuple):
    """What scores are held against, ``sums / counts``: one for all columns (items × 1) or one for each."""

    sums: Ints
    counts: Ints
    """0 where there is nothing to be held against."""


class Differences(NamedTuple):
    """Score minus target, exactly: ``numerators / denominators`` where ``present``."""

    numerators: Ints
    """Items × columns."""
    denominators: Ints
    """Items × columns, or items × 1 where all columns have the same; positive everywhere."""
    present: Flags
    """Items × columns."""


def exact_scores(values: Array, denominator: int = 1) -> Scores:
    """Return the scores in ``values`` (items × columns; ``nan`` is a missing one) as multiples of 1/``denominator``.

    Raises ``ValueError`` when a value is no such multiple, within the 1e-4 that a printed third may be off.
    """
    present = ~np.isnan(values)
    scaled = np.where(present, values, 0.0) * denominator
    if not np.isfinite(scaled).all():
        raise ValueError("an infinite score")
    numerators = np.rint(scaled)
    if (wrong := np.abs(scaled - numerators) > _PRINTED * denominator).any():
        raise ValueError(f"{values[wrong][0]} is no multiple of 1/{denominator}")
    return Scores(numerators.astype(np.int64), present, denominator)


def as_scores(target: Target) -> Scores:
    """Return a target as scores, over the common multiple of its counts."""
    common = math.lcm(*np.unique(target.counts[target.counts > 0]).tolist())
    sums = _wide_enough(target.sums, common)
    numerators = sums * (common // np.maximum(target.counts, 1))
    return Scores(np.where(target.counts > 0, numerators, 0), target.counts > 0, common)


def consensus(humans: Scores) -> Target:
    """Return the mean over the raters that an item has (items × 1)."""
    sums = humans.numerators.sum(axis=1, keepdims=True)
    return Target(sums, humans.present.sum(axis=1, keepdims=True) * humans.denominator)


def leave_one_out(humans: Scores) -> Target:
    """Return for each rater the mean over the others (items × raters)."""
    everyone = consensus(humans)
    return Target(everyone.sums - humans.numerators, everyone.counts - humans.present * humans.denominator)


def differences(scores: Scores, target: Target) -> Differences:
    """Hold every column of scores against the target, over the least common multiple of their denominators.

    Beyond 64 bits the whole numbers are Python's own (arrays of ``object``), so that nothing wraps around.
    """
    present = scores.present & (target.counts > 0)
    counts = np.where(target.counts > 0, target.counts, scores.denominator)
    shared = np.gcd(counts, scores.denominator)
    by_score, by_target = counts // shared, scores.denominator // shared
    ours = _wide_enough(scores.numerators, 2 * _largest(by_score))
    theirs = _wide_enough(target.sums, 2 * _largest(by_target))
    numerators = ours * by_score - theirs * by_target
    denominators = _wide_enough(by_score, scores.denominator) * scores.denominator
    return Differences(np.where(present, numerators, 0), denominators, present)


def _largest(values: Ints) -> int:
    return max(int(values.max(initial=0)), -int(values.min(initial=0)))


def _wide_enough(values: Ints, factor: int) -> Ints:
    """Return whole numbers that may be multiplied by up to ``factor``."""
    return values if _largest(values) * factor <= _INT64 else values.astype(object)


def rater_pairs(humans: Scores) -> Differences:
    """Hold raters against each other: one column for each two of them, in the order of ``combinations``.

    Their figures with ``average=True`` are the paper's human–human baseline, the mean over all rater pairs.
    """
    pairs = np.array(list(combinations(range(humans.present.shape[1]), 2)), dtype=np.int64).reshape(-1, 2).T
    present = humans.present[:, pairs[0]] & humans.present[:, pairs[1]]
    numerators = humans.numerators[:, pairs[0]] - humans.numerators[:, pairs[1]]
    denominators = np.full((len(present), 1), humans.denominator, dtype=np.int64)
    return Differences(np.where(present, numerators, 0), denominators, present)


def raters_against_others(humans: Scores) -> Differences:
    """Hold each rater against the mean of the others: with ``average=True`` like for like with a judge against the
    consensus, though of one rater fewer.
    """
    return differences(humans, leave_one_out(humans))


def against_each(scores: Scores, humans: Scores) -> list[Differences]:
    """Hold each judge against every single rater (one ``Differences`` a judge, a column for each rater): with
    ``average=True`` like for like with the human–human baseline.
    """
    raters = Target(humans.numerators, humans.present * np.int64(humans.denominator))
    return [
        differences(scores._replace(numerators=numerators[:, None], present=present[:, None]), raters)
        for numerators, present in zip(scores.numerators.T, scores.present.T, strict=True)
    ]
