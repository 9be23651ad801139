"""Sources of norms: published files as they are, rows that are none, what needs no model, what says the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from ccfw.crisp.norms import (
    Candidate,
    check_norm,
    culture_name,
    distinct,
    layout_of,
    made,
    read_norm,
    read_rows,
    repeated,
    slug,
    states_a_rule,
    without_a_model,
)
from ccfw.crisp.reading import read_norm_files
from ccfw.crisp.records import Loss, Norm, Reason
from ccfw.errors import RequestError
from tests.samples import ROOT

DATA = ROOT.parent / "shared" / "data"
FORK, BENCH = DATA / "fork" / "fork.csv", DATA / "culturalbench" / "CulturalBench-Easy.csv"
NORMAD = DATA / "normad_sample" / "normad_5rows.csv"
there = pytest.mark.skipif(not FORK.exists(), reason="../shared/data is not here")


def candidate(question: str, answer: str, culture: str = "Japan", source: str = "culturalbench") -> Candidate:
    return Candidate(
        row_id=f"{source}:1",
        source=source,
        culture=culture,
        norm_type="other",
        licence="CC-BY-4.0",
        origin="1",
        rule=None,
        question=question,
        options=(answer, "other"),
        answer=answer,
    )


def norm(text: str, norm_id: str, culture: str = "Japan", source: str = "own") -> Norm:
    return Norm(
        norm_id=norm_id, norm=text, culture=culture, norm_type="other", source=source, licence="CC0-1.0", origin=norm_id
    )


# ---- published files


@there
def test_fork_has_184_rows_and_177_questions() -> None:
    (rows,) = read_norm_files([str(FORK)], "key")
    kept, again = distinct(rows.candidates)
    assert (rows.source, len(rows.candidates), rows.losses, len(kept), len(again)) == ("fork", 184, (), 177, 7)
    assert {loss.reason for _, loss in again} == {Reason.SAME_QUESTION}
    cultures = Counter(each.culture for each in rows.candidates)
    assert (cultures["China"], cultures["United States"], cultures["United Arab Emirates"]) == (66, 58, 4)
    assert rows.candidates[0].answer == "not make too much noise"


@there
def test_fork_needs_a_model_but_for_what_states_a_rule() -> None:
    (rows,) = read_norm_files([str(FORK)], "key")
    found = [without_a_model(each) for each in distinct(rows.candidates)[0]]
    assert sum(isinstance(each, Norm) for each in found) == 1  # "The host wants you to leave"
    assert {each.reason for each in found if isinstance(each, Loss)} == {Reason.NO_RULE}


@there
def test_culturalbench_is_read_whole() -> None:
    (rows,) = read_norm_files([str(BENCH)], "key")
    kept, again = distinct(rows.candidates)
    assert (len(rows.candidates), len(rows.losses), len(kept), len(again)) == (1227, 0, 1226, 1)
    assert len({each.culture for each in kept}) == 45
    netherlands = rows.candidates[0]
    assert (netherlands.answer, netherlands.negated, netherlands.culture) == ("Tipping generously", True, "Netherlands")
    assert rows.candidates[2].negated is False  # "What is not an uncommon aspect in Nigeria?"


@there
def test_normads_rules_of_thumb_are_norms_as_they_stand() -> None:
    (rows,) = read_norm_files([str(NORMAD)], "key")
    found = [without_a_model(each) for each in rows.candidates]
    assert [each.norm for each in found if isinstance(each, Norm)][:1] == [
        "It is respectful to greet everyone present before starting any social interaction."
    ]
    assert {(each.culture, each.norm_type) for each in found if isinstance(each, Norm)} == {
        ("Egypt", "basic_etiquette"),
        ("Egypt", "eating"),
        ("Egypt", "gift_giving"),
    }


# ---- files of one's own, and bad ones


def test_a_file_of_ones_own_keeps_its_kind_and_licence(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("\ufeffNorm;Culture;Norm_Type;Licence\r\nBoots stay outside;norway;Home Life;CC0-1.0\r\n", "utf-8")
    (rows,) = read_norm_files([str(path)], "key")
    found = without_a_model(rows.candidates[0])
    assert isinstance(found, Norm)
    assert found.model_dump(include={"norm", "culture", "norm_type", "source", "licence"}) == {
        "norm": "Boots stay outside.",
        "culture": "Norway",
        "norm_type": "home_life",
        "source": "own",
        "licence": "CC0-1.0",
    }


def test_rows_without_what_they_need_are_losses_with_line_and_reason() -> None:
    layout = layout_of({"question", "option a", "option b", "answer key", "country"})
    assert layout is not None
    row = {"question": "What?", "option a": "tea", "option b": "rice", "answer key": "C", "country": "Japan", "id": "7"}
    rows = read_rows(layout, [(2, row), (3, row | {"answer key": "A", "country": " "}), (4, row | {"answer key": "b"})])
    assert [(name, loss.reason, loss.detail) for name, loss in rows.losses] == [
        ("fork:7", Reason.BAD_ROW, "line 2: the answer is 'C'; options: A, B"),
        ("fork:line_3", Reason.BAD_ROW, "line 3: nothing under country"),
    ]
    assert [each.answer for each in rows.candidates] == ["rice"]


def test_files_that_are_none_are_refused_together(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n", "utf-8")
    (tmp_path / "latin.csv").write_bytes(b"norm,culture\n\xe9,Japan\n")
    with pytest.raises(RequestError) as caught:
        list(read_norm_files(["no.csv", str(tmp_path / "odd.csv"), str(tmp_path / "latin.csv")], "crisp.norms.sources"))
    first, second, third = caught.value.problems
    assert first == "crisp.norms.sources=no.csv: No such file or directory"
    assert second.startswith(f"crisp.norms.sources={tmp_path}/odd.csv: its columns (a, b) are those of no source; ")
    assert second.endswith("normad: country, rule of thumb; own: culture, norm")
    assert third == f"crisp.norms.sources={tmp_path}/latin.csv: not UTF-8 text"


@pytest.mark.parametrize(
    ("name", "written"),
    [("USA", "United States"), ("türkiye", "Türkiye"), ("south_korea", "South Korea"), ("timor-leste", "Timor-Leste")],
)
def test_cultures_have_one_name(name: str, written: str) -> None:
    assert culture_name(name) == written


def test_kinds_are_identifiers() -> None:
    assert [slug("General Culture/Custom"), slug("2nd kind")] == ["general_culture_custom", "kind_2nd_kind"]


# ---- questions


@pytest.mark.parametrize(
    ("question", "negated"),
    [
        pytest.param("Which practice is unusual in public?", True, id="unusual"),
        pytest.param("What is NOT a common gift?", True, id="not"),
        pytest.param("What is not an uncommon sight?", False, id="twice"),
        pytest.param("What do guests usually bring?", False, id="plain"),
        pytest.param("What do people do?\nRead the statements: (i) they do not wait", False, id="in-an-option"),
        pytest.param("Which action is considered rude?", True, id="rude"),
    ],
)
def test_a_question_for_what_is_not_done_is_known(question: str, negated: bool) -> None:
    assert candidate(question, "x").negated is negated


def test_an_answer_states_a_rule_when_it_is_a_clause_and_the_question_is_not_negated() -> None:
    rule = "Younger people pour drinks for the elders and the elders pay."
    assert states_a_rule(candidate("What is common?", rule))
    assert not states_a_rule(candidate("What is uncommon?", rule))
    assert not states_a_rule(candidate("What is common?", "Tipping generously"))


def test_a_norm_of_a_negated_question_must_be_an_avoidance() -> None:
    asked = candidate("What is an uncommon practice when the bill arrives?", "Everyone splits the bill")
    wrong = made(asked, "At dinners in Japan everyone splits the bill", "other")
    right = made(asked, "At dinners in Japan it is avoided that everyone splits the bill", "other")
    assert [issue.check for issue in check_norm(asked, wrong)] == ["avoidance"]
    assert check_norm(asked, right) == ()


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("Guests bring fruit. They also bring tea", "one_sentence"),
        ("Do guests bring fruit to a house?", "one_sentence"),
        ("Hosts pour water", "answer"),
        (" ".join(["guests bring fruit"] * 21), "length"),
    ],
)
def test_what_is_no_norm_of_the_answer_is_named(text: str, check: str) -> None:
    asked = candidate("What do guests bring?", "fruit for the children")
    assert check in {issue.check for issue in check_norm(asked, made(asked, text, "other"))}


def test_a_reply_is_read_with_nothing_added() -> None:
    asked = candidate("What do guests bring?", "fruit")
    found = read_norm(asked, json.dumps({"norm": "Guests bring fruit", "norm_type": "Gifts"}))
    assert isinstance(found, Norm)
    assert (found.norm, found.norm_type, found.culture) == ("Guests bring fruit.", "gifts", "Japan")
    extra = read_norm(asked, json.dumps({"norm": "x", "norm_type": "y", "culture": "Peru"}))
    assert isinstance(extra, tuple)
    assert [(issue.where, issue.says) for issue in extra] == [("culture", "no key that was not asked for")]


# ---- what says the same


def test_the_same_rule_of_one_culture_is_kept_once() -> None:
    norms = [
        norm("Shoes are taken off before entering a home", "a"),
        norm("shoes are taken off, before entering a home!", "b"),
        norm("Shoes are taken off before entering a home", "c", culture="Korea"),
        norm("Before entering a home, shoes are usually taken off at the door", "d"),
        norm("Shoes are taken off after entering a home", "e"),
        norm("Shoes are not taken off before entering a home", "f"),
    ]
    assert repeated(norms, 0.6) == {"b": "a", "d": "a"}


def test_what_a_source_asks_apart_is_told_apart_unless_the_words_are_the_same() -> None:
    norms = [
        norm("Guests in restaurants slurp noodles loudly", "a", source="fork"),
        norm("Guests in restaurants slurp noodles loudly outside", "b", source="fork"),
        norm("Guests in restaurants slurp noodles loudly", "c", source="fork"),
        norm("Guests in restaurants slurp noodles loudly outside", "d", source="own"),
    ]
    assert repeated(norms, 0.8) == {"c": "a", "d": "b"}
