"""The benchmarks' own files, as their authors publish them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ccfw.training.questions import YesNo, chosen, read_acceptability, read_culshield, read_cultureforest


def entry(**changes: Any) -> dict[str, Any]:
    norms = {f"Norm_{n}": {"norm_id": f"id{n}", "norm": f"norm {n}"} for n in (1, 2, 3)}
    return {
        "uuid": "u1",
        "Easy": {"Question_MCQ": "pick", "Answer_Key_Shuffle": "C"},
        "Medium": {f"Question_Judge{n}": f"judge {n}" for n in (1, 2, 3, 4)},
        "Open": {"Question_Open": "tell"},
        "Open_End": "background",
        "Norm_Bundle": {"Norms": norms},
    } | changes


def test_a_question_of_cultureforest_has_its_three_forms_and_norms() -> None:
    (found,) = read_cultureforest(json.dumps(entry()), "Japan").items
    assert (found.question_id, found.country, found.easy, found.answer) == ("Japan::u1", "Japan", "pick", "C")
    assert (found.medium, found.hard, found.background) == (
        ("judge 1", "judge 2", "judge 3", "judge 4"),
        "tell",
        "background",
    )
    assert [tuple(slot) for slot in found.norms] == [("id1", "norm 1"), ("id2", "norm 2"), ("id3", "norm 3")]


def test_every_fault_has_its_place() -> None:
    lines = [entry(), entry(), entry(uuid="u2", Open={}), entry(uuid="u3", Medium=[]), "nothing"]
    text = "\n".join([*(json.dumps(each) for each in lines), "{torn", "", json.dumps(entry(uuid=7))])
    read = read_cultureforest(text, "Japan")
    assert [each.question_id for each in read.items] == ["Japan::u1", "Japan::7"]
    *told, torn = read.faults
    assert told == [
        "line 2: Japan::u1 stands twice",
        "line 3: lacks Open.Question_Open",
        "line 4: lacks Medium.Question_Judge1",
        "line 5: lacks uuid",
    ]
    assert torn.startswith("line 6: not JSON: ")


def test_one_id_under_two_countries_is_two_questions() -> None:
    lines = [entry(country=name) for name in ("Japan", "Italy")]
    read = read_cultureforest("\n".join(map(json.dumps, lines)), None)
    assert ([each.question_id for each in read.items], read.faults) == (["Japan::u1", "Italy::u1"], ())


def test_culshield_is_a_list_and_its_answers_are_two() -> None:
    rows = [
        {"country": "Japan", "query_en": "So?", "answer": "Yes", "query_zh": "…"},
        {"country": "Japan", "query_en": "So?", "answer": "yes"},
    ]
    read = read_culshield("\ufeff" + json.dumps(rows))
    assert read.items == (YesNo("Japan::So?", "Japan", "So?", True),)
    assert read.faults == ("entry 2: answer is 'yes', and must be Yes or No",)
    assert read_culshield("[{").faults[0].startswith("entry 1: not JSON: ")


@pytest.mark.parametrize(
    ("text", "found", "fault"),
    [
        ('{"a": {"acceptability": "No"}, "b": {"acceptability": "Sometimes"}}', {"a": "No", "b": "Sometimes"}, None),
        ('{"a": {"acceptability": "Maybe"}}', {}, "a: acceptability is 'Maybe', and must be one of Sometimes, No"),
        ("[]", {}, "not one object of norms by id"),
    ],
)
def test_acceptability_is_one_of_two(text: str, found: dict[str, str], fault: str | None) -> None:
    assert read_acceptability(text) == (found, (fault,) if fault else ())


def test_a_limit_takes_countries_in_turn() -> None:
    every = [YesNo(f"{c}{n}", c, "q", True) for c, count in (("A", 3), ("B", 1), ("C", 2)) for n in range(count)]
    assert [each.question_id for each in chosen(every, 4)] == ["A0", "B0", "C0", "A1"]
    assert len(chosen(every, None)) == 6
