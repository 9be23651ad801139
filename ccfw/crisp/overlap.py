"""Which texts share most of their content words, found without holding each against each. Pure.

Prefix filtering (Bayardo, Ma and Srikant 2007): with the words of every set in one order, two sets whose Jaccard
similarity is at least ``t`` share one of the first ``n − ⌈t·n⌉ + 1`` words of each. The order is from the rarest word
to the commonest, so that few sets meet.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

_SLACK = 1e-9
"""So that 0.8 of 10 is 8 whatever the product's last digit."""


class Overlaps:
    """Sets of words, of which those that are added are found by the sets that are near to them."""

    def __init__(self, sets: Sequence[frozenset[str]], kinds: Sequence[Hashable], least: float) -> None:
        """Take the sets, what two of them must have alike besides, and the least Jaccard similarity, above 0."""
        times = Counter(word for each in sets for word in each)
        self._sets, self._kinds, self._least = sets, kinds, least
        self._heads = [
            sorted(each, key=lambda word: (times[word], word))[: len(each) - self._needed(len(each)) + 1]
            for each in sets
        ]
        self._places: dict[tuple[Hashable, str], list[int]] = {}

    def _needed(self, size: int) -> int:
        return math.ceil(self._least * size - _SLACK)

    def add(self, place: int) -> None:
        """Let a set be found from now on."""
        for word in self._heads[place]:
            self._places.setdefault((self._kinds[place], word), []).append(place)

    def met(self, place: int) -> set[int]:
        """Return the added sets of the same kind that have to be compared with one."""
        kind = self._kinds[place]
        return {each for word in self._heads[place] for each in self._places.get((kind, word), ())}

    def near(self, place: int) -> Iterator[int]:
        """Yield the added sets of the same kind whose similarity is at least the least one, in the order of places."""
        own = self._sets[place]
        for other in sorted(self.met(place)):
            shared = len(own & self._sets[other])
            if shared >= self._least * (len(own) + len(self._sets[other]) - shared) - _SLACK:
                yield other
