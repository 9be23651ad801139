"""Judges held against people, and people against each other (paper 1, section 5.2, Appendices K.2 and M). Pure.

All figures come with bootstrap intervals over clusters: a dialogue is drawn with all its metrics. Judge minus people is
the bias, so that below 0 a judge is the stricter one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.humans.study import People, side_by_side
from ccfw.stats.agreement import (
    Differences,
    Scores,
    Target,
    as_scores,
    consensus,
    differences,
    leave_one_out,
    rater_pairs,
    raters_against_others,
)
from ccfw.stats.figures import FigureIntervals, figure_intervals
from ccfw.stats.intervals import Bounds
from ccfw.stats.panels import Rule, panel_scores
from ccfw.stats.reliability import (
    Level,
    alpha,
    alpha_features,
    categories,
    intraclass_correlation,
    kendall,
    pairable,
    spearman,
    weighted_kappa,
)
from ccfw.stats.resampling import Array, Ints, Slices

FIGURES = ("within_one", "mae", "bias", "exact")
Group = tuple[str, str]
"""A partition and the name of one of its groups: ``("region", "SG")``; ``("all", "all")`` is everything."""
ALL: Group = ("all", "all")
_MOST_LEVELS = 2_000
"""Different scores up to which a table of them is made."""


class Terms(NamedTuple):
    """How intervals are made."""

    seed: int
    resamples: int
    level: float

    def generator(self) -> np.random.Generator:
        """Return the random numbers; every figure starts from the same ones, so that columns of equal items pair."""
        return np.random.default_rng(self.seed)


class Figure(NamedTuple):
    """A figure with its interval; ``None`` where nothing could be compared."""

    value: float | None
    low: float | None
    high: float | None


class Line(NamedTuple):
    """The figures of one group."""

    within_one: Figure
    """A share."""
    mae: Figure
    bias: Figure
    exact: Figure
    items: int
    """Comparisons: items, pairs of ratings, or ratings."""
    missing: int


_UNKNOWN = Figure(None, None, None)
_NOTHING = Line(_UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN, 0, 0)
Lines = Mapping[Group, Line]


class Reliability(NamedTuple):
    """How far people agree beyond chance; ``None`` where it has no value."""

    alpha_nominal: float | None
    alpha_ordinal: float | None
    alpha_interval: float | None
    icc1: float | None
    """Of one rating."""
    icc1k: float | None
    """Of an item's mean rating."""


class Association(NamedTuple):
    """How a judge's scores go together with the consensus; ``None`` where it has no value."""

    kappa: float | None
    """With quadratic weights."""
    spearman: float | None
    kendall: float | None
    """Tau-b."""


@dataclass(frozen=True)
class Baseline:
    """What people make of each other's ratings."""

    pairs: Lines
    """Any two ratings of an item: the paper's human–human baseline."""
    others: Lines
    """A rating against the mean of the item's others: like for like with a judge against the consensus."""
    reliability: Mapping[Group, Reliability]


@dataclass(frozen=True)
class Alignment:
    """One judge, or one panel, against people."""

    consensus: Lines
    """Against the mean of an item's ratings, as in the paper."""
    single: Line
    """Against each rating: what human–human pairs are comparable to."""
    others: Line
    """Against the mean of the ratings but one, each left out in turn: the target of people against the others."""
    association: Mapping[Group, Association]
    with_people: Reliability
    """Of people and the judge as one rater more."""


def baseline(people: People, terms: Terms) -> Baseline:
    """Hold people against each other."""
    return Baseline(
        pairs=_flat_lines(rater_pairs(people.humans), people, terms, people.slices),
        others=_flat_lines(raters_against_others(people.humans), people, terms, people.slices),
        reliability={group: _reliability(_rows(people.humans, rows)) for group, rows in _groups(people)},
    )


def alignment(people: People, judge: Scores, terms: Terms) -> Alignment:
    """Hold a judge's scores (items × 1) against people."""
    target = consensus(people.humans)
    apart = differences(judge, target)
    found = figure_intervals(
        apart,
        terms.generator(),
        resamples=terms.resamples,
        level=terms.level,
        slices=people.slices,
        clusters=people.clusters,
    )
    humans, ratings = people.humans, people.humans.present.shape[1]
    each = judge._replace(
        numerators=np.repeat(judge.numerators, ratings, axis=1), present=np.repeat(judge.present, ratings, axis=1)
    )
    left_out = leave_one_out(humans)
    others = left_out._replace(counts=np.where(humans.present, left_out.counts, 0))
    return Alignment(
        consensus=lines(found, people.slices, spread_out(apart.present, people.slices, people.clusters)),
        single=_flat_line(differences(each, _targets(humans)), people, terms),
        others=_flat_line(differences(each, others), people, terms),
        association=_associations(people, judge, as_scores(target)),
        with_people=_reliability(_beside(humans, judge)),
    )


def panel(columns: Sequence[Scores], rule: Rule) -> Scores:
    """Return the scores of a judge by those of its members (each items × 1): missing where one of them is."""
    together = side_by_side(columns)
    return panel_scores(together, np.arange(len(columns), dtype=np.int64)[None], rule)


def lines(found: FigureIntervals, slices: Slices, sure: NDArray[np.bool_], column: int = 0) -> dict[Group, Line]:
    """Return one column's figures by group, with bounds where there are clusters enough (``spread_out``)."""
    bounded = sure[:, column].tolist()
    within, mae, bias, exact = (_column(getattr(found, name), column, bounded) for name in FIGURES)
    items, missing = (part[:, column].astype(int).tolist() for part in (found.items, found.missing))
    parts = zip(slices.names, within, mae, bias, exact, items, missing, strict=True)
    return {group: Line(*each) for group, *each in parts}


def _column(bounds: Bounds, column: int, bounded: Sequence[bool]) -> list[Figure]:
    every = zip(*(part[:, column].tolist() for part in bounds), bounded, strict=True)
    return [
        Figure(known(value), *((known(low), known(high)) if own else (None, None))) for value, low, high, own in every
    ]


def spread_out(present: NDArray[np.bool_], slices: Slices, clusters: Ints) -> NDArray[np.bool_]:
    """Return where comparisons are of two clusters or more (slices × columns): one by itself shows no spread."""
    found = []
    for codes, size in slices.partitions(len(present)):
        for group in range(size):
            rows = codes == group
            there, own = present[rows], clusters[rows, None]
            most = np.where(there, own, -1).max(axis=0, initial=-1)
            least = np.where(there, own, np.iinfo(np.int64).max).min(axis=0, initial=np.iinfo(np.int64).max)
            found.append(most > least)
    return np.array(found)


def known(value: float) -> float | None:
    """Return a number, or ``None`` for what has no value."""
    return None if math.isnan(value) else value


def _targets(humans: Scores) -> Target:
    return Target(humans.numerators, humans.present * np.int64(humans.denominator))


def _flat_line(found: Differences, people: People, terms: Terms) -> Line:
    return _flat_lines(found, people, terms, Slices.of())[ALL]


def _flat_lines(found: Differences, people: People, terms: Terms, slices: Slices) -> dict[Group, Line]:
    """Return figures over all comparisons of all columns, each counting once; those of an item are drawn together."""
    rows, columns = np.nonzero(found.present)
    if not len(rows):
        return dict.fromkeys(slices.names, _NOTHING)
    flat = Differences(
        found.numerators[rows, columns][:, None],
        np.broadcast_to(found.denominators, found.present.shape)[rows, columns][:, None],
        np.ones((len(rows), 1), dtype=np.bool_),
    )
    own = Slices(slices.names, tuple(codes[rows] for codes in slices.codes), slices.sizes)
    clusters = people.clusters[rows]
    intervals = figure_intervals(
        flat, terms.generator(), resamples=terms.resamples, level=terms.level, slices=own, clusters=clusters
    )
    return lines(intervals, own, spread_out(flat.present, own, clusters))


def _groups(people: People) -> list[tuple[Group, NDArray[np.intp]]]:
    """Return the rows of every group."""
    slices, found = people.slices, [(ALL, np.arange(len(people.keys)))]
    names = iter(slices.names[1:])
    for codes, size in zip(slices.codes, slices.sizes, strict=True):
        found += [(next(names), np.flatnonzero(codes == group)) for group in range(size)]
    return found


def _rows(scores: Scores, rows: NDArray[np.intp]) -> Scores:
    return scores._replace(numerators=scores.numerators[rows], present=scores.present[rows])


def _reliability(raters: Scores) -> Reliability:
    if not raters.present.any():
        return Reliability(None, None, None, None, None)
    levels = categories(raters)
    alphas = [math.nan] * len(_LEVELS)
    if len(levels) ** 2 <= _MOST_LEVELS and pairable(raters) > 1:
        coincidences = alpha_features(raters, levels).sum(axis=0)
        alphas = [float(alpha(coincidences, levels, level)) for level in _LEVELS]
    single, average = intraclass_correlation(raters)
    return Reliability(*map(known, (*alphas, single, average)))


_LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")


def _beside(humans: Scores, judge: Scores) -> Scores:
    """Return people's scores with the judge's as one column more, of the items that people rated."""
    rated = judge.present & humans.present.any(axis=1, keepdims=True)
    return side_by_side([humans, judge._replace(numerators=np.where(rated, judge.numerators, 0), present=rated)])


def _associations(people: People, judge: Scores, target: Scores) -> dict[Group, Association]:
    both = np.flatnonzero(judge.present[:, 0] & target.present[:, 0])
    judge, target = _rows(judge, both), _rows(target, both)
    levels = categories(judge, target) if len(both) else np.zeros(0)
    if len(levels) > _MOST_LEVELS:
        return {group: Association(None, None, None) for group, _ in _groups(people)}
    size = len(levels)
    cells = np.full(len(people.keys), -1, dtype=np.int64)
    cells[both] = _places(judge, levels) * size + _places(target, levels)
    return {group: _association(cells[rows], levels) for group, rows in _groups(people)}


def _places(scores: Scores, levels: Array) -> Ints:
    return np.searchsorted(levels, (scores.numerators[:, 0] / scores.denominator).astype(np.float64))


def _association(cells: Ints, levels: Array) -> Association:
    table = np.bincount(cells[cells >= 0], minlength=len(levels) ** 2).astype(np.float64)
    return Association(
        *(known(float(each)) for each in (weighted_kappa(table, levels), spearman(table), kendall(table)))
    )
