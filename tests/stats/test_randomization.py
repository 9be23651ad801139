"""Randomization tests: exact by enumeration, right at ten units, and simultaneous."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from ccfw.stats.randomization import scores, shuffled, sign_flipped

NAN = np.nan


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_p_of_one_figure_is_the_share_of_sign_patterns_that_are_as_large() -> None:
    """Of the 256 patterns of eight units, drawn 20,000 times: within three standard errors of the enumeration."""
    units = np.array([2.0, 1.0, 3.0, -1.0, 2.0, 0.0, 1.0, 1.0])
    exact = np.mean([abs(np.dot(signs, units)) >= units.sum() for signs in product((-1, 1), repeat=8)])
    found = sign_flipped(units[:, None], np.arange(8), rng(), resamples=20_000)
    assert found[0] == pytest.approx(exact, abs=3 * np.sqrt(exact / 20_000))


def test_the_p_of_two_groups_is_the_share_of_divisions_that_are_as_large() -> None:
    values, group = np.array([1.0, 2, 2, 4, 3, 5, 5, 4]), np.arange(8) >= 4

    def welch(second: tuple[int, ...]) -> float:
        chosen = np.isin(np.arange(8), second)
        return abs(float(stats.ttest_ind(values[chosen], values[~chosen], equal_var=False).statistic))

    own = welch((4, 5, 6, 7))
    exact = np.mean([welch(each) >= own - 1e-9 for each in combinations(range(8), 4)])
    found = shuffled(values[:, None], group, np.arange(8), rng(), resamples=20_000)
    assert found[0] == pytest.approx(exact, abs=3 * np.sqrt(exact / 20_000))


def test_the_scale_is_the_normal_score_of_students_t() -> None:
    t, freedom = np.array([0.5, 1.0, 2.0, 4.0]), np.array([9.0, 19.0, 57.0, 9.0])
    exact = stats.norm.isf(stats.t.sf(t, freedom))
    assert scores(t, np.ones(4), np.ones(4), freedom) == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize(("units", "systems"), [(10, 2), (10, 6), (20, 6)])
def test_among_equal_systems_few_units_find_no_more_than_the_level_allows(units: int, systems: int) -> None:
    """Of 300 studies at 5 % some 15 may find a difference; 27 are three standard errors above."""
    pairs = list(combinations(range(systems), 2))
    wrong = 0
    for study in range(300):
        held = rng(study).choice((2.0, 3.0, 4.0, 5.0), (units, systems))
        apart = np.stack([held[:, one] - held[:, other] for one, other in pairs], axis=1)
        wrong += bool((sign_flipped(apart, np.arange(units), rng(study), resamples=199) <= 0.05).any())
    assert 1 <= wrong <= 27


def test_groups_that_spread_differently_find_no_more_than_the_level_allows() -> None:
    """12 and 40 units, the few of them spread three times as wide, in three equal systems: the same bound."""
    group = np.arange(52) < 12
    wrong = 0
    for study in range(300):
        values = rng(study).normal(size=(52, 3)) * np.where(group, 3.0, 1.0)[:, None]
        wrong += bool((shuffled(values, group, np.arange(52), rng(study), resamples=199) <= 0.05).any())
    assert wrong <= 27


def test_items_of_one_unit_move_together() -> None:
    """Every unit twice says no more than once."""
    once = rng().normal(0.4, 1, size=(30, 2))
    units = np.arange(30)
    alone = sign_flipped(once, units, rng(3), resamples=999)
    twice = sign_flipped(np.concatenate([once, once]), np.tile(units, 2), rng(3), resamples=999)
    assert twice.tolist() == alone.tolist()
    group = units >= 15
    alone = shuffled(once, group, units, rng(3), resamples=999)
    twice = shuffled(np.concatenate([once, once]), np.tile(group, 2), np.tile(units, 2), rng(3), resamples=999)
    assert twice.tolist() == alone.tolist()


def test_a_sure_difference_is_found_beside_many_that_are_none() -> None:
    values = rng().normal(size=(40, 20))
    values[:, 7] += 2
    found = sign_flipped(values, np.arange(40), rng(), resamples=999)
    assert np.flatnonzero(found <= 0.05).tolist() == [7]


def test_what_has_too_few_units_is_not_tested_and_moves_nothing() -> None:
    values = rng().normal(0.5, 1, size=(30, 3))
    short = values.copy()
    short[9:, 1] = NAN
    found = sign_flipped(short, np.arange(30), rng(2), resamples=499, fewest=10)
    assert np.isnan(found).tolist() == [False, True, False]
    assert found[[0, 2]].tolist() == sign_flipped(values[:, [0, 2]], np.arange(30), rng(2), resamples=499).tolist()
    group = np.arange(30) < 9
    assert np.isnan(shuffled(values, group, np.arange(30), rng(2), resamples=99, fewest=10)).all()


def test_equal_everywhere_is_no_difference_and_apart_by_the_same_everywhere_is_one() -> None:
    values = np.stack([np.zeros(20), np.ones(20)], axis=1)
    assert sign_flipped(values, np.arange(20), rng(), resamples=999).tolist() == [1.0, 0.001]
    group = np.arange(20) >= 10
    apart = np.stack([np.full(20, 3.0), np.where(group, 4.0, 3.0)], axis=1)
    assert shuffled(apart, group, np.arange(20), rng(), resamples=999).tolist() == pytest.approx([1.0, 0.001])


def test_nothing_at_all_has_no_p() -> None:
    assert np.isnan(sign_flipped(np.zeros((0, 2)), np.zeros(0, dtype=np.int64), rng(), resamples=9)).all()
    assert sign_flipped(np.zeros((3, 0)), np.arange(3), rng(), resamples=9).shape == (0,)
