"""Prediction-powered inference: by hand, against ppi-python, and how often it covers."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.stats.ppi import Powered, powered_difference, powered_mean, powered_slices
from tests.stats.samples import NAN, Array

ppi_py: Any = import_module("ppi_py")  # has no stubs


def sample(seed: int, rated: int, judged: int, noise: float = 0.5) -> tuple[Array, Array, Array]:
    """Return human ratings, the judge's of the same items, and the judge's of others; the judge is stricter."""
    rng = np.random.default_rng(seed)
    true = rng.normal(3.5, 0.8, rated + judged)
    judge = true - 0.3 + rng.normal(0, noise, rated + judged)
    human = true[:rated] + rng.normal(0, 0.3, rated)
    return human, judge[:rated], judge[rated:]


def test_a_mean_by_hand() -> None:
    """Humans 4 2 3, judge 3 1 3: off by 2/3. Judged 1 2 3 4 with λ = 1: 2.5 + 2/3. Variances: of the judged 5/3, over
    4; of the rest 1 1 0, 1/3, over 3."""
    found = powered_mean(np.array([4.0, 2, 3]), np.array([3.0, 1, 3]), np.array([1.0, 2, 3, 4]), weight=1.0)
    assert found.estimate == pytest.approx(2.5 + 2 / 3)
    assert found.error == pytest.approx(math.sqrt(5 / 3 / 4 + 1 / 3 / 3))
    assert found.high - found.estimate == pytest.approx(1.959964 * found.error)
    assert found.estimate - found.low == pytest.approx(1.959964 * found.error)
    assert (found.rated, found.judged) == (3, 4)
    assert found.classical == pytest.approx(3)
    assert found.classical_error == pytest.approx(math.sqrt(1 / 3))
    assert found.effective == pytest.approx(3 * (1 / 3) / (5 / 12 + 1 / 9))
    assert found.bought == pytest.approx(found.effective - 3)


def test_the_tuned_weight_by_hand() -> None:
    """Covariance of human 4 2 3 and judge 3 1 3 is 1, over 3; the judge's variance 4/3 over 3 and 5/3 over 4."""
    found = powered_mean(np.array([4.0, 2, 3]), np.array([3.0, 1, 3]), np.array([1.0, 2, 3, 4]))
    assert found.weight == pytest.approx((1 / 3) / (4 / 9 + 5 / 12))


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_are_those_of_ppi_python(weight: float, level: float) -> None:
    """Its variances divide by n and N where ours divide by one less; with n = N that is one factor."""
    human, judge, judged = sample(1, 120, 120)
    ours = powered_mean(human, judge, judged, weight=weight, level=level)
    low, high = ppi_py.ppi_mean_ci(human, judge, judged, alpha=1 - level, lam=weight)
    assert ours.estimate == pytest.approx((low + high).item() / 2)
    assert (ours.high - ours.low) == pytest.approx((high - low).item() * math.sqrt(120 / 119))


@pytest.mark.parametrize("noise", [0.1, 0.5, 3.0])
def test_the_tuned_interval_is_that_of_ppi_python(noise: float) -> None:
    """It tunes by the pooled variance of the judge, ours by the two apart, which for 300 items is nearly the same."""
    human, judge, judged = sample(2, 300, 3_000, noise)
    ours = powered_mean(human, judge, judged)
    low, high = ppi_py.ppi_mean_ci(human, judge, judged, alpha=0.05)
    assert ours.low == pytest.approx(low.item(), abs=0.03 * (high - low).item())
    assert ours.high == pytest.approx(high.item(), abs=0.03 * (high - low).item())


@given(seed=st.integers(0, 99), weight=st.floats(0.0, 1.0), noise=st.sampled_from([0.1, 1.0, 10.0]))
def test_no_weight_gives_a_smaller_error_than_the_tuned_one(seed: int, weight: float, noise: float) -> None:
    human, judge, judged = sample(seed, 30, 200, noise)
    tuned = powered_mean(human, judge, judged)
    assert tuned.error <= powered_mean(human, judge, judged, weight=weight).error + 1e-12
    assert tuned.error <= tuned.classical_error + 1e-12
    assert tuned.effective >= 30 - 1e-9
    assert 0 <= tuned.weight <= 1


def test_a_judge_that_is_people_buys_as_many_ratings_as_it_judged() -> None:
    human, _, judged = sample(3, 50, 950)
    found = powered_mean(human, human, judged, weight=1.0)
    assert found.error == pytest.approx(judged.std(ddof=1) / math.sqrt(950))
    assert found.estimate == pytest.approx(judged.mean())
    tuned = powered_mean(human, human, judged)
    assert tuned.effective == pytest.approx(1_000, rel=0.2)


def test_a_judge_that_says_nothing_is_ignored() -> None:
    human, _, _ = sample(4, 50, 10)
    found = powered_mean(human, np.full(50, 3.0), np.full(500, 3.0))
    assert (found.weight, found.bought) == (0.0, 0.0)
    assert found.estimate == found.classical == pytest.approx(human.mean())


def test_a_judge_against_people_is_ignored_and_not_turned_round() -> None:
    human, judge, judged = sample(5, 50, 500)
    found = powered_mean(human, -judge, -judged)
    assert found.weight == 0.0


def test_ratings_without_spread_have_no_error() -> None:
    found = powered_mean(np.full(5, 3.0), np.full(5, 2.0), np.full(9, 2.0))
    assert (found.estimate, found.low, found.high, found.error) == (3.0, 3.0, 3.0, 0.0)
    assert found.effective == math.inf


def test_clusters_of_alike_items_count_once() -> None:
    """Every item three times, in a cluster: the estimate and its error are those of one item each."""
    human, judge, judged = sample(6, 40, 300)
    once = powered_mean(human, judge, judged)
    thrice = powered_mean(
        np.repeat(human, 3),
        np.repeat(judge, 3),
        np.repeat(judged, 3),
        clusters=np.repeat(np.arange(40), 3),
        judged_clusters=np.repeat(np.arange(300), 3),
    )
    assert thrice.estimate == pytest.approx(once.estimate)
    assert thrice.error == pytest.approx(once.error)
    assert thrice.classical_error == pytest.approx(once.classical_error)


def test_a_difference_by_hand() -> None:
    first = Powered(4.0, 3.4, 4.6, 0.3, 0.5, 10, 100, 4.1, 0.6)
    second = Powered(3.0, 2.2, 3.8, 0.4, 0.7, 20, 200, 3.3, 0.8)
    found = powered_difference(first, second)
    assert found[:4] == pytest.approx((1.0, 1 - 1.959964 * 0.5, 1 + 1.959964 * 0.5, 0.5))
    assert (found.rated, found.judged) == (30, 300)
    assert found[7:] == pytest.approx((0.8, 1.0))
    assert math.isnan(found.weight)


def test_slices_are_means_of_their_own() -> None:
    human, judge, judged = sample(7, 60, 400)
    few, many = np.arange(60) % 3, np.arange(400) % 4
    few[0] = 7
    found = powered_slices(human, judge, few, judged, many)
    assert list(found) == [0, 1, 2, 3, 7]
    assert found[1] == powered_mean(human[few == 1], judge[few == 1], judged[many == 1])
    assert found[3] is None
    assert found[7] is None


@pytest.mark.parametrize(
    ("human", "judge", "judged", "message"),
    [
        ([1.0, 2.0], [1.0], [1.0, 2.0], "human and judge must be of the same items, and all three without nan"),
        ([1.0, NAN], [1.0, 2.0], [1.0, 2.0], "human and judge must be of the same items, and all three without nan"),
        ([1.0, 2.0], [1.0, 2.0], [NAN, 2.0], "human and judge must be of the same items, and all three without nan"),
        ([1.0], [1.0], [1.0, 2.0], "1 rated and 2 judged units: two of each are needed"),
        ([1.0, 2.0], [1.0, 2.0], [], "2 rated and 0 judged units: two of each are needed"),
    ],
)
def test_what_gives_no_mean_is_refused(
    human: list[float], judge: list[float], judged: list[float], message: str
) -> None:
    with pytest.raises(ValueError) as caught:
        powered_mean(np.array(human), np.array(judge), np.array(judged))
    assert str(caught.value) == message


def test_intervals_cover_the_humans_mean_and_not_the_judges() -> None:
    """1,000 samples whose human mean is 3.5: 95 % intervals cover it in 950 ± 28 (four binomial sd)."""
    found = [powered_mean(*sample(seed, 150, 1_500)) for seed in range(1_000)]
    covered = sum(each.low <= 3.5 <= each.high for each in found)
    assert covered == pytest.approx(950, abs=28)
    assert sum(each.low <= 3.2 <= each.high for each in found) < 50
    assert np.median([each.effective for each in found]) > 300
