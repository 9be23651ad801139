"""Scores against people, exactly: worked by hand, against fractions, at the edge of one point."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.stats.agreement import (
    Differences,
    Scores,
    against_each,
    as_scores,
    consensus,
    differences,
    exact_scores,
    leave_one_out,
    rater_pairs,
    raters_against_others,
)
from ccfw.stats.figures import figures
from tests.stats.samples import NAN, Array, fractions, mean, scores, tables


def values(found: Differences) -> list[list[Fraction | None]]:
    """Return differences as fractions, item by item."""
    below = np.broadcast_to(found.denominators, found.present.shape)
    return [
        [Fraction(int(a), int(b)) if there else None for a, b, there in zip(*row, strict=True)]
        for row in zip(found.numerators, below, found.present, strict=True)
    ]


HUMANS = scores([4, 5, 2, 1], [5, 5, NAN, 2], [2, 4, NAN, 2])
"""Consensus 11/3, 14/3, 2, 5/3."""


def test_a_consensus_by_hand() -> None:
    target = consensus(HUMANS)
    assert target.sums.tolist() == [[11], [14], [2], [5]]
    assert target.counts.tolist() == [[3], [3], [1], [3]]
    assert values(differences(scores([3, 5, 3, NAN]), target)) == [
        [Fraction(-2, 3)],
        [Fraction(1, 3)],
        [Fraction(1)],
        [None],
    ]


def test_the_others_of_each_rater_by_hand() -> None:
    target = leave_one_out(HUMANS)
    assert target.sums.tolist() == [[7, 6, 9], [9, 9, 10], [0, 2, 2], [4, 3, 3]]
    assert target.counts.tolist() == [[2, 2, 2], [2, 2, 2], [0, 1, 1], [2, 2, 2]]
    assert values(raters_against_others(HUMANS)) == [
        [Fraction(1, 2), Fraction(2), Fraction(-5, 2)],
        [Fraction(1, 2), Fraction(1, 2), Fraction(-1)],
        [None, None, None],
        [Fraction(-1), Fraction(1, 2), Fraction(1, 2)],
    ]


def test_pairs_of_raters_by_hand() -> None:
    assert values(rater_pairs(HUMANS)) == [[-1, 2, 3], [0, 1, 1], [None, None, None], [-1, -1, 0]]
    assert rater_pairs(scores([1, 2])).present.shape == (2, 0)


def test_a_judge_against_each_rater_by_hand() -> None:
    first, second = against_each(scores([4, 3, NAN, 1], [5, 5, 5, 5]), HUMANS)
    assert values(first) == [[0, -1, 2], [-2, -2, -1], [None, None, None], [0, -1, -1]]
    assert values(second) == [[1, 0, 3], [0, 0, 1], [3, None, None], [4, 3, 3]]


def test_exactly_one_point_is_within_one_for_all_thirds() -> None:
    """A panel of three and a consensus of three: of the 20 pairs that are one point apart, floats get 4 wrong."""
    sums = np.array(list(itertools.product(range(3, 16), range(3, 16))))
    panel = exact_scores(sums[:, :1] / 3, 3)
    humans = Scores(sums[:, 1:], np.ones((len(sums), 1), dtype=np.bool_), 3)
    found = figures(differences(panel, consensus(humans)))
    assert found.within_one.item() == np.mean(np.abs(sums[:, 0] - sums[:, 1]) <= 3)
    apart = np.abs(sums[:, 0] / 3 - sums[:, 1] / 3)
    on_the_edge = np.abs(sums[:, 0] - sums[:, 1]) == 3
    assert (on_the_edge.sum(), (apart[on_the_edge] > 1.0).sum()) == (20, 4)


@given(humans=tables(), judges=tables(), denominator=st.sampled_from([1, 2, 3]))
def test_differences_are_those_of_fractions(humans: Array, judges: Array, denominator: int) -> None:
    items = min(len(humans), len(judges))
    humans, judges = humans[:items], judges[:items]
    found = values(differences(exact_scores(judges / denominator, denominator), consensus(exact_scores(humans))))
    for row, people, machine in zip(found, humans, judges, strict=True):
        target = mean(fractions(people))
        expected = [None if s is None or target is None else s / denominator - target for s in fractions(machine)]
        assert row == expected


@given(humans=tables())
def test_each_rater_meets_the_mean_of_those_who_remain(humans: Array) -> None:
    found = values(raters_against_others(exact_scores(humans)))
    for row, people in zip(found, humans, strict=True):
        exact = fractions(people)
        for rater, mine in enumerate(exact):
            others = mean(exact[:rater] + exact[rater + 1 :])
            assert row[rater] == (None if mine is None or others is None else mine - others)


@given(humans=tables(), order=st.randoms(use_true_random=False))
def test_the_order_of_raters_makes_no_difference(humans: Array, order: object) -> None:
    shuffled = list(range(humans.shape[1]))
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = exact_scores(humans), exact_scores(humans[:, shuffled])
    np.testing.assert_array_equal(consensus(first).sums, consensus(second).sums)
    ours, theirs = (figures(rater_pairs(each), average=True) for each in (first, second))
    np.testing.assert_allclose(ours.within_one, theirs.within_one)
    np.testing.assert_allclose(ours.mae, theirs.mae)


def test_a_consensus_as_scores_is_over_one_denominator() -> None:
    found = as_scores(consensus(scores([4, 5, NAN], [5, 5, NAN], [2, NAN, NAN])))
    assert found.denominator == 6
    assert found.numerators.tolist() == [[22], [30], [0]]
    assert found.present.tolist() == [[True], [True], [False]]


def test_printed_thirds_are_read_as_thirds() -> None:
    found = exact_scores(np.array([[3.6667, 4.0, NAN, 2.333333]]), 3)
    assert found.numerators.tolist() == [[11, 12, 0, 7]]
    assert found.present.tolist() == [[True, True, False, True]]


@pytest.mark.parametrize(
    ("value", "denominator", "message"),
    [
        (3.5, 1, "3.5 is no multiple of 1/1"),
        (3.34, 3, "3.34 is no multiple of 1/3"),
        (float("inf"), 1, "an infinite score"),
    ],
)
def test_what_is_no_such_score_is_refused(value: float, denominator: int, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        exact_scores(np.array([[3.0, value]]), denominator)
    assert str(caught.value) == message
