"""What a blueprint is shown of the knowledge bases: evidence, niche terms, taboos (section 3.5, Appendix G.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ccfw.knowledge.queries import INSTRUCTION, TABOO_INSTRUCTION, Queries
from ccfw.knowledge.ranking import Hit, above, distinct, overlap, reranked
from ccfw.knowledge.records import NicheTerm, Passage, Taboo
from ccfw.knowledge.shelf import Shelf

_SAME = 0.6
"""Share of words in common from which two texts are taken for one."""


class Terms(Protocol):
    """How much is shown; ``ccfw.settings.RetrieverConfig`` is one."""

    @property
    def passages(self) -> int: ...  # noqa: D102
    @property
    def by_scenario(self) -> int: ...  # noqa: D102
    @property
    def niche_passages(self) -> int: ...  # noqa: D102
    @property
    def niche_terms(self) -> int: ...  # noqa: D102
    @property
    def taboos(self) -> int: ...  # noqa: D102
    @property
    def min_score(self) -> float | None: ...  # noqa: D102
    @property
    def identity_bonus(self) -> float: ...  # noqa: D102


@dataclass(frozen=True)
class Found:
    """A passage and what found it."""

    passage: Passage
    query: str
    """``scenario`` or ``identity``."""
    raw: float
    score: float


@dataclass(frozen=True)
class Evidence:
    """What a blueprint is shown."""

    passages: tuple[Found, ...]
    niche_terms: tuple[NicheTerm, ...]
    taboos: tuple[Taboo, ...]


@dataclass(frozen=True)
class Retriever:
    """Two shelves and how much of them is shown."""

    passages: Shelf[Passage]
    taboos: Shelf[Taboo]
    terms: Terms

    def evidence(self, queries: Queries, regions: Sequence[str], identity: str | None, *, grounded: bool) -> Evidence:
        """Return what a seed is shown: passages of its regions, and taboos of the first if it rests on one."""
        scenario = self._ranked(queries.scenario, regions, identity)
        persona = self._ranked(queries.identity, regions, identity)
        first = distinct(scenario, self.terms.by_scenario, self._same)
        rest = distinct(persona, self.terms.passages - len(first), self._same, [hit.position for hit in first])
        more = self.terms.passages - len(first) - len(rest)
        taken = [hit.position for hit in (*first, *rest)]
        first += distinct(scenario, more, self._same, taken)
        found = [self._found(hit, "scenario") for hit in first] + [self._found(hit, "identity") for hit in rest]
        taboos = self.taboos_for(queries.taboo, regions[:1], identity) if grounded else ()
        return Evidence(tuple(found), self._niche(persona), taboos)

    def taboos_for(self, query: str, regions: Sequence[str], identity: str | None) -> tuple[Taboo, ...]:
        """Return the taboos that a query finds in regions, the persona's own first."""
        hits = self.taboos.hits(query, regions, TABOO_INSTRUCTION)
        named = {hit.position: self.taboos.documents[hit.position].identities for hit in hits}
        ranked = reranked(hits, named, identity, self.terms.identity_bonus)
        return tuple(self.taboos.documents[hit.position] for hit in ranked[: self.terms.taboos])

    def _ranked(self, query: str, regions: Sequence[str], identity: str | None) -> list[Hit]:
        hits = above(self.passages.hits(query, regions, INSTRUCTION), self.terms.min_score)
        named = {hit.position: self.passages.documents[hit.position].identities for hit in hits}
        return reranked(hits, named, identity, self.terms.identity_bonus)

    def _same(self, one: int, other: int) -> bool:
        if one == other:
            return True
        a, b = self.passages.documents[one], self.passages.documents[other]
        return a.title == b.title or overlap(self.passages.texts[one], self.passages.texts[other]) > _SAME

    def _found(self, hit: Hit, query: str) -> Found:
        return Found(self.passages.documents[hit.position], query, hit.raw, hit.score)

    def _niche(self, hits: Sequence[Hit]) -> tuple[NicheTerm, ...]:
        best = [self.passages.documents[hit.position] for hit in hits[: self.terms.niche_passages]]
        found = [term for passage in best for term in passage.niche_terms[: self.terms.niche_terms]]
        return tuple({term.term: term for term in found}.values())
