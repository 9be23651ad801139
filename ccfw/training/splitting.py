"""Norms held out of a set of pairs, in every culture in proportion. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ccfw.crisp.records import Preference


class Split(NamedTuple):
    """Pairs to train on and pairs of norms that training never sees."""

    train: tuple[Preference, ...]
    held_out: tuple[Preference, ...]


def split_pairs(pairs: Sequence[Preference], share: float | None, seed: int) -> Split:
    """Return pairs in two parts that have no norm in common.

    Without a ``share`` the pairs' own split decides: *train* is trained on, *test* held out, *validation* in neither.
    With it, so many of all norms are held out, drawn by the seed and in every culture in proportion.
    """
    if share is None:
        return Split(*(tuple(each for each in pairs if each.split == name) for name in ("train", "test")))
    apart = held_out_norms([(each.norm_id, each.culture) for each in pairs], share, seed)
    return Split(
        tuple(each for each in pairs if each.norm_id not in apart),
        tuple(each for each in pairs if each.norm_id in apart),
    )


def held_out_norms(norms: Iterable[tuple[str, str]], share: float, seed: int) -> frozenset[str]:
    """Return which of (norm, culture) are held out: a share, drawn by the seed, in every culture in proportion."""
    held: set[str] = set()
    ordered = sorted({(culture, _order(seed, norm), norm) for norm, culture in norms})
    for number, (_, _, norm) in enumerate(ordered, 1):
        if share * number - len(held) >= 0.5:
            held.add(norm)
    return frozenset(held)


def _order(seed: int, norm: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{norm}".encode()).digest()
