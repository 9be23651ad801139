"""Taboos that say the same act of the same people. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from ccfw.knowledge.duplicates import said
from ccfw.knowledge.records import Taboo
from ccfw.records import Region

SAME = 0.75
"""Share of words in common (Jaccard) from which two acts are taken for one."""
_WORD = re.compile(r"\w+")
Spot = tuple[Region, int, int, str]
"""Region, number of words of an act, place of one of them in the order of all words, and the word."""


class Acts:
    """Acts by region, looked up by what they say and by their words.

    Exact, whatever the number. Two sets of words that share ``SAME`` of them share one of the first few of each, in any
    one order of all words (Chaudhuri, Ganti and Kaushik 2006), and the first that they share stands so early in both
    that what follows can make up the share (Xiao, Wang, Lin and Yu 2008). Rare words come first, so few acts meet.
    """

    def __init__(self, often: Mapping[str, int]) -> None:
        """Take how often each word stands in all acts that will be looked at."""
        self._often = often
        self._said: dict[tuple[Region, str], list[Taboo]] = defaultdict(list)
        self._spots: dict[Spot, list[tuple[frozenset[str], Taboo]]] = defaultdict(list)

    def add(self, taboo: Taboo) -> None:
        """Take a taboo in."""
        words = _words(taboo.action)
        self._said[taboo.region, said(taboo.action)].append(taboo)
        for place, word in enumerate(self._first(words)):
            self._spots[taboo.region, len(words), place, word].append((words, taboo))

    def double(self, taboo: Taboo) -> Taboo | None:
        """Return one that is there already and says the same of one of the same identities."""
        for other in self._said.get((taboo.region, said(taboo.action)), ()):
            if _shared(taboo, other):
                return other
        words = _words(taboo.action)
        for spot in self._near(taboo.region, words):
            for others, other in self._spots.get(spot, ()):
                if len(words & others) >= SAME * len(words | others) and _shared(taboo, other):
                    return other
        return None

    def _near(self, region: Region, words: frozenset[str]) -> Iterator[Spot]:
        """Yield where the first word is that an act shares with these words, if it shares enough of them."""
        size = len(words)
        for place, word in enumerate(self._first(words)):
            for length in range(math.ceil(SAME * size), math.floor(size / SAME) + 1):
                needed = math.ceil(SAME * (size + length) / (1 + SAME))
                if size - place >= needed:
                    yield from ((region, length, other, word) for other in range(length - needed + 1))

    def _first(self, words: frozenset[str]) -> list[str]:
        """Return the words of which two acts that are the same share one, rare ones first."""
        ordered = sorted(words, key=lambda word: (self._often[word], word))
        return ordered[: len(words) - math.ceil(SAME * len(words)) + 1]


def without_doubles(
    ours: Sequence[Taboo],
    theirs: Sequence[Taboo],
    watched: Callable[[Iterable[Taboo]], Iterable[Taboo]] = iter,
) -> list[Taboo]:
    """Return those of theirs that neither ours nor an earlier one of theirs says.

    ``watched`` hands theirs on, and may show how far it is or raise to end it.
    """
    acts, kept = Acts(Counter(word for each in chain(ours, theirs) for word in _words(each.action))), []
    for each in ours:
        acts.add(each)
    for each in watched(theirs):
        if acts.double(each) is None:
            acts.add(each)
            kept.append(each)
    return kept


def _shared(one: Taboo, other: Taboo) -> bool:
    return not set(one.identities).isdisjoint(other.identities)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
