"""The universe as it ships: the paper's counts, whole files, scripts that fit, templates that fit every persona."""

from __future__ import annotations

import unicodedata
from collections import Counter

import pytest

from ccfw.checks.library import faults
from ccfw.datasets import load
from ccfw.records import Region
from ccfw.resources import resource
from ccfw.settings.dialogues import DatasetConfig
from ccfw.universe.reading import read_universe
from ccfw.universe.records import Identity, LibraryTemplate, Universe

PAPER_COUNTS = {"SG": 6, "MY": 7, "ID": 9, "TH": 5, "VN": 5, "PH": 7, "CN": 6, "JP": 5, "KR": 5, "BN": 3}
"""Identities a region (Table 2)."""
LANGUAGE_MAP = {
    ("CN", "Tibetan_Buddhist"): ("Tibetan", "Tibt"),
    ("CN", "Uyghur_Muslim"): ("Uyghur", "Arab"),
    ("CN", "Hui_Muslim"): ("Simplified Chinese", "Hans"),
    ("SG", "Tamil_Hindu"): ("Tamil", "Taml"),
    ("SG", "Malay_Muslim"): ("Malay", "Latn"),
    ("SG", "Eurasian_Catholic"): ("English", "Latn"),
    ("MY", "Chinese_Christian"): ("Simplified Chinese", "Hans"),
    ("TH", "Southern_Malay_Muslim"): ("Thai", "Thai"),
    ("PH", "Visayan_Catholic"): ("Filipino", "Latn"),
    ("KR", "Western_Expatriate"): ("English", "Latn"),
    ("BN", "Iban_Christian"): ("Malay", "Latn"),
}
"""A sample of the paper's map (Appendix G.2)."""
NAMES = {
    "Hans": ("CJK UNIFIED",),
    "Jpan": ("CJK UNIFIED", "HIRAGANA", "KATAKANA"),
    "Kore": ("HANGUL",),
    "Thai": ("THAI",),
    "Taml": ("TAMIL",),
    "Tibt": ("TIBETAN",),
    "Arab": ("ARABIC",),
}
"""How Unicode names the letters of each script."""


@pytest.fixture(scope="module")
def universe() -> Universe:
    return read_universe(resource("data") / "universe")


def identities(universe: Universe) -> list[tuple[Region, Identity]]:
    return [(each.region, identity) for each in universe.regions for identity in each.identities]


def test_the_counts_are_the_papers(universe: Universe) -> None:
    assert {str(each.region): len(each.identities) for each in universe.regions} == PAPER_COUNTS
    assert (len(identities(universe)), len(universe.personas), len(universe.templates)) == (58, 348, 420)
    assert [len(domain.subdomains) for domain in universe.domains] == [6] * 7


def test_every_subdomain_has_ten_templates_in_order(universe: Universe) -> None:
    expected = [
        f"TPL_{domain.code}_{subdomain.code}_{number:02}"
        for domain in universe.domains
        for subdomain in domain.subdomains
        for number in range(1, 11)
    ]
    assert [template.template_id for template in universe.templates] == expected


def test_no_persona_and_no_identity_stands_twice(universe: Universe) -> None:
    codes = [(region, identity.code) for region, identity in identities(universe)]
    assert [code for code, times in Counter(codes).items() if times > 1] == []
    assert len(set(universe.personas)) == 348


@pytest.mark.parametrize(("key", "expected"), LANGUAGE_MAP.items())
def test_languages_follow_the_papers_map(universe: Universe, key: tuple[str, str], expected: tuple[str, str]) -> None:
    found = universe.identity(Region(key[0]), key[1])
    assert (found.native_language, found.script) == expected


def test_native_words_are_in_the_identitys_script(universe: Universe) -> None:
    strange = []
    for region, identity in identities(universe):
        words = [(t.term, t.native) for t in identity.kinship] + [(h.term, h.native) for h in identity.honorifics]
        for term, native in words:
            letters = [c for c in native or "" if unicodedata.category(c)[0] == "L"]
            expected = NAMES.get(identity.script, ())
            if any(not unicodedata.name(letter).startswith(expected) for letter in letters):
                strange.append((region, identity.code, term, native))
    assert strange == []


def test_identities_in_other_scripts_have_native_words(universe: Universe) -> None:
    bare = [
        (region, identity.code)
        for region, identity in identities(universe)
        if identity.script in NAMES and not all(term.native for term in identity.kinship)
    ]
    assert bare == []


def test_each_identity_says_what_it_does_not_imply_in_its_own_words(universe: Universe) -> None:
    phrases = Counter(phrase for _, identity in identities(universe) for phrase in identity.not_implied)
    assert all(3 <= len(identity.not_implied) <= 5 for _, identity in identities(universe))
    assert [phrase for phrase, times in phrases.items() if times > 1] == []


def test_secondary_regions_are_others(universe: Universe) -> None:
    assert set(universe.secondary) == set(Region)
    assert [region for region, others in universe.secondary.items() if region in others] == []


def test_every_template_keeps_the_rules(universe: Universe) -> None:
    found = {t.template_id: list(faults(t, universe.culture_words)) for t in universe.templates}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_templates_do_not_come_from_one_mould(universe: Universe) -> None:
    openings = Counter(" ".join(t.template_text.split(". ")[1].split()[:3]) for t in universe.templates)
    assert openings.most_common(1)[0][1] <= 8  # of 420


def test_the_starter_scenarios_use_the_librarys_templates(universe: Universe) -> None:
    library = {template.template_id: universe.template(template) for template in universe.templates}
    scenarios = load(DatasetConfig(name="starter", path=None)).scenarios
    theirs = [scenario.blueprint.scenario_instantiation.parent_template for scenario in scenarios]
    assert {t.template_id: t for t in theirs} == {t.template_id: library[t.template_id] for t in theirs}


def test_the_starter_personas_are_of_the_universe(universe: Universe) -> None:
    scenarios = load(DatasetConfig(name="starter", path=None)).scenarios
    assert [s.seed.persona for s in scenarios if s.seed.persona not in universe.personas] == []


BAD = {
    "template_id": "TPL_CUL_DINE_01",
    "template_text": "Somebody wants {MEAL} at the Temple.",
    "slot_definitions": {"MEAL": "one two three four five six seven eight nine ten eleven twelve thirteen", "X": "x"},
    "potential_cultural_dimensions": ["a"],
    "multi_hop_potential": "One; two.",
    "challenge_compatibility": {"trap_compatible": True, "applicable_trap_types": []},
    "applicable_regions": ["SG"],
}


def test_every_rule_finds_its_breach(universe: Universe) -> None:
    assert list(faults(LibraryTemplate.model_validate(BAD), universe.culture_words)) == [
        "starts with ['Somebody', 'wants', '{MEAL}'], not with 'The user needs'",
        "1 sentences, not 2–3",
        "slot X is defined and not used",
        "1 slots, not 3–7",
        "slot MEAL is defined in 13 words, not at most 12",
        "2 reasoning steps, not 3–5",
        "trap_compatible and applicable_trap_types disagree",
        "seeds cross every template with every region: name all ten",
        "culture-specific word: temple",
    ]
