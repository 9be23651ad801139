"""Scores by region, identity, age and the like (paper 1, appendix O.2). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ccfw.report.board import CLEAN, H3, LANGUAGES, STANDARD, TDQ, TRAPS, Axis, Board
from ccfw.report.cells import interval, number
from ccfw.report.sections import TableView
from ccfw.report.standings import Terms
from ccfw.report.tables import FEW
from ccfw.stats.intervals import Bounds, percentile, supported
from ccfw.stats.pairs import whole
from ccfw.stats.resampling import Array, Ints, Resampled, Slices, distinct_columns, ratios, resampled, units_in

MEASURES = (H3, TDQ, CLEAN)
NOBODY = "none judged"
_EFFECT = ("standard", "trap")
_THIN = 0.9
"""Share of the largest number of dialogues below which a mean says over how many it is."""


class Sliced(NamedTuple):
    """Means of every group of every axis, all on the same resamples."""

    axes: tuple[Axis, ...]
    """As the board's, their codes by item; then languages, if there are several."""
    starts: tuple[int, ...]
    """The first slice of each axis; slice 0 is everything."""
    bounds: tuple[Bounds, ...]
    """By measure: slices × assistants; without an interval where there are fewer than ten seeds."""
    counts: Ints
    """Dialogues with a 3H (slices × assistants)."""
    seeds: tuple[Ints, ...]
    """By measure: seeds with a score."""
    draws: Array
    """Of 3H: resamples × slices × assistants."""
    effect: int
    """The slice of the standard seeds; the one of all trap seeds comes after it."""


def sliced(board: Board, terms: Terms) -> Sliced:
    """Return the means of 3H, TDQ and clean in every group; whole seeds are drawn."""
    axes = [axis._replace(codes=np.tile(axis.codes, len(board.languages))) for axis in board.axes]
    if len(board.languages) > 1:
        names = tuple(LANGUAGES[language] for language in board.languages)
        codes = np.repeat(np.arange(len(names)), len(board.seeds))
        axes.append(Axis("language", "Language", names, codes))
    everything = [*axes, _effect(axes)]
    slices = Slices(
        (("all", "all"), *((axis.name, group) for axis in everything for group in axis.groups)),
        tuple(axis.codes for axis in everything),
        tuple(len(axis.groups) for axis in everything),
    )
    scaled = [whole(board.items(measure)) for measure in MEASURES]
    values = np.concatenate([found for found, _ in scaled], axis=1)
    there = ~np.isnan(values)
    distinct, places = distinct_columns(there)
    scale = np.repeat([float(unit) for _, unit in scaled], len(board.labels))
    features = np.concatenate([np.nan_to_num(values), distinct], axis=1)
    mean = ratios(values.shape[1], places, scale)
    found = resampled(features, mean, terms.rng(), resamples=terms.resamples, slices=slices, clusters=board.units)
    seeds = np.split(units_in(slices, distinct, board.units)[:, places], len(MEASURES), axis=1)
    own = there[:, : len(board.labels)]
    starts = np.cumsum([1, *slices.sizes])
    each = np.split(np.arange(values.shape[1]), len(MEASURES))
    return Sliced(
        axes=tuple(axes),
        starts=tuple(starts[: len(axes)].tolist()),
        bounds=tuple(
            supported(
                percentile(Resampled(found.point[:, part], found.draws[:, :, part], None), terms.level), count >= FEW
            )
            for part, count in zip(each, seeds, strict=True)
        ),
        counts=slices.sums(own.astype(np.int64)),
        seeds=tuple(seeds),
        draws=found.draws[:, :, : len(board.labels)].copy(),
        effect=int(starts[len(axes)]),
    )


def _effect(axes: list[Axis]) -> Axis:
    """Return the axis that parts standard seeds from those with a trap of either kind."""
    tier = next(axis for axis in axes if axis.name == "tier")
    trapped = np.isin(tier.codes, [tier.groups.index(trap) for trap in TRAPS]).astype(np.int64)
    assert tier.groups[0] == STANDARD
    return Axis("effect", "Effect", _EFFECT, trapped)


def slice_table(board: Board, found: Sliced, place: int, order: Sequence[int], terms: Terms) -> TableView:
    """Return the table of one axis: a row a group, each assistant's 3H in a column, and all three measures as data."""
    axis, start = found.axes[place], found.starts[place]
    rows, data, keys = [], [], []
    for group, name in enumerate(axis.groups):
        at = start + group
        most = int(found.counts[at].max(initial=0))
        rows.append((name, f"{most:,}" if most else NOBODY, *(_cell(found, at, model, most) for model in order)))
        data += [_numbers(axis, name, board.labels[model], found, at, model) for model in order]
        keys.append((most, *(number(float(found.bounds[0].point[at, model])) for model in order)))
    return TableView(
        name=f"slices_{axis.name}",
        title=f"3H by {axis.title.lower()}",
        note=f"Means with {terms.level:.0%} percentile bootstrap intervals, whole seeds drawn; over fewer than {FEW} "
        "seeds the mean stands alone. Dialogues: of the assistant that has most; (n=…) where another has less than "
        f"{_THIN:.0%} of them, or too few for an interval. The file slices_{axis.name}.csv has TDQ and clean as well. "
        "A difference between two groups here may be chance: see the disparities.",
        head=(axis.title, "Dialogues", *(board.titles[model] for model in order)),
        rows=tuple(rows),
        data_head=("axis", "group", "assistant", "dialogues", "seeds", *_heads("3h"), *_heads("tdq"), *_heads("clean")),
        data=tuple(data),
        keys=tuple(keys),
    )


def _cell(found: Sliced, at: int, model: int, most: int) -> str:
    """Write a mean, and over how many dialogues where they are few, or clearly fewer than another assistant's."""
    figures = [float(each[at, model]) for each in found.bounds[0]]
    count = int(found.counts[at, model])
    alone = int(found.seeds[0][at, model]) < FEW or count < _THIN * most
    return f"{interval(*figures)} (n={count:,})" if count and alone else interval(*figures)


def _numbers(axis: Axis, group: str, label: str, found: Sliced, at: int, model: int) -> tuple[object, ...]:
    numbers = [number(float(each[at, model])) for bounds in found.bounds for each in bounds]
    return (axis.name, group, label, int(found.counts[at, model]), int(found.seeds[0][at, model]), *numbers)


def _heads(name: str) -> tuple[str, str, str]:
    return (name, f"{name}_lo", f"{name}_hi")


def left_out(board: Board) -> TableView | None:
    """Return what says that an axis is not shown; ``None`` when all are."""
    if not board.left_out:
        return None
    rows = tuple((title, "too many groups to be told apart") for title in board.left_out)
    return TableView("slices_left_out", "Slices that are not shown", "", ("Axis", "Why"), rows, texts=2)
