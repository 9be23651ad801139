"""Results of a report → every table, and the page's content."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ccfw.records import LanguageMode, SimulationMode
from ccfw.report.composition import composition_table
from ccfw.report.contrasts import (
    gold_table,
    language_table,
    pairs_table,
    region_table,
    trap_table,
)
from ccfw.report.disparities import disparity_table, spread_table
from ccfw.report.distribution import distribution_table
from ccfw.report.findings import summary
from ccfw.report.leaderboard import Apart, leaderboard
from ccfw.report.results import Results, Source
from ccfw.report.sections import FigureView, Report, TableView
from ccfw.report.slices import left_out, slice_table
from ccfw.report.standings import of_table
from ccfw.universe.seed_id import episode_id


def report(source: Source, found: Results, figures: Sequence[FigureView]) -> Report:
    """Return what the page shows."""
    return Report(source.title, source.facts, summary(source, found), tuple(tables(source, found)), tuple(figures))


def tables(source: Source, found: Results) -> Iterator[TableView]:
    """Yield every table in the order of the page."""
    board, terms, order = source.board, source.terms, found.order
    for each in found.standings:
        yield leaderboard(each, terms, source.judge, _apart(source, each.scope), source.published)
    if found.pairs is not None:
        yield pairs_table(board, found.pairs, order, terms)
    if found.deltas is not None:
        yield language_table(board, found.deltas, order, terms)
        yield region_table(board, found.deltas, order, terms)
    gold = _gold(source)
    if gold is not None:
        yield gold
    if found.sliced is not None and found.effects is not None and found.disparities is not None:
        yield trap_table(board, found.sliced, found.effects, order, terms)
        if found.disparities.any_range:
            yield spread_table(board, found.sliced, found.disparities, terms)
            yield disparity_table(board, found.sliced, found.disparities, order, terms)
    yield distribution_table(board, found.distribution, order)
    if found.sliced is not None:
        for place in range(len(found.sliced.axes)):
            yield slice_table(board, found.sliced, place, order, terms)
    missing = left_out(board)
    if missing is not None:
        yield missing
    yield composition_table(source.composition, source.published)


def _gold(source: Source) -> TableView | None:
    if source.counterpart is None:
        return None
    pair = (source.board, source.counterpart)
    blind, gold = pair if source.mode is SimulationMode.EVAL else pair[::-1]
    return gold_table(blind, gold, source.judge, source.terms, source.published)


def _apart(source: Source, scope: LanguageMode | None) -> list[Apart]:
    end = episode_id("", scope) if scope is not None else ""
    found = []
    for group in source.others:
        rows = []
        for other in group.members:
            own = [episode for episode in other.scores.episodes if episode.endswith(end)]
            if own:
                held = sum(episode.endswith(end) for episode in other.held)
                rows.append(of_table(other.label, other.scores.rows(own), held, source.terms))
        if rows:
            found.append(Apart(group.differs, tuple(rows)))
    return found
