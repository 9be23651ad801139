"""Human ratings and judges' scores of the same items, as exact arrays that pair up row by row. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ccfw.errors import RequestError
from ccfw.humans.printed import brief
from ccfw.humans.records import Key, Ratings
from ccfw.stats.agreement import Scores
from ccfw.stats.resampling import Ints, Slices

NOT_GIVEN = "not given"
"""Region or language of an item for which the file names none, where it names one for others."""
_LARGEST = 2**44
"""Whole numbers up to which panels add up and comparisons multiply without loss."""
ABSENT = "not judged"
"""Why a judge has no score where its file or folder says nothing."""


@dataclass(frozen=True, eq=False)
class People:
    """Items that people rated, each in one metric."""

    keys: tuple[Key, ...]
    humans: Scores
    """Items × ratings, in the order of the raters: an item has as many as it was rated times."""
    raters: int
    """How many people rated."""
    missing: Mapping[str, int]
    """How many scores the file leaves out, by the reason."""
    metrics: tuple[str, ...]
    slices: Slices
    """All; by metric; by region and by language, where the ratings name them."""
    clusters: Ints
    """What was drawn as a whole: an item in all its metrics at the least (items,)."""

    @cached_property
    def dialogues(self) -> int:
        """How many different things were rated, in whatever metrics."""
        return len({item for item, _ in self.keys})

    @cached_property
    def groups(self) -> tuple[tuple[str, str], ...]:
        """The slices in the order in which tables show them: metrics as the mapping has them."""
        rank = {metric: place for place, metric in enumerate(self.metrics)}
        return tuple(sorted(self.slices.names, key=lambda name: (_PARTITIONS.index(name[0]), rank.get(name[1], 0))))


_PARTITIONS = ("all", "metric", "region", "language")


class Column(NamedTuple):
    """One judge's scores of the items that people rated."""

    scores: Scores
    """Items × 1."""
    missing: Mapping[str, int]
    """How many of the items have none, by the reason."""


def people_of(humans: Ratings, judged: Ratings) -> People:
    """Return what people rated; regions, languages and clusters that they do not name are taken from the judges' side.

    Raises ``RequestError`` when not one rated item was judged.
    """
    known = {*judged.scores, *(key for key, _ in judged.dropped)}
    if known.isdisjoint(humans.scores):
        raise RequestError([_apart(humans, judged)])
    keys = _ordered(humans)
    order = {rater: place for place, rater in enumerate(humans.raters)}
    rows = [[score for _, score in sorted(humans.scores[key].items(), key=lambda each: order[each[0]])] for key in keys]
    slots = [{str(slot): score for slot, score in enumerate(row)} for row in rows]
    return People(
        keys=tuple(keys),
        humans=scores_of(slots, [str(slot) for slot in range(max(map(len, rows)))]),
        raters=len(humans.raters),
        missing=Counter(humans.dropped.values()),
        metrics=humans.metrics,
        slices=_slices(keys, humans, judged),
        clusters=clusters_of(keys, humans, judged),
    )


def column_of(people: People, judged: Ratings, judge: str) -> Column:
    """Return a judge's scores of the rated items; what it lacks is missing and counted, never filled."""
    scores = scores_of([judged.scores.get(key, {}) for key in people.keys], [judge])
    absent = [people.keys[place] for place in np.flatnonzero(~scores.present[:, 0]).tolist()]
    return Column(scores, Counter(judged.dropped.get((key, judge), ABSENT) for key in absent))


def unrated_keys(people: People, judged: Iterable[Ratings]) -> list[Key]:
    """Return what judges scored and nobody rated, in metrics that people rated."""
    rated, metrics = set(people.keys), set(people.metrics)
    found = {key: None for ratings in judged for key in ratings.scores}
    return [key for key in found if key not in rated and key[1] in metrics]


def side_by_side(columns: Sequence[Scores]) -> Scores:
    """Return columns of scores as one array (items × columns) over their common denominator."""
    common = math.lcm(*(column.denominator for column in columns))
    for column in columns:
        _check_size(int(np.abs(column.numerators).max(initial=0)) * (common // column.denominator), common)
    parts = [column.numerators * (common // column.denominator) for column in columns]
    return Scores(np.concatenate(parts, axis=1), np.concatenate([each.present for each in columns], axis=1), common)


def _ordered(humans: Ratings) -> list[Key]:
    rank = {metric: place for place, metric in enumerate(humans.metrics)}
    return sorted(humans.scores, key=lambda key: rank[key[1]])


def _apart(humans: Ratings, judged: Ratings) -> str:
    """Say why nothing pairs up: items or metrics are named otherwise."""
    mine, theirs = {item for item, _ in humans.scores}, {item for item, _ in judged.scores}
    if mine & theirs:
        metrics = ", ".join(judged.metrics)
        return (
            f"ratings.metrics: people rated {', '.join(humans.metrics)}, judges scored {metrics}: no metric in common; "
            "map them, as in +ratings.metrics.Helpfulness=helpful"
        )
    other = min(theirs, default="none at all")
    return (
        f"ratings.columns.item: people rated items such as {brief(min(mine))}, judges scored {brief(other)}: no item "
        "in common"
    )


def _check_size(largest: int, common: int) -> None:
    if largest > _LARGEST:
        raise RequestError(
            [
                f"ratings and align.scores: scores as far as {largest / common:g} from 0 and in parts of 1/{common} "
                "are too long to be compared exactly; give fewer decimals, or a smaller scale"
            ]
        )


def scores_of(rows: Sequence[Mapping[str, Fraction]], columns: Sequence[str]) -> Scores:
    """Return fractions as exact scores (rows × columns) over their common denominator."""
    found = {value for row in rows for value in row.values()}
    common = math.lcm(*(value.denominator for value in found))
    whole = {value: value.numerator * (common // value.denominator) for value in found}
    _check_size(max(map(abs, whole.values()), default=0), common)
    places = {column: place for place, column in enumerate(columns)}
    numerators = np.zeros((len(rows), len(columns)), dtype=np.int64)
    present = np.zeros((len(rows), len(columns)), dtype=np.bool_)
    for place, row in enumerate(rows):
        for column, value in row.items():
            if column in places:
                numerators[place, places[column]], present[place, places[column]] = whole[value], True
    return Scores(numerators, present, common)


def _slices(keys: Sequence[Key], *known: Ratings) -> Slices:
    partitions = {"metric": [metric for _, metric in keys]}
    for kind in ("region", "language"):
        labels = _labels(keys, kind, known)
        if any(labels):
            partitions[kind] = [label or NOT_GIVEN for label in labels]
    return Slices.of(partitions)


def _labels(keys: Sequence[Key], kind: str, known: Sequence[Ratings]) -> list[str]:
    named: dict[str, str] = {}
    for ratings in reversed(known):
        named |= getattr(ratings, f"{kind}s")
    return [named.get(item, "") for item, _ in keys]


def clusters_of(keys: Sequence[Key], *known: Ratings) -> Ints:
    """Return the number of each row's cluster: the one that is named for its item, or else the item itself."""
    labels = [label or item for label, (item, _) in zip(_labels(keys, "cluster", known), keys, strict=True)]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], dtype=np.int64)
