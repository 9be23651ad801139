"""Panels of judges: all ensembles of k at once, and the cascade that asks further judges on disagreement only."""

from __future__ import annotations

import itertools
import math
from typing import Literal, NamedTuple

import numpy as np

from ccfw.stats.agreement import Scores
from ccfw.stats.resampling import Array, Ints, one_thread

Rule = Literal["mean", "median", "majority"]

_AT_ONCE = 4_000_000
"""Items × panels × members sorted at a time, for memory."""


def ensembles(judges: int, size: int) -> Ints:
    """Return the members of every ensemble (C(judges, size) × size), in the order of ``itertools.combinations``."""
    return np.array(list(itertools.combinations(range(judges), size)), dtype=np.int64).reshape(-1, size)


def panel_scores(scores: Scores, members: Ints, rule: Rule = "mean") -> Scores:
    """Return the score of each panel (items × panels), ``members`` being columns of ``scores`` (panels × size).

    A panel has a score where all its members have one; ``majority`` also needs one value of more than half of them.
    """
    panels, size = members.shape
    seats = np.zeros((scores.present.shape[1], panels), dtype=np.float64)
    np.add.at(seats, (members, np.arange(panels)[:, None]), 1.0)
    full = _exact_product(scores.present, seats) == size
    if rule == "mean":
        sums = _exact_product(scores.numerators, seats)
        return Scores(np.where(full, sums, 0), full, scores.denominator * size)
    chosen = np.zeros_like(full, dtype=np.int64)
    agreed = full.copy()
    step = max(1, _AT_ONCE // max(len(full) * size, 1))
    for start in range(0, panels, step):
        held = np.sort(scores.numerators[:, members[start : start + step]], axis=2)
        middle = held[:, :, size // 2]
        chosen[:, start : start + step] = (
            middle if rule == "majority" or size % 2 else middle + held[:, :, size // 2 - 1]
        )
        if rule == "majority":
            agreed[:, start : start + step] &= 2 * (held == middle[:, :, None]).sum(axis=2) > size
    doubled = rule == "median" and size % 2 == 0
    return Scores(np.where(agreed, chosen, 0), agreed, scores.denominator * (2 if doubled else 1))


def _exact_product(whole: Ints | np.ndarray[tuple[int, int], np.dtype[np.bool_]], seats: Array) -> Ints:
    """Multiply whole numbers by way of floats, which is exact below 2^53 and as fast as matrices go."""
    with one_thread().limit(limits=1):
        return np.rint(whole.astype(np.float64) @ seats).astype(np.int64)


class Cascade(NamedTuple):
    """What a cascade answers and what it asks for."""

    scores: Scores
    """One column: the mean over the judges asked; absent where one of those lacks its score."""
    asked: Ints
    """Judges asked, by item."""
    cost: float
    """Expected cost of an item: the mean over items."""


def cascade(scores: Scores, order: Ints, costs: Array, *, first: int = 2, tolerance: float = 0.0) -> Cascade:
    """Ask ``first`` judges of ``order``, then one more at a time while the scores so far differ by more than
    ``tolerance`` points; the answer is the mean of those asked.

    ``order`` are columns of ``scores``, cheapest first as a rule; ``costs`` is per column. A disagreement needs two
    scores: a judge that gave none is paid for, and the item has no answer. Raises ``ValueError`` when ``first`` is not
    from 1 to the number of judges.
    """
    if not 1 <= first <= len(order):
        raise ValueError(f"first={first} of {len(order)} judges")
    numerators, present = scores.numerators[:, order], scores.present[:, order]
    span = np.maximum.accumulate(numerators, axis=1) - np.minimum.accumulate(numerators, axis=1)
    complete = np.logical_and.accumulate(present, axis=1)
    settled = (span <= tolerance * scores.denominator) | ~complete
    settled[:, : first - 1], settled[:, -1] = False, True
    asked = settled.argmax(axis=1) + 1
    last = (np.arange(len(asked)), asked - 1)
    unit = math.lcm(*np.unique(asked).tolist())
    sums = np.cumsum(numerators, axis=1)[last] * (unit // asked)
    answered = complete[last]
    answer = Scores(np.where(answered, sums, 0)[:, None], answered[:, None], scores.denominator * unit)
    spent = np.cumsum(costs[order])[asked - 1]
    return Cascade(answer, asked, float(spent.mean()) if len(spent) else math.nan)
