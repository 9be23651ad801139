"""Ranges between groups beside what chance alone gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.stats.spreads import against_chance, dealt_ranges, spread, swapped_ranges


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def naive_ranges(values: np.ndarray, sizes: list[int], permutations: int, seed: int) -> np.ndarray:
    """Shuffle, cut into groups, take the widest difference of means."""
    source, found = rng(seed), []
    for _ in range(permutations):
        shuffled = values[source.permutation(len(values))]
        means = [part.mean() for part in np.split(shuffled, np.cumsum(sizes))[:-1]]
        found.append(max(means) - min(means))
    return np.array(found)


def test_ranges_by_chance_are_those_of_shuffling_and_cutting() -> None:
    values, sizes = rng().integers(1, 6, 40).astype(float), [10, 25, 5]
    found = dealt_ranges(values[None, :, None], [[np.array(sizes)]], rng(3), permutations=50)
    assert found[:, 0, 0] == pytest.approx(naive_ranges(values, sizes, 50, 3))


def test_groups_that_are_left_out_are_dealt_no_one() -> None:
    values = rng().normal(size=30)
    found = dealt_ranges(values[None, :, None], [[np.array([8, 7])]], rng(3), permutations=30)
    assert found[:, 0, 0] == pytest.approx(naive_ranges(values, [8, 7], 30, 3))


def test_several_axes_and_systems_are_dealt_out_together() -> None:
    """The same shuffle for all: an axis of one grouping has the same ranges wherever it stands."""
    values = rng().normal(size=(24, 2))
    sizes = [np.array([12, 12]), np.array([6, 6, 6, 6]), np.array([12, 12])]
    found = dealt_ranges(values[None], [[size, size] for size in sizes], rng(5), permutations=20)
    assert found.shape == (20, 3, 2)
    assert found[:, 0] == pytest.approx(found[:, 2])
    assert (found[:, 1] >= found[:, 0] - 1e-9).all()


def test_a_single_group_has_no_range() -> None:
    found = dealt_ranges(np.ones((1, 4, 1)), [[np.array([4])]], rng(), permutations=3)
    assert np.isnan(found).all()


def test_the_range_over_58_equal_groups_is_never_zero_and_is_not_held_for_a_difference() -> None:
    """Groups of 50 normal values: the expected range is 4.66 standard errors of a mean (Tukey's, 58 groups)."""
    values, sizes = rng().normal(size=(58 * 50, 1)), [np.full(58, 50)]
    own = np.ptp(values.reshape(58, 50).mean(axis=1))
    found = against_chance(np.array([[own]]), dealt_ranges(values[None], [sizes], rng(2), permutations=300), 0.95)
    assert found.expected[0, 0] == pytest.approx(4.66 / np.sqrt(50), rel=0.03)
    assert found.p[0, 0] > 0.05


def test_a_group_that_is_worse_is_beyond_chance() -> None:
    values = rng().normal(size=(500, 1))
    values[:50] -= 1.0
    own = np.ptp(values.reshape(10, 50).mean(axis=1))
    by_chance = dealt_ranges(values[None], [[np.full(10, 50)]], rng(2), permutations=300)
    found = against_chance(np.array([[own]]), by_chance, 0.95)
    assert found.p[0, 0] == pytest.approx(1 / 301)
    assert found.high[0, 0] < own


def test_many_ranges_without_a_difference_are_all_within_chance_but_for_the_level() -> None:
    """60 studies of 12 ranges: at 10 % about 6 studies may find one, 15 would be a fault."""
    wrong = 0
    for study in range(60):
        values = rng(study).normal(size=(120, 4))
        sizes = [np.full(12, 10), np.full(4, 30), np.full(2, 60)]
        ranges = np.array([np.ptp(values.reshape(len(s), -1, 4).mean(axis=1), axis=0) for s in sizes])
        by_chance = dealt_ranges(values[None], [[size] * 4 for size in sizes], rng(900 + study), permutations=200)
        wrong += bool((against_chance(ranges, by_chance, 0.9).p <= 0.1).any())
    assert wrong <= 15


def test_two_scores_of_a_unit_swap_places() -> None:
    """One unit of difference 2: its range is 2 whichever way; two of 1 and -1 come to 0 or 1."""
    assert swapped_ranges(np.array([[3.0]]), np.array([[1.0]]), rng(), permutations=5).tolist() == [[2.0]] * 5
    two = swapped_ranges(np.array([[2.0], [1.0]]), np.array([[1.0], [2.0]]), rng(), permutations=40)
    assert set(two.ravel().tolist()) == {0.0, 1.0}
    assert np.isnan(swapped_ranges(np.full((3, 1), np.nan), np.ones((3, 1)), rng(), permutations=2)).all()


def test_what_a_unit_lacks_is_lacking_in_its_own_group() -> None:
    """Of (4, 2), (3, 3) and (5, none), the first alone can move anything: means 12/3 or 10/3 against 5/2 or 7/2."""
    found = swapped_ranges(np.array([[4.0], [3.0], [5.0]]), np.array([[2.0], [3.0], [np.nan]]), rng(), permutations=40)
    assert {round(each, 9) for each in found.ravel().tolist()} == {round(4 - 2.5, 9), round(abs(10 / 3 - 3.5), 9)}


# ---- intervals


def test_the_outermost_groups_and_their_distance_are_named() -> None:
    point = np.array([3.0, 2.5, 4.0])
    found = spread(point, point + rng().normal(0, 0.01, (200, 3)), 0.95)
    assert found is not None
    assert (found.lowest, found.highest, found.range) == (1, 2, 1.5)
    assert 1.4 < found.low < 1.5 < found.high < 1.6


@pytest.mark.parametrize("point", [[3.0], [], [3.0, np.nan]])
def test_fewer_than_two_groups_have_no_range(point: list[float]) -> None:
    assert spread(np.array(point), np.zeros((10, len(point))), 0.95) is None


@given(st.integers(2, 12), st.integers(0, 50))
def test_the_interval_holds_the_range_and_starts_at_nothing(groups: int, seed: int) -> None:
    point = rng(seed).normal(size=groups)
    found = spread(point, point + rng(seed + 1).normal(0, 0.5, (100, groups)), 0.9)
    assert found is not None
    assert 0.0 <= found.low <= found.range <= found.high


@pytest.mark.parametrize("true", [0.0, 0.5])
def test_the_interval_covers_the_true_range(true: float) -> None:
    """Twelve groups, one of them ``true`` above the others: at 90 % no more than a tenth of 200 studies may miss it."""
    missed = 0
    for study in range(200):
        truth = np.zeros(12)
        truth[0] = true
        point = truth + rng(study).normal(0, 0.2, 12)
        found = spread(point, point + rng(5000 + study).normal(0, 0.2, (300, 12)), 0.9)
        assert found is not None
        missed += not found.low <= true <= found.high
    assert missed <= 28
