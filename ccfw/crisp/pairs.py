"""Preference pairs: from outcome gaps, and from triplets; how their lengths are balanced (paper 2, part II). Pure."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

from ccfw.checks.text import count_words, normalise
from ccfw.crisp.records import PairKind, Preference, ResponseRecord, Situation, Triplet

_ORDERINGS = (
    (PairKind.APPROPRIATE_GENERIC, "appropriate", "generic"),
    (PairKind.APPROPRIATE_OPPOSITE, "appropriate", "opposite"),
    (PairKind.GENERIC_OPPOSITE, "generic", "opposite"),
)


class Scored(NamedTuple):
    """A response with the score of its outcome."""

    response: ResponseRecord
    score: float


def gap_pairs(
    situation: Situation, scored: Iterable[Scored], *, min_gap: float, most: int, seed: int
) -> list[Preference]:
    """Return pairs of answers to one question whose scores are at least ``min_gap`` apart, at most ``most`` of them.

    Which, is drawn by the seed; every answer is used once before any is used again, as far as that goes. Answers in the
    same words are one, with the mean of their scores: no pair stands twice, nor the other way round.
    """
    apart = [
        (better, worse)
        for better, worse in (sorted(two, key=lambda each: -each.score) for two in combinations(_distinct(scored), 2))
        if better.score - worse.score >= min_gap
    ]
    left = sorted(apart, key=lambda pair: _drawn(seed, *pair))
    used = Counter[str]()
    chosen: list[Preference] = []
    while left and len(chosen) < most:
        pair = min(left, key=lambda pair: sum(used[each.response.response_id] for each in pair))
        left.remove(pair)
        better, worse = pair
        names = better.response.response_id, worse.response.response_id
        used.update(names)
        texts = better.response.answer, worse.response.answer
        chosen.append(_preference(situation, PairKind.GAP, texts, names, better.score - worse.score))
    return chosen


def _distinct(scored: Iterable[Scored]) -> list[Scored]:
    """Return one answer of each wording, the first by its id, with the mean of their scores."""
    wordings: dict[str, list[Scored]] = {}
    for each in sorted(scored, key=lambda each: each.response.response_id):
        wordings.setdefault(normalise(each.response.answer), []).append(each)
    return [Scored(same[0].response, fmean(each.score for each in same)) for same in wordings.values()]


def _drawn(seed: int, one: Scored, other: Scored) -> bytes:
    return hashlib.sha256(f"{seed}\0{one.response.response_id}\0{other.response.response_id}".encode()).digest()


def triplet_pairs(situation: Situation, triplet: Triplet) -> Iterator[Preference]:
    """Yield the three orderings of a triplet: appropriate over generic, over opposite, and generic over opposite."""
    for kind, better, worse in _ORDERINGS:
        yield _preference(situation, kind, (getattr(triplet, better), getattr(triplet, worse)), (better, worse), None)


def _preference(
    situation: Situation, kind: PairKind, texts: tuple[str, str], names: tuple[str, str], gap: float | None
) -> Preference:
    return Preference(
        pair_id=f"{situation.situation_id}::{kind.value}::{names[0]}::{names[1]}",
        situation_id=situation.situation_id,
        norm_id=situation.norm.norm_id,
        culture=situation.norm.culture,
        split=situation.split,
        kind=kind,
        scenario=situation.draft.scenario,
        question=situation.draft.question,
        chosen=texts[0],
        rejected=texts[1],
        chosen_from=names[0],
        rejected_from=names[1],
        gap=gap,
    )


class Balance(NamedTuple):
    """How the lengths of the chosen and the rejected answers compare."""

    pairs: int
    longer: float
    """Share in which the chosen one is longer, a tie counting half: what always choosing the longer one would get."""
    chosen_words: float
    rejected_words: float


def longer(pair: Preference) -> float:
    """Return 1 when the chosen answer is longer in words, 0 when it is shorter, and a half when neither is."""
    one, other = count_words(pair.chosen), count_words(pair.rejected)
    return 0.5 if one == other else float(one > other)


def balance(pairs: Sequence[Preference]) -> Balance | None:
    """Return the balance of some pairs; ``None`` of none."""
    if not pairs:
        return None
    n = len(pairs)
    return Balance(
        n,
        sum(map(longer, pairs)) / n,
        sum(count_words(pair.chosen) for pair in pairs) / n,
        sum(count_words(pair.rejected) for pair in pairs) / n,
    )


def longest_roles(triplets: Iterable[Triplet]) -> Mapping[str, float]:
    """Return for each role in how many triplets it is the longest, in words; a tie is divided among its roles."""
    shares = dict.fromkeys(Triplet.model_fields, 0.0)
    for triplet in triplets:
        words = {name: count_words(text) for name, text in triplet.model_dump().items()}
        longest = [name for name, count in words.items() if count == max(words.values())]
        for name in longest:
            shares[name] += 1 / len(longest)
    return shares
