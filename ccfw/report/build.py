"""Scores → every table and figure of a report, and the sentences that say what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ccfw.judging.score_table import COLUMNS, ScoreTable
from ccfw.records import LanguageMode, SimulationMode
from ccfw.report.agreement import counted
from ccfw.report.board import CLEAN, H3, LANGUAGES, TDQ, Board
from ccfw.report.composition import Composition, composition_table
from ccfw.report.contrasts import (
    Deltas,
    Effects,
    compared,
    gold_table,
    language_deltas,
    language_table,
    pairs_table,
    region_table,
    trap_effects,
    trap_table,
)
from ccfw.report.disparities import Disparities, disparities, disparity_table, spread_table
from ccfw.report.distribution import SCORES, TITLES, distribution, distribution_table
from ccfw.report.leaderboard import Apart, leaderboard
from ccfw.report.plots import THIN, Bar, Figure, Grid, Point, forest, heat_map, scatter, shares
from ccfw.report.published_scores import PublishedScores
from ccfw.report.sections import FigureView, Report, TableView
from ccfw.report.slices import Sliced, left_out, slice_table, sliced
from ccfw.report.standings import Standings, Terms, of_table, scopes, standings
from ccfw.report.tables import FEW, FEW_CAUTION, HEADINGS, shown
from ccfw.report.writing import as_markdown
from ccfw.stats.pairs import Pairs
from ccfw.stats.resampling import Ints, one_thread
from ccfw.universe.seed_id import episode_id

_AT_ONCE = 2
"""Computations that run side by side; most of each is in numpy, which lets others run."""
_TOP = 10
"""Assistants in the table of a pull request."""
_NAMED = 5
"""Assistants without a rank that the summary names."""
_HEATED = ("region", "age", "gender", "domain", "tier")
"""Axes that have a heat map, as the paper's Figures 36 to 39."""


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


def report(source: Source, found: Results, figures: Sequence[FigureView]) -> Report:
    """Return what the page shows."""
    return Report(source.title, source.facts, summary(source, found), tuple(tables(source, found)), tuple(figures))


# ---- tables


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


# ---- figures


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


# ---- what came out


def summary(source: Source, found: Results) -> str:
    """Say in a few sentences what came out, and how sure it is."""
    leading = found.leading
    parts = [_who(source), _best(leading, found.standings[0].scope, source.terms), _unranked(leading)]
    if found.pairs is not None:
        parts.append(_held(found.pairs, source.terms))
    if found.disparities is not None and found.sliced is not None:
        parts.append(_gaps(source, found.sliced, found.disparities))
    if found.effects is not None:
        parts.append(_traps(found.effects, source.terms))
    if source.others:
        count = sum(len(group.members) for group in source.others)
        runs = "1 other run does not compare with these and stands"
        if count > 1:
            runs = f"{count} other runs do not compare with these and stand"
        parts.append(f"{runs} apart, with the reason.")
    cautions = [*source.cautions, *([FEW_CAUTION] if _few(found.standings[0]) else [])]
    return "\n\n".join(["\n".join(part for part in parts if part), *cautions])


def _few(found: Standings) -> bool:
    return any(row.intervals[H3].low is None for row in found.rows)


def _who(source: Source) -> str:
    who = counted(len(source.board.labels), "assistant")
    seeds = counted(int(source.board.asked.any(axis=(0, 1)).sum()), "seed")
    languages = " and ".join(LANGUAGES[language] for language in source.board.languages) or "no language"
    return f"{who}, {seeds}, dialogues in {languages}, {source.mode.value} mode."


def _best(found: Standings, everything: LanguageMode | None, terms: Terms) -> str:
    """Say who stands highest of those that are ranked against each other, over what they are ranked on."""
    place, others = found.order[0], found.ranked - 1
    if found.rows[place].intervals[H3].mean is None:
        return "No dialogue has a 3H: nothing can be said of any assistant."
    if not found.ranked:
        return "No assistant is ranked: no dialogue is scored for all of them."
    where = "" if found.scope is everything else f" in {LANGUAGES[found.scope]}"
    figure = shown("3h", found.shared[place])
    if found.shared[place].n != found.rows[place].intervals[H3].n:
        figure += f" over the {counted(found.ranked_on, 'dialogue')} that all ranked assistants have"
    text = f"Highest 3H{where}: {found.rows[place].label}, {figure}."
    if not others or found.ranked_seeds < FEW:
        return text
    behind, level = int(found.ranks.better[place].sum()), f"(at {terms.level:.0%})"
    if others == 1:
        return f"{text} {'It is surely ahead' if behind else 'It is not surely ahead'} of the other {level}."
    return f"{text} It is surely ahead of {behind or 'none'} of the {others} others {level}."


def _unranked(found: Standings) -> str:
    """Say who has no rank, and why."""
    out = [f"{row.label}, {row.unranked}" for row in (found.rows[place] for place in found.order) if row.unranked]
    if not out or not found.ranked:
        return ""
    more = f"; and {len(out) - _NAMED} more" if len(out) > _NAMED else ""
    return f"Not ranked: {'; '.join(out[:_NAMED])}{more}."


def _held(pairs: Pairs, terms: Terms) -> str:
    tested = int((~np.isnan(pairs.p[:, 0])).sum())
    if not tested:
        return f"No difference between assistants was tested: fewer than {FEW} seeds are shared."
    held = int((pairs.p[:, 0] <= 1 - terms.level).sum())
    sure = f"at {terms.level:.0%}, corrected for how many there are"
    if tested == 1:
        return f"The difference in 3H between two assistants {'holds' if held else 'does not hold'} ({sure})."
    verb = "holds" if held == 1 else "hold"
    return f"{held or 'None'} of {tested} differences in 3H between two assistants {verb} ({sure})."


def _gaps(source: Source, found: Sliced, apart: Disparities) -> str:
    p = apart.chance.p
    if np.isnan(p).all():
        return f"Gaps between groups were not tested: no axis has two groups of {FEW} seeds."
    beyond = np.argwhere(p <= 1 - source.terms.level)
    if not len(beyond):
        return f"No gap between groups of users is wider than chance allows (at {source.terms.level:.0%})."
    place, model = max(beyond.tolist(), key=lambda at: getattr(apart.spreads[at[0]][at[1]], "range", 0.0))
    each = apart.spreads[place][model]
    assert each is not None
    names = apart.groups[place][model]
    return (
        f"{len(beyond)} of {counted(int((~np.isnan(p)).sum()), 'gap')} between groups "
        f"{'is' if len(beyond) == 1 else 'are'} wider than chance allows (at {source.terms.level:.0%}); the widest: "
        f"{source.board.labels[model]} by {found.axes[place].title.lower()}, {each.range:.2f} points from "
        f"{names[each.lowest]} to {names[each.highest]} (chance alone gives {apart.chance.expected[place, model]:.2f})."
    )


def _traps(effects: Effects, terms: Terms) -> str:
    tested = ~np.isnan(effects.p)
    if not tested.any():
        return ""
    lower, level = int(((effects.p <= 1 - terms.level) & (effects.bounds.point < 0)).sum()), f"(at {terms.level:.0%})"
    if tested.sum() == 1:
        return f"Traps {'lower' if lower else 'do not surely lower'} 3H {level}."
    return f"Traps lower 3H in {lower or 'none'} of {int(tested.sum())} assistants {level}."


def pull_request(source: Source, found: Results, page: str) -> str:
    """Return the short summary in Markdown: what came out, the head of the leaderboard, where the rest is."""
    table = leaderboard(found.standings[0], source.terms, source.judge, (), None)
    rest = len(table.rows) - _TOP
    top = table._replace(rows=table.rows[:_TOP], breaks=tuple(each for each in table.breaks if each[0] < _TOP))
    more = f"\n\n… and {rest} more." if rest > 0 else ""
    lines = [as_markdown(line) for line in summary(source, found).split("\n")]
    return "\n".join(
        [
            f"## {as_markdown(source.title)}\n",
            *lines,
            f"\n#{top.markdown().rstrip()}{more}\n",
            f"Everything else: {as_markdown(page)}\n",
        ]
    )
