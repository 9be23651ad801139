"""Percentile, BCa and studentised intervals: against scipy, by hand, and by their properties."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.stats.intervals import Bounds, Method, bca, contrast, p_values, percentile, ratio_intervals
from ccfw.stats.resampling import Resampled, Slices, ratios, resampled
from tests.stats.samples import NAN, Array, draws_of

scipy_stats: Any = import_module("scipy.stats")  # has no stubs

METHODS: tuple[Method, ...] = ("percentile", "bca", "studentised")


def of_mean(values: Array, method: Method, seed: int = 0, resamples: int = 2_000, **options: Any) -> Bounds:
    column = values[:, None]
    options = {"level": 0.95} | options
    return ratio_intervals(
        column, np.ones_like(column), np.random.default_rng(seed), resamples=resamples, method=method, **options
    )


def of_draws(*columns: list[float], point: list[float]) -> Resampled:
    return Resampled(np.array([point]), np.array(columns, dtype=np.float64).T[:, None, :], None)


def test_percentiles_by_hand() -> None:
    found = percentile(of_draws([4, 1, 2, 3, 5], [1, NAN, 3, NAN, 2], [NAN] * 5, point=[3, 2, NAN]), 0.5)
    np.testing.assert_array_equal(found.low, [[2, 1.5, NAN]])
    np.testing.assert_array_equal(found.high, [[4, 2.5, NAN]])


@pytest.mark.parametrize(("method", "name"), [("percentile", "percentile"), ("bca", "BCa")])
@pytest.mark.parametrize("level", [0.8, 0.95], ids=str)
def test_intervals_agree_with_scipys(method: Method, name: str, level: float) -> None:
    """A skewed sample, on which the two methods differ by 0.2 standard errors; Monte-Carlo error is 0.02 of one."""
    values = np.random.default_rng(1).exponential(size=40)
    ours = of_mean(values, method, resamples=20_000, level=level)
    theirs = scipy_stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, confidence_level=level, method=name, rng=np.random.default_rng(2)
    ).confidence_interval
    error = values.std() / np.sqrt(40)
    assert ours.low.item() == pytest.approx(theirs.low, abs=0.09 * error)
    assert ours.high.item() == pytest.approx(theirs.high, abs=0.09 * error)


def test_bca_is_off_the_percentiles_on_a_skewed_sample() -> None:
    values = np.random.default_rng(1).exponential(size=40)
    plain, corrected = of_mean(values, "percentile"), of_mean(values, "bca")
    assert corrected.low > plain.low
    assert corrected.high > plain.high


def test_studentised_by_a_plain_loop_on_the_same_draws() -> None:
    """Error of a mean with an item each: √Σ(x − x̄)² / n."""
    values = np.random.default_rng(3).exponential(size=25)

    def error(sample: Array) -> float:
        return float(np.sqrt(((sample - sample.mean()) ** 2).sum())) / 25

    scaled = [(values[draw].mean() - values.mean()) / error(values[draw]) for draw in draws_of(4, 25, 300)]
    high, low = np.quantile(scaled, [0.05, 0.95])
    found = of_mean(values, "studentised", 4, 300, level=0.9)
    assert found.low.item() == pytest.approx(values.mean() - low * error(values))
    assert found.high.item() == pytest.approx(values.mean() - high * error(values))


def test_studentised_clusters_and_slices_by_a_plain_loop() -> None:
    rng = np.random.default_rng(5)
    values, there = rng.random((36, 2)), rng.random((36, 2)) < 0.8
    values[~there] = 0.0
    cluster, half = np.repeat(np.arange(12), 3), np.arange(36) % 2
    found = ratio_intervals(
        values,
        there,
        np.random.default_rng(6),
        resamples=80,
        level=0.9,
        method="studentised",
        slices=Slices.of({"half": [str(each) for each in half]}),
        clusters=cluster,
    )
    items = [np.flatnonzero((cluster == unit) & (half == 1)) for unit in range(12)]
    sums = np.array([[values[each, 1].sum(), there[each, 1].sum()] for each in items])

    def figure(rows: Array) -> tuple[float, float]:
        ratio = rows[:, 0].sum() / rows[:, 1].sum()
        return float(ratio), float(np.sqrt(((rows[:, 0] - ratio * rows[:, 1]) ** 2).sum()) / rows[:, 1].sum())

    point, error = figure(sums)
    scaled = [(ratio - point) / spread for ratio, spread in (figure(sums[draw]) for draw in draws_of(6, 12, 80))]
    high, low = np.quantile(scaled, [0.05, 0.95])
    assert found.point[2, 1] == pytest.approx(point)
    assert found.low[2, 1] == pytest.approx(point - low * error)
    assert found.high[2, 1] == pytest.approx(point - high * error)


@pytest.mark.parametrize("method", METHODS)
def test_a_sample_without_spread_has_an_interval_without_width(method: Method) -> None:
    found = of_mean(np.full(20, 3.0), method)
    assert (found.low.item(), found.point.item(), found.high.item()) == (3.0, 3.0, 3.0)


@pytest.mark.parametrize("method", METHODS)
def test_no_observation_has_no_interval(method: Method) -> None:
    found = ratio_intervals(
        np.zeros((4, 1)), np.zeros((4, 1)), np.random.default_rng(1), resamples=50, level=0.9, method=method
    )
    assert np.isnan([found.point, found.low, found.high]).all()


def test_studentised_has_no_bounds_where_resamples_without_spread_abound() -> None:
    """Of 4 values one of which differs, (3/4)^4 of the resamples are all alike and miss by infinitely many errors."""
    found = of_mean(np.array([1.0, 1.0, 1.0, 2.0]), "studentised")
    assert found.point.item() == 1.25
    assert np.isnan([found.low, found.high]).all()


def test_bca_needs_the_jackknife() -> None:
    with pytest.raises(ValueError) as caught:
        bca(of_draws([1.0, 2.0], point=[1.0]), 0.9)
    assert str(caught.value) == "BCa needs figures resampled with accelerate=True"


def test_p_values_by_hand() -> None:
    """Point 2, draws 2 ± 0, 1, 2, 3: as far as 2 from the point lie four of seven."""
    found = of_draws([2, 1, 3, 0, 4, -1, 5], [2] * 7, [NAN] * 7, point=[2, 2, NAN])
    np.testing.assert_array_equal(p_values(found), [[5 / 8, 1 / 8, NAN]])
    np.testing.assert_array_equal(p_values(found, null=2.0), [[1, 1, NAN]])


def test_p_values_are_uniform_where_nothing_differs() -> None:
    rng = np.random.default_rng(7)
    features = [np.column_stack([rng.normal(size=60), np.ones(60)]) for _ in range(400)]
    mean = ratios(1, np.zeros(1, dtype=np.intp))
    found = [p_values(resampled(each, mean, rng, resamples=199)).item() for each in features]
    assert scipy_stats.kstest(found, "uniform").pvalue > 0.01


def test_combinations_of_figures_are_made_resample_by_resample() -> None:
    found = contrast(of_draws([1, 2, 3], [3, 2, 1], point=[2, 2]), np.array([[1.0, 0.5], [-1.0, 0.5]]))
    assert found.point.tolist() == [[0, 2]]
    assert found.draws.tolist() == [[[-2, 2]], [[0, 2]], [[2, 2]]]


@given(
    seed=st.integers(0, 99),
    method=st.sampled_from(METHODS),
    shift=st.integers(-9, 9),
    factor=st.sampled_from([1, 2, 8]),
)
def test_another_scale_gives_the_same_interval_on_it(seed: int, method: Method, shift: int, factor: int) -> None:
    values = np.random.default_rng(seed).exponential(size=30)
    before, after = (of_mean(each, method, seed, 200) for each in (values, values * factor + shift))
    for mine, its in zip(before, after, strict=True):
        np.testing.assert_allclose(mine * factor + shift, its, atol=1e-9)


@given(seed=st.integers(0, 99), method=st.sampled_from(METHODS))
def test_a_higher_level_is_no_narrower(seed: int, method: Method) -> None:
    values = np.random.default_rng(seed).exponential(size=30)
    narrow, wide = (of_mean(values, method, seed, 200, level=level) for level in (0.5, 0.95))
    assert (wide.low <= narrow.low).all()
    assert (narrow.low <= narrow.high).all()
    assert (narrow.high <= wide.high).all()
