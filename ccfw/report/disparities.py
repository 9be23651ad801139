"""How far groups lie apart in 3H, beside what chance alone gives (paper 1, section 5.3, Figure 40). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ccfw.records import LanguageMode
from ccfw.report.board import H3, Board
from ccfw.report.cells import interval, number, p_value
from ccfw.report.sections import TableView, keys_of
from ccfw.report.slices import Sliced
from ccfw.report.standings import Terms
from ccfw.report.tables import FEW
from ccfw.report.writing import NONE
from ccfw.stats.pairs import whole
from ccfw.stats.resampling import Array
from ccfw.stats.spreads import Chance, Spread, against_chance, dealt_ranges, spread, swapped_ranges


class Disparities(NamedTuple):
    """Ranges of 3H over the groups of every axis, for every assistant."""

    groups: tuple[tuple[tuple[str, ...], ...], ...]
    """By axis and assistant: the groups that are large enough to count."""
    spreads: tuple[tuple[Spread | None, ...], ...]
    """By axis and assistant; ``None`` where fewer than two groups are."""
    chance: Chance

    @property
    def any_range(self) -> bool:
        """Whether any axis has two groups that are large enough."""
        return any(each is not None for line in self.spreads for each in line)


def disparities(board: Board, found: Sliced, terms: Terms) -> Disparities:
    """Return the ranges, their intervals, and what they come to when seeds are dealt out to groups at random.

    Groups of fewer than ten seeds are left out: over few dialogues any range is wide.
    """
    spreads, groups = [], []
    for axis, start in zip(found.axes, found.starts, strict=True):
        own = slice(start, start + len(axis.groups))
        line, names = [], []
        for model in range(len(board.labels)):
            large = np.flatnonzero(found.seeds[0][own, model] >= FEW)
            names.append(tuple(axis.groups[group] for group in large))
            point = found.bounds[0].point[own, model][large]
            line.append(spread(point, found.draws[:, own, model][:, large], terms.level))
        spreads.append(tuple(line))
        groups.append(tuple(names))
    ranges = np.array([[np.nan if each is None else each.range for each in line] for line in spreads])
    by_chance = _by_chance(board, found, terms)
    return Disparities(tuple(groups), tuple(spreads), against_chance(ranges, by_chance, terms.level))


def _by_chance(board: Board, found: Sliced, terms: Terms) -> Array:
    """Return ranges without any difference (permutations × axes × assistants)."""
    values, unit = whole(board.items(H3))
    apart = values.reshape(len(board.languages), len(board.seeds), len(board.labels))
    sizes = []
    for axis, start in zip(board.axes, found.starts, strict=False):
        seeds = found.seeds[0][start : start + len(axis.groups)].T
        sizes.append([own[own >= FEW] for own in seeds])
    ranges = dealt_ranges(apart, sizes, terms.rng(), permutations=terms.resamples)
    if len(found.axes) > len(board.axes):  # languages: a seed is in both groups
        native, english = (board.languages.index(each) for each in (LanguageMode.NATIVE, LanguageMode.ENGLISH))
        swapped = swapped_ranges(apart[native], apart[english], terms.rng(), permutations=terms.resamples)
        ranges = np.concatenate([ranges, swapped[:, None]], axis=1)
    return ranges / unit


def disparity_table(board: Board, found: Sliced, apart: Disparities, order: Sequence[int], terms: Terms) -> TableView:
    """Return one row for every axis and assistant."""
    rows: list[tuple[str, ...]] = []
    data: list[tuple[object, ...]] = []
    breaks = []
    for place, axis in enumerate(found.axes):
        breaks.append((len(rows), f"By {axis.title.lower()}"))
        for model in order:
            each = apart.spreads[place][model]
            cells = _cells(found, apart, place, model, terms)
            rows.append((axis.title, board.titles[model], *cells))
            data.append((axis.name, board.labels[model], *_numbers(found, apart, place, model, each)))
    return TableView(
        name="disparities",
        title="Widest differences between groups in 3H",
        note=_NOTE.format(few=FEW, level=f"{terms.level:.0%}"),
        head=(
            *("Axis", "Assistant", "Groups", "Lowest", "Highest", "Range", "By chance", f"{terms.level:.0%} of chance"),
            *("p", "Beyond chance"),
        ),
        rows=tuple(rows),
        breaks=tuple(breaks),
        texts=2,
        data_head=("axis", "assistant", *_NUMBERS),
        data=tuple(data),
        keys=keys_of(("axis", "assistant", *_NUMBERS), data, ("groups", *_SORTED)),
    )


_ALL = "all groups"
"""Stands for the lowest and the highest group where none is lower than another."""
_NUMBERS = (
    *("groups", "lowest", "lowest_3h", "highest", "highest_3h", "range", "range_lo", "range_hi", "chance", "chance_hi"),
    "p",
)
_SORTED = ("lowest_3h", "highest_3h", "range", "chance", "chance_hi", "p", "p")
"""What the figures of either table are sorted by, from *Lowest* to *Beyond chance*."""
_NOTE = (
    "Range: highest minus lowest mean over groups of at least {few} seeds. Its {level} interval holds whichever groups "
    "are truly the outermost, and errs on the wide side. By chance: the range, on average, when the seeds that the "
    "assistant has scores of are dealt out at random to groups as large as its own (of languages: when a seed's two "
    "dialogues swap places), and the bound that {level} of such ranges stay under. p: adjusted over all rows of the "
    "table; of languages it is another than in the table of native language minus English, as test and adjustment are "
    "others. A range that is not beyond chance says nothing about its groups."
)


def spread_table(board: Board, found: Sliced, apart: Disparities, terms: Terms) -> TableView:
    """Return the assistants with the widest and the narrowest range of each axis."""
    rows: list[tuple[str, ...]] = []
    data: list[tuple[object, ...]] = []
    for place, axis in enumerate(found.axes):
        ranges = {model: each for model, each in enumerate(apart.spreads[place]) if each is not None}
        if not ranges:
            rows.append((axis.title, NONE, f"no two groups of {FEW} seeds", *[NONE] * 6, "not tested"))
            data.append((axis.name, *[None] * (2 + len(_NUMBERS))))
            continue
        for title, pick in (("widest", max), ("narrowest", min)):
            model = pick(ranges, key=lambda each: ranges[each].range)
            rows.append((axis.title, title, board.titles[model], *_cells(found, apart, place, model, terms)[1:]))
            numbers = _numbers(found, apart, place, model, ranges[model])
            data.append((axis.name, title, board.labels[model], *numbers))
    return TableView(
        name="spreads",
        title="Widest and narrowest range by axis",
        note="The assistants whose groups lie farthest apart and closest together in 3H; columns as in the table of "
        "disparities.",
        head=(
            *("Axis", "Spread", "Assistant", "Lowest", "Highest", "Range", "By chance", f"{terms.level:.0%} of chance"),
            *("p", "Beyond chance"),
        ),
        rows=tuple(rows),
        texts=3,
        data_head=("axis", "spread", "assistant", *_NUMBERS),
        data=tuple(data),
        keys=keys_of(("axis", "spread", "assistant", *_NUMBERS), data, _SORTED),
    )


def _cells(found: Sliced, apart: Disparities, place: int, model: int, terms: Terms) -> tuple[str, ...]:
    each, names = apart.spreads[place][model], apart.groups[place][model]
    if each is None:
        return (str(len(names)), *[NONE] * 6, "not tested")
    low, high = _outermost(found, place, model, names, each)
    p = float(apart.chance.p[place, model])
    verdict = "not tested" if np.isnan(p) else ("yes" if p <= 1 - terms.level else "no")
    return (
        str(len(names)),
        f"{low[0] or _ALL} {low[1]:.2f}",
        f"{high[0] or _ALL} {high[1]:.2f}",
        interval(each.range, each.low, each.high, digits=3),
        f"{apart.chance.expected[place, model]:.3f}",
        f"{apart.chance.high[place, model]:.3f}",
        p_value(p),
        verdict,
    )


def _outermost(
    found: Sliced, place: int, model: int, names: Sequence[str], each: Spread
) -> Iterator[tuple[str | None, float]]:
    """Yield the groups with the lowest and the highest mean, and those; no group's name where all have the same."""
    for group in (each.lowest, each.highest):
        at = found.starts[place] + found.axes[place].groups.index(names[group])
        name = None if each.lowest == each.highest else names[group]
        yield name, float(found.bounds[0].point[at, model])


def _numbers(found: Sliced, apart: Disparities, place: int, model: int, each: Spread | None) -> list[object]:
    names = apart.groups[place][model]
    if each is None:
        return [len(names), *[None] * 10]
    low, high = _outermost(found, place, model, names, each)
    chance = [float(part[place, model]) for part in apart.chance]
    return [len(names), *low, *high, *map(number, (each.range, each.low, each.high, *chance))]
