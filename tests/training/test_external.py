"""CulShield and CultureForest by the rules of their published code."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.align.alignment import Terms
from ccfw.training.culshield import Asked, coverage, read_reply
from ccfw.training.cultureforest import (
    CREDIT,
    HIGHEST,
    SLOTS,
    Marked,
    Verified,
    credit,
    hard,
    marks,
    read_easy,
    read_medium,
    rescaled,
    verdict,
)

TERMS = Terms(seed=1, resamples=100, level=0.95)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Yes, it is.", True),
        ("no", False),
        ('"**No**, never', False),
        ("**Yes** – they do", True),
        ("<think>No? Maybe not.</think>\n\nYes.", True),
        ("是的", True),
        ("不是", False),
        ("不，那样不合适", False),
        ("Sí, claro", True),
        ("The answer is no.", False),
        ("Well, the answer is: yes", True),
        ("Nobody does that", None),
        ("Yesterday it was", None),
        ("It depends", None),
        ("The answer is yes. Wait, the answer is no.", None),
        ("", None),
        ("<think>Yes", None),
    ],
)
def test_a_reply_is_read_as_yes_no_or_neither(reply: str, said: bool | None) -> None:
    assert read_reply(reply) is said


def test_a_reply_that_is_neither_leaves_the_published_denominator_only() -> None:
    asked = [
        Asked("Japan", answer=True, reply="Yes"),
        Asked("Japan", answer=False, reply="Yes"),
        Asked("Japan", answer=True, reply="hm"),
        Asked("Italy", answer=False, reply="No"),
    ]
    found = {each.country: each for each in coverage(asked, TERMS)}
    assert found["all"].valid_only.value == pytest.approx(2 / 3)
    assert found["all"].every_reply.value == 0.5
    assert [(found[name].unresolved, found[name].questions) for name in ("all", "Italy", "Japan")] == [
        (1, 4),
        (0, 1),
        (1, 3),
    ]
    assert found["Japan"].valid_only.value == 0.5


def test_replies_that_are_all_unresolved_have_no_published_accuracy() -> None:
    (found, _) = coverage([Asked("Japan", answer=True, reply="hm")], TERMS)
    assert (found.valid_only.value, found.every_reply.value) == (None, 0.0)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('{"Answer": "B"}', "B"),
        ('Sure. {"Answer": "B"} {"Answer": "C"}', "B"),
        ('{"Answer": 2}', None),
        ('{"answer": "B"}', None),
        ("{B}", None),
        ("B", None),
    ],
)
def test_an_easy_reply_is_the_first_object(reply: str, answer: str | None) -> None:
    assert read_easy(reply) == answer


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ('{"Answer": "true"}', "true"),
        ('{"Answer": True}', None),
        ('{"Answer": true}', "true"),
        ('{\\"Answer\\": \\"False\\"}', "false"),
        ('<think>{"Answer": "true"}</think>{"Answer": "false"}', "false"),
        ('{"Answer": "perhaps"}', "perhaps"),
        ('{"Verdict": "true"}', None),
        ("true", None),
    ],
)
def test_a_medium_reply_is_read_as_published(reply: str, said: str | None) -> None:
    assert read_medium(reply) == said


def test_a_medium_question_is_right_only_as_a_whole() -> None:
    assert verdict(["false", "false", "false", "true"]) is True
    assert verdict(["false", "perhaps", "false", "true"]) is False
    assert verdict(["true", "false", "false", None]) is None


def test_marks_are_by_reply_by_best_and_by_country() -> None:
    replies: dict[str, tuple[str, list[bool | None]]] = {
        "q1": ("Japan", [True, None, False]),
        "q2": ("Japan", [False]),
        "q3": ("Italy", [True, True]),
    }
    marked = [Marked(key, country, right) for key, (country, every) in replies.items() for right in every]
    found = marks(marked, TERMS)
    assert found.mean.value == pytest.approx((1 / 3 + 0 + 1) / 3)
    assert found.best.value == pytest.approx(2 / 3)
    assert (found.answers, found.items) == (3, 3)
    assert {name: figure.value for name, figure in found.countries.items()} == pytest.approx(
        {"Italy": 1, "Japan": 1 / 6}
    )
    assert (found.deviation, found.gap) == pytest.approx((5 / 12, 5 / 6))


def test_credit_is_the_expectation_over_the_three_labels() -> None:
    quarter, half = math.log(0.25), math.log(0.5)
    assert credit("No", half, quarter, quarter) == pytest.approx(0.5 - 0.125 - 0.25)
    assert credit("Sometimes", half, quarter, quarter) == pytest.approx(0.25 - 0.0625 - 0.125)
    assert credit("No", -1000.0, -1000.0, -math.inf) == pytest.approx(0.25)


@given(st.tuples(*[st.floats(-50, 0)] * 3), st.floats(-500, 500))
def test_credit_does_not_depend_on_what_is_common_to_the_three(logs: tuple[float, float, float], shift: float) -> None:
    moved = (logs[0] + shift, logs[1] + shift, logs[2] + shift)
    assert credit("No", *moved) == pytest.approx(credit("No", *logs), abs=1e-9)


@pytest.mark.parametrize("logs", [(math.nan, 0.0, 0.0), (-math.inf, -math.inf, -math.inf)])
def test_log_probabilities_that_say_nothing_are_refused(logs: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match=r"^log-probabilities must be numbers, and not all of them −∞$"):
        credit("No", *logs)


def test_the_published_scale_ends_at_what_the_whole_benchmark_can_reach() -> None:
    assert (rescaled(HIGHEST), rescaled(-HIGHEST), rescaled(0.0)) == pytest.approx((100, -100, 0))
    # of n norms at 1 and the rest at a half: 11,345.5 = n + (16,134 − n) / 2
    strict = 2 * 11_345.5 - SLOTS
    assert strict == 6_557
    assert strict * CREDIT["No"][0] + (SLOTS - strict) * CREDIT["Sometimes"][0] == 11_345.5


def verified(question: str, country: str, answer: int, norm: str, *, satisfied: bool, strict: bool = True) -> Verified:
    sure = (0.0, -math.inf, -math.inf) if satisfied else (-math.inf, -math.inf, 0.0)
    return Verified(question, country, answer, norm, "No" if strict else "Sometimes", *sure)


def test_mean_pass_and_the_spread_over_countries() -> None:
    rows = [
        *(verified("q1", "Japan", k, "n1", satisfied=k == 1) for k in (1, 2, 3)),
        *(verified("q1", "Japan", k, "n2", satisfied=True, strict=False) for k in (1, 2, 3)),
        *(verified("q2", "Italy", k, "n3", satisfied=False) for k in (1, 2, 3)),
    ]
    found = hard(rows, TERMS)
    # attainable here: (1 + 0.5 + 1) / 3; norms' means −1/3, 0.5, −1; bests 1, 0.5, −1
    highest = 2.5 / 3
    assert found.mean.value == pytest.approx(100 * ((-1 / 3 + 0.5 - 1) / 3) / highest)
    assert found.best.value == pytest.approx(100 * (0.5 / 3) / highest)
    japan, italy = 100 * ((-1 / 3 + 0.5) / 2) / highest, -100 / highest
    by_country = {name: figure.value for name, figure in found.countries.items()}
    assert by_country == pytest.approx({"Italy": italy, "Japan": japan})
    assert found.gap == pytest.approx(japan - italy)
    assert found.deviation == pytest.approx((japan - italy) / 2)
    assert (found.answers, found.items) == (3, 3)


def test_one_id_under_two_countries_is_two_questions() -> None:
    both = [Marked("7", "Japan", True), Marked("7", "Italy", False)]
    found = marks(both, TERMS)
    assert (found.items, found.answers, found.mean.value) == (2, 1, 0.5)
    assert {name: figure.value for name, figure in found.countries.items()} == {"Japan": 1, "Italy": 0}
    held = hard([verified("7", place, 1, "n", satisfied=place == "Japan") for place in ("Japan", "Italy")], TERMS)
    assert (held.items, held.answers, held.mean.value) == (2, 1, 0)
    assert {name: figure.value for name, figure in held.countries.items()} == {"Japan": 100, "Italy": -100}
    assert held.questions == {"Japan": 1, "Italy": 1}


def test_a_scale_of_ones_own_replaces_what_is_attainable() -> None:
    rows = [verified("q", "Japan", 1, "n", satisfied=True)]
    assert hard(rows, TERMS).mean.value == pytest.approx(100.0)
    assert hard(rows, TERMS, HIGHEST).mean.value == pytest.approx(100 / HIGHEST)
