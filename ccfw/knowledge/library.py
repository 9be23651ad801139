"""A shelf of any size: passages built of dumps beside those that ship, on disk until they are shown.

``kb/<fingerprint>/index`` holds the passages sorted by region and mapped into memory, the vectors of each embedder, and
the words. Each says of which passages it is: when those that ship change, it is made again, and only what is new is
embedded.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar, overload

from ccfw.errors import StoreError
from ccfw.frames import Mapped, write_mapped
from ccfw.knowledge.building import PASSAGES
from ccfw.knowledge.embedders import Embedder
from ccfw.knowledge.lexical import LexicalIndex
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.query_vectors import QueryVectors
from ccfw.knowledge.records import Passage
from ccfw.knowledge.shelf import NOTHING_KNOWN, Shelf, embedded, stored_vectors
from ccfw.knowledge.shipped import passage_text
from ccfw.knowledge.vectors import VectorIndex
from ccfw.store import digest, write_atomically

log = logging.getLogger(__name__)
T = TypeVar("T")
_KEPT = 10_000
"""Passages that stay in memory once they were shown."""
_VERSION = 1
"""Raised when the same passages give another index."""


class Lazy(Sequence[T]):
    """A sequence whose items are made when they are asked for; the latest are kept."""

    def __init__(self, size: int, item: Callable[[int], T], kept: int = _KEPT) -> None:
        self._size = size
        self._item = lru_cache(kept)(item)

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        places = range(self._size)[index]
        return self._item(places) if isinstance(places, int) else [self._item(place) for place in places]


def open_library(
    built: Path,
    ours: Sequence[Passage],
    *,
    embedder: Embedder | None,
    lexical: bool,
    cache: Path,
    known: Mapping[str, Floats] = NOTHING_KNOWN,
) -> Shelf[Passage]:
    """Return a shelf of a built knowledge base and the passages that ship, making what is not there of its index.

    ``known`` gives the vectors of texts that need no embedding.
    """
    key = digest([built.name, str(_VERSION), *(each.model_dump_json() for each in ours)])
    folder = built / "index"
    table = _passages(built, ours, folder, key)
    documents = Lazy(len(table), lambda place: Passage.model_validate(table.row(place)))
    texts = Lazy(len(table), lambda place: passage_text(documents[place]))
    ranges = _ranges(table.counts("region"))
    return Shelf(
        documents,
        texts,
        ranges,
        table.filled("identities"),
        QueryVectors(embedder, cache) if embedder else None,
        _vectors(texts, ranges, embedder, folder, key, cache, known) if embedder else None,
        _words(texts, folder / "words", key) if lexical else None,
    )


def _passages(built: Path, ours: Sequence[Passage], folder: Path, key: str) -> Mapped:
    path = folder / f"passages.{key}.arrow"
    if path.exists():
        try:
            return Mapped(path)
        except StoreError as error:
            log.warning("%s; it is made anew", error)
    sources = sorted((built / PASSAGES).glob("*.parquet"))
    if not sources:
        raise StoreError(f"{built}: its passages are gone; take the folder away and build it again")
    rows = [each.model_dump(mode="json") for each in ours]
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in Passage.model_fields}
    write_mapped(path, sources, columns, "region")
    for old in folder.glob("passages.*.arrow"):
        if old != path:
            old.unlink()
    return Mapped(path)


def _ranges(counts: dict[str, int]) -> dict[str, tuple[int, int]]:
    ends = list(accumulate(counts.values()))
    return {region: (end - count, end) for (region, count), end in zip(counts.items(), ends, strict=True)}


def _vectors(
    texts: Sequence[str],
    ranges: dict[str, tuple[int, int]],
    embedder: Embedder,
    folder: Path,
    key: str,
    cache: Path,
    known: Mapping[str, Floats],
) -> VectorIndex:
    where = folder / digest([embedder.name])
    found = stored_vectors(where, key)
    if found is None:
        new = sum(text not in known for text in texts)
        log.info("%d passages: their vectors by %s are not there yet and are made once", new, embedder.name)
        index = VectorIndex(embedded(texts, embedder, cache, known), ranges)
        index.save(where, {"embedder": embedder.name, "digest": key})
        found, _ = VectorIndex.load(where)
    return found


def _words(texts: Sequence[str], folder: Path, key: str) -> LexicalIndex:
    about = folder / "words.json"
    content = json.dumps({"digest": key}) + "\n"
    if about.exists() and about.read_text("utf-8", "replace") == content:
        try:
            return LexicalIndex.load(folder)
        except StoreError as error:
            log.warning("%s; it is made anew", error)
    about.unlink(missing_ok=True)
    LexicalIndex(texts).save(folder)
    write_atomically(about, content)
    return LexicalIndex.load(folder)
