"""Differences that are paired by seed: between assistants, languages and modes; and the effect of traps. Pure.

Tables 10 and 14, and the comparisons of section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ccfw.judging.score_table import COLUMNS
from ccfw.records import LanguageMode
from ccfw.report.board import H3, LANGUAGES, STANDARD, TRAPS, Board
from ccfw.report.cells import interval, number, p_value, points_of_percent, signed, verdict
from ccfw.report.leaderboard import differences
from ccfw.report.published_scores import PublishedScores
from ccfw.report.sections import TableView, keys_of
from ccfw.report.slices import MEASURES, Sliced
from ccfw.report.standings import Terms
from ccfw.report.tables import FEW, HEADINGS
from ccfw.report.writing import NONE
from ccfw.stats.intervals import Bounds, contrast, percentile, supported
from ccfw.stats.pairs import Pairs, paired, whole
from ccfw.stats.randomization import shuffled, sign_flipped
from ccfw.stats.resampling import Array, Ints, Resampled, Slices, distinct_columns, ratios, resampled, units_in

_NAMES = ("3h", "tdq", "clean")


class Means(NamedTuple):
    """Means of differences (slices × columns), and the same adjusted for how many there are."""

    bounds: Bounds
    items: Ints
    p: Array


def mean_differences(
    values: Array, units: Ints, terms: Terms, slices: Slices | None = None, *, test_all: bool = True
) -> Means:
    """Return the means of some differences (items × columns, ``nan`` for none); whole units are drawn.

    Where a slice has fewer than ten units there is no interval and no test; nor is there a test of everything together
    where ``test_all`` is not set.
    """
    slices = slices or Slices.of()
    scaled = [whole(column) for column in values.T]
    filled = np.column_stack([np.nan_to_num(found) for found, _ in scaled]) if scaled else np.zeros(values.shape)
    there = ~np.isnan(values)
    distinct, places = distinct_columns(there)
    mean = ratios(values.shape[1], places, np.array([float(unit) for _, unit in scaled]))
    features = np.concatenate([filled, distinct], axis=1)
    found = resampled(features, mean, terms.rng(), resamples=terms.resamples, slices=slices, clusters=units)
    enough = units_in(slices, distinct, units)[:, places] >= FEW
    each = _by_slice(values, slices)
    if not test_all:
        each[:, : values.shape[1]] = np.nan
    p = sign_flipped(each, units, terms.rng(), resamples=terms.resamples, fewest=FEW).reshape(found.point.shape)
    return Means(supported(percentile(found, terms.level), enough), slices.sums(there.astype(np.int64)), p)


def _by_slice(values: Array, slices: Slices) -> Array:
    """Return values (items × columns) as items × (slices · columns), ``nan`` outside each slice."""
    inside = [codes == group for codes, size in slices.partitions(len(values)) for group in range(size)]
    return np.concatenate([np.where(own[:, None], values, np.nan) for own in inside], axis=1)


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
            p = float(found.p[pair, measure])
            bounds = [float(each[pair, measure]) for each in (found.difference, found.low, found.high)]
            if np.isnan(p):  # of too few seeds
                bounds[1:] = np.nan, np.nan
            point, low, high = (-bounds[0], -bounds[2], -bounds[1]) if flip else bounds
            text = points_of_percent(point, low, high) if name == "clean" else signed(point, low, high)
            cells += [text, p_value(p), verdict(p, terms.level)]
            numbers += [number(point), number(low), number(high), number(p)]
        first, second = (board.labels[place] for place in ((other, one) if flip else (one, other)))
        items = int(found.items[pair, 0])
        rows.append((first, second, f"{items:,}", *cells))
        data.append((first, second, items, *numbers))
    heads = ("first", "second", "shared_dialogues", *(f"{n}{end}" for n in _NAMES for end in ("", "_lo", "_hi", "_p")))
    return TableView(
        name="differences",
        title="Differences between assistants",
        note=f"First minus second over the dialogues that both have, with {terms.level:.0%} intervals; paired by seed, "
        "whole seeds drawn. p: adjusted over all comparisons of the table at once (how often any is as large when the "
        f"signs of whole seeds are drawn), so that the chance of a single wrong one is at most {1 - terms.level:.0%}. "
        f"Fewer than {FEW} shared seeds: no test and no interval. Clean in points of per cent.",
        head=("First", "Second", "Shared", "Δ 3H", "p", "Holds", "Δ TDQ", "p", "Holds", "Δ Clean", "p", "Holds"),
        rows=tuple(rows),
        texts=2,
        data_head=heads,
        data=tuple(data),
        keys=keys_of(heads, data, ("shared_dialogues", *(f"{n}{end}" for n in _NAMES for end in ("", "_p", "_p")))),
    )


def _ordered(found: Pairs, rank: dict[int, int], pair: int) -> tuple[int, int]:
    places = rank[int(found.first[pair])], rank[int(found.second[pair])]
    return min(places), max(places)


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
        mean_differences(apart[:, :, H3].T, units, terms, slices, test_all=False),
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
    heads = ("assistant", "seeds", *(f"{c}{end}" for c in COLUMNS for end in ("", "_lo", "_hi")), "3h_p")
    return TableView(
        name="language_delta",
        title="Native language minus English",
        note=f"On the seeds of which both dialogues are scored, with {terms.level:.0%} intervals, of at least {FEW} "
        "seeds; above 0 is better in the native language. p of 3H: adjusted over all cells of the table. The same "
        "difference stands in the table of disparities as a range between languages, with a p of its own: the test is "
        "another (swaps within seeds), and so are the figures that it is adjusted over. Clean in points of per cent.",
        head=("Assistant", "Seeds", *(f"Δ {heading}" for heading in HEADINGS), "p (3H)"),
        rows=tuple(rows),
        data_head=heads,
        data=tuple(data),
        keys=keys_of(heads, data, ("seeds", *COLUMNS, "3h_p")),
    )


def region_table(board: Board, found: Deltas, order: Sequence[int], terms: Terms) -> TableView:
    """Return the differences in 3H by region and assistant."""
    bounds, groups = found.regions.bounds, next(axis for axis in board.axes if axis.name == "region").groups
    rows, data, keys = [], [], []
    for at, region in enumerate(("all", *groups)):
        cells = []
        for place in order:
            figures = [float(each[at, place]) for each in bounds]
            count = int(found.regions.items[at, place])
            cells.append(signed(*figures) if count >= FEW else (f"{figures[0]:+.2f} (n={count})" if count else "none"))
            p = number(float(found.regions.p[at, place]))
            data.append((region, board.labels[place], count, *map(number, figures), p))
        rows.append((region, *cells))
        keys.append(tuple(number(float(bounds.point[at, place])) for place in order))
    return TableView(
        name="language_delta_region",
        title="3H by region, native language minus English",
        note=f"On the seeds of which both dialogues are scored, with {terms.level:.0%} intervals; of fewer than {FEW} "
        "seeds the difference stands alone with their number. The p-values of the file are adjusted over all regions "
        "and assistants; all regions together are tested in the table of native language minus English.",
        head=("Region", *(board.labels[place] for place in order)),
        rows=tuple(rows),
        breaks=((0, "All regions"), (1, "By region")),
        data_head=("region", "assistant", "seeds", "3h", "3h_lo", "3h_hi", "3h_p"),
        data=tuple(data),
        keys=tuple(keys),
    )


# ---- traps


class Effects(NamedTuple):
    """3H of seeds with a trap minus that of the others, by assistant."""

    bounds: Bounds
    p: Array


def trap_effects(board: Board, found: Sliced, terms: Terms) -> Effects:
    """Return the effects; between different seeds, so that they are not paired."""
    point = found.bounds[0].point[found.effect : found.effect + 2]
    draws = found.draws[:, found.effect : found.effect + 2]
    apart = contrast(Resampled(point.T, np.moveaxis(draws, 1, 2), None), np.array([[-1.0], [1.0]]))  # assistants × 1
    enough = found.seeds[0][found.effect : found.effect + 2].min(axis=0) >= FEW
    tier = next(axis for axis in found.axes if axis.name == "tier")
    trapped = tier.codes != tier.groups.index(STANDARD)
    p = shuffled(board.items(H3), trapped, board.units, terms.rng(), resamples=terms.resamples, fewest=FEW)
    bounds = Bounds(*(each[:, 0] for each in percentile(apart, terms.level)))
    return Effects(supported(bounds, enough), p)


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
        rows.append((board.titles[place], *cells[:2], signed(*figures), p_value(p), *cells[2:]))
        numbers = [number(float(each[at, place])) for at in columns for each in found.bounds[0]]
        data.append((board.labels[place], *numbers, *map(number, figures), number(p)))
    kinds_of = ("standard", "trap", "contextual", "normative")
    heads = ("assistant", *(f"{n}{end}" for n in (*kinds_of, "delta") for end in ("", "_lo", "_hi")), "p")
    return TableView(
        name="trap_effect",
        title="Effect of traps on 3H",
        note=f"Means with {terms.level:.0%} intervals, whole seeds drawn. Δ: trap minus standard, of different seeds. "
        f"p: adjusted over the assistants. Of fewer than {FEW} seeds, for Δ and p of either kind, there is no interval "
        "and no test. The paper finds -0.04 to -0.08 in its 18 assistants.",
        head=("Assistant", "Standard", "Trap", "Δ", "p", "Contextual", "Normative"),
        rows=tuple(rows),
        data_head=heads,
        data=tuple(data),
        keys=keys_of(heads, data, ("standard", "trap", "delta", "p", "contextual", "normative")),
    )


# ---- gold against eval


class _Match(NamedTuple):
    """An assistant in both modes, in one language or in both together."""

    label: str
    language: LanguageMode | None
    blind: Array
    """Items (languages × seeds) × 3H, TDQ and clean; ``nan`` in other languages."""
    gold: Array


def gold_table(
    blind: Board, gold: Board, judge: str, terms: Terms, published: PublishedScores | None
) -> TableView | None:
    """Return the layout of Table 10 for the assistants that were run in both modes; ``None`` when there is none."""
    matches = list(_matches(blind, gold))
    if not matches:
        return None
    apart = np.concatenate([match.gold - match.blind for match in matches], axis=1)
    units = np.tile(np.arange(len(blind.seeds)), len(matches[0].blind) // len(blind.seeds))
    found = mean_differences(apart, units, terms)
    rows: list[tuple[str, ...]] = []
    data: list[tuple[object, ...]] = []
    for row_number, match in enumerate(matches):
        cells, figures = _matched(match, found, row_number * len(MEASURES))
        rows.append((match.label, LANGUAGES[match.language], *cells))
        data.append(("", match.label, "own", LANGUAGES[match.language], *figures))
    breaks: tuple[tuple[int, str], ...] = ()
    grey = frozenset[int]()
    if published is not None:
        label = published.table_17[0].label
        text = f"Published, not run here: {published.source}, Table 10, {label}. Not comparable: "
        text += differences(published, judge)
        breaks = ((len(rows), text),)
        grey = frozenset(range(len(rows), len(rows) + len(published.table_10)))
        for row in published.table_10:
            numbers = (row.eval_3h, row.gold_3h, row.gold_3h - row.eval_3h, row.eval_tdq, row.gold_tdq)
            tdq = row.gold_tdq - row.eval_tdq
            shown = [f"{value:.2f}" for value in numbers]
            shown[2] = f"{numbers[2]:+.2f}"
            rows.append((label, LANGUAGES[row.language], *shown, f"{tdq:+.2f}", f"{row.clean:+.1f}", NONE, NONE))
            bounds = [*numbers[:3], None, None, *numbers[3:], tdq, None, None, row.clean / 100, None, None, None, None]
            data.append((text, label, "published", LANGUAGES[row.language], *bounds))
    return TableView(
        name="gold_against_eval",
        title="Gold mode against eval mode, on matched dialogues",
        note=f"The dialogues that are scored in both modes, with {terms.level:.0%} intervals, paired by seed. p (3H): "
        "that Δ 3H is chance, adjusted over all differences (Δ) of the table at once. Fewer than "
        f"{FEW} seeds: no interval and no test. Δ Clean in points of per cent.",
        head=(
            *("Assistant", "Language", "Eval 3H", "Gold 3H", "Δ 3H", "Eval TDQ", "Gold TDQ", "Δ TDQ", "Δ Clean"),
            *("p (3H)", "Matched"),
        ),
        rows=tuple(rows),
        breaks=breaks,
        grey=grey,
        texts=2,
        data_head=_GOLD,
        data=tuple(data),
        keys=keys_of(_GOLD, data, (*_GOLD_SHOWN, "p_3h", "matched")),
    )


_GOLD = (
    *("section", "assistant", "source", "language", "eval_3h", "gold_3h", "delta_3h", "delta_3h_lo", "delta_3h_hi"),
    *("eval_tdq", "gold_tdq", "delta_tdq", "delta_tdq_lo", "delta_tdq_hi", "delta_clean", "delta_clean_lo"),
    *("delta_clean_hi", "p_3h", "matched"),
)
_GOLD_SHOWN = ("eval_3h", "gold_3h", "delta_3h", "eval_tdq", "gold_tdq", "delta_tdq", "delta_clean")


def _matches(blind: Board, gold: Board) -> Iterator[_Match]:
    """Yield the assistants that have dialogues scored in both modes: in each language, and in both together."""
    languages = [each for each in blind.languages if each in gold.languages]
    if blind.seeds != gold.seeds or not languages:
        return
    for place, (kind, label) in enumerate(zip(blind.kinds, blind.labels, strict=True)):
        if kind in gold.kinds:
            one = _scores(blind, place, languages)
            two = _scores(gold, gold.kinds.index(kind), languages)
            there = [at for at, apart in enumerate(two - one) if not np.isnan(apart).all()]
            for scope in [*([at] for at in there), *([there] if len(there) > 1 else [])]:
                chosen = np.isin(np.arange(len(languages)), scope)[:, None, None]
                parts = [np.where(chosen, side, np.nan).reshape(-1, len(MEASURES)) for side in (one, two)]
                yield _Match(label, languages[scope[0]] if len(scope) == 1 else None, parts[0], parts[1])


def _scores(board: Board, place: int, languages: Sequence[LanguageMode]) -> Array:
    """Return an assistant's 3H, TDQ and clean (languages × seeds × 3)."""
    return np.stack([board.values[place, board.languages.index(each)][:, MEASURES] for each in languages])


def _matched(match: _Match, found: Means, start: int) -> tuple[tuple[str, ...], tuple[object, ...]]:
    """Return the cells and the numbers of a row, whose differences are the columns from ``start`` on."""
    both = ~np.isnan(match.gold - match.blind)
    means = [_mean(side[both[:, at], at]) for at in (0, 1) for side in (match.blind, match.gold)]
    deltas = [[float(each[0, start + at]) for each in found.bounds] for at in range(len(MEASURES))]
    p, count = float(found.p[0, start]), int(found.items[0, start])
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
    return shown, (*map(number, numbers), count)


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else float("nan")
