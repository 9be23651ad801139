"""Documents by region, ready to be searched: by vectors, by words, or by both."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

import numpy as np

from ccfw.errors import StoreError
from ccfw.knowledge.embedders import Embedder
from ccfw.knowledge.lexical import LexicalIndex
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.query_vectors import QueryVectors
from ccfw.knowledge.ranking import Hit, by_score, fused, normalised
from ccfw.knowledge.vector_cache import VectorCache
from ccfw.knowledge.vectors import Hits, VectorIndex, merged, sorted_by_region
from ccfw.store import digest

log = logging.getLogger(__name__)
DEPTH = 50
"""Candidates of each ranking before fusion, re-ranking and the removal of near-duplicates."""
NOTHING_KNOWN: Mapping[str, Floats] = MappingProxyType({})
Asked = tuple[str, tuple[str, ...]]
"""A query, and the regions that it is asked of."""


class Document(Protocol):
    """What a shelf can hold."""

    @property
    def region(self) -> str:
        """Code of the region that it is about."""
        ...

    @property
    def identities(self) -> Sequence[str]:
        """Identities that it names."""
        ...


D = TypeVar("D", bound=Document)


@dataclass(frozen=True)
class Shelf(Generic[D]):
    """Documents sorted by region, with what finds them."""

    documents: Sequence[D]
    texts: Sequence[str]
    ranges: Mapping[str, tuple[int, int]]
    named: Mapping[int, Sequence[str]]
    """Identities of the documents that name some, by position."""
    queries: QueryVectors | None
    vectors: VectorIndex | None
    words: LexicalIndex | None

    def hits(self, asked: Iterable[Asked], instruction: str) -> dict[Asked, list[Hit]]:
        """Return the candidates for each query within its regions, best first.

        A hit's score is in standard deviations above what the query scores in its region at large; that of a hybrid
        shelf is a fused reciprocal rank. What is found for a query does not depend on what else is asked.
        """
        distinct = list(dict.fromkeys(asked))
        rankings: list[Iterable[list[Hit]]] = []
        if self.vectors is not None and self.queries is not None:
            rankings.append(self._by_vectors(self.vectors, self.queries, distinct, instruction))
        if self.words is not None:
            words = self.words
            rankings.append(self._by_words(words, *each) for each in distinct)
        found = zip(*rankings, strict=True)
        return {each: fused(of) if len(of) > 1 else of[0] for each, of in zip(distinct, found, strict=True)}

    @property
    def measure(self) -> str:
        """What the scores of hits are in."""
        hybrid = self.vectors is not None and self.words is not None
        return "fused reciprocal rank" if hybrid else "standard deviations above what the query scores in the region"

    def prepare(self, queries: Sequence[str], instruction: str) -> None:
        """Embed queries that are to be asked later."""
        if self.queries is not None and queries:
            self.queries.of(queries, instruction)

    @staticmethod
    def _by_vectors(
        vectors: VectorIndex, queries: QueryVectors, asked: Sequence[Asked], instruction: str
    ) -> Iterable[list[Hit]]:
        """Search each region once, with all queries that are asked of it."""
        of_region: dict[str, dict[str, None]] = {}
        for query, regions in asked:
            for region in regions:
                of_region.setdefault(region, {})[query] = None
        found: dict[tuple[str, str], Hits] = {}
        for region, texts in of_region.items():
            near = vectors.within(queries.of(list(texts), instruction), region, DEPTH)
            found |= {(text, region): hits for text, hits in zip(texts, near, strict=True)}
        for query, regions in asked:
            best = merged([found[query, region] for region in dict.fromkeys(regions)], DEPTH)
            order = np.lexsort((best.ids, -best.z))
            yield list(map(Hit, *(values[order].tolist() for values in (best.ids, best.scores, best.z))))

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
    known: Mapping[str, Floats] = NOTHING_KNOWN,
) -> Shelf[D]:
    """Build a shelf; vectors that ship with the documents are used when they are of these very texts.

    ``known`` gives vectors of single texts, for documents of which only some ship.
    """
    order, ranges = sorted_by_region([str(each.region) for each in documents])
    ordered = tuple(documents[i] for i in order)
    texts = tuple(text_of(each) for each in ordered)
    return Shelf(
        ordered,
        texts,
        ranges,
        {position: each.identities for position, each in enumerate(ordered) if each.identities},
        QueryVectors(embedder, cache) if embedder else None,
        _vectors(texts, ranges, embedder, shipped, cache, known) if embedder else None,
        LexicalIndex(texts) if lexical else None,
    )


def _vectors(
    texts: Sequence[str],
    ranges: dict[str, tuple[int, int]],
    embedder: Embedder,
    shipped: Path | None,
    cache: Path,
    known: Mapping[str, Floats],
) -> VectorIndex:
    index = stored_vectors(shipped, vectors_of(embedder.name, texts)) if shipped is not None else None
    return index or VectorIndex(embedded(texts, embedder, cache, known), ranges)


def stored_vectors(folder: Path, wanted: str) -> VectorIndex | None:
    """Return the vectors that a folder holds, if it holds any and they are those that are wanted."""
    if not (folder / "index.json").exists():
        return None
    try:
        index, about = VectorIndex.load(folder)
    except StoreError as error:
        log.warning("%s; the texts are embedded anew", error)
        return None
    return index if about.get("digest") == wanted else None


def embedded(
    texts: Sequence[str], embedder: Embedder, cache: Path, known: Mapping[str, Floats] = NOTHING_KNOWN
) -> Floats:
    """Return the vectors of passages, of which only those that are not known and were never embedded before are."""
    new = [text for text in texts if text not in known]
    dimension = embedder.queries(["dimension"], "").shape[1]
    made = VectorCache(cache / f"{digest([embedder.name])}.vectors", dimension).embed(new, embedder.passages)
    found = np.empty((len(texts), dimension), dtype=np.float32)
    rows = iter(made)
    for place, text in enumerate(texts):
        found[place] = known[text] if text in known else next(rows)
    return found


def vectors_of(embedder: str, texts: Sequence[str]) -> str:
    """Return the hash that says of which texts, in which order and by which embedder vectors are."""
    return digest([embedder, *texts])
