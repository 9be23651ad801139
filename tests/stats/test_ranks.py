"""Ranks with their uncertainty: by hand, by simulation, and the difference that a sample can show."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.stats.ranks import Ranking, minimum_detectable_difference, surely_better, unit_spread, units_needed
from ccfw.stats.ranks import ranking as ranked
from ccfw.stats.resampling import ratios, resampled
from tests.stats.samples import NAN, Array


def drawn(point: list[float], error: float | list[float], seed: int = 0) -> tuple[Array, Array]:
    means = np.array(point)
    return means, means + np.random.default_rng(seed).normal(size=(2_000, len(point))) * error


def ranking(point: Array, draws: Array, *, level: float = 0.95, higher_is_better: bool = True) -> Ranking:
    better = surely_better(point, draws, level=level, higher_is_better=higher_is_better)
    return ranked(point, better, higher_is_better=higher_is_better)


def test_systems_far_apart_have_their_rank_for_sure() -> None:
    found = ranking(*drawn([1.0, 3.0, 2.0], 0.01))
    assert found.rank.tolist() == found.low.tolist() == found.high.tolist() == found.group.tolist() == [3, 1, 2]
    assert found.better.tolist() == [[False, False, False], [True, False, True], [True, False, False]]


def test_the_least_may_be_the_best() -> None:
    found = ranking(*drawn([1.0, 3.0, 2.0], 0.01), higher_is_better=False)
    assert found.rank.tolist() == found.low.tolist() == found.high.tolist() == [1, 3, 2]


def test_systems_that_cannot_be_told_apart_share_a_group() -> None:
    """A is far above; B and C differ by half an error; C and D by half one, too; E is far below."""
    found = ranking(*drawn([9.0, 5.0, 4.95, 4.9, 1.0], 0.1))
    assert found.rank.tolist() == [1, 2, 3, 4, 5]
    assert found.low.tolist() == [1, 2, 2, 2, 5]
    assert found.high.tolist() == [1, 4, 4, 4, 5]
    assert found.group.tolist() == [1, 2, 2, 2, 3]


def test_a_group_holds_whom_a_neighbour_ties_to_it() -> None:
    """A is surely above C, but neither from B: no cut between them has all above surely better than all below."""
    found = ranking(*drawn([5.0, 4.7, 4.4], 0.1))
    assert found.better.tolist() == [[False, False, True], [False, False, False], [False, False, False]]
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1, 2], [2, 3, 3])
    assert found.group.tolist() == [1, 1, 1]


def test_the_critical_value_is_the_quantile_of_the_largest_studentised_miss() -> None:
    """Three pairs of independent errors: B leads A by just less, then by just more, than the largest miss allows."""
    means, draws = drawn([0.0, 0.0, 0.0], 1.0, 3)
    pairs = draws[:, [0, 0, 1]] - draws[:, [1, 2, 2]]
    spread = pairs.std(axis=0, ddof=1)
    critical = np.quantile(np.abs(pairs / spread).max(axis=1), 0.95)
    assert 2.3 < critical < 2.4  # Tukey's 3.31 / √2
    for factor in (0.999, 1.001):
        lead = np.array([0.0, critical * spread[0] * factor, -50.0])
        assert ranking(means + lead, draws + lead).better[1, 0] == (factor > 1)


def test_equal_figures_share_the_better_rank() -> None:
    found = ranking(np.array([2.0, 3.0, 2.0, NAN, 1.0]), np.full((50, 5), [2.0, 3.0, 2.0, NAN, 1.0]))
    assert found.rank.tolist() == [2, 1, 2, 0, 4]
    assert found.low.tolist() == [2, 1, 2, 0, 4]
    assert found.high.tolist() == [3, 1, 3, 0, 4]
    assert found.group.tolist() == [2, 1, 2, 0, 3]


def test_paired_draws_tell_apart_what_single_intervals_do_not() -> None:
    """Two systems that move together: each is uncertain, their difference is not."""
    shared = np.random.default_rng(1).normal(size=(500, 1))
    draws = np.array([1.0, 1.2]) + shared + np.random.default_rng(2).normal(size=(500, 2)) * 0.01
    assert ranking(np.array([1.0, 1.2]), draws).low.tolist() == [2, 1]


def test_resamples_without_a_figure_are_left_out() -> None:
    means, draws = drawn([1.0, 3.0], 0.01)
    draws[::3, 0] = np.nan
    assert ranking(means, draws).low.tolist() == [2, 1]


def test_no_systems_and_no_draws() -> None:
    assert ranking(np.zeros(0), np.zeros((5, 0))).rank.tolist() == []
    found = ranking(np.array([1.0, 2.0]), np.zeros((0, 2)))
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1], [2, 2])


@given(point=st.lists(st.integers(0, 4).map(float), min_size=1, max_size=7), seed=st.integers(0, 99))
def test_ranks_lie_within_their_bounds_and_groups_follow_ranks(point: list[float], seed: int) -> None:
    found = ranking(*drawn(point, 0.5, seed))
    assert (found.low >= 1).all()
    assert (found.low <= found.rank).all()
    assert (found.rank <= found.high).all()
    assert (found.high <= len(point)).all()
    order = np.argsort(found.rank, kind="stable")
    assert set(np.diff(found.group[order])) <= {0, 1}
    for group in range(2, found.group.max() + 1):
        assert found.better[np.ix_(found.group < group, found.group >= group)].all()


def test_true_ranks_lie_within_all_bounds_at_once_as_often_as_promised() -> None:
    """300 samples of 60 items, six systems of which two pairs tie; at 90 % all true ranks are held in 270 or more."""
    true = np.array([0.0, 0.0, 0.3, 0.3, 0.8, 1.0])
    best = np.array([(true > mean).sum() + 1 for mean in true])
    worst = np.array([(true >= mean).sum() for mean in true])
    rng, held, wide = np.random.default_rng(4), 0, []
    figures = ratios(6, np.zeros(6, dtype=np.intp))
    for _ in range(300):
        values = true + rng.normal(size=(60, 1)) + rng.normal(size=(60, 6))
        features = np.column_stack([values, np.ones(60)])
        found = resampled(features, figures, rng, resamples=400)
        ranks = ranking(found.point[0], found.draws[:, 0], level=0.9)
        held += bool((ranks.low <= best).all() and (ranks.high >= worst).all())
        wide.append((ranks.high - ranks.low).mean())
    assert held >= 270 - 16  # three binomial standard deviations
    assert np.mean(wide) < 4


def test_the_difference_that_a_sample_shows_by_hand() -> None:
    """(1.95996 + 0.84162) · 2 / √100."""
    assert minimum_detectable_difference(2.0, 100) == pytest.approx(0.560316, abs=1e-5)
    assert units_needed(2.0, 0.5604) == 100
    assert units_needed(2.0, 0.56) == 101
    assert units_needed(0.0, 0.1) == 1


def test_a_sample_shows_its_difference_as_often_as_promised() -> None:
    """2,000 samples of 50 with the least detectable difference: a z-test at 5 % finds it in 80 %."""
    rng = np.random.default_rng(5)
    difference = minimum_detectable_difference(1.5, 50)
    means = rng.normal(difference, 1.5, (2_000, 50)).mean(axis=1)
    assert np.mean(np.abs(means) > 1.959964 * 1.5 / np.sqrt(50)) == pytest.approx(0.8, abs=0.03)


@given(spread=st.floats(0.1, 5), difference=st.floats(0.01, 1), power=st.sampled_from([0.5, 0.8, 0.95]))
def test_units_needed_are_the_fewest_that_do(spread: float, difference: float, power: float) -> None:
    n = units_needed(spread, difference, power=power)
    assert minimum_detectable_difference(spread, n, power=power) <= difference * (1 + 1e-9)
    assert n == 1 or minimum_detectable_difference(spread, n - 1, power=power) > difference * (1 - 1e-9)


def test_the_spread_of_units() -> None:
    values = np.array([1.0, 3.0, NAN, 5.0])
    assert unit_spread(values) == pytest.approx(2.0)
    assert np.isnan(unit_spread(values[:1]))
    once = np.random.default_rng(6).normal(size=200)
    thrice = unit_spread(np.repeat(once, 3), np.repeat(np.arange(200), 3))
    assert thrice == pytest.approx(once.std(ddof=1))


def test_the_spread_of_clusters_gives_the_error_of_their_mean() -> None:
    rng = np.random.default_rng(7)
    cluster = np.repeat(np.arange(50), 4)
    means, errors = [], []
    for _ in range(1_000):
        values = rng.normal(size=50)[cluster] + rng.normal(size=200)
        means.append(values.mean())
        errors.append(unit_spread(values, cluster) / np.sqrt(50))
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.08)
