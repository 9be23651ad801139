"""Norm Match by method, and quality by what the base policy knew: small cases by hand."""

from __future__ import annotations

import pytest

from ccfw.align.alignment import Terms
from ccfw.training.norm_match import Graded, by_method, stratified

TERMS = Terms(seed=0, resamples=100, level=0.95)


def graded(item: str, outcome: float | None, match: float | None, *, policy: str = "p", valid: bool = True) -> Graded:
    return Graded(item, policy, f"norm_{item}", valid, outcome, match)


def table(**rows: tuple[float | None, float | None]) -> dict[str, Graded]:
    return {item: graded(item, *scores, valid=scores != (None, None)) for item, scores in rows.items()}


BASE = table(a=(2, 0), b=(3, 0), c=(4, 1), d=(5, 2), e=(None, None))
TUNED = table(a=(4, 1), b=(3, 2), c=(4, None), d=(4, 2), e=(1, 0))


def test_means_over_valid_answers_leave_out_what_cannot_be_read() -> None:
    base, tuned = by_method({"base": BASE, "tuned": TUNED}, TERMS, asked=6)
    assert (base.outcome.value, base.norm_match.value, base.items, base.valid) == (3.5, 0.75, 4, 0.8)
    assert (tuned.outcome.value, tuned.norm_match.value, tuned.items, tuned.valid) == (3.2, 1.25, 5, 1.0)
    # on a, b, c, d, where both have a score: +2, 0, 0, −1; Norm Match on a, b, d: +1, +2, 0
    assert (tuned.outcome_gain.value, tuned.norm_match_gain.value) == (0.25, 1.0)


def test_over_all_answers_one_that_cannot_be_read_counts_as_said_and_an_unscored_one_not_at_all() -> None:
    base, tuned = by_method({"base": BASE, "tuned": TUNED}, TERMS, invalid=(1, 0), asked=6)
    assert (base.outcome.value, base.norm_match.value, base.items) == (3.0, 0.6, 5)
    assert (tuned.outcome.value, tuned.norm_match.value) == (3.2, 1.25)
    assert tuned.outcome_gain.value == pytest.approx((2 + 0 + 0 - 1 + 0) / 5)


def test_what_is_in_no_figure_is_counted_by_method_and_policy() -> None:
    base = {key: graded(key, *scores, policy=p) for key, p, scores in (("a", "x", (2, 1)), ("b", "y", (3, None)))}
    base |= {"c": graded("c", None, None, policy="y", valid=False), "d": graded("d", None, 0, policy="y")}
    found = by_method({"base": base, "tuned": {"a": graded("a", 4, 2, policy="x")}}, TERMS, asked=3)
    counts = ("items", "match_items", "invalid", "outcome_unscored", "match_unscored", "missing")
    assert {(each.policy, each.method): tuple(getattr(each, name) for name in counts) for each in found} == {
        ("all", "base"): (2, 2, 1, 1, 1, 2),
        ("all", "tuned"): (1, 1, 0, 0, 0, 5),
        ("x", "base"): (1, 1, 0, 0, 0, 2),
        ("x", "tuned"): (1, 1, 0, 0, 0, 2),
        ("y", "base"): (1, 1, 1, 1, 1, 0),
        ("y", "tuned"): (0, 0, 0, 0, 0, 3),
    }


def test_strata_hold_items_that_are_valid_under_every_method() -> None:
    third = table(a=(5, 2), b=(None, None), c=(2, 0), d=(5, 2), e=(5, 2))
    found = {(each.base, each.method): each for each in stratified({"base": BASE, "t": TUNED, "u": third}, TERMS)}
    # b is invalid under u, e under base
    assert {key: (each.outcome.value, each.gain.value, each.items) for key, each in found.items()} == {
        (0, "base"): (2, 0, 1),
        (0, "t"): (4, 2, 1),
        (0, "u"): (5, 3, 1),
        (1, "base"): (4, 0, 1),
        (1, "t"): (4, 0, 1),
        (1, "u"): (2, -2, 1),
        (2, "base"): (5, 0, 1),
        (2, "t"): (4, -1, 1),
        (2, "u"): (5, 0, 1),
    }


def test_policies_have_rows_of_their_own_when_there_are_several() -> None:
    two = {"x": graded("x", 2, 1, policy="one"), "y": graded("y", 4, 2, policy="two")}
    found = by_method({"base": two}, TERMS, asked=1)
    assert [(each.policy, each.outcome.value) for each in found] == [("all", 3), ("one", 2), ("two", 4)]


def test_without_answers_there_are_no_figures() -> None:
    assert stratified({"base": {}}, TERMS) == []
    assert by_method({"base": {}}, TERMS, asked=6)[0].outcome == (None, None, None)
