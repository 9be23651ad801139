"""The norms and situations that ship: every file, held to its shape and to the checks that a written one is held to."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import pytest

from ccfw.checks.text import count_words
from ccfw.crisp.checks import check_draft, check_triplet, given_away, hidden_in, word_tells
from ccfw.crisp.chronotopes import LEAST, Declared, check_chronotope, differing
from ccfw.crisp.pairs import longest_roles
from ccfw.crisp.reading import read_norms, read_situations, shipped_folder
from ccfw.crisp.records import CultureNorms, NormType, Situation, Triplet
from ccfw.crisp.rules import repeated
from ccfw.records import Region
from ccfw.universe.reading import yaml_files, yaml_record

FOLDER = shipped_folder()
NORMS, SITUATIONS = read_norms(FOLDER), read_situations(FOLDER)
FILES = [yaml_record(path, CultureNorms) for path in yaml_files(FOLDER / "norms")]
IN_THE_PAPER = {"China", "Argentina", "Germany", "India", "Iran", "Italy"}
each_situation = pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.situation_id)


def test_there_are_as_many_as_promised() -> None:
    assert len(NORMS) >= 150
    assert len(SITUATIONS) >= 60
    assert len({norm.culture for norm in NORMS}) >= 19
    assert len({norm.norm for norm in NORMS}) == len(NORMS)


@pytest.mark.parametrize("region", Region)
def test_every_region_has_situations_and_norms(region: Region) -> None:
    assert sum(each.norm.region is region for each in SITUATIONS) >= 2
    assert sum(norm.region is region for norm in NORMS) >= 8


def test_the_cultures_that_the_paper_names_are_marked_and_no_others() -> None:
    assert {file.culture for file in FILES if file.source == "paper"} == IN_THE_PAPER


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.culture)
def test_a_cultures_norms_are_of_many_kinds_and_some_are_avoidances(file: CultureNorms) -> None:
    kinds = Counter(each.norm_type for each in file.norms)
    assert len(kinds) >= 5
    assert kinds[NormType.DINING_ETIQUETTE] <= max(2, len(file.norms) / 4 + 1)
    assert sum(bool(re.search(r"\bavoid|\bnot\b|\bno\b|\bwithout\b|\bnever\b", each.norm)) for each in file.norms) >= 2
    prefix = re.sub(r"\W+", "_", file.culture.casefold()).replace("ü", "u")
    assert all(re.fullmatch(rf"{prefix}_\d\d", each.norm_id) for each in file.norms)


def test_no_two_norms_say_the_same() -> None:
    assert repeated(NORMS, 0.6) == {}


def test_no_norm_has_more_than_two_situations_and_two_differ_in_structure() -> None:
    by_norm: dict[str, list[Situation]] = {}
    for each in SITUATIONS:
        by_norm.setdefault(each.norm.norm_id, []).append(each)
    assert max(map(len, by_norm.values())) <= 2
    for own in by_norm.values():
        for one, other in combinations(own, 2):
            assert len(differing(one.chronotope, other.chronotope)) >= LEAST, (one.situation_id, other.situation_id)


@each_situation
def test_a_situation_passes_every_check_of_its_text(situation: Situation) -> None:
    assert check_draft(situation.norm, situation.draft) == ()
    assert check_chronotope(situation.norm, Declared(situation.chronotope, ()), ()) == ()
    assert 80 <= count_words(situation.draft.scenario) <= 190
    assert 8 <= count_words(situation.draft.hidden_expected_answer) <= 80


@each_situation
def test_a_question_gives_nothing_away_even_with_nothing_free(situation: Situation) -> None:
    draft = situation.draft
    assert list(given_away(draft.question, hidden_in(situation.norm, draft))) == []


@each_situation
def test_a_triplet_passes_every_check_and_is_of_its_length(situation: Situation) -> None:
    assert situation.triplet is not None
    assert check_triplet(situation.norm, situation.triplet) == ()
    assert all(40 <= count_words(text) <= 95 for text in situation.triplet.model_dump().values())


def triplets() -> list[Triplet]:
    return [each.triplet for each in SITUATIONS if each.triplet is not None]


def test_each_role_is_the_longest_about_as_often() -> None:
    shares = {role: times / len(SITUATIONS) for role, times in longest_roles(triplets()).items()}
    assert all(0.24 <= share <= 0.43 for share in shares.values()), shares


def test_no_word_tells_the_role_of_an_answer() -> None:
    assert word_tells(triplets()) == []
