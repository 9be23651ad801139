"""Best-of-N in expectation, held against going through every choice of N answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.align.alignment import Terms
from ccfw.training.best_of_n import ORACLE, RANDOM, Question, best_of_n, expected, taken, weights
from ccfw.training.differences import differences
from ccfw.training.tables import selection_table

TERMS = Terms(seed=3, resamples=300, level=0.9)
ANSWERS = st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 5)), min_size=1, max_size=7)


def by_enumeration(rewards: Sequence[float], scores: Sequence[float], n: int) -> float:
    """Go through every subset, and in each through every answer that ties for the highest reward."""
    found = []
    for chosen in itertools.combinations(range(len(rewards)), n):
        best = max(rewards[place] for place in chosen)
        found.append(fmean(scores[place] for place in chosen if rewards[place] == best))
    return fmean(found)


@given(ANSWERS, st.data())
def test_the_expectation_is_the_mean_over_every_choice(answers: list[tuple[int, int]], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(answers)))
    rewards, scores = [reward for reward, _ in answers], [score for _, score in answers]
    assert expected(rewards, scores, n) == pytest.approx(by_enumeration(rewards, scores, n), abs=1e-12)


@given(ANSWERS, st.data())
def test_the_weights_are_shares_of_the_choices(answers: list[tuple[int, int]], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(answers)))
    assert math.fsum(weights([reward for reward, _ in answers], n)) == pytest.approx(1.0, abs=1e-12)


def test_with_all_answers_to_choose_from_the_best_is_certain_and_with_one_nothing_is() -> None:
    assert weights([0.1, 0.9, 0.4], 3) == (0.0, 1.0, 0.0)
    assert weights([0.1, 0.9, 0.4], 1) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert weights([5.0, 5.0, 1.0, 0.0], 2) == pytest.approx((5 / 12, 5 / 12, 1 / 6, 0))  # of 6 pairs: 5, 1, 0


@pytest.mark.parametrize("n", [0, 4])
def test_more_answers_than_there_are_cannot_be_chosen_from(n: int) -> None:
    with pytest.raises(ValueError, match=rf"^n={n} of 3 answers$"):
        weights([1.0, 2.0, 3.0], n)


def test_a_reward_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a reward is not a number$"):
        weights([1.0, math.nan], 1)


def question(number: int, policy: str, scores: tuple[float, ...], rewards: tuple[float, ...]) -> Question:
    against = tuple(-each for each in rewards)
    return Question(f"q{number}", f"norm{number}", policy, scores, {"rm": rewards, "contrary": against})


QUESTIONS = [
    question(1, "one", (1, 2, 3, 4), (1, 2, 3, 4)),
    question(2, "one", (5, 1, 1, 1), (9, 1, 2, 3)),
    question(1, "two", (2, 2, 2, 2), (4, 3, 2, 1)),
    question(3, "two", (1, 5), (1, 0)),
]


def test_selectors_chance_and_the_oracle_by_policy_and_pooled() -> None:
    found = {(each.policy, each.n, each.selector): each for each in best_of_n(QUESTIONS, [2, 4], TERMS)}
    # N = 2 of (1,2,3,4): pairs' maxima 2,3,4,3,4,4; of (5,1,1,1): 5 in three pairs of six
    one = fmean([20 / 6, 3.0])
    assert found["one", 2, "rm"].score.value == pytest.approx(one)
    assert found["one", 2, RANDOM].score.value == pytest.approx(fmean([2.5, 2.0]))
    assert found["one", 2, "rm"].gain.value == pytest.approx(one - 2.25)
    assert found["one", 2, "rm"].share.value == pytest.approx(1.0)
    # pooled: question 3 of policy two has just the two answers, and the reward model takes the worse
    assert found["all", 2, "rm"].score.value == pytest.approx(fmean([20 / 6, 3, 2, 1]))
    assert found["all", 2, ORACLE].score.value == pytest.approx(fmean([20 / 6, 3, 2, 5]))
    assert found["all", 2, "rm"].share.value == pytest.approx((20 / 6 - 2.5 + 1 + 0 - 2) / (20 / 6 - 2.5 + 1 + 0 + 2))
    # the one with two answers only is not there at N = 4
    assert [found["all", n, "rm"].questions for n in (2, 4)] == [4, 3]
    assert found["two", 4, "contrary"].score.value == 2.0


def test_random_is_the_mean_of_the_answers_and_gains_nothing_on_itself() -> None:
    many = [question(i, "p", (1, 2, 5), (2, 1, 3)) for i in range(10)]
    for each in best_of_n(many, [1, 3], TERMS):
        if each.selector == RANDOM:
            assert each.gain == (0.0, 0.0, 0.0)
        if each.n == 1:
            assert each.gain.value == pytest.approx(0.0, abs=1e-12)


def test_gains_are_paired_question_by_question() -> None:
    # scores differ wildly between questions, the gain is the same in each: its interval has no width
    paired = [question(i, "p", (10.0 * i, 10.0 * i + 1), (0, 1)) for i in range(10)]
    rm = next(each for each in best_of_n(paired, [2], TERMS) if each.selector == "rm")
    assert rm.gain == pytest.approx((0.5, 0.5, 0.5))
    assert rm.score.low is not None
    assert rm.score.high is not None
    assert rm.score.high - rm.score.low > 10


def test_one_policy_has_no_rows_of_its_own_beside_the_pooled_ones() -> None:
    assert {each.policy for each in best_of_n(QUESTIONS[:2], [2], TERMS)} == {"all"}


def test_a_note_says_at_which_n_questions_are_lost() -> None:
    told = selection_table(best_of_n(QUESTIONS, [2, 4], TERMS), TERMS.level).note
    assert told.endswith(
        " Questions with answers enough: 4 at N=2, 3 at N=4, since answers without score or reward are no candidates. "
        "So scores at two N, the random baseline's too, are not over the same questions; gains compare at one N alone."
    )
    same = selection_table(best_of_n(QUESTIONS[:3], [2, 4], TERMS), TERMS.level).note
    assert "Questions with answers enough" not in same


def test_scorers_compare_on_the_questions_that_have_answers_enough() -> None:
    found = {(each.measure, each.first, each.second): each for each in differences(taken(QUESTIONS, [2, 4]), TERMS)}
    # N = 2, rm minus contrary: 20/6 − 10/6 of (1,2,3,4), 3 − 1 of (5,1,1,1) where the contrary takes the last or third,
    # 0 of equal answers, 1 − 5; in the mean the contrary's are better
    two = found["2", "contrary", "rm"]
    assert two.figure.value == pytest.approx(-(20 / 6 - 10 / 6 + 2 + 0 - 4) / 4)
    assert (two.items, two.figure.low) == (4, None)
    assert math.isnan(two.p)
    # N = 4: 4 − 1, 5 − 1 and 0
    assert found["4", "rm", "contrary"].figure.value == pytest.approx(7 / 3)
    assert found["4", "rm", "contrary"].items == 3


def test_where_no_question_has_enough_answers_there_is_no_row() -> None:
    assert best_of_n(QUESTIONS, [8], TERMS) == []
