"""Differences between systems: paired by unit, and held to be there all at once."""

from __future__ import annotations

import numpy as np
import pytest

from ccfw.stats.pairs import paired, whole

RESAMPLES, LEVEL = 400, 0.95


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_differences_are_over_the_items_that_both_have() -> None:
    """First two: (1 - 2 + 5 - 1) / 2; first and third share one item: 3 - 1."""
    values = np.array([[1.0, 2.0, np.nan], [5.0, 1.0, np.nan], [3.0, np.nan, 1.0]])[:, :, None]
    found = paired(values, np.arange(3), rng(), resamples=RESAMPLES, level=LEVEL)
    assert (found.first.tolist(), found.second.tolist()) == ([0, 0, 1], [1, 2, 2])
    assert found.difference[:, 0].tolist() == pytest.approx([1.5, 2.0, np.nan], nan_ok=True)
    assert found.items[:, 0].tolist() == [2, 1, 0]


def test_what_shares_too_few_units_is_not_tested() -> None:
    values = rng().normal(size=(30, 3, 1))
    values[5:, 2] = np.nan
    found = paired(values, np.arange(30), rng(), resamples=RESAMPLES, level=LEVEL, fewest=10)
    assert np.isnan(found.p[:, 0]).tolist() == [False, True, True]


def test_two_items_of_one_unit_are_one_unit() -> None:
    """Every unit twice says no more than once: the interval is that of the units."""
    once = rng().normal(size=(40, 2, 1))
    twice = np.concatenate([once, once])
    units = np.arange(40)
    found = paired(twice, np.tile(units, 2), rng(), resamples=2000, level=LEVEL)
    alone = paired(once, units, rng(), resamples=2000, level=LEVEL)
    assert (found.high - found.low)[0, 0] == pytest.approx((alone.high - alone.low)[0, 0], rel=0.02)


def test_pairing_takes_out_what_the_units_have_in_common() -> None:
    """Units differ by 3 points, systems by 0.1 everywhere but for a little noise: unpaired it would drown."""
    shared = rng().normal(0, 3, size=(60, 1))
    values = (shared + np.array([0.0, 0.1]) + rng(2).normal(0, 0.05, size=(60, 2)))[:, :, None]
    found = paired(values, np.arange(60), rng(), resamples=RESAMPLES, level=LEVEL)
    assert found.p[0, 0] == pytest.approx(1 / (RESAMPLES + 1))
    assert found.high[0, 0] < 0


def test_systems_that_differ_by_the_same_everywhere_surely_differ_and_equal_ones_do_not() -> None:
    base = rng().normal(size=20)
    values = np.stack([base, base, base + 1], axis=1)[:, :, None]
    found = paired(values, np.arange(20), rng(), resamples=RESAMPLES, level=LEVEL)
    assert found.p[:, 0].tolist() == pytest.approx([1.0, 1 / (RESAMPLES + 1), 1 / (RESAMPLES + 1)])


@pytest.mark.parametrize("measures", [1, 3])
def test_among_equal_systems_a_difference_is_found_no_oftener_than_the_level_allows(measures: int) -> None:
    """120 studies of 15 or 45 comparisons without a difference: at 10 % about 12 may find one, 24 are a fault."""
    wrong = 0
    for study in range(120):
        values = rng(study).normal(size=(80, 6, measures)) + rng(1000 + study).normal(size=(80, 1, 1))
        found = paired(values, np.arange(80), rng(study), resamples=200, level=0.9)
        wrong += bool((found.p <= 0.1).any())
    assert 2 <= wrong <= 24


@pytest.mark.parametrize(
    ("values", "unit"),
    [([1.0, 5.0], 1), ([1.5, 2.0], 2), ([7 / 3, 4.0], 3), ([1 / 9], 9), ([0.123], 1), ([np.nan, 2 / 3], 3)],
)
def test_scores_are_counted_in_the_largest_unit_that_makes_them_whole(values: list[float], unit: int) -> None:
    scaled, found = whole(np.array(values))
    assert found == unit
    assert scaled / found == pytest.approx(np.array(values), nan_ok=True)
    if unit > 1:
        there = scaled[~np.isnan(scaled)]
        assert (there == np.rint(there)).all()


def test_one_system_alone_has_nothing_to_be_compared_with() -> None:
    found = paired(np.ones((5, 1, 3)), np.arange(5), rng(), resamples=10, level=LEVEL)
    assert found.difference.shape == (0, 3)
