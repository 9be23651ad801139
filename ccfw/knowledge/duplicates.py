"""Passages that say the same: exactly, once case, marks and blanks are put aside, or nearly, by MinHash.

A passage's shingles are its runs of eight letters, so that any script will do. 64 minima of 16 bits stand for it
(Broder 1997); equal minima estimate the Jaccard similarity, and bands of four find whom to compare.
"""

from __future__ import annotations

import hashlib
import re

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint64]
Signatures = NDArray[np.uint16]

MINIMA = 64
_SHINGLE = 8
_NOT_SAID = re.compile(r"[\W_]+")
_DRAWN = np.frombuffer(hashlib.shake_256(b"minhash").digest(16 * MINIMA), dtype="<u8").reshape(2, MINIMA)
"""Random numbers that no version of a library can change."""
_FACTORS: Bits = _DRAWN[0] | np.uint64(1)
_SHIFTS: Bits = _DRAWN[1]
_BASE = np.uint64(0x9E3779B97F4A7C15)


def said(text: str) -> str:
    """Return what a text says: letters and figures alone, in one case."""
    return _NOT_SAID.sub("", text).casefold()


def exact(text: str) -> int:
    """Return a hash of what a text says, 64 bits."""
    return int.from_bytes(hashlib.blake2b(said(text).encode(), digest_size=8).digest(), "little")


def signature(text: str) -> Signatures:
    """Return the minima of a text's shingles."""
    letters = np.frombuffer(said(text).encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    if letters.size < _SHINGLE:
        letters = np.pad(letters, (0, _SHINGLE - letters.size))
    hashes: Bits = np.zeros(letters.size - _SHINGLE + 1, dtype=np.uint64)
    for place in range(_SHINGLE):
        hashes = hashes * _BASE + letters[place : place + hashes.size]
    hashes = np.unique((hashes ^ (hashes >> np.uint64(29))) * _BASE)
    minima = ((hashes[:, None] * _FACTORS + _SHIFTS) >> np.uint64(20)).min(axis=0)
    return np.asarray(minima & np.uint64(0xFFFF), dtype=np.uint16)


def repeated(hashes: Bits) -> NDArray[np.bool_]:
    """Return which rows are as an earlier one exactly."""
    _, first = np.unique(hashes, return_index=True)
    again = np.ones(hashes.size, dtype=np.bool_)
    again[first] = False
    return again


def similar(signatures: Signatures, threshold: float) -> NDArray[np.bool_]:
    """Return which rows are estimated to share ``threshold`` of their shingles with an earlier one.

    Rows that agree in a band are compared with the first of them and with the one before; which is enough, since
    those that are alike agree in most bands.
    """
    close = np.zeros(len(signatures), dtype=np.bool_)
    bands = np.ascontiguousarray(signatures).view(np.uint64) if len(signatures) else np.zeros((0, 0), np.uint64)
    for band in range(bands.shape[1]):
        order = np.argsort(bands[:, band], kind="stable")
        keys = bands[order, band]
        starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
        first = order[np.repeat(starts, np.diff(np.r_[starts, keys.size]))]
        for other in (first, np.r_[order[:1], order[:-1]]):
            rows = np.flatnonzero((other < order) & ~close[order])
            alike = (signatures[order[rows]] == signatures[other[rows]]).mean(axis=1)
            close[order[rows[alike >= threshold]]] = True
    return close
