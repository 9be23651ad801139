"""Train, validation and test by norm: no norm is in two of them, and each culture is in all in proportion. Pure.

What a norm is in hangs on its own hash and on how many there are of its culture, so that a norm that comes or goes
moves none of another culture and, where all have as many situations, at most one at each border in its own. What was
given once is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from ccfw.checks.text import word_set
from ccfw.crisp.overlap import Overlaps
from ccfw.crisp.records import SPLITS, Split

PROPORTIONS: Mapping[Split, int] = {"train": 3521, "validation": 449, "test": 222}
"""Scenarios in each (paper 2, Table 17)."""
NEAR, SHARED = 0.3, 4
"""Share of their content words, and how many, from which two norms are so near that they go into one split: a reader
who has learnt from one would know the other. A neighbour's dish goes back filled in India and in China."""


def split_norms(
    situations: Iterable[tuple[str, str]],
    seed: int,
    *,
    known: Mapping[str, Split] | None = None,
    texts: Mapping[str, str] | None = None,
) -> dict[str, Split]:
    """Return the split of every norm from the (norm, culture) of each situation.

    A culture's norms lie side by side in an order drawn by the seed, each as long as it has situations, and the whole
    is cut by ``PROPORTIONS``; a norm is in the part in which a point of it lies, and the seed draws for each culture
    how far along its norms that point is. So every culture is divided in proportion up to the size of a norm, and over
    cultures no part is favoured. ``texts`` are the norms' sentences: those that are near go together (``families``).
    ``known`` are splits that were given before, and stay.
    """
    sizes, cultures = dict[str, int](), dict[str, str]()
    for norm, culture in situations:
        sizes[norm] = sizes.get(norm, 0) + 1
        cultures[norm] = culture
    head = families({norm: text for norm, text in (texts or {}).items() if norm in sizes})
    units = dict[str, list[str]]()
    for norm in sorted(sizes):
        units.setdefault(head.get(norm, norm), []).append(norm)
    strata = dict[str, list[str]]()
    for unit in sorted(units, key=lambda each: (_drawn(seed, "norm", each), each)):
        strata.setdefault(cultures[unit], []).append(unit)
    found: dict[str, Split] = {}
    for culture, own in strata.items():
        lengths = {unit: sum(sizes[norm] for norm in units[unit]) for unit in own}
        for unit, drawn in _cut(lengths, _drawn(seed, "culture", culture)).items():
            before = [known[norm] for norm in units[unit] if known and norm in known]
            for norm in units[unit]:
                found[norm] = known[norm] if known and norm in known else (before or [drawn])[0]
    return found


def _cut(lengths: Mapping[str, int], along: float) -> dict[str, Split]:
    """Return the part in which the point lies that is a given share along each of some lengths laid side by side."""
    whole, total, begin = sum(lengths.values()), sum(PROPORTIONS.values()), 0
    found: dict[str, Split] = {}
    for name, length in lengths.items():
        point, border = begin + along * length, 0.0
        for split in SPLITS:
            border += whole * PROPORTIONS[split] / total
            if point < border or split == SPLITS[-1]:
                found[name] = split
                break
        begin += length
    return found


def families(texts: Mapping[str, str]) -> dict[str, str]:
    """Return for each norm the first by id of those that it is near to, at first or at any remove; its own if none."""
    ids = sorted(texts)
    words = [word_set(texts[each]) for each in ids]
    near, head = Overlaps(words, [None] * len(ids), NEAR), list(range(len(ids)))
    for place in range(len(ids)):
        for other in near.near(place):
            if len(words[place] & words[other]) >= SHARED:
                one, two = sorted((_root(head, place), _root(head, other)))
                head[two] = one
        near.add(place)
    return {ids[place]: ids[_root(head, place)] for place in range(len(ids))}


def _root(head: list[int], place: int) -> int:
    while head[place] != place:
        head[place] = head[head[place]]
        place = head[place]
    return place


def _drawn(seed: int, what: str, name: str) -> float:
    """Return a number from 0 up to 1 for a name."""
    return int.from_bytes(hashlib.sha256(f"{seed}\0{what}\0{name}".encode()).digest()[:6], "big") / (1 << 48)
