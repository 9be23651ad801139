"""Taboos that say the same act of the same people. Pure."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from ccfw.knowledge.duplicates import said
from ccfw.knowledge.records import Taboo
from ccfw.records import Region

SAME = 0.75
"""Share of words in common (Jaccard) from which two acts are taken for one."""
_WORD = re.compile(r"\w+")


class Acts:
    """Acts by region, looked up by what they say and by their words.

    Two sets of words that share ``SAME`` of them share one of the first few of each, in any one order of all words
    (Chaudhuri, Ganti and Kaushik 2006), so only those that do are compared: exact, whatever the number.
    """

    def __init__(self, taboos: Iterable[Taboo] = ()) -> None:
        self._said: dict[tuple[Region, str], list[Taboo]] = defaultdict(list)
        self._first: dict[tuple[Region, str], list[tuple[frozenset[str], Taboo]]] = defaultdict(list)
        for each in taboos:
            self.add(each)

    def add(self, taboo: Taboo) -> None:
        """Take a taboo in."""
        words = _words(taboo.action)
        self._said[taboo.region, said(taboo.action)].append(taboo)
        for word in _prefix(words):
            self._first[taboo.region, word].append((words, taboo))

    def double(self, taboo: Taboo) -> Taboo | None:
        """Return one that is there already and says the same of one of the same identities."""
        for other in self._said.get((taboo.region, said(taboo.action)), ()):
            if _shared(taboo, other):
                return other
        words = _words(taboo.action)
        for word in _prefix(words):
            for others, other in self._first.get((taboo.region, word), ()):
                if len(words & others) >= SAME * len(words | others) and _shared(taboo, other):
                    return other
        return None


def without_doubles(ours: Sequence[Taboo], theirs: Iterable[Taboo]) -> list[Taboo]:
    """Return those of theirs that neither ours nor an earlier one of theirs says."""
    acts, kept = Acts(ours), []
    for each in theirs:
        if acts.double(each) is None:
            acts.add(each)
            kept.append(each)
    return kept


def _shared(one: Taboo, other: Taboo) -> bool:
    return not set(one.identities).isdisjoint(other.identities)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _prefix(words: frozenset[str]) -> list[str]:
    """Return the words of which two texts that are the same share one: long ones first, since those are rare."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return ordered[: len(words) - math.ceil(SAME * len(words)) + 1]
