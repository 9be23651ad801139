"""Results of a report → its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ccfw.judging.score_table import COLUMNS
from ccfw.records import LanguageMode
from ccfw.report.agreement import counted
from ccfw.report.board import CLEAN, H3, LANGUAGES, TDQ, Board
from ccfw.report.contrasts import (
    Deltas,
)
from ccfw.report.disparities import Disparities
from ccfw.report.distribution import SCORES, TITLES
from ccfw.report.plots import THIN, Bar, Figure, Grid, Point, forest, heat_map, scatter, shares
from ccfw.report.results import Results, Source
from ccfw.report.slices import Sliced
from ccfw.report.standings import Standings
from ccfw.report.tables import FEW, HEADINGS
from ccfw.stats.resampling import Ints

_HEATED = ("region", "age", "gender", "domain", "tier")
"""Axes that have a heat map, as the paper's Figures 36 to 39."""


def drawings(source: Source, found: Results) -> Iterator[Figure]:
    """Yield every figure in the order of the page."""
    board, order, everything = source.board, found.order, found.standings[0]
    if not board.any_scored:
        return
    labels = [board.titles[place] for place in order]
    yield _forest(source, everything, labels)
    yield _means(board, everything, labels)
    yield _plane(source, everything)
    if found.deltas is not None:
        yield from _languages(board, found.deltas, order, labels)
    if found.sliced is not None and found.disparities is not None:
        yield from _slices(found.sliced, order, labels)
        yield from _disparities(found.sliced, found.disparities, order, labels, source.terms.level)
    yield _shares(found.distribution, order, labels)
    cost = _cost(source, everything)
    if cost is not None:
        yield cost


def _forest(source: Source, found: Standings, labels: Sequence[str]) -> Figure:
    bars = []
    for place, label in zip(found.order, labels, strict=True):
        mean, low, high, _ = found.rows[place].intervals[H3]
        ranks = found.ranks
        low_rank, high_rank = int(ranks.low[place]), int(ranks.high[place])
        span = f"rank {low_rank}" if low_rank == high_rank else f"ranks {low_rank}–{high_rank}"
        note = span if ranks.rank[place] else "not ranked"
        bars.append(Bar(label, _float(mean), _float(low), _float(high), note))
    level = f"{source.terms.level:.0%}"
    return forest(
        "intervals",
        f"3H with {level} intervals, {LANGUAGES[found.scope]}",
        "Ranks are those that cannot be ruled out, all at once.",
        bars,
        x="3H",
    )


def _means(board: Board, found: Standings, labels: Sequence[str]) -> Figure:
    columns = [place for place in range(len(COLUMNS)) if place != CLEAN]
    values = [[_float(found.rows[place].intervals[column].mean) for column in columns] for place in found.order]
    seeds = _seeds(board, found.scope)
    counts = [[int(seeds[place, column]) for column in columns] for place in found.order]
    return heat_map(
        "metrics",
        f"Means by assistant and metric, {LANGUAGES[found.scope]}",
        f"Figure 33 of the paper. Higher is better in every column. Clean rates are in the leaderboard.{_over(counts)}",
        Grid(labels, [HEADINGS[column] for column in columns], values, _texts(values), counts),
    )


def _seeds(board: Board, scope: LanguageMode | None) -> Ints:
    """Return of how many seeds each assistant's columns are (assistants × ``COLUMNS``), in one language or in all."""
    chosen = [place for place, language in enumerate(board.languages) if scope in (None, language)]
    seeds: Ints = np.count_nonzero((~np.isnan(board.values[:, chosen])).any(axis=1), axis=1)
    return seeds


def _over(counts: Sequence[Sequence[int]]) -> str:
    """Say, for a caption, of how many seeds the cells of a heat map are; of those that are of none it is not said."""
    there = [count for line in counts for count in line if count]
    if not there:
        return ""
    span = f"{min(there):,} to {max(there):,} seeds" if min(there) < max(there) else counted(there[0], "seed")
    return f" Each cell is over {span}.{f' {THIN}' if min(there) < FEW else ''}"


def _plane(source: Source, found: Standings) -> Figure:
    points = [
        Point(label, _float(row.intervals[H3].mean), _float(row.intervals[TDQ].mean))
        for label, row in ((source.board.titles[place], found.rows[place]) for place in found.order)
        if row.intervals[H3].mean is not None and row.intervals[TDQ].mean is not None
    ]
    if source.published is not None:
        points += [
            Point(row.label, row.scores["3h"][0], row.scores["tdq"][0], grey=True) for row in source.published.table_17
        ]
    return scatter(
        "assistance_and_quality",
        f"Assistance (3H) against data quality (TDQ), {LANGUAGES[found.scope]}",
        "Figure 4 of the paper." + (_GREY if source.published is not None else ""),
        points,
        x="3H",
        y="TDQ",
    )


_GREY = (
    " Grey diamonds: the paper's own assistants (Table 17), not run here. They do not compare with the others, as "
    "prompts, data and, it may be, the judge were different."
)


def _languages(board: Board, found: Deltas, order: Sequence[int], labels: Sequence[str]) -> Iterator[Figure]:
    columns = [place for place in range(len(COLUMNS)) if place != CLEAN]
    point = found.columns.bounds.point[0].reshape(len(board.labels), len(COLUMNS))
    items = found.columns.items[0].reshape(point.shape)
    values = [[float(point[place, column]) for column in columns] for place in order]
    counts = [[int(items[place, column]) for column in columns] for place in order]
    if not any(map(any, counts)):
        return
    yield heat_map(
        "language_delta",
        "Native language minus English, by assistant and metric",
        "Figure 34 of the paper, on the seeds of which both dialogues are scored. Above 0 is better in the native "
        f"language.{_over(counts)}",
        Grid(labels, [HEADINGS[column] for column in columns], values, _texts(values, "+.2f"), counts),
        signed=True,
    )
    regions = next(axis for axis in board.axes if axis.name == "region").groups
    by_region = [[float(found.regions.bounds.point[1 + at, place]) for place in order] for at in range(len(regions))]
    counts = [[int(found.regions.items[1 + at, place]) for place in order] for at in range(len(regions))]
    yield heat_map(
        "language_delta_region",
        "3H by region, native language minus English",
        "Figure 35 of the paper, on the seeds of which both dialogues are scored. Above 0 is better in the native "
        f"language.{_over(counts)}",
        Grid(regions, labels, by_region, _texts(by_region, "+.2f"), counts),
        signed=True,
    )


def _slices(found: Sliced, order: Sequence[int], labels: Sequence[str]) -> Iterator[Figure]:
    for axis, start in zip(found.axes, found.starts, strict=True):
        if axis.name in _HEATED:
            point = found.bounds[0].point
            rows = range(start, start + len(axis.groups))
            values = [[float(point[at, place]) for place in order] for at in rows]
            counts = [[int(found.seeds[0][at, place]) for place in order] for at in rows]
            title = f"3H by {axis.title.lower()}"
            yield heat_map(
                f"slices_{axis.name}",
                f"{title} and assistant",
                f"Intervals, of {FEW} seeds and more, are in the table “{title}”.{_over(counts)}",
                Grid(axis.groups, labels, values, _texts(values), counts),
            )


def _disparities(
    found: Sliced, apart: Disparities, order: Sequence[int], labels: Sequence[str], level: float
) -> Iterator[Figure]:
    lines = [[apart.spreads[place][model] for model in order] for place in range(len(found.axes))]
    values = [[float("nan") if each is None else each.range for each in line] for line in lines]
    texts = [
        [
            f"{value:.2f}{'*' if apart.chance.p[place, model] <= 1 - level else ''}"
            for value, model in zip(line, order, strict=True)
        ]
        for place, line in enumerate(values)
    ]
    if not apart.any_range:
        return
    yield heat_map(
        "disparities",
        "Highest minus lowest group mean of 3H, by axis and assistant",
        f"Figure 40 of the paper, over groups of at least {FEW} seeds. An asterisk: beyond what chance gives over that "
        "many groups. A range is never 0, and the wider the more groups there are.",
        Grid([axis.title for axis in found.axes], labels, values, texts),
    )


def _shares(found: Ints, order: Sequence[int], labels: Sequence[str]) -> Figure:
    counts = found[..., :-1]
    with np.errstate(invalid="ignore"):
        parts = counts / counts.sum(axis=-1, keepdims=True)
    panels = [(title, [parts[place, metric].tolist() for place in order]) for metric, title in enumerate(TITLES)]
    return shares(
        "score_distribution",
        "Scores given",
        "Table 15 of the paper as a figure. Judgements without a score are in none of the bars.",
        labels,
        panels,
        [str(score) for score in SCORES],
    )


def _cost(source: Source, found: Standings) -> Figure | None:
    points = []
    for place in found.order:
        usd, mean = source.costs[place], found.rows[place].intervals[H3].mean
        if usd is not None and mean is not None:
            points.append(Point(source.board.titles[place], usd, mean))
    if not any(point.x > 0 for point in points):
        return None
    unknown = len(found.rows) - len(points)
    more = f" {unknown} of {len(found.rows)} are not shown: their price is unknown." if unknown else ""
    return scatter(
        "cost_and_quality",
        "Cost of a dialogue against 3H",
        f"What was paid for the assistant and the simulated user of a dialogue, without the judge.{more}",
        points,
        x="US dollars for one dialogue",
        y="3H",
        logarithmic=True,
    )


def _texts(values: Sequence[Sequence[float]], form: str = ".2f") -> list[list[str]]:
    return [[format(value, form) for value in line] for line in values]


def _float(value: float | None) -> float:
    return float("nan") if value is None else value
