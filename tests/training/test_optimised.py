"""The table before and after optimisation, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from ccfw.report.agreement import Table
from ccfw.settings import Settings
from ccfw.stages.optimised import before_and_after
from ccfw.training.task import Answered, Given, Missing, Question
from tests.test_settings import content
from tests.training.grading import option

COUNT = 12


def answered(valid: int, **given: Given) -> list[Answered]:
    """Return answers to twelve questions, the first few of them in form and with what is given."""
    nothing = dict.fromkeys(given)
    return [
        Answered(Question(f"q{place}", ()), "", place % 2 == 0, place < valid, **(given if place < valid else nothing))
        for place in range(COUNT)
    ]


def settings(task: str = "crisp", **norm_match: float | None) -> Settings:
    raw = content("scripted")
    raw["bootstrap"]["resamples"] = 200
    raw["norm_match"] |= {"invalid_outcome": 1, "invalid_norm_match": 0} | norm_match
    raw["grpo"] = option("grpo", task)
    return Settings.model_validate(raw)


def rows(table: Table) -> dict[str, dict[str, Any]]:
    return {str(line[0]): dict(zip(table.data_head, line, strict=True)) for line in table.data}


def test_norm_match_and_gold_are_of_valid_answers_and_of_all_with_intervals() -> None:
    first = answered(6, proxy=1.0, gold=3.0, norm_match=1.0)
    found = rows(before_and_after(settings(), first, answered(12, proxy=2.0, gold=4.0, norm_match=2.0)))
    before, after, difference = found["before"], found["after"], found["difference"]
    assert (before["gold_valid"], before["gold_all"]) == (3.0, (6 * 3 + 6 * 1) / 12)
    assert (before["norm_match_valid"], before["norm_match_all"]) == (1.0, 0.5)
    assert (after["norm_match_valid"], after["norm_match_all"], after["valid"]) == (2.0, 2.0, 1.0)
    assert (before["valid"], before["truncated"], before["questions"]) == (0.5, 0.5, 12)
    assert 0.0 < before["norm_match_all_lo"] < 0.5 < before["norm_match_all_hi"] < 1.0
    assert before["norm_match_valid_lo"] is None  # of six answers
    # paired: valid answers alone have a difference of 1, the others one of 2
    assert (difference["norm_match_valid"], difference["norm_match_all"]) == (1.0, 1.5)


def test_an_answer_without_a_reward_is_valid_all_the_same_and_counted_by_its_failure() -> None:
    first = answered(8, proxy=Missing("too_long"), gold=2.0, norm_match=Missing("refused"))
    table = before_and_after(settings(), first, answered(8, proxy=1.0, gold=2.0, norm_match=0.0))
    found = rows(table)
    assert (found["before"]["valid"], found["before"]["reward"], found["before"]["without_reward"]) == (8 / 12, None, 8)
    assert (found["before"]["norm_match_valid"], found["before"]["norm_match_all"]) == (None, None)
    assert found["after"]["without_reward"] == 0
    assert [row[table.head.index("No reward")] for row in table.rows] == ["8 too_long", "0", ""]


def test_without_a_least_outcome_answers_out_of_form_are_in_no_gold_score() -> None:
    answers = answered(6, proxy=1.0, gold=3.0, norm_match=1.0)
    found = rows(before_and_after(settings(invalid_outcome=None), answers, answers))
    assert found["before"]["gold_all"] == pytest.approx(3.0)


def test_a_policy_fallen_out_of_form_altogether_has_the_least_scores_and_loses_all_it_had() -> None:
    first, last = (answered(valid, proxy=1.0, gold=4.0, norm_match=2.0) for valid in (12, 0))
    table = before_and_after(settings(), first, last)
    found = rows(table)
    after, difference = found["after"], found["difference"]
    assert (after["gold_all"], after["norm_match_all"], after["valid"]) == (1.0, 0.0, 0.0)
    assert (after["gold_valid"], after["norm_match_valid"], after["reward"]) == (None, None, None)
    assert (difference["gold_all"], difference["norm_match_all"], difference["valid"]) == (-3.0, -2.0, -1.0)
    assert (difference["gold_all_lo"], difference["gold_all_hi"]) == (-3.0, -3.0)
    never = before_and_after(settings(), last, last)
    assert never.head == table.head  # a judge that had nothing to judge was asked all the same
    assert (rows(never)["before"]["gold_all"], rows(never)["difference"]["norm_match_all"]) == (1.0, 0.0)
    assert "Norm Match 0" in never.note
    unasked = before_and_after(settings("smollm2"), last, last)
    assert (rows(unasked)["after"]["gold_all"], rows(unasked)["after"]["norm_match_all"]) == (None, None)


def test_columns_that_nobody_was_asked_for_are_empty_and_not_shown() -> None:
    answers = answered(12, proxy=1.0, gold=None, norm_match=None)
    table = before_and_after(settings("smollm2"), answers, answers)
    assert table.head == ("Policy", "Reward", "Valid", "Cut off", "No reward", "Questions")
    assert rows(table)["after"]["norm_match_all"] is None
