"""Exact nearest neighbours within regions: the only import of faiss.

Vectors are normalised and sorted by region, so a region is a slice and a filter is no filter: every id that comes back
is of a region that was asked for. On disk they are one ``.npy``, mapped into memory, beside a manifest that names the
metric. An approximate index is not used: with a filter it loses recall, and a slice is scanned in milliseconds.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ccfw.errors import StoreError
from ccfw.store import write_atomically

METRIC = "inner_product_of_unit_vectors"
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
_TOLERANCE = 1e-3


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

    def z(self, queries: Floats, scores: Floats) -> Floats:
        """Return how many standard deviations scores lie above what a query scores in the region."""
        centre = queries @ self.mean
        spread = np.sqrt(np.maximum(np.einsum("qd,de,qe->q", queries, self.covariance, queries), 1e-12))
        found: Floats = ((scores - centre[:, None]) / spread[:, None]).astype(np.float32)
        return found


class VectorIndex:
    """Vectors by region."""

    def __init__(self, vectors: Floats, ranges: Mapping[str, tuple[int, int]]) -> None:
        """Take unit vectors of which each region's are one slice; raise ``ValueError`` for others."""
        sample = np.asarray(vectors[:: max(1, len(vectors) // 1000)])
        if len(sample) and np.abs(np.linalg.norm(sample, axis=1) - 1).max() > _TOLERANCE:
            raise ValueError("the vectors are not of length 1")
        self.vectors = vectors
        self.ranges = dict(ranges)
        self._spread: dict[str, Spread] = {}

    def spread(self, region: str) -> Spread:
        """Return the spread of a region's vectors."""
        if region not in self._spread:
            low, high = self.ranges[region]
            part = np.asarray(self.vectors[low:high], dtype=np.float32)
            mean = part.mean(axis=0)
            centred = part - mean
            self._spread[region] = Spread(mean, (centred.T @ centred / max(1, len(part))).astype(np.float32))
        return self._spread[region]

    def search(self, queries: Floats, regions: Sequence[str], k: int) -> list[Hits]:
        """Return the ``k`` nearest of the regions to each query, fewer only where the regions hold fewer."""
        parts = [self._within(queries, region, k) for region in dict.fromkeys(regions) if region in self.ranges]
        if not parts:
            empty = np.empty(0, dtype=np.float32)
            return [Hits(np.empty(0, dtype=np.int64), empty, empty) for _ in queries]
        ids, scores, z = (np.concatenate([part[i] for part in parts], axis=1) for i in range(3))
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return [Hits(ids[row, best], scores[row, best], z[row, best]) for row, best in enumerate(order)]

    def _within(self, queries: Floats, region: str, k: int) -> tuple[Ints, Floats, Floats]:
        low, high = self.ranges[region]
        scores, ids = _knn(queries, self.vectors[low:high], min(k, high - low))
        return ids + low, scores, self.spread(region).z(queries, scores)

    def save(self, folder: Path, about: Mapping[str, Any]) -> None:
        """Write vectors and manifest."""
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / ".vectors.part.npy"
        np.save(part, np.ascontiguousarray(self.vectors, dtype=np.float32))
        part.replace(folder / "vectors.npy")
        content = {"metric": METRIC, "ranges": {name: list(pair) for name, pair in self.ranges.items()}, **about}
        write_atomically(
            folder / "index.json", json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        )

    @classmethod
    def load(cls, folder: Path) -> tuple[VectorIndex, dict[str, Any]]:
        """Map an index into memory and return it with its manifest; raise ``StoreError`` when it is none."""
        try:
            about = json.loads((folder / "index.json").read_text("utf-8"))
            vectors = np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False)
            ranges = {name: (int(low), int(high)) for name, (low, high) in about["ranges"].items()}
            fits = about["metric"] == METRIC and max((high for _, high in ranges.values()), default=0) == len(vectors)
            index = cls(vectors, ranges)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{folder}: not a vector index: {error}") from None
        if not fits:
            raise StoreError(f"{folder}: not a vector index: its manifest is of another one")
        return index, about


def _knn(queries: Floats, vectors: Floats, k: int) -> tuple[Floats, Ints]:
    logging.getLogger("faiss.loader").setLevel(logging.WARNING)
    import faiss

    faiss.omp_set_num_threads(1)  # a few milliseconds of work do not pay for waking others
    scores, ids = faiss.knn(
        np.ascontiguousarray(queries, dtype=np.float32),
        np.ascontiguousarray(vectors, dtype=np.float32),
        k,
        metric=faiss.METRIC_INNER_PRODUCT,
    )
    return scores, ids


def sorted_by_region(regions: Sequence[str]) -> tuple[Ints, dict[str, tuple[int, int]]]:
    """Return the order that brings each region together, and where each then lies."""
    order = np.argsort(np.array(regions, dtype=object), kind="stable")
    ordered = [regions[i] for i in order]
    ranges: dict[str, tuple[int, int]] = {}
    for position, region in enumerate(ordered):
        low, _ = ranges.get(region, (position, position))
        ranges[region] = (low, position + 1)
    return order, ranges


def unit(vectors: Floats) -> Floats:
    """Return vectors scaled to length 1; a zero vector stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Floats = (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)
    return scaled
