"""Means with intervals, ranks and tied groups of the assistants of a board. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.judging.score_table import COLUMNS, Array, ScoreTable
from ccfw.records import LanguageMode
from ccfw.report.board import H3, Board
from ccfw.report.tables import FEW
from ccfw.stats.bootstrap import Interval, bootstrap_means
from ccfw.stats.intervals import ratio_intervals
from ccfw.stats.pairs import whole
from ccfw.stats.ranks import Ranking, ranking
from ccfw.stats.resampling import Ints, ratios, resampled

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


class Standings(NamedTuple):
    """All assistants of a board in some languages."""

    scope: LanguageMode | None
    """``None``: all languages together."""
    rows: tuple[Standing, ...]
    """In the board's order."""
    ranks: Ranking
    """By 3H; an assistant that is not ranked has rank 0."""
    ranked_on: int
    """Dialogues that all ranked assistants have a 3H of: what the ranks are over."""
    ranked_seeds: int
    """Seeds that these grew from."""

    @property
    def order(self) -> list[int]:
        """Places of the rows by 3H from the top; those without one come last."""

        def key(place: int) -> tuple[float, str]:
            mean = self.rows[place].intervals[H3].mean
            return (-mean if mean is not None else float("inf"), self.rows[place].label)

        return sorted(range(len(self.rows)), key=key)


def means(values: Array, units: NDArray[np.int64], terms: Terms) -> tuple[Interval, ...]:
    """Return one interval per column of ``values`` (dialogues × columns; ``nan`` is a missing one).

    Percentile bootstrap; where several dialogues grew from one seed, whole seeds are drawn.
    """
    if len(np.unique(units)) == len(units):
        return bootstrap_means(values, terms.rng(), resamples=terms.resamples, level=terms.level)
    there = ~np.isnan(values)
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
    held = board.held[:, chosen].sum(axis=(1, 2))
    rows = [
        Standing(label, found, len(units), int(had), int(scored))
        for label, found, had, scored in zip(board.labels, _means(values, units, terms), held, judged, strict=True)
    ]
    h3 = board.values[..., H3][:, chosen].reshape(len(board.labels), len(units)).T
    return Standings(scope, tuple(rows), *_ranked(h3, units, terms))


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


def _ranked(h3: Array, units: Ints, terms: Terms) -> tuple[Ranking, int, int]:
    """Rank by 3H (dialogues × assistants) over the dialogues that all have; the least complete are left out.

    Over few seeds every rank is open.
    """
    there = ~np.isnan(h3)
    counts = there.sum(axis=0)
    chosen = np.flatnonzero((counts > 0) & (counts >= _ENOUGH * counts.max(initial=0)))
    common = there[:, chosen].all(axis=1) if len(chosen) else np.zeros(len(h3), dtype=np.bool_)
    point, draws = np.full(h3.shape[1], np.nan), np.full((terms.resamples, h3.shape[1]), np.nan)
    seeds = len(np.unique(units[common]))
    if seeds >= FEW:  # of fewer nothing is sure
        values, unit = whole(h3[common][:, chosen])
        features = np.column_stack([values, np.ones(len(values))])
        mean = ratios(len(chosen), np.zeros(len(chosen), dtype=np.intp), float(unit))
        found = resampled(features, mean, terms.rng(), resamples=terms.resamples, clusters=units[common])
        draws[:, chosen] = found.draws[:, 0]
    if common.any():
        point[chosen] = h3[common][:, chosen].mean(axis=0)
    return ranking(point, draws, level=terms.level), int(common.sum()), seeds


def scopes(board: Board) -> Sequence[LanguageMode | None]:
    """Return what tables are made for: all languages together where there are several, and each."""
    return (None, *board.languages) if len(board.languages) > 1 else board.languages
