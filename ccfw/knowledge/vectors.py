"""Vectors by region, and the neighbours of a query within regions.

Vectors are normalised and sorted by region, so a region is a slice and a filter is no filter: every id that comes back
is of a region that was asked for. On disk they are one ``.npy``, mapped into memory, beside a manifest that names the
metric and the hashes of the files. An approximate index is not used: with a filter it loses recall, and a slice is
scanned in milliseconds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ccfw.errors import StoreError
from ccfw.knowledge.nearest import Floats, Ints, nearest, one_thread
from ccfw.store import write_atomically

METRIC = "inner_product_of_unit_vectors"
_TOLERANCE = 1e-3
_BLOCK = 10_000
_SMALL = 1 << 25
"""Bytes of a file whose hash takes no time worth speaking of, and is looked at each time."""
_FILES = ("vectors.npy", "spreads.npy")


@dataclass(frozen=True)
class Hits:
    """Neighbours, best first: ``ids`` are positions in the index, ``scores`` cosines, ``z`` as ``Spread`` says."""

    ids: Ints
    scores: Floats
    z: Floats


@dataclass(frozen=True)
class Spread:
    """Mean and covariance of a region's vectors.

    They tell how a query scores in the region at large: cosines of one embedder lie in a narrow band that moves with
    the query, so only a score's distance from the query's own mean, in standard deviations (z), compares.
    """

    mean: Floats
    covariance: Floats

    @classmethod
    def of(cls, vectors: Floats) -> Spread:
        """Return the spread of a region's vectors."""
        mean = vectors.mean(axis=0)
        centred = vectors - mean
        return cls(mean, (centred.T @ centred / max(1, len(vectors))).astype(np.float32))

    def z(self, query: Floats, scores: Floats) -> Floats:
        """Return how many standard deviations scores lie above what a query scores in the region."""
        centre, variance = query @ self.mean, float(query @ (self.covariance @ query))
        found: Floats = ((scores - centre) / np.sqrt(max(variance, 1e-12))).astype(np.float32)
        return found


class VectorIndex:
    """Vectors by region."""

    def __init__(
        self, vectors: Floats, ranges: Mapping[str, tuple[int, int]], spreads: Mapping[str, Spread] | None = None
    ) -> None:
        """Take unit vectors of which each region's are one slice; raise ``ValueError`` for others."""
        if not of_length_one(vectors).all():
            raise ValueError("the vectors are not of length 1")
        self.vectors = vectors
        self.ranges = dict(ranges)
        self._spreads = dict(spreads or {})

    def spread(self, region: str) -> Spread:
        """Return the spread of a region's vectors."""
        if region not in self._spreads:
            low, high = self.ranges[region]
            self._spreads[region] = Spread.of(np.asarray(self.vectors[low:high], dtype=np.float32))
        return self._spreads[region]

    def search(self, queries: Floats, regions: Sequence[str], k: int) -> list[Hits]:
        """Return the ``k`` nearest of the regions to each query, fewer only where the regions hold fewer."""
        parts = [self.within(queries, region, k) for region in dict.fromkeys(regions)]
        return [merged([part[row] for part in parts], k) for row in range(len(queries))]

    def within(self, queries: Floats, region: str, k: int) -> list[Hits]:
        """Return the ``k`` nearest of a region to each query; what is found for one does not depend on the others."""
        low, high = self.ranges.get(region, (0, 0))
        with one_thread().limit(limits=1):
            found = nearest(queries, np.asarray(self.vectors[low:high]), k)
            if low == high:
                return [Hits(ids, scores, scores) for ids, scores in found]
            spread = self.spread(region)
            rows = zip(queries, found, strict=True)
            return [Hits(ids + low, scores, spread.z(query, scores)) for query, (ids, scores) in rows]

    def save(self, folder: Path, about: Mapping[str, Any]) -> None:
        """Write vectors and manifest."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("index.json", _FILES[1]):  # of the old vectors; a kill must not leave them beside new ones
            (folder / name).unlink(missing_ok=True)
        part = folder / ".vectors.part.npy"
        np.save(part, np.ascontiguousarray(self.vectors, dtype=np.float32))
        part.replace(folder / _FILES[0])
        if len(self.vectors) > len(self.ranges) * self.vectors.shape[1]:  # else it is sooner computed than read
            spreads = map(self.spread, sorted(self.ranges))
            np.save(part, np.stack([np.vstack([each.mean, each.covariance]) for each in spreads]))
            part.replace(folder / _FILES[1])
        hashes = {name: _sha256(folder / name) for name in _FILES if (folder / name).exists()}
        ranges = {name: list(pair) for name, pair in self.ranges.items()}
        content = {"metric": METRIC, "ranges": ranges, "sha256": hashes, **about}
        write_atomically(
            folder / "index.json", json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        )

    @classmethod
    def load(cls, folder: Path) -> tuple[VectorIndex, dict[str, Any]]:
        """Map an index into memory and return it with its manifest; raise ``StoreError`` when it is none."""
        try:
            about = json.loads((folder / "index.json").read_text("utf-8"))
            _check_hashes(folder, about.get("sha256", {}))
            vectors = np.load(folder / _FILES[0], mmap_mode="r", allow_pickle=False)
            ranges = {name: (int(low), int(high)) for name, (low, high) in about["ranges"].items()}
            spreads = dict(zip(sorted(ranges), _spreads(folder), strict=False))
            fits = about["metric"] == METRIC and max((high for _, high in ranges.values()), default=0) == len(vectors)
            index = cls(vectors, ranges, spreads)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{folder}: not a vector index: {error}") from None
        if not fits:
            raise StoreError(f"{folder}: not a vector index: its manifest is of another one")
        return index, about


def _spreads(folder: Path) -> list[Spread]:
    if not (folder / _FILES[1]).exists():
        return []
    held = np.load(folder / _FILES[1], mmap_mode="r", allow_pickle=False)
    if not np.isfinite(held).all():
        raise ValueError("its spreads are no numbers")
    return [Spread(np.asarray(each[0]), np.asarray(each[1:])) for each in held]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_hashes(folder: Path, known: Mapping[str, str]) -> None:
    """Raise ``ValueError`` for files that are not what they were; one that is large is not read for it."""
    changed = [
        name
        for name, sha256 in known.items()
        if (folder / name).stat().st_size <= _SMALL and _sha256(folder / name) != sha256
    ]
    if changed:
        raise ValueError(f"not what was written: {', '.join(changed)}")


def merged(parts: Sequence[Hits], k: int) -> Hits:
    """Return the ``k`` nearest of several regions' neighbours of one query."""
    if len(parts) == 1:
        return parts[0]
    none = np.empty(0, dtype=np.float32)
    ids = np.concatenate([none.astype(np.int64), *(part.ids for part in parts)])
    scores = np.concatenate([none, *(part.scores for part in parts)])
    z = np.concatenate([none, *(part.z for part in parts)])
    best = np.lexsort((ids, -scores))[:k]
    return Hits(ids[best], scores[best], z[best])


def sorted_by_region(regions: Sequence[str]) -> tuple[Ints, dict[str, tuple[int, int]]]:
    """Return the order that brings each region together, and where each then lies."""
    order = np.argsort(np.array(regions, dtype=object), kind="stable")
    ordered = [regions[i] for i in order]
    ranges: dict[str, tuple[int, int]] = {}
    for position, region in enumerate(ordered):
        low, _ = ranges.get(region, (position, position))
        ranges[region] = (low, position + 1)
    return order, ranges


def of_length_one(vectors: Floats) -> npt.NDArray[np.bool_]:
    """Tell of each vector whether its length is 1; that of one that holds no number is not."""
    found = np.empty(len(vectors), dtype=bool)
    for start in range(0, len(vectors), _BLOCK):  # they may be a file of gigabytes, mapped into memory
        block = np.asarray(vectors[start : start + _BLOCK])
        found[start : start + _BLOCK] = np.abs(np.linalg.norm(block, axis=1) - 1) <= _TOLERANCE
    return found


def unit(vectors: Floats) -> Floats:
    """Return vectors scaled to length 1; a zero vector stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Floats = (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)
    return scaled
