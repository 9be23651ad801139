"""From hits to evidence: fusion, thresholds, the persona's own first, no passage twice in other words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_RRF = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A candidate: its position, its retriever's own score, and the score it is ranked by."""

    position: int
    raw: float
    score: float


def fused(rankings: Iterable[Sequence[Hit]]) -> list[Hit]:
    """Fuse rankings by reciprocal rank: ``Σ 1 / (60 + rank)``, ranks from 1; the raw score is the first one's."""
    sums: dict[int, float] = {}
    raw: dict[int, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, 1):
            sums[hit.position] = sums.get(hit.position, 0.0) + 1 / (_RRF + rank)
            raw.setdefault(hit.position, hit.raw)
    return by_score(Hit(position, raw[position], score) for position, score in sums.items())


def by_score(hits: Iterable[Hit]) -> list[Hit]:
    """Sort hits, best first; of equal ones the earlier position."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.position))


def above(hits: Iterable[Hit], least: float | None) -> list[Hit]:
    """Drop the hits below a least score; ``None`` drops nothing."""
    return [hit for hit in hits if least is None or hit.score >= least]


def reranked(
    hits: Sequence[Hit], identities: Mapping[int, Sequence[str]], wanted: Collection[str], bonus: float
) -> list[Hit]:
    """Raise what names an identity that is wanted by a bonus, and lower what names only others by half of it.

    ``hits`` come best first; ``identities`` gives those of positions that name some. A passage about everybody stays
    where it is, and so does every hit where no identity is wanted.
    """

    def moved(hit: Hit) -> Hit:
        named = identities.get(hit.position)
        if not named:
            return hit
        return replace(hit, score=hit.score + (-bonus / 2 if set(wanted).isdisjoint(named) else bonus))

    if not wanted or not any(hit.position in identities for hit in hits):
        return list(hits)
    return by_score(map(moved, hits))


def distinct(hits: Iterable[Hit], k: int, same: Callable[[int, int], bool], taken: Sequence[int] = ()) -> list[Hit]:
    """Take the first ``k`` hits of which none is the same as one before it, or as one that is taken already.

    None is taken where ``k`` is 0 or less.
    """
    kept: list[Hit] = []
    seen = list(taken)
    for hit in hits:
        if len(kept) >= k:
            break
        if not any(same(hit.position, other) for other in seen):
            kept.append(hit)
            seen.append(hit.position)
    return kept


def overlap(one: str, other: str) -> float:
    """Return the share of words that two texts have in common (Jaccard)."""
    a, b = _words(one), _words(other)
    return len(a & b) / len(a | b) if a | b else 1.0


@lru_cache(2_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(text.lower().split())


def normalised(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return scores as standard deviations above their mean; all 0 where they do not differ."""
    spread = float(scores.std()) if len(scores) else 0.0
    if spread == 0.0:
        return np.zeros_like(scores)
    found: npt.NDArray[np.float32] = ((scores - scores.mean()) / spread).astype(np.float32)
    return found
