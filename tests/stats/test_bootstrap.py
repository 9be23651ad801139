"""Percentile intervals: against a plain loop, against scipy, and by their properties."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import threadpoolctl
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from ccfw.stats.bootstrap import Interval, bootstrap_means

scipy_stats: Any = import_module("scipy.stats")  # has no stubs

Array = NDArray[np.float64]
NAN = float("nan")


def intervals(
    values: Array | Sequence[Sequence[float]], seed: int = 0, resamples: int = 400, level: float = 0.95
) -> tuple[Interval, ...]:
    table = np.asarray(values, dtype=np.float64)
    return bootstrap_means(table, np.random.default_rng(seed), resamples=resamples, level=level)


def by_loop(values: Array, seed: int, resamples: int, level: float) -> list[tuple[float, float]]:
    """Resample row by row, mean by mean, from the same stream of draws."""
    n, columns = values.shape
    draws = np.random.default_rng(seed).integers(0, n, size=(resamples, n), dtype=np.int32)
    bounds = []
    for column in range(columns):
        means = []
        for draw in draws:
            held = [float(values[row, column]) for row in draw if not np.isnan(values[row, column])]
            if held:
                means.append(sum(held) / len(held))
        tail = (1 - level) / 2
        bounds.append((float(np.quantile(means, tail)), float(np.quantile(means, 1 - tail))))
    return bounds


def scores(seed: int, n: int, columns: int, missing: float = 0.0) -> Array:
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 6, size=(n, columns)).astype(np.float64)
    table[rng.random((n, columns)) < missing] = np.nan
    return table


def off_the_scale(seed: int, n: int, columns: int, missing: float = 0.0) -> Array:
    """Return scores of which no two are alike, so that rows are drawn and not histograms."""
    return scores(seed, n, columns, missing) + np.random.default_rng(seed).random((n, columns))


@pytest.mark.parametrize("resamples", [1, 63, 64, 65, 200], ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["complete", "with-gaps"])
def test_numbers_are_those_of_a_plain_loop_on_the_same_draws(resamples: int, missing: float) -> None:
    table = off_the_scale(1, 23, 4, missing)
    found = intervals(table, 5, resamples, 0.9)
    expected = by_loop(table, 5, resamples, 0.9)
    assert [(i.low, i.high) for i in found] == [pytest.approx(bounds) for bounds in expected]
    assert [i.mean for i in found] == [pytest.approx(mean) for mean in np.nanmean(table, axis=0)]


def test_a_column_with_gaps_leaves_its_complete_neighbours_as_they_are() -> None:
    table = off_the_scale(7, 90, 4)
    alone = intervals(table, 3)
    table[::3, 2] = np.nan
    beside = intervals(table, 3)
    expected = by_loop(table, 3, 400, 0.95)
    assert [i.n for i in beside] == [90, 90, 60, 90]
    assert [beside[c] for c in (0, 1, 3)] == [pytest.approx(alone[c]) for c in (0, 1, 3)]
    assert [(i.low, i.high) for i in beside] == [pytest.approx(bounds) for bounds in expected]


@pytest.mark.parametrize("parts", [1, 2, 3, 6], ids=lambda parts: f"one-{parts}th")
@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["complete", "with-gaps"])
def test_histograms_give_the_intervals_that_rows_give(parts: int, missing: float) -> None:
    """The same means but for Monte-Carlo error, of which a bound of 20,000 resamples has 0.02 standard errors."""
    table = scores(1, 500, 3, missing) + np.random.default_rng(2).integers(0, parts, (500, 3)) / parts
    by_histogram = intervals(table, 3, 20_000)
    by_row = intervals(table + 1e-6 * np.random.default_rng(4).random((500, 3)), 5, 20_000)
    for ours, theirs, column in zip(by_histogram, by_row, table.T, strict=True):
        error = np.nanstd(column) / np.sqrt(ours.n)
        assert ours.mean == pytest.approx(np.nanmean(column))
        assert ours.low == pytest.approx(theirs.low, abs=0.1 * error)
        assert ours.high == pytest.approx(theirs.high, abs=0.1 * error)


def test_a_histograms_resamples_are_means_that_draws_can_have() -> None:
    """Of thirds, a mean of ten is a multiple of 1/30, which quantiles at tenths of 11 resamples pick out."""
    table = np.random.default_rng(3).integers(3, 16, (10, 5)) / 3
    for found in intervals(table, 1, 11, 0.8):
        for value in found[:3]:
            assert value is not None
            assert value * 30 == pytest.approx(round(value * 30), abs=1e-9)


def test_the_table_is_left_as_it_was() -> None:
    table = scores(8, 40, 3, 0.2)
    before = table.copy()
    intervals(table)
    np.testing.assert_array_equal(table, before)


def test_the_linear_algebra_library_has_its_threads_back_afterwards() -> None:
    def threads() -> list[int]:
        return [each["num_threads"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"]

    before = threads()
    intervals(scores(9, 40, 3))
    assert threads() == before


@pytest.mark.parametrize("level", [0.8, 0.95], ids=str)
def test_intervals_agree_with_scipys_percentile_method(level: float) -> None:
    """Bounds are quantiles of 20,000 resampled means each; their own Monte-Carlo error is about 0.003."""
    column = scores(3, 60, 1)
    ours = intervals(column, 1, 20_000, level)[0]
    reference = scipy_stats.bootstrap(
        (column[:, 0],),
        np.mean,
        n_resamples=20_000,
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert ours.low == pytest.approx(reference.low, abs=0.015)
    assert ours.high == pytest.approx(reference.high, abs=0.015)


def test_intervals_agree_with_the_normal_theory_of_large_samples() -> None:
    """For 14,610 episodes of a clean share of 0.877 the paper's Table 17 gives 87.7 [87.1, 88.2]."""
    clean = np.zeros((14_610, 1))
    clean[: round(0.877 * 14_610)] = 1.0
    found = intervals(clean, 0, 1_000)[0]
    assert found.mean == pytest.approx(0.877, abs=5e-5)
    assert found.low == pytest.approx(0.871, abs=0.001)
    assert found.high == pytest.approx(0.882, abs=0.001)
    assert found.n == 14_610


def test_two_values_have_the_three_means_that_two_draws_can_have() -> None:
    """Draws of {1, 5}: mean 1 in a quarter, 3 in half, 5 in a quarter of them."""
    assert intervals([[1.0], [5.0]], resamples=2_000, level=0.4)[0] == Interval(3.0, 3.0, 3.0, 2)
    assert intervals([[1.0], [5.0]], resamples=2_000, level=0.6)[0] == Interval(3.0, 1.0, 5.0, 2)


def test_one_row_has_no_spread() -> None:
    assert intervals([[4.0, NAN]]) == (Interval(4.0, 4.0, 4.0, 1), Interval(None, None, None, 0))


@pytest.mark.parametrize("rows", [0, 1, 5], ids=str)
def test_a_column_without_observations_has_no_mean(rows: int) -> None:
    assert intervals(np.full((rows, 2), np.nan)) == (Interval(None, None, None, 0),) * 2


def test_a_missing_observation_is_left_out_and_no_zero() -> None:
    found = intervals([[4.0], [NAN], [4.0], [NAN]])[0]
    assert found == Interval(4.0, 4.0, 4.0, 2)


@pytest.mark.parametrize("seed", range(6), ids=str)
def test_a_column_that_no_resample_holds_still_has_its_mean(seed: int) -> None:
    """One observation in 50 rows is in a resample with probability 0.64: some seeds draw none."""
    table = np.full((50, 1), np.nan)
    table[0] = 3.0
    found = intervals(table, seed, resamples=1)[0]
    assert (found.mean, found.n) == (3.0, 1)
    assert (found.low, found.high) in {(3.0, 3.0), (None, None)}


def test_the_same_seed_gives_the_same_numbers() -> None:
    assert intervals(scores(2, 30, 3), 9) == intervals(scores(2, 30, 3), 9)


def test_rows_are_drawn_whole_so_equal_columns_have_equal_intervals() -> None:
    column = scores(4, 40, 1)
    first, second = intervals(np.hstack([column, column]))
    assert first == second


def test_a_column_does_not_depend_on_its_neighbours() -> None:
    table = scores(5, 40, 3, 0.2)
    assert intervals(table)[1] == pytest.approx(intervals(table[:, [1]])[0])


TABLES = st.tuples(st.integers(1, 12), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(1, 5).map(float) | st.just(NAN))
)


@given(table=TABLES, shift=st.integers(-50, 50), seed=st.integers(0, 99))
def test_shifting_a_column_shifts_its_interval(table: Array, shift: int, seed: int) -> None:
    for before, after in zip(intervals(table, seed), intervals(table + shift, seed), strict=True):
        assert after.n == before.n
        moved = [None if value is None else value + shift for value in before[:3]]
        assert list(after[:3]) == [None if value is None else pytest.approx(value, abs=1e-9) for value in moved]


@given(table=TABLES, seed=st.integers(0, 99))
def test_an_interval_lies_within_its_observations(table: Array, seed: int) -> None:
    for column, found in zip(table.T, intervals(table, seed), strict=True):
        there = column[~np.isnan(column)]
        assert found.n == len(there)
        if found.mean is not None and found.low is not None and found.high is not None:
            assert there.min() <= found.low <= found.high <= there.max()
            assert found.mean == pytest.approx(float(np.mean(there)))


@given(seed=st.integers(0, 99))
def test_a_wider_level_never_gives_a_narrower_interval(seed: int) -> None:
    table = scores(6, 20, 1)
    narrow, wide = (intervals(table, seed, level=level)[0] for level in (0.5, 0.95))
    assert None not in (narrow.low, narrow.high, wide.low, wide.high)
    assert (wide.low or 0) <= (narrow.low or 0) <= (narrow.high or 0) <= (wide.high or 0)


def test_coverage_is_near_its_level() -> None:
    """300 samples of 80 from a known mean: 95% intervals cover it 285 times, give or take 4 (binomial sd)."""
    rng = np.random.default_rng(8)
    covered = 0
    for seed in range(300):
        found = intervals(rng.integers(1, 6, size=(80, 1)).astype(np.float64), seed, 300)[0]
        covered += (found.low or 0) <= 3.0 <= (found.high or 0)
    assert 270 <= covered <= 297
