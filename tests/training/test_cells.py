"""What users' files of answers, rewards and replies may hold, and how each fault is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ccfw.knowledge import tables
from ccfw.report.agreement import Table
from ccfw.report.crisp import plain
from ccfw.training.candidates import read_candidates
from ccfw.training.questions import read_acceptability, read_culshield
from ccfw.training.replies import (
    read_culshield_replies,
    read_easy_replies,
    read_hard_verdicts,
    read_medium_replies,
)
from ccfw.training.texts import read_rewards
from tests.e2e.running import ccfw, own_options

TOTAL = "the tables have the total under this name"
HALF = "holds half a character (a lone surrogate)"


def lines(*rows: dict[str, Any]) -> tables.Table:
    return tables.read("\n".join(map(json.dumps, rows)))


def answer(name: str, **cells: Any) -> dict[str, Any]:
    return {"response_id": name, "question_id": "q", "policy": "p", "score": 3} | cells


def test_an_answer_without_a_score_is_kept_without_one() -> None:
    bare = answer("c")
    del bare["score"]
    read = read_candidates(lines(answer("a"), answer("b", score=None), bare, answer("d", score="")))
    assert ([each.score for each in read.candidates], read.faults) == ([3, None, None, None], ())


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ({"response_id": None, "policy": " "}, "no response_id, policy"),
        ({"response_id": ["a"]}, "response_id: must be text"),
        ({"policy": "p\0"}, "policy holds a control character"),
        ({"cluster": "a\nb"}, "cluster holds a control character"),
        ({"question_id": "\u202eq"}, "question_id holds a control character"),
        ({"policy": "all"}, f"policy is 'all': {TOTAL}"),
        ({"policy": "All policies"}, f"policy is 'All policies': {TOTAL}"),
        ({"answer": "\ud83d"}, f"answer: {HALF}"),
        ({"prompt": "x" * 5000 + "\udc00"}, f"prompt: {HALF}"),
        ({"policy": "\ud83d"}, f"policy: {HALF}"),
        ({"answer": {"text": "so"}}, "answer: must be text"),
        ({"score": "1_0"}, "score is not a number"),
        ({"score": "٣"}, "score is not a number"),
        ({"score": True}, "score is not a number"),
        ({"score": float("nan")}, "score is not a number"),
        ({"score": "1e999"}, "score is not a number"),
        ({"score": 1.7e308}, "score is 1.7e+308, and must lie between −1,000,000 and 1,000,000"),
        ({"response_id": "first"}, "first stands twice"),
    ],
)
def test_an_answer_that_cannot_be_chosen_from_is_refused_with_its_line(cells: dict[str, Any], fault: str) -> None:
    read = read_candidates(lines(answer("first"), answer("a", **cells)))
    assert ([each.text.text_id for each in read.candidates], read.faults) == (["first"], (f"line 2: {fault}",))


def test_long_answers_and_prompts_are_taken_whole() -> None:
    (read,) = read_candidates(lines(answer("a", answer="x" * 9000, prompt="y\n" * 9000, score="-1.5e2"))).candidates
    assert (len(read.text.answer), len(read.text.prompt), read.score) == (9000, 17_999, -150)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"id": None, "reward": 1}, "no id"),
        ({"id": "", "reward": 1}, "no id"),
        ({"id": [1], "reward": 1}, "id: must be text"),
        ({"id": "b", "reward": "1_0"}, "reward is not a number"),
        ({"id": "b", "reward": "٣"}, "reward is not a number"),
        ({"id": "b", "reward": "infinity"}, "reward is not a number"),
        ({"id": "b", "reward": [1]}, "reward: must be text"),
        ({"id": "a", "reward": 2}, "a stands twice with different rewards"),
    ],
)
def test_a_reward_that_is_nobodys_or_no_number_is_refused_with_its_line(row: dict[str, Any], fault: str) -> None:
    read = read_rewards(lines({"id": "a", "reward": "+.5"}, row, {"id": "c", "reward": None}, {"id": "d"}))
    assert (read.rewards, read.faults) == ({"a": 0.5}, (f"line 2: {fault}",))


EASY = {"question_id": "q", "country": "Japan", "answer": "B", "reply": '{"Answer": "B"}'}
MEDIUM = {"question_id": "q", "country": "Japan"} | {f"option_{n}": "false" for n in (1, 2, 3, 4)}
SHIELD = {"country": "Japan", "answer": "Yes", "reply": "Yes"}
HARD = {"question_id": "q", "country": "Japan", "answer": 1, "norm_id": "n", "acceptability": "No"}
HARD |= {"satisfy": -1, "neutral": "-inf", "violate": -2.5}


@pytest.mark.parametrize(
    ("read", "row", "cells", "fault"),
    [
        (read_easy_replies, EASY, {"answer": "C"}, "answer to q is 'C' here, and 'B' before"),
        (read_easy_replies, EASY, {"answer": " "}, "no answer"),
        (read_easy_replies, EASY, {"question_id": None}, "no question_id"),
        (read_easy_replies, EASY, {"country": ""}, "no country"),
        (read_easy_replies, EASY, {"reply": {"Answer": "B"}}, "reply: must be text"),
        (read_easy_replies, EASY, {"country": "ALL"}, f"country is 'ALL': {TOTAL}"),
        (read_medium_replies, MEDIUM, {"country": "Japan\0"}, "country holds a control character"),
        (read_medium_replies, MEDIUM, {"question_id": ""}, "no question_id"),
        (read_culshield_replies, SHIELD, {"country": None}, "no country"),
        (read_culshield_replies, SHIELD, {"country": "all countries"}, f"country is 'all countries': {TOTAL}"),
        (read_hard_verdicts, HARD, {"norm_id": None}, "no norm_id"),
        (read_hard_verdicts, HARD, {"answer": "٣"}, "answer is '٣', and must be a number from 1"),
        (
            read_hard_verdicts,
            HARD,
            {"answer": 2, "satisfy": "-1_0"},
            "satisfy is '-1_0', and must be a log-probability: a number up to 0, or -inf",
        ),
    ],
)
def test_a_reply_that_is_nobodys_or_contradicts_another_is_refused_with_its_line(
    read: Callable[[tables.Table], Any], row: dict[str, Any], cells: dict[str, Any], fault: str
) -> None:
    found = read(lines(row, row | cells))
    assert (len(found.items), found.faults) == (1, (f"line 2: {fault}",))


def test_samples_of_a_question_agree_and_one_id_in_two_countries_need_not() -> None:
    read = read_easy_replies(lines(EASY, EASY | {"reply": None}, EASY | {"country": "Italy", "answer": "C"}))
    assert ([each.right for each in read.items], read.faults) == ([True, None, False], ())


def test_a_json_line_that_lacks_a_column_is_told_with_its_line() -> None:
    short = {"country": "Japan", "answer": "No"}
    assert read_culshield_replies(lines(SHIELD, short)).faults == ("line 2: lacks reply",)


def test_questions_of_the_total_and_of_half_a_character_are_refused() -> None:
    rows = [{"country": name, "query_en": text, "answer": "Yes"} for name, text in (("all", "q"), ("Japan", "q\ud800"))]
    rows.append({"country": "Ja\tpan", "query_en": "q", "answer": "No"})
    assert read_culshield(json.dumps(rows)).faults == (
        f"entry 1: country is 'all': {TOTAL}",
        f"entry 2: query_en: {HALF}",
        "entry 3: country holds a control character",
    )
    assert read_acceptability('{"a": {"acceptability": []}}') == (
        {},
        ("a: acceptability is '[]', and must be one of Sometimes, No",),
    )


def test_no_policy_of_a_job_is_called_as_the_total(tmp_path: Path) -> None:
    conf = own_options(tmp_path, "http://127.0.0.1:9", ["all", "plain"])
    line = ("--config-dir", str(conf), "stage=best_of_n", "dataset=normcompass_starter", "tracking=none")
    given = ("crisp.responses.policies=[all,plain]", "+rewards.scorers={one: judge_outcome}", "judge=plain_judge")
    run = ccfw(tmp_path, *line, "model=plain", *given)
    assert (run.code, run.err) == (2, f"ccfw: crisp.responses.policies=all: {TOTAL}\n")


def test_policies_with_control_characters_end_a_job_without_a_traceback(tmp_path: Path) -> None:
    rows = [answer(f"a{n}", policy=policy, score=n) for n, policy in enumerate(("p", "p", "\x1b[31mp", "p\0"))]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (tmp_path / "rewards.csv").write_text("id,reward\na0,1\na1,2\n", "utf-8")
    given = ("best_of_n.candidates=answers.jsonl", "+rewards.scorers={file: rewards.csv}", "best_of_n.sizes=[2]")
    run = ccfw(tmp_path, "stage=best_of_n", "tracking=none", *given)
    assert run.code == 2
    assert run.err.splitlines() == [
        f"ccfw: best_of_n.candidates=answers.jsonl: line {line}: policy holds a control character" for line in (3, 4)
    ]


def test_a_table_shows_a_terminal_no_control_characters_and_keeps_its_lines() -> None:
    rows = (("\x1b[2Jred\nblue", "1"), ("\u202ebell\x07", "2"))
    shown = plain(Table("t", "T", ("Name", "N"), rows, "of \x1b[0m\nall"), ["also\x9b"])
    assert shown.splitlines() == [
        "Name                  N",
        "⟨U+001B⟩[2Jred blue   1",
        "⟨U+202E⟩bell⟨U+0007⟩  2",
        "of ⟨U+001B⟩[0m all",
        "also⟨U+009B⟩",
    ]
