"""Norm Match and quality by method, and by how well the base policy knew the norm (paper 2, Tables 27, 28). Pure.

Two readings of the same answers stand side by side: over valid answers only, and over all of them, where an answer that
cannot be read counts as a stated score (Tables 5 and 24 are such a pair).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ccfw.align.alignment import Figure, Terms
from ccfw.stats.resampling import Array
from ccfw.training.figures import means


class Graded(NamedTuple):
    """One policy's answer under one method, with what judges gave it."""

    item: str
    """The same under every method: policy, situation and number of the answer."""
    policy: str
    norm_id: str
    valid: bool
    outcome: float | None
    """1 to 5; ``None``: not scored."""
    norm_match: float | None
    """0 to 2."""


class MethodLine(NamedTuple):
    """One method on one policy."""

    policy: str
    """``all``: every policy."""
    method: str
    outcome: Figure
    outcome_gain: Figure
    """Over the first method, on items that both have."""
    norm_match: Figure
    norm_match_gain: Figure
    items: int
    """That the outcome rests on."""
    match_items: int
    """That Norm Match rests on."""
    valid: float | None
    """Share of the answers that can be read."""
    invalid: int
    """Answers that cannot be read."""
    outcome_unscored: int
    """Valid answers that no judge gave an outcome."""
    match_unscored: int
    """Valid answers that no judge gave a Norm Match."""
    missing: int
    """Items asked for that there is no answer to."""


class Stratum(NamedTuple):
    """Answer quality where the base policy's Norm Match was ``base``."""

    base: float
    method: str
    outcome: Figure
    gain: Figure
    items: int


def by_method(
    methods: Mapping[str, Mapping[str, Graded]],
    terms: Terms,
    invalid: tuple[float, float] | None = None,
    *,
    asked: int,
) -> list[MethodLine]:
    """Return outcome and Norm Match of each method, over all policies and by policy; the first method is the base.

    ``asked`` is how many answers each policy was asked for under each method. Without ``invalid`` the means are over
    valid answers that have a score. With it they are over all answers, one that cannot be read counting as ``invalid``
    (outcome, Norm Match); a valid answer that no judge scored is in neither.
    """
    names, items = list(methods), _items(methods)
    first = {item: next(own[item] for own in methods.values() if item in own) for item in items}
    columns = [_column(methods[name], items, scale, invalid) for scale in (0, 1) for name in names]
    table: Array = np.stack(columns, axis=1) if items else np.empty((0, 2 * len(names)))
    base = np.repeat(table[:, [0, len(names)]], len(names), axis=1)
    policies = [first[item].policy for item in items]
    found = means(
        np.concatenate([table, table - base], axis=1),
        [first[item].norm_id for item in items],
        terms,
        {"policy": policies},
    )
    lines = []
    for (partition, group), figures in found.figures.items():
        if partition == "policy" and len(set(policies)) == 1:
            continue
        expected = asked * (len(set(policies)) if partition == "all" else 1)
        for place, name in enumerate(names):
            own = [each for each in methods[name].values() if partition == "all" or each.policy == group]
            score, match, gain, more = (figures[place + part * len(names)] for part in range(4))
            counts = found.items[partition, group]
            rest_on = counts[place], counts[place + len(names)]
            valid = sum(each.valid for each in own) / len(own) if own else None
            lines.append(MethodLine(group, name, score, gain, match, more, *rest_on, valid, *_lost(own, expected)))
    return lines


def _lost(own: Sequence[Graded], asked: int) -> tuple[int, int, int, int]:
    """Return how many answers cannot be read, lack an outcome, lack a Norm Match, are missing."""
    valid = [each for each in own if each.valid]
    outcome, match = (sum(getattr(each, scale) is None for each in valid) for scale in ("outcome", "norm_match"))
    return len(own) - len(valid), outcome, match, asked - len(own)


def stratified(methods: Mapping[str, Mapping[str, Graded]], terms: Terms) -> list[Stratum]:
    """Return the outcome of each method where the base policy's Norm Match was 0, 1 and 2 (of a panel also between).

    An item counts only when its answers under every method are valid and scored (Table 28). The base policy's own score
    is noisy, so part of what a low stratum gains and a high one loses is regression to the mean; the figures do not
    take that out.
    """
    names = list(methods)
    base = methods[names[0]]
    items = [
        item
        for item in _items(methods)
        if all(item in own and own[item].valid and own[item].outcome is not None for own in methods.values())
        and base[item].norm_match is not None
    ]
    if not items:
        return []
    scores: Array = np.array([[methods[name][item].outcome for name in names] for item in items], dtype=np.float64)
    levels = [f"{base[item].norm_match:g}" for item in items]
    found = means(
        np.concatenate([scores, scores - scores[:, :1]], axis=1),
        [base[item].norm_id for item in items],
        terms,
        {"base": levels},
    )
    return [
        Stratum(float(level), name, figures[place], figures[place + len(names)], found.items[partition, level][place])
        for (partition, level), figures in found.figures.items()
        if partition == "base"
        for place, name in enumerate(names)
    ]


def _items(methods: Mapping[str, Mapping[str, Graded]]) -> list[str]:
    return list(dict.fromkeys(item for own in methods.values() for item in own))


def _column(own: Mapping[str, Graded], items: Sequence[str], scale: int, invalid: tuple[float, float] | None) -> Array:
    def value(item: str) -> float:
        graded = own.get(item)
        if graded is None:
            return np.nan
        if not graded.valid:
            return np.nan if invalid is None else invalid[scale]
        score = (graded.outcome, graded.norm_match)[scale]
        return np.nan if score is None else score

    return np.array([value(item) for item in items], dtype=np.float64)
