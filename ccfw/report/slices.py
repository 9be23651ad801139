"""Scores by region, identity, age and the like (paper 1, appendix O.2). Pure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.report.board import CLEAN, H3, LANGUAGES, STANDARD, TDQ, TRAPS, Axis, Board
from ccfw.report.cells import interval, number
from ccfw.report.sections import TableView
from ccfw.report.standings import Terms
from ccfw.report.tables import FEW
from ccfw.stats.intervals import Bounds, percentile
from ccfw.stats.pairs import whole
from ccfw.stats.resampling import Array, Ints, Resampled, Slices, distinct_columns, ratios, resampled

MEASURES = (H3, TDQ, CLEAN)
NOBODY = "none judged"
_EFFECT = ("standard", "trap")


class Sliced(NamedTuple):
    """Means of every group of every axis, all on the same resamples."""

    axes: tuple[Axis, ...]
    """As the board's, their codes by item; then languages, if there are several."""
    starts: tuple[int, ...]
    """The first slice of each axis; slice 0 is everything."""
    bounds: tuple[Bounds, ...]
    """By measure: slices × assistants."""
    counts: Ints
    """Dialogues with a 3H (slices × assistants)."""
    seeds: Ints
    """Seeds with one."""
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
    own = there[:, : len(board.labels)]
    starts = np.cumsum([1, *slices.sizes])
    each = np.split(np.arange(values.shape[1]), len(MEASURES))
    return Sliced(
        axes=tuple(axes),
        starts=tuple(starts[: len(axes)].tolist()),
        bounds=tuple(
            percentile(Resampled(found.point[:, part], found.draws[:, :, part], None), terms.level) for part in each
        ),
        counts=slices.sums(own.astype(np.int64)),
        seeds=_seeds(slices, own, board),
        draws=found.draws[:, :, : len(board.labels)].copy(),
        effect=int(starts[len(axes)]),
    )


def _seeds(slices: Slices, own: NDArray[np.bool_], board: Board) -> Ints:
    """Return of how many seeds each slice has a dialogue (slices × assistants)."""
    parts = []
    for codes, groups in slices.partitions(len(own)):
        keys, places = np.unique(codes * len(board.seeds) + board.units, return_inverse=True)
        met = np.zeros((len(keys), own.shape[1]), dtype=np.bool_)
        for start in range(0, len(own), len(board.seeds)):  # a language at a time, so that no place comes twice
            part = slice(start, start + len(board.seeds))
            met[places[part]] |= own[part]
        parts.append(Slices((), (keys // len(board.seeds),), (groups,)).sums(met.astype(np.int64))[1:])
    return np.concatenate(parts)


def _effect(axes: list[Axis]) -> Axis:
    """Return the axis that parts standard seeds from those with a trap of either kind."""
    tier = next(axis for axis in axes if axis.name == "tier")
    trapped = np.isin(tier.codes, [tier.groups.index(trap) for trap in TRAPS]).astype(np.int64)
    assert tier.groups[0] == STANDARD
    return Axis("effect", "Effect", _EFFECT, trapped)


def slice_table(board: Board, found: Sliced, place: int, terms: Terms) -> TableView:
    """Return the table of one axis: a row a group, each assistant's 3H in a column, and all three measures as data."""
    axis, start = found.axes[place], found.starts[place]
    rows, data = [], []
    for group, name in enumerate(axis.groups):
        at = start + group
        most = int(found.counts[at].max(initial=0))
        rows.append(
            (name, f"{most:,}" if most else NOBODY, *(_cell(found, at, model) for model in range(len(board.labels))))
        )
        data += [_numbers(axis, name, label, found, at, model) for model, label in enumerate(board.labels)]
    return TableView(
        name=f"slices_{axis.name}",
        title=f"3H by {axis.title.lower()}",
        note=f"Means with {terms.level:.0%} percentile bootstrap intervals, whole seeds drawn; over fewer than {FEW} "
        "dialogues the mean stands alone with their number. Dialogues: of the assistant that has most. The file "
        f"slices_{axis.name}.csv has TDQ and clean as well. A difference between two groups here may be chance: see "
        "the disparities.",
        head=(axis.title, "Dialogues", *board.labels),
        rows=tuple(rows),
        data_head=("axis", "group", "assistant", "dialogues", *_heads("3h"), *_heads("tdq"), *_heads("clean")),
        data=tuple(data),
    )


def _cell(found: Sliced, at: int, model: int) -> str:
    point, low, high = (float(each[at, model]) for each in found.bounds[0])
    count = int(found.counts[at, model])
    if 0 < count < FEW:
        return f"{point:.2f} (n={count})"
    return interval(point, low, high)


def _numbers(axis: Axis, group: str, label: str, found: Sliced, at: int, model: int) -> tuple[object, ...]:
    numbers = [number(float(each[at, model])) for bounds in found.bounds for each in bounds]
    return (axis.name, group, label, int(found.counts[at, model]), *numbers)


def _heads(name: str) -> tuple[str, str, str]:
    return (name, f"{name}_lo", f"{name}_hi")


def left_out(board: Board) -> TableView | None:
    """Return what says that an axis is not shown; ``None`` when all are."""
    if not board.left_out:
        return None
    rows = tuple((title, "too many groups to be told apart") for title in board.left_out)
    return TableView("slices_left_out", "Slices that are not shown", "", ("Axis", "Why"), rows, texts=2)
