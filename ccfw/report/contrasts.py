"""Differences that are paired by seed: between assistants, languages and modes; and the effect of traps. Pure.

Tables 10 and 14, and the comparisons of section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ccfw.judging.score_table import COLUMNS
from ccfw.records import LanguageMode
from ccfw.report.board import CLEAN, H3, LANGUAGES, TDQ, TRAPS, Board
from ccfw.report.cells import interval, number, p_value, points_of_percent, signed
from ccfw.report.leaderboard import differences
from ccfw.report.published_scores import PublishedScores
from ccfw.report.sections import TableView
from ccfw.report.slices import MEASURES, Sliced
from ccfw.report.standings import Terms
from ccfw.report.tables import FEW, HEADINGS
from ccfw.report.writing import NONE
from ccfw.stats.intervals import Bounds, contrast, percentile
from ccfw.stats.pairs import Pairs, adjusted, paired, whole
from ccfw.stats.resampling import Array, Ints, Resampled, Slices, distinct_columns, ratios, resampled

_NAMES = ("3h", "tdq", "clean")


class Means(NamedTuple):
    """Means of differences (slices × columns), and the same adjusted for how many there are."""

    bounds: Bounds
    items: Ints
    p: Array


def mean_differences(values: Array, units: Ints, terms: Terms, slices: Slices | None = None) -> Means:
    """Return the means of some differences (items × columns, ``nan`` for none); whole units are drawn.

    Where a slice has fewer than ten, no test is made.
    """
    slices = slices or Slices.of()
    scaled = [whole(column) for column in values.T]
    filled = np.column_stack([np.nan_to_num(found) for found, _ in scaled]) if scaled else np.zeros(values.shape)
    there = ~np.isnan(values)
    distinct, places = distinct_columns(there)
    mean = ratios(values.shape[1], places, np.array([float(unit) for _, unit in scaled]))
    features = np.concatenate([filled, distinct], axis=1)
    found = resampled(features, mean, terms.rng(), resamples=terms.resamples, slices=slices, clusters=units)
    count = slices.sums(there.astype(np.int64))
    flat = found.draws.reshape(terms.resamples, -1)
    p = adjusted(found.point.ravel(), flat, (count >= FEW).ravel()).reshape(found.point.shape)
    return Means(percentile(found, terms.level), count, p)


# ---- between assistants


def compared(board: Board, terms: Terms) -> Pairs | None:
    """Compare every two assistants in 3H, TDQ and clean on the dialogues that both have; ``None`` with one alone."""
    if len(board.labels) < 2 or not board.any_scored:
        return None
    values = np.stack([board.items(measure) for measure in MEASURES], axis=2)
    return paired(values, board.units, terms.rng(), resamples=terms.resamples, level=terms.level, fewest=FEW)


def pairs_table(board: Board, found: Pairs, order: Sequence[int], terms: Terms) -> TableView:
    """Return the differences, the assistant that stands higher first, with those that hold marked."""
    rank = {place: number for number, place in enumerate(order)}
    rows, data = [], []
    lines = sorted(range(len(found.first)), key=lambda pair: _ordered(found, rank, pair))
    for pair in lines:
        one, other = int(found.first[pair]), int(found.second[pair])
        flip = rank[one] > rank[other]
        cells, numbers = [], []
        for measure, name in enumerate(_NAMES):
            bounds = [float(each[pair, measure]) for each in (found.difference, found.low, found.high)]
            point, low, high = (-bounds[0], -bounds[2], -bounds[1]) if flip else bounds
            p = float(found.p[pair, measure])
            text = points_of_percent(point, low, high) if name == "clean" else signed(point, low, high)
            cells += [text, p_value(p), _verdict(p, terms)]
            numbers += [number(point), number(low), number(high), number(p)]
        first, second = (board.labels[place] for place in ((other, one) if flip else (one, other)))
        items = int(found.items[pair, 0])
        rows.append((first, second, f"{items:,}", *cells))
        data.append((first, second, items, *numbers))
    heads = [f"{name}{end}" for name in _NAMES for end in ("", "_lo", "_hi", "_p")]
    return TableView(
        name="differences",
        title="Differences between assistants",
        note=f"First minus second over the dialogues that both have, with {terms.level:.0%} intervals; paired by seed, "
        "whole seeds drawn. p: adjusted over all comparisons of the table at once (the largest studentised miss of any "
        f"in a resample), so that at {1 - terms.level:.0%} the chance of a single wrong one is no more than that. "
        f"Fewer than {FEW} shared seeds: no test. Clean in points of per cent.",
        head=("First", "Second", "Shared", "Δ 3H", "p", "Holds", "Δ TDQ", "p", "Holds", "Δ Clean", "p", "Holds"),
        rows=tuple(rows),
        texts=2,
        data_head=("first", "second", "shared_dialogues", *heads),
        data=tuple(data),
    )


def _ordered(found: Pairs, rank: dict[int, int], pair: int) -> tuple[int, int]:
    places = rank[int(found.first[pair])], rank[int(found.second[pair])]
    return min(places), max(places)


def _verdict(p: float, terms: Terms) -> str:
    if np.isnan(p):
        return "not tested"
    return "yes" if p <= 1 - terms.level else "no"


# ---- between languages


class Deltas(NamedTuple):
    """Native minus English on the seeds that have both."""

    columns: Means
    """1 × (assistants · ``COLUMNS``)."""
    regions: Means
    """Slices (all, then regions) × assistants, of 3H."""


def language_deltas(board: Board, terms: Terms) -> Deltas | None:
    """Return the differences; ``None`` when there is one language alone."""
    if len(board.languages) < 2:
        return None
    native, english = (board.languages.index(each) for each in (LanguageMode.NATIVE, LanguageMode.ENGLISH))
    apart = board.values[:, native] - board.values[:, english]
    units = np.arange(len(board.seeds))
    region = next(axis for axis in board.axes if axis.name == "region")
    slices = Slices(
        (("all", "all"), *(("region", group) for group in region.groups)), (region.codes,), (len(region.groups),)
    )
    return Deltas(
        mean_differences(np.moveaxis(apart, 0, 1).reshape(len(units), -1), units, terms),
        mean_differences(apart[:, :, H3].T, units, terms, slices),
    )


def language_table(board: Board, found: Deltas, order: Sequence[int], terms: Terms) -> TableView:
    """Return the differences by assistant and metric."""
    bounds, rows, data = found.columns.bounds, [], []
    for place in order:
        at = slice(place * len(COLUMNS), (place + 1) * len(COLUMNS))
        each = np.stack([part[0, at] for part in bounds], axis=1)
        cells = [
            points_of_percent(*row) if name == "clean" else signed(*row)
            for name, row in zip(COLUMNS, each.tolist(), strict=True)
        ]
        p, count = float(found.columns.p[0, at][H3]), int(found.columns.items[0, at][H3])
        rows.append((board.labels[place], f"{count:,}", *cells, p_value(p)))
        data.append((board.labels[place], count, *(number(value) for value in each.ravel().tolist()), number(p)))
    return TableView(
        name="language_delta",
        title="Native language minus English",
        note=f"On the seeds of which both dialogues are scored, with {terms.level:.0%} intervals; above 0 is better in "
        "the native language. p of 3H: adjusted over all cells of the table. Clean in points of per cent.",
        head=("Assistant", "Seeds", *(f"Δ {heading}" for heading in HEADINGS), "p (3H)"),
        rows=tuple(rows),
        data_head=("assistant", "seeds", *(f"{c}{end}" for c in COLUMNS for end in ("", "_lo", "_hi")), "3h_p"),
        data=tuple(data),
    )


def region_table(board: Board, found: Deltas, order: Sequence[int], terms: Terms) -> TableView:
    """Return the differences in 3H by region and assistant."""
    bounds, groups = found.regions.bounds, next(axis for axis in board.axes if axis.name == "region").groups
    rows, data = [], []
    for at, region in enumerate(("all", *groups)):
        cells = []
        for place in order:
            figures = [float(each[at, place]) for each in bounds]
            count = int(found.regions.items[at, place])
            cells.append(signed(*figures) if count >= FEW else (f"{figures[0]:+.2f} (n={count})" if count else "none"))
            p = number(float(found.regions.p[at, place]))
            data.append((region, board.labels[place], count, *map(number, figures), p))
        rows.append((region, *cells))
    return TableView(
        name="language_delta_region",
        title="3H by region, native language minus English",
        note=f"On the seeds of which both dialogues are scored, with {terms.level:.0%} intervals; of fewer than {FEW} "
        "seeds the difference stands alone with their number.",
        head=("Region", *(board.labels[place] for place in order)),
        rows=tuple(rows),
        data_head=("region", "assistant", "seeds", "3h", "3h_lo", "3h_hi", "3h_p"),
        data=tuple(data),
    )


# ---- traps


class Effects(NamedTuple):
    """3H of seeds with a trap minus that of the others, by assistant."""

    bounds: Bounds
    p: Array


def trap_effects(found: Sliced, terms: Terms) -> Effects:
    """Return the effects; between different seeds, so that they are not paired."""
    point = found.bounds[0].point[found.effect : found.effect + 2]
    draws = found.draws[:, found.effect : found.effect + 2]
    apart = contrast(Resampled(point.T, np.moveaxis(draws, 1, 2), None), np.array([[-1.0], [1.0]]))  # assistants × 1
    few = found.seeds[found.effect : found.effect + 2].min(axis=0) < FEW
    p = adjusted(apart.point[:, 0], apart.draws[:, :, 0], ~few)
    bounds = percentile(apart, terms.level)
    return Effects(Bounds(*(each[:, 0] for each in bounds)), p)


def trap_table(board: Board, found: Sliced, effects: Effects, order: Sequence[int], terms: Terms) -> TableView:
    """Return the layout of Table 14."""
    tier = next(place for place, axis in enumerate(found.axes) if axis.name == "tier")
    kinds = [found.starts[tier] + found.axes[tier].groups.index(trap) for trap in TRAPS]
    columns = [found.effect, found.effect + 1, *kinds]
    rows, data = [], []
    for place in order:
        cells = [interval(*(float(each[at, place]) for each in found.bounds[0])) for at in columns]
        figures = [float(each[place]) for each in effects.bounds]
        p = float(effects.p[place])
        rows.append((board.labels[place], *cells[:2], signed(*figures), p_value(p), *cells[2:]))
        numbers = [number(float(each[at, place])) for at in columns for each in found.bounds[0]]
        data.append((board.labels[place], *numbers, *map(number, figures), number(p)))
    heads = [f"{name}{end}" for name in ("standard", "trap", "contextual", "normative") for end in ("", "_lo", "_hi")]
    return TableView(
        name="trap_effect",
        title="Effect of traps on 3H",
        note=f"Means with {terms.level:.0%} intervals, whole seeds drawn. Δ: trap minus standard, of different seeds. "
        f"p: adjusted over the assistants; none with fewer than {FEW} seeds of either kind. The paper finds -0.04 to "
        "-0.08 in its 18 assistants.",
        head=("Assistant", "Standard", "Trap", "Δ", "p", "Contextual", "Normative"),
        rows=tuple(rows),
        data_head=("assistant", *heads, "delta", "delta_lo", "delta_hi", "p"),
        data=tuple(data),
    )


# ---- gold against eval


def gold_table(
    blind: Board, gold: Board, judge: str, terms: Terms, published: PublishedScores | None
) -> TableView | None:
    """Return the layout of Table 10 for the assistants that were run in both modes; ``None`` when there is none."""
    rows: list[tuple[str, ...]] = []
    data: list[tuple[object, ...]] = []
    for place, label in enumerate(blind.labels):
        if label in gold.labels and blind.seeds == gold.seeds:
            for language in (*blind.languages, None):
                line = _matched(blind, place, gold, gold.labels.index(label), language, terms)
                if line:
                    rows.append((label, *line[0]))
                    data.append((label, *line[1]))
    if not rows:
        return None
    breaks: tuple[tuple[int, str], ...] = ()
    grey = frozenset[int]()
    if published is not None:
        text = f"Published, not run here: {published.source}, Table 10, {published.table_17[0].label}. Not comparable: "
        breaks = ((len(rows), text + differences(published, judge)),)
        grey = frozenset(range(len(rows), len(rows) + len(published.table_10)))
        for row in published.table_10:
            numbers = (row.eval_3h, row.gold_3h, row.gold_3h - row.eval_3h, row.eval_tdq, row.gold_tdq)
            apart = (row.gold_tdq - row.eval_tdq, row.clean / 100)
            shown = [f"{value:.2f}" for value in numbers]
            shown[2] = f"{numbers[2]:+.2f}"
            cells = (*shown, f"{apart[0]:+.2f}", f"{row.clean:+.1f}", NONE, NONE)
            label = published.table_17[0].label
            rows.append((label, LANGUAGES[row.language], *cells))
            bounds = [numbers[0], numbers[1], numbers[2], None, None, numbers[3], numbers[4], apart[0], None, None]
            data.append((f"{label} (published)", LANGUAGES[row.language], *bounds, apart[1], None, None, None, None))
    return TableView(
        name="gold_against_eval",
        title="Gold mode against eval mode, on matched dialogues",
        note=f"The dialogues that are scored in both modes, with {terms.level:.0%} intervals, paired by seed. p of "
        "Δ 3H: adjusted over the row. Δ Clean in points of per cent.",
        head=(
            *("Assistant", "Language", "Eval 3H", "Gold 3H", "Δ 3H", "Eval TDQ", "Gold TDQ", "Δ TDQ", "Δ Clean"),
            *("p (3H)", "Matched"),
        ),
        rows=tuple(rows),
        breaks=breaks,
        grey=grey,
        texts=2,
        data_head=(
            *("assistant", "language", "eval_3h", "gold_3h", "delta_3h", "delta_3h_lo", "delta_3h_hi", "eval_tdq"),
            *("gold_tdq", "delta_tdq", "delta_tdq_lo", "delta_tdq_hi", "delta_clean", "delta_clean_lo"),
            *("delta_clean_hi", "p_3h", "matched"),
        ),
        data=tuple(data),
    )


def _matched(
    blind: Board, place: int, gold: Board, other: int, language: LanguageMode | None, terms: Terms
) -> tuple[tuple[str, ...], tuple[object, ...]] | None:
    languages = [each for each in blind.languages if each in gold.languages and language in (None, each)]
    if not languages or (language is None and len(languages) < 2):
        return None
    columns = [H3, TDQ, CLEAN]
    one, two = (
        np.concatenate([side.values[at, side.languages.index(each)][:, columns] for each in languages])
        for side, at in ((blind, place), (gold, other))
    )
    units = np.tile(np.arange(len(blind.seeds)), len(languages))
    apart = two - one
    if np.isnan(apart).all():
        return None
    found = mean_differences(apart, units, terms)
    means = [_mean(side[:, at][~np.isnan(apart[:, at])]) for at in (0, 1) for side in (one, two)]
    deltas = [[float(each[0, at]) for each in found.bounds] for at in range(3)]
    p, count = float(found.p[0, 0]), int(found.items[0, 0])
    shown = (
        *(interval(value, np.nan, np.nan) for value in means[:2]),
        signed(*deltas[0]),
        *(interval(value, np.nan, np.nan) for value in means[2:]),
        signed(*deltas[1]),
        points_of_percent(*deltas[2]),
        p_value(p),
        f"{count:,}",
    )
    numbers = (*means[:2], *deltas[0], *means[2:], *deltas[1], *deltas[2], p)
    scope = LANGUAGES[language]
    return (scope, *shown), (scope, *map(number, numbers), count)


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else float("nan")
