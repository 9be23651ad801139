"""The knowledge that ships: counts, known identities, every entry its own, nothing generic."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from ccfw.knowledge.files import read_passages, read_taboos
from ccfw.knowledge.ranking import overlap
from ccfw.knowledge.records import Passage, Taboo
from ccfw.knowledge.shelf import vectors_of
from ccfw.knowledge.shipped import SHIPPED_WITH, passage_text, taboo_text
from ccfw.records import Region
from ccfw.resources import resource
from ccfw.universe.reading import read_universe
from ccfw.universe.records import Universe

GENERIC = re.compile(
    r"\b(disrespect\w*|being rude|offend\w* elders|being impolite|cultural sensitivit\w*)\b", re.IGNORECASE
)
OUTSIDE = re.compile(r"\b(session|helper|workplace tool)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def universe() -> Universe:
    return read_universe(resource("data") / "universe")


@pytest.fixture(scope="module")
def taboos() -> tuple[Taboo, ...]:
    return read_taboos(resource("data") / "knowledge" / "taboos")


@pytest.fixture(scope="module")
def passages() -> tuple[Passage, ...]:
    return read_passages(resource("data") / "knowledge" / "passages")


def identities(universe: Universe) -> dict[Region, set[str]]:
    return {each.region: {identity.code for identity in each.identities} for each in universe.regions}


def test_there_are_at_least_480_taboos_and_40_a_region(taboos: tuple[Taboo, ...]) -> None:
    counts = Counter(taboo.region for taboo in taboos)
    assert len(taboos) >= 480
    assert {region: counts[region] for region in Region if counts[region] < 40} == {}


def test_there_are_at_least_300_passages_and_30_a_region(passages: tuple[Passage, ...]) -> None:
    counts = Counter(passage.region for passage in passages)
    assert len(passages) >= 300
    assert {region: counts[region] for region in Region if counts[region] < 30} == {}


def test_entries_name_identities_of_their_region(
    universe: Universe, taboos: tuple[Taboo, ...], passages: tuple[Passage, ...]
) -> None:
    known = identities(universe)
    strange = [t.taboo_id for t in taboos if not set(t.identities) <= known[t.region]]
    strange += [p.passage_id for p in passages if not set(p.identities) <= known[p.region]]
    assert strange == []


def test_every_identity_is_touched(
    universe: Universe, taboos: tuple[Taboo, ...], passages: tuple[Passage, ...]
) -> None:
    held = Counter((t.region, identity) for t in taboos for identity in t.identities)
    told = Counter((p.region, identity) for p in passages for identity in p.identities)
    everyone = [(region, identity) for region, codes in identities(universe).items() for identity in sorted(codes)]
    assert [each for each in everyone if held[each] < 5] == []
    assert [each for each in everyone if told[each] < 3] == []


def test_most_entries_are_about_somebody_in_particular(universe: Universe, taboos: tuple[Taboo, ...]) -> None:
    known = identities(universe)
    for region in Region:
        own = [t for t in taboos if t.region is region]
        assert sum(set(t.identities) == known[region] for t in own) <= len(own) / 3, region


def test_acts_are_particular_and_stand_once(taboos: tuple[Taboo, ...]) -> None:
    acts = Counter(t.action.lower() for t in taboos)
    assert [act for act, times in acts.items() if times > 1] == []
    assert [t.action for t in taboos if GENERIC.search(t.action)] == []
    assert [t.action for t in taboos if len(t.action.split()) > 16 or not t.action.split()[0].endswith("ing")] == []


def test_no_two_taboos_of_a_region_tell_the_same(taboos: tuple[Taboo, ...]) -> None:
    near = [
        (one.taboo_id, other.taboo_id)
        for i, one in enumerate(taboos)
        for other in taboos[i + 1 :]
        if one.region is other.region and overlap(one.detailed_explanation, other.detailed_explanation) > 0.5
    ]
    assert near == []


def test_passages_are_of_a_length_and_no_two_share_a_title(passages: tuple[Passage, ...]) -> None:
    assert [(p.passage_id, len(p.text.split())) for p in passages if not 70 <= len(p.text.split()) <= 190] == []
    titles = Counter((p.region, p.title) for p in passages)
    assert [title for title, times in titles.items() if times > 1] == []


def test_native_terms_are_of_other_scripts_or_spellings(passages: tuple[Passage, ...]) -> None:
    same = [(p.passage_id, t.term) for p in passages for t in p.niche_terms if t.native == t.term]
    assert same == []


def test_entries_speak_of_their_subject_only(taboos: tuple[Taboo, ...], passages: tuple[Passage, ...]) -> None:
    texts = [t.detailed_explanation for t in taboos] + [p.text for p in passages]
    assert [text for text in texts if OUTSIDE.search(text)] == []


@pytest.mark.parametrize("kind", ["passages", "taboos"])
def test_the_vectors_that_ship_are_of_the_texts_that_ship(
    kind: str, taboos: tuple[Taboo, ...], passages: tuple[Passage, ...]
) -> None:
    """Made anew with ``make vectors``."""
    name = f"{SHIPPED_WITH.kind}:{SHIPPED_WITH.model}"
    texts = [passage_text(p) for p in passages] if kind == "passages" else [taboo_text(t) for t in taboos]
    regions = [str(p.region) for p in passages] if kind == "passages" else [str(t.region) for t in taboos]
    ordered = [text for _, text in sorted(zip(regions, texts, strict=True), key=lambda pair: pair[0])]
    about = resource("data") / "knowledge" / "vectors" / name.replace(":", "_") / kind / "index.json"
    assert json.loads(about.read_text("utf-8"))["digest"] == vectors_of(name, ordered)
