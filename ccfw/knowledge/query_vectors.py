"""Vectors of queries by their text: templates and identities repeat, so most queries were asked before."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ccfw.knowledge.embedders import Embedder
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.vector_cache import VectorCache
from ccfw.store import digest


class QueryVectors:
    """What an embedder makes of queries, kept in memory and in a file of its own beside the vectors of passages."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self._folder = folder
        self._held: dict[tuple[str, str], Floats] = {}
        self._files: dict[str, VectorCache] = {}

    def of(self, texts: Sequence[str], instruction: str) -> Floats:
        """Return the vectors of queries, of which only those that nobody asked before are embedded."""
        missing = [text for text in dict.fromkeys(texts) if (instruction, text) not in self._held]
        if missing:
            embed = partial(self._embedder.queries, instruction=instruction)
            vectors = self._file(instruction, missing[0]).embed(missing, embed)
            self._held |= {(instruction, text): vector for text, vector in zip(missing, vectors, strict=True)}
        return np.stack([self._held[instruction, text] for text in texts])

    def _file(self, instruction: str, text: str) -> VectorCache:
        """Return the file of an instruction; one vector tells the dimension of a new one."""
        if instruction not in self._files:
            name = digest([self._embedder.name, instruction])
            known = sorted(self._folder.glob(f"{name}.*.queries"))
            dimension = (
                int(known[0].suffixes[-2][1:]) if known else self._embedder.queries([text], instruction).shape[1]
            )
            self._files[instruction] = VectorCache(self._folder / f"{name}.{dimension}.queries", dimension)
        return self._files[instruction]
