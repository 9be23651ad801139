"""Train, validation and test by norm: no norm is in two of them, and each culture is in all in proportion. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from ccfw.crisp.records import SPLITS, Split

PROPORTIONS: Mapping[Split, int] = {"train": 3521, "validation": 449, "test": 222}
"""Scenarios in each (paper 2, Table 17)."""


def split_norms(situations: Iterable[tuple[str, str]], seed: int) -> dict[str, Split]:
    """Return the split of every norm from the (norm, culture) of each situation.

    Norms are taken culture by culture, each culture's in an order drawn by the seed, and each goes where most of the
    situations so far are wanting, by ``PROPORTIONS``. So every stretch of the order, and thereby every culture, is
    divided in proportion up to the size of a norm, and the whole is too.
    """
    sizes: dict[tuple[str, str], int] = {}
    for norm, culture in situations:
        sizes[culture, norm] = sizes.get((culture, norm), 0) + 1
    whole = sum(PROPORTIONS.values())
    given = dict.fromkeys(SPLITS, 0)
    total, found = 0, dict[str, Split]()
    for culture, norm in sorted(sizes, key=lambda each: (each[0], _drawn(seed, each[1]), each[1])):
        size = sizes[culture, norm]
        total += size
        wanting = {name: PROPORTIONS[name] * total - given[name] * whole for name in SPLITS}
        chosen = max(SPLITS, key=lambda name: wanting[name])
        found[norm] = chosen
        given[chosen] += size
    return found


def _drawn(seed: int, norm: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{norm}".encode()).digest()
