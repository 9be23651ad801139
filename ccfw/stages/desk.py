"""What the author of a blueprint finds on the desk: the persona's community, sketch, evidence, known niche terms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from ccfw.checks.places import on_map_or_calendar
from ccfw.knowledge.files import read_passages
from ccfw.knowledge.queries import queries
from ccfw.knowledge.records import Passage
from ccfw.knowledge.retriever import Evidence, Retriever, Wanted
from ccfw.records import Seed, Template
from ccfw.resources import resource
from ccfw.universe.records import Identity, LibraryTemplate, Universe

NOTHING = Evidence((), (), ())
AHEAD = 64
"""Seeds whose evidence is looked up at a time: about six to a region, and a moment in which no reply is read."""
_WORD = re.compile(r"[^\W\d_]+")
_KNOWLEDGE = resource("data") / "knowledge"


@dataclass(frozen=True)
class Brief:
    """One seed with all that its blueprint is made of."""

    seed: Seed
    template: Template
    sketch: LibraryTemplate
    identity: Identity
    subdomain: str
    """What the subdomain covers."""
    evidence: Evidence
    niche_terms: frozenset[str]

    @property
    def unfounded(self) -> bool:
        """Whether the seed rests on a taboo and none was found for it."""
        return self.seed.challenge_config.taboo_grounded and not self.evidence.taboos


@dataclass
class Lookahead:
    """Evidence of what is asked for in a known order, looked up some at a time: a region is then searched once."""

    retriever: Retriever
    coming: Iterator[Wanted]
    """What is not looked up yet, in the order in which it will be asked for."""
    found: dict[Wanted, Evidence] = field(default_factory=dict)

    def evidence(self, wanted: Wanted) -> Evidence:
        """Return what is found for something, and look up what comes next if it is not there yet."""
        if wanted not in self.found:
            self.found = dict(self.retriever.evidence_of([wanted, *islice(self.coming, AHEAD)]))
        return self.found[wanted]


@dataclass(frozen=True)
class Desk:
    """The universe and the knowledge bases."""

    universe: Universe
    retriever: Retriever | None
    passages: tuple[Passage, ...]
    """Those that ship: their niche terms are counted whatever the retriever finds."""

    def prepare(self, seeds: Sequence[Seed]) -> None:
        """Embed the queries of seeds that will be asked for in this order, so that the wait comes at the beginning."""
        if self._ahead is not None:
            self._ahead.retriever.prepare(map(self._wanted, seeds))
            self._ahead.coming = map(self._wanted, seeds)

    def brief(self, seed: Seed) -> Brief:
        """Gather what a seed's blueprint is made of."""
        sketch, wanted = self._sketches[seed.template_id], self._wanted(seed)
        evidence = self._ahead.evidence(wanted) if self._ahead is not None else NOTHING
        return Brief(
            seed,
            self._templates[seed.template_id],
            sketch,
            self.universe.identity(seed.persona.region, seed.persona.identity),
            self._subdomains[sketch.domain_code, sketch.subdomain_code],
            evidence,
            frozenset(term for region in wanted.regions for term in self._terms.get(region, ()))
            | self._distinct(term.term for term in evidence.niche_terms),
        )

    def _wanted(self, seed: Seed) -> Wanted:
        template, challenge = self._templates[seed.template_id], seed.challenge_config
        asked = queries(self._sketches[seed.template_id], template.domain, template.subdomain, seed.persona)
        regions = (str(seed.persona.region), *([str(challenge.secondary_region)] if challenge.secondary_region else []))
        return Wanted(asked, regions, seed.persona.identity, challenge.taboo_grounded)

    @cached_property
    def _ahead(self) -> Lookahead | None:
        return Lookahead(self.retriever, iter(())) if self.retriever is not None else None

    @cached_property
    def _sketches(self) -> dict[str, LibraryTemplate]:
        return {each.template_id: each for each in self.universe.templates}

    @cached_property
    def _templates(self) -> dict[str, Template]:
        return {name: self.universe.template(each) for name, each in self._sketches.items()}

    @cached_property
    def _subdomains(self) -> dict[tuple[str, str], str]:
        return {(d.code, s.code): s.description for d in self.universe.domains for s in d.subdomains}

    @cached_property
    def _terms(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for passage in self.passages:
            found.setdefault(str(passage.region), set()).update(term.term for term in passage.niche_terms)
        return {region: self._distinct(terms) for region, terms in found.items()}

    def _distinct(self, terms: Iterable[str]) -> frozenset[str]:
        """Return the terms that tell of a practice, a thing or a person.

        "Father", of a priest, is plain English and in many a message that has none. A town is on the map and a
        festival on the calendar: a message across borders has to name a place, and a practice beside it is still one.
        """
        return frozenset(
            term for term in terms if set(_words(term)) - self._plain_words and not on_map_or_calendar(term)
        )

    @cached_property
    def _plain_words(self) -> frozenset[str]:
        """English words: of the sketches, which belong to no culture, and of what kin terms are said to mean."""
        sketches = (f"{t.template_text} {' '.join(t.slot_definitions.values())}" for t in self.universe.templates)
        people = [identity for region in self.universe.regions for identity in region.identities]
        meant = (term.meaning for identity in people for term in identity.kinship)
        return frozenset(word for text in (*sketches, *meant) for word in _words(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def shipped_passages() -> tuple[Passage, ...]:
    """Return the passages that ship."""
    return read_passages(_KNOWLEDGE / "passages")


def knowledge_files() -> list[Path]:
    """Return the files of the knowledge that ships."""
    return sorted(_KNOWLEDGE.glob("*/*.yaml"))
