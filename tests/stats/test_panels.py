"""Panels: by hand, against scoring's own rule, and the cascade against asking one judge after the other."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.judging.scoring import combined
from ccfw.stats import panels
from ccfw.stats.agreement import Scores, exact_scores
from ccfw.stats.panels import Rule, cascade, ensembles, panel_scores
from tests.stats.samples import NAN, Array, ratings, scores, tables

RULES: tuple[Rule, ...] = ("mean", "median", "majority")


def values(found: Scores) -> list[list[Fraction | None]]:
    return [
        [Fraction(int(value), found.denominator) if there else None for value, there in zip(*row, strict=True)]
        for row in zip(found.numerators, found.present, strict=True)
    ]


def test_ensembles_are_in_the_order_of_combinations() -> None:
    assert ensembles(4, 3).tolist() == [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    assert len(ensembles(11, 3)) == 165
    assert ensembles(2, 3).shape == (0, 3)


def test_panels_by_hand() -> None:
    """Items 1 2 2 5 and, with one missing, 4 4 – 3."""
    judges = scores([1, 4], [2, 4], [2, NAN], [5, 3])
    members = np.array([[0, 1, 2], [0, 1, 3]])
    assert values(panel_scores(judges, members, "mean")) == [[Fraction(5, 3), Fraction(8, 3)], [None, Fraction(11, 3)]]
    assert values(panel_scores(judges, members, "median")) == [[2, 2], [None, 4]]
    assert values(panel_scores(judges, members, "majority")) == [[2, None], [None, 4]]
    everyone = np.array([[0, 1, 2, 3]])
    assert values(panel_scores(judges, everyone, "mean")) == [[Fraction(5, 2)], [None]]
    assert values(panel_scores(judges, everyone, "median")) == [[2], [None]]
    assert values(panel_scores(judges, everyone, "majority")) == [[None], [None]]


@given(table=tables(most_columns=5), size=st.integers(1, 5), rule=st.sampled_from(RULES))
def test_panels_score_as_the_judge_that_combines_members_does(table: Array, size: int, rule: Rule) -> None:
    members = ensembles(table.shape[1], size)
    found = panel_scores(exact_scores(table), members, rule)
    for row, item in zip(values(found), table, strict=True):
        for score, panel in zip(row, members, strict=True):
            expected = combined([None if np.isnan(value) else float(value) for value in item[panel]], rule)
            assert (score is None) == (expected is None)
            if score is not None and expected is not None:
                assert float(score) == pytest.approx(expected)
    assert (found.numerators[~found.present] == 0).all()


@pytest.mark.parametrize("rule", RULES)
def test_how_many_panels_are_worked_on_at_a_time_makes_no_difference(rule: Rule, monkeypatch: Any) -> None:
    judges = exact_scores(ratings(1, 50, 7, 0.1))
    before = panel_scores(judges, ensembles(7, 4), rule)
    monkeypatch.setattr(panels, "_AT_ONCE", 1)
    after = panel_scores(judges, ensembles(7, 4), rule)
    np.testing.assert_array_equal(before.numerators, after.numerators)
    np.testing.assert_array_equal(before.present, after.present)


def test_a_cascade_by_hand() -> None:
    """Costs 1, 2, 10. The first two agree on 3; are one apart on 3 4; the first is missing; all three differ."""
    judges = scores([3, 3, NAN, 1], [3, 4, 4, 3], [5, 5, 5, 5])
    found = cascade(judges, np.array([0, 1, 2]), np.array([1.0, 2.0, 10.0]))
    assert values(found.scores) == [[3], [4], [None], [3]]
    assert found.asked.tolist() == [2, 3, 2, 3]
    assert found.cost == (3 + 13 + 3 + 13) / 4
    lenient = cascade(judges, np.array([0, 1, 2]), np.array([1.0, 2.0, 10.0]), tolerance=1.0)
    assert values(lenient.scores) == [[3], [Fraction(7, 2)], [None], [3]]
    assert lenient.cost == (3 + 3 + 3 + 13) / 4


@given(table=tables(most_columns=5), first=st.integers(1, 5), tolerance=st.integers(0, 4), seed=st.integers(0, 9))
def test_a_cascade_asks_as_one_would_by_hand(table: Array, first: int, tolerance: int, seed: int) -> None:
    judges = table.shape[1]
    first = min(first, judges)
    order, costs = np.random.default_rng(seed).permutation(judges), np.arange(1.0, judges + 1)
    found = cascade(exact_scores(table), order, costs, first=first, tolerance=tolerance)
    spent = 0.0
    for item, answer, asked in zip(table, values(found.scores), found.asked, strict=True):
        heard = [float(item[judge]) for judge in order[:first]]
        while len(heard) < judges and not any(map(math.isnan, heard)) and max(heard) - min(heard) > tolerance:
            heard.append(float(item[order[len(heard)]]))
        assert asked == len(heard)
        expected = None if any(map(math.isnan, heard)) else Fraction(int(sum(heard)), len(heard))
        assert answer == [expected]
        spent += costs[order[: len(heard)]].sum()
    assert found.cost == pytest.approx(spent / len(table))


def test_a_cascade_costs_two_judges_and_more_where_they_differ() -> None:
    judges = exact_scores(ratings(2, 100, 3))
    costs, order = np.ones(3), np.arange(3)
    assert cascade(judges, order, costs, tolerance=4.0).cost == 2.0
    strict = cascade(judges, order, costs)
    differs = judges.numerators[:, 0] != judges.numerators[:, 1]
    assert strict.cost == 2.0 + differs.mean()
    panel = np.array(values(panel_scores(judges, order[None])))
    assert (np.array(values(strict.scores))[differs] == panel[differs]).all()


@pytest.mark.parametrize("first", [0, 4])
def test_a_cascade_asks_one_judge_at_least_and_all_at_most(first: int) -> None:
    with pytest.raises(ValueError) as caught:
        cascade(exact_scores(ratings(3, 5, 3)), np.arange(3), np.ones(3), first=first)
    assert str(caught.value) == f"first={first} of 3 judges"


def test_all_panels_of_eleven_are_those_taken_one_by_one() -> None:
    table = ratings(4, 40, 11)
    found = panel_scores(exact_scores(table), ensembles(11, 3))
    for place, members in enumerate(itertools.combinations(range(11), 3)):
        np.testing.assert_array_equal(found.numerators[:, place], table[:, members].sum(axis=1))
    assert found.denominator == 3
