"""How alike two sketches are, by what they say: slots are read as words, and what all sketches share is taken off.

Words in common miss a sketch that says the same in other words. In the library as it was first written the nine pairs
from 0.45 on told of one situation twice, though no two had half their words in common; rewordings of twelve sketches
each lay nearest to their own, at 0.29–0.65, seven of them at 0.45 or more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ccfw.knowledge.embedders import Embedder, open_embedder
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.shelf import stored_vectors, vectors_of
from ccfw.knowledge.shipped import SHIPPED_WITH, shipped_folder
from ccfw.knowledge.vectors import VectorIndex, unit

SIMILAR = 0.45
"""Cosine, the library's mean taken off, from which two sketches are one."""

_SLOT = re.compile(r"\{(\w+)\}")
_OPENING = "The user needs "


def spoken(text: str) -> str:
    """Return a sketch as it is compared: ``{HOUSE_GUESTS}`` reads *house guests*, and the common opening is gone."""
    return _SLOT.sub(lambda slot: slot[1].lower().replace("_", " "), text).removeprefix(_OPENING)


class Likeness:
    """A library of sketches that a new one is held against."""

    def __init__(self, texts: Sequence[str], vectors: Floats, embed: Callable[[Sequence[str]], Floats]) -> None:
        """Hold sketches with their unit vectors, of shape (texts, dimension)."""
        self._texts = texts
        self._centre = vectors.mean(axis=0)
        self._vectors = unit(vectors - self._centre)
        self._embed = embed

    def pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of the library that are alike."""
        first, second = np.nonzero(np.triu(self._vectors @ self._vectors.T >= SIMILAR, k=1))
        return list(zip(first.tolist(), second.tolist(), strict=True))

    def repeated(self, texts: Sequence[str]) -> list[str | None]:
        """Return for each new sketch one that it repeats, of the library or of those before it."""
        new = unit(self._embed([spoken(text) for text in texts]) - self._centre)
        known, names = np.concatenate([self._vectors, new]), [*self._texts, *texts]
        found: list[str | None] = []
        for number, vector in enumerate(new):
            scores = known[: len(self._vectors) + number] @ vector
            best = int(scores.argmax())
            found.append(names[best] if scores[best] >= SIMILAR else None)
        return found


def library_likeness(texts: Sequence[str]) -> Likeness:
    """Return the likeness of the templates that ship, by the vectors that ship with them."""
    embedder = open_embedder(SHIPPED_WITH)
    index = stored_vectors(shipped_folder("templates", embedder), _digest(embedder, texts))
    vectors = embedder.passages(list(map(spoken, texts))) if index is None else np.asarray(index.vectors)
    return Likeness(texts, vectors, embedder.passages)


def ship_templates(texts: Sequence[str], folder: Path, embedder: Embedder) -> None:
    """Write the vectors of the templates that ship."""
    if stored_vectors(folder, _digest(embedder, texts)) is None:
        index = VectorIndex(embedder.passages(list(map(spoken, texts))), {"all": (0, len(texts))})
        index.save(folder, {"embedder": embedder.name, "digest": _digest(embedder, texts)})


def _digest(embedder: Embedder, texts: Sequence[str]) -> str:
    return vectors_of(embedder.name, list(map(spoken, texts)))
