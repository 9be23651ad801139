"""Scores → everything that a report computes: what it is made of, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from ccfw.judging.score_table import ScoreTable
from ccfw.records import SimulationMode
from ccfw.report.board import Board
from ccfw.report.composition import Composition
from ccfw.report.contrasts import (
    Deltas,
    Effects,
    compared,
    language_deltas,
    trap_effects,
)
from ccfw.report.disparities import Disparities, disparities
from ccfw.report.distribution import distribution
from ccfw.report.published_scores import PublishedScores
from ccfw.report.slices import Sliced, sliced
from ccfw.report.standings import Standings, Terms, scopes, standings
from ccfw.stats.pairs import Pairs
from ccfw.stats.resampling import Ints, one_thread

_AT_ONCE = 2
"""Computations that run side by side; most of each is in numpy, which lets others run."""


class Other(NamedTuple):
    """An assistant that does not compare with the board's."""

    label: str
    scores: ScoreTable
    held: frozenset[str] | set[str]


class OtherGroup(NamedTuple):
    """Those that differ from the board in the same."""

    differs: str
    members: tuple[Other, ...]


class Source(NamedTuple):
    """What a report is made of."""

    title: str
    facts: tuple[tuple[str, str], ...]
    cautions: tuple[str, ...]
    board: Board
    mode: SimulationMode
    counterpart: Board | None
    """The same in the other mode."""
    others: tuple[OtherGroup, ...]
    composition: Composition
    costs: tuple[float | None, ...]
    """US dollars for one dialogue of each of the board's assistants; ``None`` is unknown."""
    judge: str
    published: PublishedScores | None
    terms: Terms


class Results(NamedTuple):
    """Everything that was computed; ``None`` where the scores do not allow it."""

    standings: tuple[Standings, ...]
    """The first is over everything."""
    sliced: Sliced | None
    pairs: Pairs | None
    deltas: Deltas | None
    effects: Effects | None
    disparities: Disparities | None
    distribution: Ints

    @property
    def order(self) -> list[int]:
        """Assistants by rank, then those without one."""
        return self.standings[0].order

    @property
    def leading(self) -> Standings:
        """The standings over everything, unless those of one language rank more than twice as many assistants."""
        most = max(self.standings, key=lambda each: each.ranked)
        return most if most.ranked > 2 * self.standings[0].ranked else self.standings[0]


def compute(source: Source, unless_interrupted: Callable[[], None] = lambda: None) -> Results:
    """Do the statistics; between them ``unless_interrupted`` may raise.

    Every computation has random numbers of its own, so that it does not matter which comes first.
    """
    board, terms = source.board, source.terms

    def of_groups() -> tuple[Sliced, Effects, Disparities]:
        parts = sliced(board, terms)
        unless_interrupted()
        return parts, trap_effects(board, parts, terms), disparities(board, parts, terms)

    def of_scopes() -> tuple[Standings, ...]:
        found = []
        for scope in scopes(board) or (None,):
            unless_interrupted()
            found.append(standings(board, scope, terms))
        return tuple(found)

    with one_thread().limit(limits=1), ThreadPoolExecutor(_AT_ONCE) as pool:
        groups = pool.submit(of_groups) if board.any_scored else None
        pairs, deltas, stood = (
            pool.submit(compared, board, terms),
            pool.submit(language_deltas, board, terms) if board.any_scored else None,
            pool.submit(of_scopes),
        )
        parts = groups.result() if groups else None
        return Results(
            standings=stood.result(),
            sliced=parts[0] if parts else None,
            pairs=pairs.result(),
            deltas=deltas.result() if deltas else None,
            effects=parts[1] if parts else None,
            disparities=parts[2] if parts else None,
            distribution=distribution(board),
        )
