"""Means with intervals, ranks and tied groups of the assistants of a board. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.judging.score_table import COLUMNS, Array, ScoreTable
from ccfw.records import LanguageMode
from ccfw.report.board import H3, LANGUAGES, Board
from ccfw.report.tables import FEW, supported
from ccfw.stats.bootstrap import Interval, bootstrap_means
from ccfw.stats.intervals import percentile, ratio_intervals
from ccfw.stats.pairs import whole
from ccfw.stats.randomization import sign_flipped
from ccfw.stats.ranks import Ranking, ranking
from ccfw.stats.resampling import Ints, Resampled, distinct_columns, ratios, resampled

_METRICS = [place for place, name in enumerate(COLUMNS) if name not in {"3h", "tdq", "clean"}]
_ENOUGH = 0.5
"""Share of the most complete assistant's dialogues from which on an assistant is ranked."""


class Terms(NamedTuple):
    """How intervals are made."""

    seed: int
    resamples: int
    level: float

    def rng(self) -> np.random.Generator:
        """Return fresh random numbers, the same every time."""
        return np.random.default_rng(self.seed)


class Standing(NamedTuple):
    """One assistant in some languages."""

    label: str
    intervals: tuple[Interval, ...]
    """In the order of ``COLUMNS``; ``clean`` as a share."""
    planned: int | None
    """Dialogues that were asked for; ``None`` where nobody knows."""
    held: int
    judged: int
    """Held dialogues with all six metrics scored."""
    unranked: str = ""
    """Why it has no rank; empty where it has one."""


class Standings(NamedTuple):
    """All assistants of a board in some languages."""

    scope: LanguageMode | None
    """``None``: all languages together."""
    rows: tuple[Standing, ...]
    """In the board's order."""
    shared: tuple[Interval, ...]
    """3H over the dialogues that all ranked assistants have, which the ranks are by."""
    ranks: Ranking
    """An assistant that is not ranked has rank 0."""
    ranked_on: int
    """Dialogues that all ranked assistants have a 3H of: what the ranks are over."""
    ranked_seeds: int
    """Seeds that these grew from."""

    @property
    def order(self) -> list[int]:
        """Places of the rows by rank; then those without one, by why and by 3H, and last those without a 3H."""

        def key(place: int) -> tuple[bool, str, int, float, str]:
            row = self.rows[place]
            mean = row.intervals[H3].mean
            high = -mean if mean is not None else float("inf")
            return (mean is None, row.unranked, int(self.ranks.rank[place]), high, row.label)

        return sorted(range(len(self.rows)), key=key)

    @property
    def ranked(self) -> int:
        """How many assistants have a rank."""
        return int((self.ranks.rank > 0).sum())


def means(values: Array, units: NDArray[np.int64], terms: Terms) -> tuple[Interval, ...]:
    """Return one interval per column of ``values`` (dialogues × columns; ``nan`` is a missing one).

    Percentile bootstrap; where several dialogues grew from one seed, whole seeds are drawn. Of fewer than ten seeds
    there are no bounds.
    """
    there = ~np.isnan(values)
    return tuple(map(supported, _means_of(values, there, units, terms), _seeds(there, units)))


def _seeds(there: NDArray[np.bool_], units: Ints) -> list[int]:
    """Return of how many seeds each column has a dialogue."""
    distinct, places = distinct_columns(there)
    counts = [len(np.unique(units[column.astype(np.bool_)])) for column in distinct.T]
    return [counts[place] for place in places]


def _means_of(values: Array, there: NDArray[np.bool_], units: Ints, terms: Terms) -> tuple[Interval, ...]:
    if len(np.unique(units)) == len(units):
        return bootstrap_means(values, terms.rng(), resamples=terms.resamples, level=terms.level)
    scaled = [whole(column) for column in values.T]
    bounds = ratio_intervals(
        np.column_stack([np.nan_to_num(column) for column, _ in scaled]),
        there,
        terms.rng(),
        resamples=terms.resamples,
        level=terms.level,
        clusters=units,
    )
    sizes = [float(unit) for _, unit in scaled]
    ends = [
        [None if np.isnan(x) else x / size for x, size in zip(each[0].tolist(), sizes, strict=True)] for each in bounds
    ]
    return tuple(map(Interval, *ends, there.sum(axis=0).tolist()))


def standings(board: Board, scope: LanguageMode | None, terms: Terms) -> Standings:
    """Return where the assistants stand in one language, or in all together."""
    chosen = [place for place, language in enumerate(board.languages) if scope in (None, language)]
    units = np.tile(np.arange(len(board.seeds)), len(chosen))
    values = board.values[:, chosen].reshape(len(board.labels), len(units), len(COLUMNS))
    judged = (~np.isnan(values[..., _METRICS])).all(axis=2).sum(axis=1)
    asked, held = (each[:, chosen].sum(axis=(1, 2)) for each in (board.asked, board.held))
    found = _means(values, units, terms)
    h3 = values[..., H3].T
    alone = board.alone if len(chosen) > 1 else (None,) * len(board.labels)
    out = ["" if one is None else f"dialogues in {LANGUAGES[one]} alone" for one in alone]
    out = ["no dialogue has a 3H" if each[H3].mean is None else why for each, why in zip(found, out, strict=True)]
    ranks = _ranked(h3, units, terms, out)
    rows = [
        Standing(label, found[place], int(asked[place]), int(held[place]), int(judged[place]), ranks.unranked[place])
        for place, label in enumerate(board.labels)
    ]
    return Standings(scope, tuple(rows), ranks.shared, ranks.ranking, ranks.dialogues, ranks.seeds)


def _means(values: Array, units: Ints, terms: Terms) -> list[tuple[Interval, ...]]:
    """Return the intervals of each assistant (assistants × dialogues × columns) over the dialogues it has scores of.

    Those that have the same are resampled together, which changes nothing but the time.
    """
    scored: NDArray[np.bool_] = np.logical_not(np.isnan(values).all(axis=2))
    alike: dict[bytes, list[int]] = {}
    for place, own in enumerate(scored):
        alike.setdefault(own.tobytes(), []).append(place)
    found: dict[int, tuple[Interval, ...]] = {}
    for places in alike.values():
        own = scored[places[0]]
        columns = np.concatenate([values[place][own] for place in places], axis=1)
        intervals = means(columns, units[own], terms)
        for number, place in enumerate(places):
            found[place] = intervals[number * len(COLUMNS) : (number + 1) * len(COLUMNS)]
    return [found[place] for place in range(len(values))]


def of_table(label: str, scores: ScoreTable, held: int, terms: Terms) -> Standing:
    """Return the standing of an assistant of whose plan nothing is known, over all that was judged."""
    seeds = [episode.rpartition("__")[0] for episode in scores.episodes]
    units = np.unique(np.array(seeds, dtype=np.str_), return_inverse=True)[1].astype(np.int64)
    judged = int((~np.isnan(scores.metrics)).all(axis=1).sum())
    return Standing(label, means(scores.columns(), units, terms), None, held, judged)


class _Ranked(NamedTuple):
    shared: tuple[Interval, ...]
    ranking: Ranking
    dialogues: int
    seeds: int
    unranked: tuple[str, ...]


def _ranked(h3: Array, units: Ints, terms: Terms, out: Sequence[str]) -> _Ranked:
    """Rank by 3H (dialogues × assistants) over the dialogues that all have.

    Those that ``out`` gives a reason for are left out, and then the least complete. Over few seeds every rank is open.
    """
    there = ~np.isnan(h3)
    counts = np.where(np.array(out) == "", there.sum(axis=0), 0)
    chosen = np.flatnonzero((counts > 0) & (counts >= _ENOUGH * counts.max(initial=0)))
    common = there[:, chosen].all(axis=1) if len(chosen) else np.zeros(len(h3), dtype=np.bool_)
    point, draws = np.full(h3.shape[1], np.nan), np.full((terms.resamples, h3.shape[1]), np.nan)
    seeds = len(np.unique(units[common]))
    better = np.zeros((len(point), len(point)), dtype=np.bool_)
    values, unit = whole(h3[common][:, chosen])
    if seeds >= FEW:  # of fewer nothing is sure
        better[np.ix_(chosen, chosen)] = _surely_better(values, units[common], terms)
        features = np.column_stack([values, np.ones(len(values))])
        means_of = ratios(len(chosen), np.zeros(len(chosen), dtype=np.intp), float(unit))
        found = resampled(features, means_of, terms.rng(), resamples=terms.resamples, clusters=units[common])
        draws[:, chosen] = found.draws[:, 0]
    if common.any():
        point[chosen] = values.sum(axis=0) / (unit * len(values))  # sums of whole numbers: equal means are equal
    mean, low, high = percentile(Resampled(point, draws, None), terms.level)
    bounds = [[None if np.isnan(x) else x for x in each.tolist()] for each in (mean, low, high)]
    total = int(common.sum())
    less = f"less than {_ENOUGH:.0%} of the dialogues of the most complete"
    nothing = "no dialogue is scored for all of these"
    late = [less if place not in chosen else "" if total else nothing for place in range(len(out))]
    return _Ranked(
        shared=tuple(Interval(x, low, high, 0 if x is None else total) for x, low, high in zip(*bounds, strict=True)),
        ranking=ranking(point, better),
        dialogues=total,
        seeds=seeds,
        unranked=tuple(first or later for first, later in zip(out, late, strict=True)),
    )


def _surely_better(values: Array, units: Ints, terms: Terms) -> NDArray[np.bool_]:
    """Return whether each assistant (row) stands above each other over the same dialogues, all at once."""
    first, second = np.triu_indices(values.shape[1], 1)
    apart = values[:, first] - values[:, second]
    sure = sign_flipped(apart, units, terms.rng(), resamples=terms.resamples, fewest=FEW) <= 1 - terms.level
    higher = apart.sum(axis=0)
    better = np.zeros((values.shape[1], values.shape[1]), dtype=np.bool_)
    better[first, second] = sure & (higher > 0)
    better[second, first] = sure & (higher < 0)
    return better


def scopes(board: Board) -> Sequence[LanguageMode | None]:
    """Return what tables are made for: all languages together where there are several, and each."""
    return (None, *board.languages) if len(board.languages) > 1 else board.languages
