"""Vectors by the hash of their text, in one append-only file: what was embedded once is never embedded again."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from tqdm import tqdm

from ccfw.knowledge.vectors import Floats

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
        path.parent.mkdir(parents=True, exist_ok=True)

    def embed(self, texts: Sequence[str], embed: Callable[[Sequence[str]], Floats]) -> Floats:
        """Return the vectors of texts, embedding and keeping those that are not there yet, in small portions."""
        with FileLock(self.path.with_name(f".{self.path.name}.lock")):
            held = self._held()
            keys = [_key(text) for text in texts]
            missing = list({key: text for key, text in zip(keys, texts, strict=True) if key not in held}.items())
            if missing:
                held |= self._embedded(missing, embed)
        return np.stack([held[key] for key in keys]) if keys else np.empty((0, self._dimension), dtype=np.float32)

    @property
    def _dimension(self) -> int:
        return int(self._record["vector"].shape[0])

    def _held(self) -> dict[bytes, Floats]:
        size = self.path.stat().st_size if self.path.exists() else 0
        whole = size // self._record.itemsize
        if not whole:
            return {}
        rows = np.memmap(self.path, dtype=self._record, mode="r", shape=(whole,))
        return {bytes(key): vector for key, vector in zip(rows["key"], rows["vector"], strict=True)}

    def _embedded(
        self, missing: Sequence[tuple[bytes, str]], embed: Callable[[Sequence[str]], Floats]
    ) -> dict[bytes, Floats]:
        found: dict[bytes, Floats] = {}
        began = time.monotonic()
        with self._opened() as file, tqdm(total=len(missing), desc="embed", unit="", disable=None) as bar:
            for start in range(0, len(missing), _CHUNK):
                part = missing[start : start + _CHUNK]
                vectors = embed([text for _, text in part])
                for (key, _), vector in zip(part, vectors, strict=True):
                    file.write(key + np.ascontiguousarray(vector, dtype=np.float32).tobytes())
                    found[key] = vector
                file.flush()
                bar.update(len(part))
                if start == 0:
                    _tell(len(missing) - len(part), (time.monotonic() - began) / len(part))
            os.fsync(file.fileno())
        return found

    def _opened(self) -> Any:
        file = self.path.open("ab")
        file.truncate(file.tell() // self._record.itemsize * self._record.itemsize)
        return file


def _tell(left: int, seconds_each: float) -> None:
    if left * seconds_each > _TOLD_S:
        log.info(
            "embedding %d more texts takes about %.0f minutes; what is done is kept", left, left * seconds_each / 60
        )


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_HASH]
