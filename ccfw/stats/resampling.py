"""Resampling whole units by matrix products: the bootstrap of every statistic that is a function of sums over items.

A statistic enters as two things: *features*, one row an item, and a function from their sums to figures. A mean over
the items that have a score is ``(score or 0, 1 or 0)`` and ``sum / count``; kappa is the one-hot cell of each item and
a function of the table. A resample then is a row of counts (how often each unit was drawn), and all resamples are
``counts × features``. Units are items, or clusters of items that were drawn together (all items of one seed).

Whole-number features are added up exactly, so that for them nothing depends on the order of the sums.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Partition = tuple[Ints, int]
"""The group of every item, counted from 0, and how many groups there are."""
Statistic = Callable[[Array], Array]
"""Sums of features (… × features) → figures (… × figures), ``nan`` where there is none."""

CHUNK = 64
"""Resamples drawn at a time: bounds memory at ``64 × units`` counts and leaves the result unchanged."""
_JACKKNIFED = 4_096
"""Units left out at a time, for the same reason."""
_EXACT_IN_FLOAT32 = 2**24
_MOST_CELLS = 256
"""Cells of crossed partitions that are resampled one by one."""
_FEW = 16
"""Items to a kind of item from which on kinds are drawn."""
_LOOKED_AT = 256
"""Items that tell whether it is worth looking for kinds."""


@dataclass(frozen=True, slots=True)
class Slices:
    """The parts of the items that figures are wanted for: all of them first, then the groups of each partition."""

    names: tuple[tuple[str, str], ...]
    """``("all", "all")``, then partition and group, groups in alphabetical order."""
    codes: tuple[Ints, ...]
    """For each partition the group of every item (items,), counted from 0."""
    sizes: tuple[int, ...]
    """Groups of each partition."""

    @classmethod
    def of(cls, partitions: Mapping[str, Sequence[str]] | None = None) -> Slices:
        """Return the slices by the label that each partition gives to every item."""
        names, codes, sizes = [("all", "all")], [], []
        for partition, labels in (partitions or {}).items():
            groups, found = np.unique(np.asarray(labels, dtype=np.str_), return_inverse=True)
            names += [(partition, str(group)) for group in groups]
            codes.append(found.astype(np.int64))
            sizes.append(len(groups))
        return cls(tuple(names), tuple(codes), tuple(sizes))

    def check(self, items: int) -> None:
        """Raise ``ValueError`` when a partition is of another number of items."""
        for codes in self.codes:
            if len(codes) != items:
                raise ValueError(f"a partition of {len(codes)} items for {items} items")

    def partitions(self, items: int) -> list[Partition]:
        """Return all items as one group, and then the partitions."""
        return [(np.zeros(items, dtype=np.int64), 1), *zip(self.codes, self.sizes, strict=True)]

    def sums(self, features: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of features (items × features) over each slice (slices × features)."""
        self.check(len(features))
        parts = [features.sum(axis=0, dtype=_adding(features), keepdims=True)]
        for codes, size in zip(self.codes, self.sizes, strict=True):
            part = np.zeros((size, features.shape[1]), dtype=_adding(features))
            order = np.argsort(codes, kind="stable")
            present, starts = np.unique(codes[order], return_index=True)
            part[present] = _sums_from(features[order], starts)
            parts.append(part)
        return np.concatenate(parts)


def units_in(slices: Slices, there: NDArray[np.bool_], units: Ints) -> Ints:
    """Return of how many units each slice has an item (slices × columns); ``there`` is items × columns."""
    parts = []
    for codes, groups in slices.partitions(len(there)):
        size = int(units.max(initial=-1)) + 1
        keys, places = np.unique(codes * size + units, return_inverse=True)
        order = np.argsort(places, kind="stable")
        starts = np.searchsorted(places[order], np.arange(len(keys)))
        met = np.logical_or.reduceat(there[order], starts, axis=0) if len(keys) else there
        parts.append(Slices((), (keys // max(size, 1),), (groups,)).sums(met.astype(np.int64))[1:])
    return np.concatenate(parts)


class Resampled(NamedTuple):
    """Figures of the sample and of each resample."""

    point: Array
    """Slices × figures."""
    draws: Array
    """Resamples × slices × figures; ``nan`` where a resample holds nothing of a slice."""
    acceleration: Array | None
    """Slices × figures: the third moment of the jackknife that BCa needs, where it was asked for."""


class Block(NamedTuple):
    """The units that have items in a slice, and the sums of those items' features."""

    units: Ints | slice
    sums: NDArray[Any]


class _Merged(NamedTuple):
    """Items of which many are alike, as the different ones and how often each occurs."""

    features: NDArray[Any]
    slices: Slices
    times: Ints


def _adding(features: NDArray[Any]) -> type[np.int64 | np.float64]:
    """Return the numbers that features are added in: whole ones stay whole."""
    return np.float64 if features.dtype.kind == "f" else np.int64


def _sums_from(features: NDArray[Any], starts: NDArray[np.intp]) -> NDArray[Any]:
    """Return the sums of features from each start to the next."""
    if not starts.size:
        return np.zeros((0, features.shape[1]), dtype=_adding(features))
    return np.add.reduceat(features, starts, axis=0, dtype=_adding(features))


@cache
def one_thread() -> ThreadpoolController:
    """Return what holds the linear algebra library to one thread: on products so small more wait for each other.

    Made once, as it looks through every library that is loaded.
    """
    return ThreadpoolController().select(user_api="blas")


def resampled(
    features: NDArray[Any],
    statistic: Statistic,
    rng: np.random.Generator,
    *,
    resamples: int,
    slices: Slices | None = None,
    clusters: NDArray[Any] | None = None,
    accelerate: bool = False,
) -> Resampled:
    """Return figures of the sample and of ``resamples`` samples of whole units drawn with replacement.

    ``features`` is items × features; ``clusters`` names the unit of every item (items,), each item its own without it.
    All slices and figures come from the same draws, so that differences between them are paired. ``statistic`` is
    called on arrays of several shapes and must work along the last axis. Where items without clusters are alike in
    slices and features, what is drawn is how often each kind occurs, a multinomial: the same distribution for less.
    """
    slices = slices or Slices.of()
    slices.check(len(features))
    times: Ints | None = None
    if clusters is None and (merged := _merged(features, slices)):
        features, slices, times = merged
    units, n = units_of(len(features), clusters)
    held = np.ones(n, dtype=np.int64) if times is None else times
    partitions, fold = _drawn_apart(slices, len(features))
    blocks = exact_blocks(features, units, n, partitions, int(held.sum()))
    totals = total_sums(blocks, fold, held)
    point = statistic(totals)
    acceleration = None
    if accelerate:
        whole = exact_blocks(features, units, n, slices.partitions(len(features)), int(held.sum()))
        acceleration = _acceleration(whole, totals, statistic, held)
    draws = np.empty((resamples, *point.shape))
    for start, sums in resampled_sums(blocks, fold, n, rng, resamples, times):
        draws[start : start + len(sums)] = statistic(sums)
    return Resampled(point, draws, acceleration)


def units_of(items: int, clusters: NDArray[Any] | None) -> tuple[Ints | None, int]:
    """Return the unit of every item, counted from 0, and how many there are; ``None`` if each is its own."""
    if clusters is None:
        return None, items
    if len(clusters) != items:
        raise ValueError(f"clusters of {len(clusters)} items for {items} items")
    names, units = np.unique(clusters, return_inverse=True)
    return units.astype(np.int64), len(names)


def _drawn_apart(slices: Slices, items: int) -> tuple[list[Partition], Array]:
    """Return partitions whose groups are resampled apart, and which of all these groups add up to each slice (0 or 1).

    Where partitions cross in few cells, those are enough and every item is in one product; otherwise each partition is
    taken by itself, and all items are the sum of the first one's groups.
    """
    if not slices.codes or not items:
        return slices.partitions(items)[:1], np.ones((len(slices.names), 1))
    own = list(zip(slices.codes, slices.sizes, strict=True))
    cells, codes = np.unique(np.stack(slices.codes), axis=1, return_inverse=True)
    if cells.shape[1] <= _MOST_CELLS:
        rows = [np.equal.outer(np.arange(size), cell) for cell, size in zip(cells, slices.sizes, strict=True)]
        return [(codes.ravel(), cells.shape[1])], np.concatenate([np.ones((1, cells.shape[1])), *rows]).astype(float)
    everything = np.arange(sum(slices.sizes)) < slices.sizes[0]
    return own, np.concatenate([everything[None], np.eye(len(everything))]).astype(float)


def _blocks_of(features: NDArray[Any], units: Ints | None, n: int, partition: Partition) -> list[Block]:
    """Return one block for each group of a partition."""
    codes, size = partition
    if units is None and size == 1:
        return [Block(slice(None), features)]
    if units is None:
        return [Block(rows := np.flatnonzero(codes == group), features[rows]) for group in range(size)]
    order = np.lexsort((units, codes))
    keys, starts = np.unique((codes * n + units)[order], return_index=True)
    sums = _sums_from(features[order], starts)
    edges = np.searchsorted(keys, np.arange(size + 1) * n)
    return [Block(keys[a:b] % n, sums[a:b]) for a, b in itertools.pairwise(edges)]


def _merged(features: NDArray[Any], slices: Slices) -> _Merged | None:
    """Merge items that are alike, where that leaves so few kinds that drawing their numbers is cheaper."""
    if 2 * len(np.unique(features[:_LOOKED_AT], axis=0)) > _LOOKED_AT:
        return None
    keys = np.column_stack([*slices.codes, features])
    _, first, times = np.unique(keys, axis=0, return_index=True, return_counts=True)
    if len(first) * _FEW > len(features):
        return None
    merged = Slices(slices.names, tuple(codes[first] for codes in slices.codes), slices.sizes)
    return _Merged(features[first], merged, times.astype(np.int64))


def resampled_sums(
    blocks: Sequence[Block],
    fold: Array,
    n: int,
    rng: np.random.Generator,
    resamples: int,
    times: Ints | None = None,
) -> Iterator[tuple[int, Array]]:
    """Yield sums by resample, slice and feature, and the number of the first resample among them.

    ``blocks`` are exact ones and ``fold`` (slices × blocks) says which add up to a slice. With ``times`` the ``n``
    units are kinds that occur so often.
    """
    kind, features = blocks[0].sums.dtype, blocks[0].sums.shape[1]
    added = fold.astype(kind)
    for start in range(0, resamples, CHUNK):
        counts = _drawn(min(CHUNK, resamples - start), n, rng, times).astype(kind)
        sums = np.empty((len(blocks), len(counts), features), dtype=kind)
        with one_thread().limit(limits=1):
            for place, block in enumerate(blocks):
                np.matmul(counts[:, block.units], block.sums, out=sums[place])
            folded = added @ sums.reshape(len(blocks), -1)
        yield start, np.moveaxis(folded.reshape(len(fold), len(counts), features), 0, 1).astype(np.float64)


def _drawn(resamples: int, n: int, rng: np.random.Generator, times: Ints | None) -> Ints:
    """Return how often each resample holds each unit (resamples × units)."""
    if n == 0:
        return np.zeros((resamples, 0), dtype=np.int64)
    if times is not None:
        return rng.multinomial(times.sum(), times / times.sum(), size=resamples)
    drawn = rng.integers(0, n, size=(resamples, n))
    drawn += np.arange(0, resamples * n, n)[:, None]
    return np.bincount(drawn.ravel(), minlength=resamples * n).reshape(resamples, n)


def exact_blocks(
    features: NDArray[Any],
    units: Ints | None,
    n: int,
    partitions: Sequence[Partition],
    drawn: int,
    expand: Callable[[NDArray[Any]], NDArray[Any]] = lambda sums: sums,
) -> list[Block]:
    """Return the blocks of some partitions in the cheapest floats that add whole features up exactly.

    A resample holds ``drawn`` units; ``expand`` makes more features of the sums over each unit.
    """
    blocks = [block for partition in partitions for block in _blocks_of(features, units, n, partition)]
    blocks = [block._replace(sums=expand(block.sums)) for block in blocks]
    kind = _kind(blocks, drawn)
    return [block._replace(sums=np.ascontiguousarray(block.sums, dtype=kind)) for block in blocks]


def total_sums(blocks: Sequence[Block], fold: Array, times: Ints) -> Array:
    """Return sums over the sample by slice and feature; each unit occurs ``times``."""
    held = times.astype(blocks[0].sums.dtype)
    with one_thread().limit(limits=1):
        return fold @ np.stack([held[block.units] @ block.sums for block in blocks]).astype(np.float64)


def _kind(blocks: Sequence[Block], n: int) -> type[np.float32 | np.float64]:
    """Return the cheapest numbers that hold every sum exactly: none exceeds ``n`` times the largest unit's."""
    for block in blocks:
        if block.sums.dtype.kind == "f" and not (block.sums == np.rint(block.sums)).all():
            return np.float64
    largest = max((float(np.abs(block.sums).max(initial=0)) for block in blocks), default=0.0)
    return np.float32 if largest * n < _EXACT_IN_FLOAT32 else np.float64


def _acceleration(blocks: Sequence[Block], totals: Array, statistic: Statistic, times: Ints) -> Array:
    """Return ``Σ l³ / 6 (Σ l²)^1.5`` over units, ``l`` being how far the figures without one lie below their mean."""
    rows = []
    for block, total in zip(blocks, totals, strict=True):
        left = np.concatenate(
            [
                statistic(total - block.sums[start : start + _JACKKNIFED].astype(np.float64))
                for start in range(0, max(len(block.sums), 1), _JACKKNIFED)
            ]
        )
        weights = np.where(np.isnan(left), 0.0, times[block.units][:, None])
        left = np.where(np.isnan(left), 0.0, left)
        mean = (weights * left).sum(axis=0) / np.maximum(weights.sum(axis=0), 1.0)
        spread = 6.0 * (weights * (mean - left) ** 2).sum(axis=0) ** 1.5
        skew = (weights * (mean - left) ** 3).sum(axis=0)
        rows.append(np.divide(skew, spread, out=np.zeros_like(skew), where=spread > 0))
    return np.stack(rows)


def ratios(columns: int, denominators: NDArray[np.intp], scale: float | Array = 1.0) -> Statistic:
    """Return the statistic that divides the first ``columns`` sums by ``scale`` times the sum that each belongs to.

    ``denominators`` (columns,) are places among the remaining sums.
    """

    def statistic(sums: Array) -> Array:
        below = sums[..., columns:][..., denominators] * scale
        found: Array = np.divide(sums[..., :columns], below, out=np.full(below.shape, np.nan), where=below > 0)
        return found

    return statistic


def distinct_columns(table: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the different columns of a table, in order of appearance, and the place of each column among them."""
    seen: dict[bytes, int] = {}
    places = [seen.setdefault(column.tobytes(), len(seen)) for column in np.ascontiguousarray(table.T)]
    first = [places.index(place) for place in range(len(seen))]
    return table[:, first], np.array(places, dtype=np.intp)
