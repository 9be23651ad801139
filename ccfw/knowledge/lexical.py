"""Words in common (BM25): the baseline that vectors must beat, and a part of the hybrid. The only import of bm25s."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ccfw.errors import StoreError

_WORD = re.compile(r"[^\W\d_]+|\d+")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u0f00-\u0fff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
"""Thai, Tibetan, Kana, Han and Hangul: scripts that do not part words by blanks, or glue endings to them."""

_NOTHING = "\u0000"
"""Stands in a text without words, as an index cannot hold one."""


def tokens(text: str) -> list[str]:
    """Return words in lower case, and pairs of letters where a script does not part words."""
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        if _UNSPACED.search(word) and len(word) > 1:
            found += [word[i : i + 2] for i in range(len(word) - 1)]
        else:
            found.append(word)
    return found


class LexicalIndex:
    """BM25 over texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._size = len(texts)
        self._index = _empty()
        if texts:
            vocabulary: dict[str, int] = {}
            ids = [
                [vocabulary.setdefault(word, len(vocabulary)) for word in tokens(text) or [_NOTHING]] for text in texts
            ]
            self._index.index((ids, vocabulary), show_progress=False)

    def scores(self, query: str) -> npt.NDArray[np.float32]:
        """Return the score of every text; 0 for one that shares no word."""
        words = [word for word in tokens(query) if word in self._index.vocab_dict] if self._size else []
        if not words:
            return np.zeros(self._size, dtype=np.float32)
        found: npt.NDArray[np.float32] = self._index.get_scores(words)
        return found

    def save(self, folder: Path) -> None:
        """Write the index, of at least one text."""
        self._index.save(str(folder), show_progress=False)

    @classmethod
    def load(cls, folder: Path) -> LexicalIndex:
        """Map an index into memory; raise ``StoreError`` when it is none."""
        made = cls([])
        try:
            made._index = type(made._index).load(str(folder), mmap=True, show_progress=False)
            made._size = int(made._index.scores["num_docs"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{folder}: not an index of words: {error}") from None
        return made


def _empty() -> Any:
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # after its import, which sets another
    return bm25s.BM25()
