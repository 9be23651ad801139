"""Resampling by matrix products: against plain loops, in chunks of any size, of items, clusters and kinds of items."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import threadpoolctl
from hypothesis import given
from hypothesis import strategies as st

from ccfw.stats import resampling
from ccfw.stats.resampling import Resampled, Slices, distinct_columns, ratios, resampled
from tests.stats.samples import Array, by_loop, ratings

MEAN = ratios(1, np.zeros(1, dtype=np.intp))
SMALL = Slices.of({"half": ["a", "b"] * 20, "fifth": [str(item % 5) for item in range(40)]})


def drawn(features: Any, seed: int = 0, resamples: int = 100, **options: Any) -> Resampled:
    return resampled(
        np.asarray(features), lambda sums: sums, np.random.default_rng(seed), resamples=resamples, **options
    )


def test_slices_number_groups_in_alphabetical_order() -> None:
    found = Slices.of({"region": ["VN", "SG", "VN"]})
    assert found.names == (("all", "all"), ("region", "SG"), ("region", "VN"))
    assert found.codes[0].tolist() == [1, 0, 1]
    assert found.sums(np.array([[1, 10], [2, 20], [4, 40]])).tolist() == [[7, 70], [2, 20], [5, 50]]


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "floats"])
@pytest.mark.parametrize("clustered", [False, True], ids=["items", "clusters"])
def test_sums_are_those_of_a_plain_loop_on_the_same_draws(whole: bool, clustered: bool) -> None:
    features = np.random.default_rng(1).integers(-1000, 1000, (40, 3)) * (1 if whole else 0.37)
    clusters = np.random.default_rng(2).permutation(np.repeat(np.arange(10), 4)) if clustered else None
    units = [np.flatnonzero(clusters == each) for each in range(10)] if clustered else list(np.arange(40)[:, None])

    def sums(items: np.ndarray[Any, np.dtype[np.int64]]) -> Array:
        parts = [features[items].sum(axis=0)]
        for codes, size in zip(SMALL.codes, SMALL.sizes, strict=True):
            parts += [features[items][codes[items] == group].sum(axis=0) for group in range(size)]
        return np.stack(parts)

    found = drawn(features, 3, 130, slices=SMALL, clusters=clusters)
    np.testing.assert_allclose(found.draws, by_loop(sums, 3, units, 130), atol=1e-9)
    np.testing.assert_allclose(found.point, sums(np.arange(40)), atol=1e-9)


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
@pytest.mark.parametrize("kinds", [False, True], ids=["units", "kinds"])
def test_chunks_of_any_size_give_the_same(chunk: int, kinds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    features = np.random.default_rng(4).integers(0, 2 if kinds else 10_000, (500, 2))
    before = drawn(features, 5, 150)
    monkeypatch.setattr(resampling, "CHUNK", chunk)
    after = drawn(features, 5, 150)
    np.testing.assert_array_equal(before.draws, after.draws)


def test_threads_make_no_difference_and_are_given_back() -> None:
    features = np.random.default_rng(6).integers(0, 1000, (900, 40))
    found = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads, user_api="blas"):
            found.append(drawn(features, 7).draws)
            assert {e["num_threads"] for e in threadpoolctl.threadpool_info() if e["user_api"] == "blas"} == {threads}
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("largest", [1, 10**5, 10**9, 10**12])
def test_whole_numbers_of_any_size_are_added_exactly(largest: int) -> None:
    """Twenty values of nearly the largest: beyond 2^24 single precision would lose their last digit."""
    features = largest - np.arange(20)[:, None]
    found = drawn(features, 8, 50)
    expected = by_loop(lambda items: features[items, 0].sum(), 8, list(np.arange(20)[:, None]), 50)
    assert found.draws[:, 0, 0].astype(np.int64).tolist() == expected.astype(np.int64).tolist()
    assert len(np.unique(found.draws)) > 20


def test_every_resample_holds_as_many_units_as_there_are() -> None:
    for features in (np.ones((77, 1), dtype=np.int64), np.arange(300)[:, None] * 0 + 1):
        assert set(drawn(features).draws.ravel().tolist()) == {float(len(features))}


def test_kinds_of_items_are_drawn_as_often_as_items_would_be() -> None:
    """600 items of three kinds in two groups: means and covariances of the counts are those of the multinomial."""
    rng = np.random.default_rng(9)
    kind, group = rng.integers(0, 3, 600), rng.integers(0, 2, 600)
    features = np.eye(3, dtype=np.int64)[kind]
    found = drawn(features, 10, 20_000, slices=Slices.of({"group": [str(each) for each in group]}))
    cells = found.draws[:, 1:].reshape(20_000, 6)
    shares = np.array([((kind == k) & (group == g)).mean() for g in range(2) for k in range(3)])
    np.testing.assert_array_equal(cells.sum(axis=1), 600)
    np.testing.assert_allclose(cells.mean(axis=0), 600 * shares, atol=4 * np.sqrt(600 * 0.25 / 20_000))
    covariance = 600 * (np.diag(shares) - np.outer(shares, shares))
    np.testing.assert_allclose(np.cov(cells.T), covariance, atol=4 * 600 * 0.25 / np.sqrt(20_000) * 2)
    np.testing.assert_array_equal(found.draws[:, 0], found.draws[:, 1:].sum(axis=1))


def test_kinds_and_items_give_the_same_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.column_stack([ratings(11, 400, 1)[:, 0].astype(np.int64), np.ones(400, dtype=np.int64)])
    options: dict[str, Any] = {"resamples": 20_000, "accelerate": True}
    kinds = resampled(table, MEAN, np.random.default_rng(1), **options)
    monkeypatch.setattr(resampling, "_FEW", 401)
    items = resampled(table, MEAN, np.random.default_rng(2), **options)
    assert not np.array_equal(kinds.draws, items.draws)
    error = table[:, 0].std() / 20
    for share in (0.025, 0.5, 0.975):
        assert np.quantile(kinds.draws, share) == pytest.approx(np.quantile(items.draws, share), abs=0.1 * error)
    assert kinds.point == items.point
    assert kinds.acceleration == pytest.approx(items.acceleration)


def test_the_acceleration_is_that_of_the_jackknife() -> None:
    values = np.random.default_rng(12).exponential(size=(30, 1))
    features = np.column_stack([values, np.ones(30)])
    found = resampled(features, MEAN, np.random.default_rng(1), resamples=5, accelerate=True)
    left = np.array([np.delete(values, item).mean() for item in range(30)])
    apart = left.mean() - left
    assert found.acceleration is not None
    assert found.acceleration.item() == pytest.approx((apart**3).sum() / (6 * (apart**2).sum() ** 1.5))


def test_clusters_of_one_are_items() -> None:
    features = np.random.default_rng(13).integers(0, 10_000, (50, 2))
    np.testing.assert_array_equal(drawn(features).draws, drawn(features, clusters=np.arange(50)).draws)


@given(seed=st.integers(0, 99), names=st.permutations(list("abcdefgh")))
def test_what_clusters_are_called_makes_no_difference_to_how_far_resamples_spread(seed: int, names: list[str]) -> None:
    """The draws differ by a permutation of the units; with two units, one value each, the three sums are the same."""
    features = np.array([[1], [1], [5], [5]])
    found = drawn(features, seed, 20, clusters=np.array([names[0], names[0], names[1], names[1]]))
    assert set(found.draws.ravel().tolist()) <= {4.0, 12.0, 20.0}


def test_a_resample_that_holds_nothing_of_a_slice_has_no_figure() -> None:
    features = np.array([[3, 1], [4, 1], [5, 1]])
    slices = Slices.of({"region": ["SG", "VN", "VN"]})
    found = resampled(features, MEAN, np.random.default_rng(1), resamples=200, slices=slices)
    empty = np.isnan(found.draws[:, :, 0]).mean(axis=0)
    assert empty[0] == 0
    assert empty[1] == pytest.approx((2 / 3) ** 3, abs=0.12)
    assert empty[2] == pytest.approx((1 / 3) ** 3, abs=0.06)


@pytest.mark.parametrize("slices", [None, Slices.of({"region": []})], ids=["all", "by-region"])
def test_no_items_have_no_figure(slices: Slices | None) -> None:
    none = np.zeros((0, 2), dtype=np.int64)
    found = resampled(none, MEAN, np.random.default_rng(1), resamples=3, accelerate=True, slices=slices)
    assert found.point.shape == (1, 1)
    assert np.isnan(found.point).all()
    assert np.isnan(found.draws).all()


@pytest.mark.parametrize("clusters", [None, np.arange(40) % 7], ids=["items", "clusters"])
@pytest.mark.parametrize("accelerate", [False, True])
def test_partitions_crossed_or_apart_give_the_same(
    clusters: Any, accelerate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = np.column_stack([np.random.default_rng(16).integers(0, 10_000, 40), np.ones(40, dtype=np.int64)])
    options: dict[str, Any] = {"resamples": 70, "slices": SMALL, "clusters": clusters, "accelerate": accelerate}
    crossed = resampled(features, MEAN, np.random.default_rng(1), **options)
    monkeypatch.setattr(resampling, "_MOST_CELLS", 1)
    apart = resampled(features, MEAN, np.random.default_rng(1), **options)
    for mine, its in zip(crossed, apart, strict=True):
        np.testing.assert_array_equal(mine, its)
    assert crossed.point[:, 0].tolist() == pytest.approx(
        [
            features[:, 0].mean(),
            *(features[k::2, 0].mean() for k in range(2)),
            *(features[k::5, 0].mean() for k in range(5)),
        ]
    )


def test_a_group_without_items_has_no_figure() -> None:
    slices = Slices((("all", "all"), ("r", "a"), ("r", "b")), (np.zeros(5, dtype=np.int64),), (2,))
    found = resampled(np.ones((5, 2)), MEAN, np.random.default_rng(1), resamples=4, slices=slices, accelerate=True)
    np.testing.assert_array_equal(found.point[:, 0], [1.0, 1.0, np.nan])


def test_the_same_seed_gives_the_same_numbers() -> None:
    features = np.random.default_rng(14).random((50, 2))
    np.testing.assert_array_equal(drawn(features, 1).draws, drawn(features, 1).draws)
    assert not np.array_equal(drawn(features, 1).draws, drawn(features, 2).draws)


def test_features_are_left_as_they_were() -> None:
    features = np.random.default_rng(15).random((50, 2))
    before = features.copy()
    drawn(features, clusters=np.arange(50) % 7, accelerate=True)
    np.testing.assert_array_equal(features, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clusters": np.arange(3)}, "clusters of 3 items for 4 items"),
        ({"slices": Slices.of({"region": ["SG"]})}, "a partition of 1 items for 4 items"),
    ],
)
def test_labels_of_other_items_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        drawn(np.arange(4)[:, None], **options)
    assert str(caught.value) == message


def test_equal_columns_are_found() -> None:
    table = np.array([[1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 1]])
    distinct, places = distinct_columns(table)
    assert distinct.tolist() == [[1, 0, 0], [1, 1, 1], [0, 0, 1]]
    assert places.tolist() == [0, 1, 0, 2]
