"""Vectors by the hash of their text, in one append-only file: what was embedded once is never embedded again."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from tqdm import tqdm

from ccfw.errors import ProviderError
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.vectors import of_length_one

log = logging.getLogger(__name__)
_HASH = 16
_CHUNK = 32
_TOLD_S = 20.0
"""A wait beyond which it is said beforehand what it will take."""


class VectorCache:
    """The vectors of one embedder."""

    def __init__(self, path: Path, dimension: int) -> None:
        """Open or create the file; a record torn by a kill is cut off."""
        self.path = path
        self._record = np.dtype([("key", f"V{_HASH}"), ("vector", np.float32, (dimension,))])
        self._rows: dict[bytes, int] = {}
        self._read = 0
        path.parent.mkdir(parents=True, exist_ok=True)

    def embed(self, texts: Sequence[str], embed: Callable[[Sequence[str]], Floats]) -> Floats:
        """Return the vectors of texts, embedding and keeping those that are not there yet, in small portions.

        Raises ``ProviderError`` when the embedder gives something else than vectors of length 1.
        """
        keys = [_key(text) for text in texts]
        with FileLock(self.path.with_name(f".{self.path.name}.lock")):
            self._look()
            self._forget_damaged(dict.fromkeys(keys))
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._rows}
            if missing:
                self._embed(list(missing.items()), embed)
                self._look()
            return self._vectors([self._rows[key] for key in keys])

    def _look(self) -> None:
        """Learn what was added to the file, by this process or another, since it was last looked at."""
        whole = self.path.stat().st_size // self._record.itemsize if self.path.exists() else 0
        if whole < self._read:  # the file was taken away
            self._rows, self._read = {}, 0
        if whole > self._read:
            keys = self._mapped(whole)["key"][self._read :].tobytes()
            new = range(self._read, whole)
            self._rows |= {keys[i : i + _HASH]: row for i, row in zip(range(0, len(keys), _HASH), new, strict=True)}
            self._read = whole

    def _forget_damaged(self, keys: Iterable[bytes]) -> None:
        """Leave out what is no vector any more: its text counts as new, and of two records the later one holds."""
        known = [key for key in keys if key in self._rows]
        sound = of_length_one(self._vectors([self._rows[key] for key in known]))
        for key, is_sound in zip(known, sound, strict=True):
            if not is_sound:
                del self._rows[key]
        if not sound.all():
            log.warning("%s: %d vectors are damaged; their texts are embedded anew", self.path, (~sound).sum())

    def _vectors(self, rows: Sequence[int]) -> Floats:
        if not rows:
            return np.empty((0, *self._record["vector"].shape), dtype=np.float32)
        found: Floats = self._mapped(self._read)["vector"][np.array(rows)]
        return found

    def _mapped(self, rows: int) -> Any:
        return np.memmap(self.path, dtype=self._record, mode="r", shape=(rows,))

    def _embed(self, missing: Sequence[tuple[bytes, str]], embed: Callable[[Sequence[str]], Floats]) -> None:
        began = time.monotonic()
        silent = None if len(missing) > _CHUNK else True
        with self._opened() as file, tqdm(total=len(missing), desc="embed", unit="", disable=silent) as bar:
            for start in range(0, len(missing), _CHUNK):
                part = missing[start : start + _CHUNK]
                vectors = embed([text for _, text in part])
                if not of_length_one(vectors).all():
                    reason = (
                        f"retriever.embedder: {len(part)} texts came back as something else than vectors of length 1"
                    )
                    raise ProviderError(reason, transient=False)
                for (key, _), vector in zip(part, vectors, strict=True):
                    file.write(key + np.ascontiguousarray(vector, dtype=np.float32).tobytes())
                file.flush()
                bar.update(len(part))
                if start == 0:
                    _tell(len(missing) - len(part), (time.monotonic() - began) / len(part))
            os.fsync(file.fileno())

    def _opened(self) -> Any:
        file = self.path.open("ab")
        file.truncate(file.tell() // self._record.itemsize * self._record.itemsize)
        return file


def _tell(left: int, seconds_each: float) -> None:
    if left * seconds_each > _TOLD_S:
        log.info(
            "embedding %d more texts takes about %.0f minutes; what is done is kept, also after Ctrl-C, and "
            "retriever.embedder.threads=… takes more cores",
            left,
            left * seconds_each / 60,
        )


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_HASH]
