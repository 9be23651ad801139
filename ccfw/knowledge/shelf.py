"""Documents by region, ready to be searched: by vectors, by words, or by both."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np

from ccfw.errors import StoreError
from ccfw.knowledge.embedders import Embedder
from ccfw.knowledge.lexical import LexicalIndex
from ccfw.knowledge.ranking import Hit, by_score, fused, normalised
from ccfw.knowledge.vector_cache import VectorCache
from ccfw.knowledge.vectors import VectorIndex, sorted_by_region
from ccfw.store import digest

log = logging.getLogger(__name__)
DEPTH = 50
"""Candidates of each ranking before fusion, re-ranking and the removal of near-duplicates."""


class Document(Protocol):
    """What a shelf can hold."""

    @property
    def region(self) -> str:
        """Code of the region that it is about."""
        ...


D = TypeVar("D", bound=Document)


@dataclass(frozen=True)
class Shelf(Generic[D]):
    """Documents sorted by region, with what finds them."""

    documents: tuple[D, ...]
    texts: tuple[str, ...]
    ranges: dict[str, tuple[int, int]]
    embedder: Embedder | None
    vectors: VectorIndex | None
    words: LexicalIndex | None

    def hits(self, query: str, regions: Sequence[str], instruction: str) -> list[Hit]:
        """Return the candidates for a query within regions, best first.

        A hit's score is in standard deviations above what the query scores in its region at large; that of a hybrid
        shelf is a fused reciprocal rank.
        """
        rankings = []
        if self.vectors is not None and self.embedder is not None:
            (found,) = self.vectors.search(self.embedder.queries([query], instruction), regions, DEPTH)
            rows = zip(found.ids.tolist(), found.scores.tolist(), found.z.tolist(), strict=True)
            rankings.append(by_score(Hit(position, raw, z) for position, raw, z in rows))
        if self.words is not None:
            rankings.append(self._by_words(self.words, query, regions))
        return fused(rankings) if len(rankings) > 1 else next(iter(rankings), [])

    def _by_words(self, words: LexicalIndex, query: str, regions: Sequence[str]) -> list[Hit]:
        scores = words.scores(query)
        hits = []
        for region in dict.fromkeys(regions):
            low, high = self.ranges.get(region, (0, 0))
            z = normalised(scores[low:high])
            best = np.argsort(-z, kind="stable")[:DEPTH]
            hits += [Hit(low + int(i), float(scores[low + i]), float(z[i])) for i in best if scores[low + i] > 0]
        return by_score(hits)[:DEPTH]


def build_shelf(
    documents: Sequence[D],
    text_of: Callable[[D], str],
    *,
    embedder: Embedder | None,
    lexical: bool,
    shipped: Path | None,
    cache: Path,
) -> Shelf[D]:
    """Build a shelf; vectors that ship with the documents are used when they are of these very texts."""
    order, ranges = sorted_by_region([str(each.region) for each in documents])
    ordered = tuple(documents[i] for i in order)
    texts = tuple(text_of(each) for each in ordered)
    vectors = _vectors(texts, ranges, embedder, shipped, cache) if embedder else None
    return Shelf(ordered, texts, ranges, embedder, vectors, LexicalIndex(texts) if lexical else None)


def _vectors(
    texts: Sequence[str], ranges: dict[str, tuple[int, int]], embedder: Embedder, shipped: Path | None, cache: Path
) -> VectorIndex:
    wanted = vectors_of(embedder.name, texts)
    if shipped is not None and (shipped / "index.json").exists():
        try:
            index, about = VectorIndex.load(shipped)
        except StoreError as error:
            log.warning("%s; the texts are embedded anew", error)
        else:
            if about.get("digest") == wanted:
                return index
    dimension = embedder.queries(["dimension"], "").shape[1]
    held = VectorCache(cache / f"{digest([embedder.name])}.vectors", dimension)
    return VectorIndex(held.embed(texts, embedder.passages), ranges)


def vectors_of(embedder: str, texts: Sequence[str]) -> str:
    """Return the hash that says of which texts, in which order and by which embedder vectors are."""
    return digest([embedder, *texts])
