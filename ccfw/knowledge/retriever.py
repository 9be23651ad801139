"""What a blueprint is shown of the knowledge bases: evidence, niche terms, taboos (section 3.5, Appendix G.2.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ccfw.knowledge.queries import INSTRUCTION, TABOO_INSTRUCTION, Queries
from ccfw.knowledge.ranking import Hit, above, distinct, overlap, reranked
from ccfw.knowledge.records import NicheTerm, Passage, Taboo
from ccfw.knowledge.shelf import Asked, Shelf

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
class FoundTaboo:
    """A taboo and how well it answers a query."""

    taboo: Taboo
    score: float


@dataclass(frozen=True)
class Answer:
    """What a person's query finds, each with its score."""

    passages: tuple[Found, ...]
    niche_terms: tuple[NicheTerm, ...]
    taboos: tuple[FoundTaboo, ...]
    measure: str
    """What the scores are in (``ccfw.knowledge.shelf``)."""
    terms: Terms
    """How much was to be shown."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for one seed; seeds of one template and identity ask the same."""

    queries: Queries
    regions: tuple[str, ...]
    """The first one's taboos are shown."""
    identity: str | None
    grounded: bool
    """Whether the seed rests on a taboo."""


_Found = Mapping[Asked, Sequence[Hit]]


@dataclass(frozen=True)
class Retriever:
    """Two shelves and how much of them is shown."""

    passages: Shelf[Passage]
    taboos: Shelf[Taboo]
    terms: Terms

    def answer(self, query: str, regions: Sequence[str], identities: Collection[str] = ()) -> Answer:
        """Return what one query finds in all of the regions, passages and taboos by the same threshold.

        A seed is shown taboos of its own region whatever they score (``evidence_of``): it must rest on one. Who asks by
        hand asks whether there are any.
        """
        asked = (query, tuple(regions))
        passages = self._ranked(self.passages.hits([asked], INSTRUCTION)[asked], identities)
        taboos = above(self.taboos.hits([asked], TABOO_INSTRUCTION)[asked], self.terms.min_score)
        return Answer(
            self._chosen(passages, passages),
            self._niche(passages),
            tuple(FoundTaboo(self.taboos.documents[h.position], h.score) for h in self._taboos(taboos, identities)),
            self.passages.measure,
            self.terms,
        )

    def prepare(self, wanted: Iterable[Wanted]) -> None:
        """Embed all queries of many seeds, so that the wait for it comes at once and is told."""
        asked = list(wanted)
        self.passages.prepare([query for each in asked for query in _of_passages(each)], INSTRUCTION)
        self.taboos.prepare([each.queries.taboo for each in asked if each.grounded], TABOO_INSTRUCTION)

    def evidence_of(self, wanted: Iterable[Wanted]) -> Iterator[tuple[Wanted, Evidence]]:
        """Yield the evidence of many seeds, region by region; of those that ask the same, once."""
        groups: dict[str, list[Wanted]] = {}
        for each in dict.fromkeys(wanted):
            groups.setdefault(each.regions[0], []).append(each)
        self.prepare(each for group in groups.values() for each in group)
        for group in groups.values():
            pairs = ((query, each.regions) for each in group for query in _of_passages(each))
            passages = self.passages.hits(pairs, INSTRUCTION)
            taboos = self.taboos.hits((_of_taboos(each) for each in group if each.grounded), TABOO_INSTRUCTION)
            for each in group:
                yield each, self._evidence(each, passages, taboos)

    def _evidence(self, wanted: Wanted, passages: _Found, taboos: _Found) -> Evidence:
        by_scenario, by_identity = (passages[query, wanted.regions] for query in _of_passages(wanted))
        identities = (wanted.identity,) if wanted.identity else ()
        scenario, persona = self._ranked(by_scenario, identities), self._ranked(by_identity, identities)
        broken = self._taboos(taboos[_of_taboos(wanted)], identities) if wanted.grounded else ()
        shown = tuple(self.taboos.documents[hit.position] for hit in broken)
        return Evidence(self._chosen(scenario, persona), self._niche(persona), shown)

    def _chosen(self, scenario: Sequence[Hit], persona: Sequence[Hit]) -> tuple[Found, ...]:
        """Take the passages that are shown: some by the situation, the rest by the persona, none twice."""
        most = self.terms.passages
        first = distinct(scenario, min(self.terms.by_scenario, most), self._same)
        rest = distinct(persona, most - len(first), self._same, [hit.position for hit in first])
        taken = [hit.position for hit in (*first, *rest)]
        first += distinct(scenario, most - len(taken), self._same, taken)
        return tuple([self._found(hit, "scenario") for hit in first] + [self._found(hit, "identity") for hit in rest])

    def _taboos(self, hits: Sequence[Hit], identities: Collection[str]) -> list[Hit]:
        """Return the taboos that are shown, those of the identities first."""
        return reranked(hits, self.taboos.named, identities, self.terms.identity_bonus)[: self.terms.taboos]

    def _ranked(self, hits: Sequence[Hit], identities: Collection[str]) -> list[Hit]:
        kept = above(hits, self.terms.min_score)
        return reranked(kept, self.passages.named, identities, self.terms.identity_bonus)

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


def _of_passages(wanted: Wanted) -> tuple[str, str]:
    return wanted.queries.scenario, wanted.queries.identity


def _of_taboos(wanted: Wanted) -> Asked:
    return wanted.queries.taboo, wanted.regions[:1]
