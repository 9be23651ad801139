"""What a norm-grounding supervisor's rewards are, and its agreement with the judge against a reference library."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]

from ccfw.align.alignment import Terms
from ccfw.training.supervising import (
    HIGHEST,
    Grade,
    agreement,
    constant_agreement,
    constants,
    fault_of,
    grounding,
    read_as,
)

TERMS = Terms(seed=1, resamples=200, level=0.9)


def test_a_reward_is_the_share_of_the_highest_score_and_is_read_as_the_nearest() -> None:
    assert grounding(0.0) == 0.5
    assert grounding(math.log(3)) == pytest.approx(0.75)
    assert grounding(-1e9) == pytest.approx(0.0, abs=1e-300)
    assert grounding(1e9) == 1.0
    assert [read_as(each) for each in (0.0, 0.24, 0.25, 0.5, 0.74, 0.75, 1.0)] == [0, 0, 1, 1, 1, 2, 2]


SCORED = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=40)


@given(SCORED)
def test_agreement_is_that_of_a_reference_library(items: list[tuple[float, int, int]]) -> None:
    rewards, scores, norms = ([each[place] for each in items] for place in range(3))
    found = agreement({"it": rewards}, scores, [f"n{each}" for each in norms], TERMS)["it"]
    read = [read_as(each) for each in rewards]
    assert found[0].value == pytest.approx(sum(map(int.__eq__, read, scores)) / len(items))
    assert found[1].value == pytest.approx(
        sum(abs(2 * r - s) for r, s in zip(rewards, scores, strict=True)) / len(items)
    )
    if len(set(read)) > 1 and len(set(scores)) > 1:
        assert found[2].value == pytest.approx(cohen_kappa_score(read, scores, weights="quadratic"), abs=1e-9)
    else:
        assert found[2].value is None
    for figure in found:
        if figure.low is not None and figure.value is not None and figure.high is not None:
            assert figure.low <= figure.high


def test_a_panels_scores_between_two_whole_ones_count_as_they_are() -> None:
    found = agreement({"it": [0.75, 0.0, 1.0, 0.5]}, [1.5, 0.0, 2.0, 0.5], list("abcd"), TERMS)["it"]
    assert found[0].value == 0.5
    assert found[1].value == pytest.approx(0.125)
    assert found[2].value is not None
    assert 0.8 < found[2].value < 1.0


# ---- the best constant


def test_the_best_constants_are_the_mode_and_the_median() -> None:
    scores = [0, 0, 0, 1, 2, 2, 1]
    assert constants(scores) == (0, 1.0)
    found = constant_agreement(constants(scores), [0, 1, 2, 2], list("abcd"), TERMS)
    assert found[0].value == 0.25  # only the 0 is exact
    assert found[1].value == pytest.approx((1 + 0 + 1 + 1) / 4)
    assert found[2].value is None


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0]), min_size=1, max_size=30), st.floats(0, 2))
def test_no_other_constant_is_better_on_the_grades_that_it_was_found_on(scores: list[float], other: float) -> None:
    best = constants(scores)

    def error(constant: float) -> float:
        return math.fsum(abs(constant - score) for score in scores)

    assert error(best.mae) <= error(other) + 1e-9
    for whole in range(int(HIGHEST) + 1):
        assert scores.count(best.accuracy) >= scores.count(whole)


def test_a_grade_without_a_reasoning_or_a_norm_teaches_nothing() -> None:
    def grade(norm: str, reasoning: str) -> Grade:
        return Grade(grade_id="g", norm_id="n", culture="Japan", split="train", norm=norm, reasoning=reasoning, score=1)

    assert fault_of(grade("Bow.", "One bows.")) is None
    assert fault_of(grade("Bow.", " ")) == "no reasoning"
    assert fault_of(grade("", "One bows.")) == "no norm"
