"""Sources of norms: published files as they are, rows that are none, what needs no model, what says the same."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.checks.text import word_set
from ccfw.crisp.norms import Candidate, culture_name, distinct, layout_of, read_rows, slug, told_apart
from ccfw.crisp.overlap import Overlaps
from ccfw.crisp.reading import read_norm_files, read_situation_file, read_situations, shipped_folder
from ccfw.crisp.records import Loss, Norm, Reason
from ccfw.crisp.rules import (
    asks_for_traits,
    check_norm,
    made,
    read_norm,
    repeated,
    states_a_rule,
    without_a_model,
)
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
    assert {each.reason if isinstance(each, Loss) else each.norm for each in found} == {Reason.NO_RULE}


@there
def test_of_culturalbench_only_whole_rules_are_taken_without_a_model() -> None:
    (rows,) = read_norm_files([str(BENCH)], "key")
    kept = distinct(rows.candidates)[0]
    made_of = {each.origin: each.answer for each in kept if states_a_rule(each)}
    assert len(made_of) == 8
    assert "Boys are required to keep their hair short." in made_of.values()
    slurs = [each for each in kept if "front teeth" in each.answer]
    assert len(slurs) == 2
    assert [(asks_for_traits(each), states_a_rule(each)) for each in slurs] == [(True, False)] * 2
    assert sum(map(asks_for_traits, kept)) == 5


@there
def test_culturalbench_is_read_whole() -> None:
    (rows,) = read_norm_files([str(BENCH)], "key")
    kept, again = distinct(rows.candidates)
    assert (len(rows.candidates), len(rows.losses), len(kept), len(again)) == (1227, 0, 1226, 1)
    assert [each.options[0] for each in kept if each.origin == "1148"] == [
        "Sun-saeng-nim"
    ]  # published with a backspace
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


def read(path: Path, text: str) -> tuple[list[tuple[str, str | None]], list[str]]:
    """The rules of a file of one's own with their ids, and what is said of its other rows."""
    path.write_text(text, "utf-8", newline="")
    (rows,) = read_norm_files([str(path)], "key")
    return [(each.row_id, each.rule) for each in rows.candidates], [loss.detail for _, loss in rows.losses]


HEAD = "norm,culture,norm_type,id\n"
FIRST, SECOND = "Guests leave shoes at the door", "Hosts pour the first cup"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            f'{HEAD}{FIRST},Norway,x,1\n"Bad" quote here,Norway,x,2\n{SECOND},Norway,x,3\n', "3: not CSV: ", id="quote"
        ),
        pytest.param(
            f'{HEAD}{FIRST},Norway,x,1\n"Never closed,Norway,x,2\n{SECOND},Norway,x,3\n', "3: not CSV: ", id="open"
        ),
        pytest.param(f"norm,culture,norm\n{FIRST},Norway,{SECOND}\n", "1: stands twice: norm; ", id="column-twice"),
        pytest.param("- {norm: a b c, culture: Norway}\n- {norm: [\n", "3: not YAML: ", id="yaml"),
        pytest.param("- &a {norm: a b c, culture: Norway}\n- *a\n", "2: alias *a: ", id="alias"),
    ],
)
def test_of_a_file_that_cannot_be_read_to_its_end_nothing_is_taken(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "own"
    with pytest.raises(RequestError) as caught:
        read(path, text)
    (problem,) = caught.value.problems
    assert problem.startswith(f"key={path}:{fault}")
    assert problem.endswith("; nothing of the file was taken")


def test_a_file_without_rows_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        read(tmp_path / "own.csv", HEAD)
    assert caught.value.problems == (f"key={tmp_path}/own.csv: no rows below its header",)


def test_a_pipe_is_no_file_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RequestError) as caught:
        list(read_norm_files([str(tmp_path / "pipe")], "key"))
    assert caught.value.problems == (f"key={tmp_path}/pipe: neither a file nor a folder",)
    with pytest.raises(RequestError) as again:
        read_situation_file(tmp_path / "pipe", "dataset.path")
    assert "neither a file nor a folder" in again.value.problems[0]


def test_what_is_no_text_is_no_norm_and_is_counted_once(tmp_path: Path) -> None:
    lines = [
        {"norm": ["a", "b"], "culture": "Norway"},
        {"norm": {"a": 1}, "culture": "Norway"},
        {"norm": True, "culture": "Norway"},
        {"norm": 3.5, "culture": "Norway"},
        {"norm": float("nan"), "culture": "Norway"},
        {"norm": FIRST, "culture": {"x": [1]}},
        {"norm": "Half \ud800 surrogate here", "culture": "Norway"},
        {"norm": SECOND, "culture": "Norway", "id": "\ud800"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    text += '{"norm": "Dup one two", "norm": "Dup two three", "culture": "Norway"}\n'
    rules, faults = read(tmp_path / "own", text)
    assert rules == [("own:line_8", SECOND)]
    assert faults == [
        *(f"line {line}: norm is no text" for line in range(1, 6)),
        "line 6: culture is no text",
        "line 7: norm must be a text without control characters",
        "line 9: stands twice: norm",
    ]


def test_a_number_in_yaml_is_no_norm(tmp_path: Path) -> None:
    assert read(tmp_path / "own", "- {norm: 5, culture: Norway}\n") == ([], ["line 1: norm is no text"])


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ("ok", "norm must have 3 to 60 words, not 1"),
        ("!!!", "norm must be a text that is not empty"),
        ("word " * 61, "norm must have 3 to 60 words, not 61"),
        ("word " * 400_000, "norm must be a text of at most 3000 characters, not 1999999"),
        ("Guests bow \u202e twice here", "norm must be a text without control characters"),
        ("Guests bow \x1b[31m twice here", "norm must be a text without control characters"),
        ("Guests \x00 bow twice here", "norm must be a text without control characters"),
    ],
)
def test_a_norm_as_it_stands_is_held_to_what_a_models_is(tmp_path: Path, rule: str, fault: str) -> None:
    text = json.dumps({"norm": rule, "culture": "Norway"}) + "\n"
    assert read(tmp_path / "own", text) == ([], [f"line 1: {fault}"])


@pytest.mark.parametrize("culture", ["../../x", "🦊🦊", "Q" * 61, "Ja|pan", "Nor{way}", "<b>"])
def test_a_culture_is_a_name(tmp_path: Path, culture: str) -> None:
    rules, faults = read(tmp_path / "own", json.dumps({"norm": FIRST, "culture": culture}) + "\n")
    assert rules == []
    assert faults == [
        "line 1: culture must be a name: a letter, then at most 59 letters, blanks and simple punctuation"
    ]


def test_a_rule_over_several_lines_of_a_cell_is_one(tmp_path: Path) -> None:
    rules, faults = read(tmp_path / "own", 'norm,culture\r\n"Guests leave\r\nshoes at\nthe door",Norway\r\n')
    assert (rules, faults) == ([("own:line_2", FIRST)], [])


def test_ids_that_stand_twice_are_told_apart_in_a_file_and_over_files(tmp_path: Path) -> None:
    rules, _ = read(
        tmp_path / "a.csv", f"{HEAD}{FIRST},Norway,x,line_3\n{SECOND},Norway,x,line_3\nElders sit first,Norway,x,1\n"
    )
    assert [name for name, _ in rules] == ["own:line_3", "own:line_3_2", "own:1"]
    read(tmp_path / "b.csv", f"{HEAD}Children greet their elders,Norway,x,1\n")
    both = list(told_apart(read_norm_files([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")], "key")))
    assert [each.row_id for rows in both for each in rows.candidates] == [
        "own:line_3",
        "own:line_3_2",
        "own:1",
        "own:1~2",
    ]


def test_a_file_of_ones_own_does_not_pass_for_a_published_one(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(f"norm,culture,source\n{FIRST},Norway,fork\n{SECOND},Norway,starter\n", "utf-8")
    (rows,) = read_norm_files([str(tmp_path / "own.csv")], "key")
    assert [each.source for each in rows.candidates] == ["own_fork", "own_starter"]


def test_one_question_about_two_countries_is_two(tmp_path: Path) -> None:
    columns = ["prompt_question", *(f"prompt_option_{letter}" for letter in "abcd"), "answer", "country"]
    lines = [
        ["How do people greet elders?", "bow", "nod", "wave", "sing", "A", name]
        for name in ("Japan", "Norway", "japan")
    ]
    (tmp_path / "asked.csv").write_text("\n".join(",".join(line) for line in [columns, *lines]), "utf-8")
    (rows,) = read_norm_files([str(tmp_path / "asked.csv")], "key")
    kept, again = distinct(rows.candidates)
    assert ([each.culture for each in kept], len(again)) == (["Japan", "Norway"], 1)


def test_the_last_situation_of_a_file_counts_without_its_line_break(tmp_path: Path) -> None:
    found = read_situations(shipped_folder())[:3]
    text = "\n".join(each.model_dump_json() for each in found)
    for name, written in (("plain", text), ("marked", f"\ufeff{text}\n"), ("crlf", text.replace("\n", "\r\n"))):
        (tmp_path / name).write_text(written, "utf-8", newline="")
        assert read_situation_file(tmp_path / name, "dataset.path") == found


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("USA", "United States"),
        ("türkiye", "Türkiye"),
        ("south_korea", "South Korea"),
        ("timor-leste", "Timor-Leste"),
        ("JAPAN", "Japan"),
        ("SOUTH KOREA", "South Korea"),
        ("Deutschland", "Germany"),
        ("DRC", "DRC"),
    ],
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
    assert not states_a_rule(candidate("Why do elders pay?", rule))


@pytest.mark.parametrize(
    "answer",
    [
        "They kneel down to greet them when they come into the house.",
        "What do you do for a living, and where do you live?",
        "Because it is thought to resemble an offering that people give for the dead.",
        "Yes, the man must pay money to the woman's father before they marry.",
        "The host wants you to leave the house before the next cup is full.",
        "People are almost always lazy and they do not keep what they have promised.",
        "Guests bring fruit for the children. Hosts offer them tea and a seat.",
        "Everyone sits in one massive circle.",
    ],
)
def test_what_hangs_on_its_question_or_says_what_people_are_is_no_rule(answer: str) -> None:
    assert not states_a_rule(candidate("What is common?", answer))


@pytest.mark.parametrize(
    ("text", "trait"),
    [
        ("People of this town are mostly lazy", True),
        ("Men there are considered to be violent", True),
        ("Pointing at people is rude and is avoided", False),
        ("A guest who is late is not offered the first cup", False),
    ],
)
def test_what_people_are_said_to_be_is_no_norm(text: str, trait: bool) -> None:
    asked = candidate("What is common?", "x")
    assert ("trait" in {issue.check for issue in check_norm(asked, made(asked, text, "other"))}) is trait


def test_a_model_may_say_that_an_item_holds_no_rule() -> None:
    asked = candidate("What do people look like?", "tall")
    found = read_norm(asked, json.dumps({"norm": "about looks", "norm_type": "No rule"}))
    assert found == Loss(reason=Reason.NO_RULE, detail="the model finds no rule of conduct in it")
    assert isinstance(found, Loss)
    assert check_norm(asked, found) == ()


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


def test_rules_in_scripts_with_marks_on_their_letters_are_told_apart() -> None:
    norms = [
        norm("ห้ามใส่เสื้อขาว", "a", culture="Thailand"),
        norm("หามใสเสือขาว", "b", culture="Thailand"),
        norm("दूध पीना", "c", culture="India"),
        norm("दाध पानी", "d", culture="India"),
        norm("दूध, पीना!", "e", culture="India"),
    ]
    assert repeated(norms, 0.8) == {"e": "c"}


def similar(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


@given(st.lists(st.frozensets(st.sampled_from("abcdefghij")), max_size=30), st.sampled_from((0.3, 0.5, 0.8, 1.0)))
def test_sets_that_overlap_are_those_that_a_comparison_of_all_finds(sets: list[frozenset[str]], least: float) -> None:
    kinds = [len(each) % 2 for each in sets]
    overlaps = Overlaps(sets, kinds, least)
    for place, own in enumerate(sets):
        every = [i for i in range(place) if kinds[i] == kinds[place] and similar(own, sets[i]) >= least - 1e-9]
        assert list(overlaps.near(place)) == every
        overlaps.add(place)


def test_many_norms_of_a_culture_are_not_each_held_against_each() -> None:
    drawn, compared = random.Random(1), 0
    common = ["guests", "elders", "table", "door", "hand", "gift", "meal", "host"]
    words = [f"word{i}" for i in range(3000)]
    norms = [norm(" ".join(drawn.sample(common, 3) + drawn.sample(words, 8)), str(i)) for i in range(2000)]
    sets = [word_set(each.norm) for each in norms]
    overlaps = Overlaps(sets, [None] * len(sets), 0.8)
    for place in range(len(sets)):
        compared += len(overlaps.met(place))
        overlaps.add(place)
    assert compared < 2000 * 1999 / 2 / 50
