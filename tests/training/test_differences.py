"""Differences of what was scored on the same items, tested all together."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from ccfw.align.alignment import Terms
from ccfw.training.differences import Item, averages, differences

TERMS = Terms(seed=5, resamples=2000, level=0.95)


def scored(*values: float, each: int = 1) -> dict[Item, float]:
    """Scores of as many clusters, each of as many items of one score."""
    return {Item(f"c{n}", str(k)): value for n, value in enumerate(values) for k in range(each)}


def test_the_better_one_stands_first_and_the_difference_is_over_what_both_have() -> None:
    one, other = scored(*[1.0] * 12), scored(*[3.0] * 6, *[2.0] * 5)
    (found,) = differences({"one": {"m": one}, "other": {"m": other}}, TERMS)
    assert (found.measure, found.first, found.second, found.items) == ("m", "other", "one", 11)
    assert found.figure.value == pytest.approx((6 * 2 + 5 * 1) / 11)
    value, low, high = found.figure
    assert value is not None
    assert low is not None
    assert high is not None
    assert 1 < low < value < high < 2


def test_an_interval_is_that_of_whole_clusters() -> None:
    steps = [0.0, 1.0] * 5
    (found,) = differences({"a": {"m": scored(*steps, each=30)}, "b": {"m": scored(*[0.0] * 10, each=30)}}, TERMS)
    # of ten clusters, half of them 1: the binomial's 2.5 and 97.5 per cent are 2 and 8 of 10
    assert tuple(found.figure) == pytest.approx((0.5, 0.2, 0.8))


def test_a_p_value_is_how_often_signs_of_clusters_give_as_much() -> None:
    apart = [3.0, 1.0, 2.0, 2.0, -1.0, 1.0, 4.0, 1.0, -2.0, 2.0]
    (found,) = differences({"a": {"m": scored(*apart)}, "b": {"m": scored(*[0.0] * 10)}}, TERMS)
    sums = np.array(list(product((-1, 1), repeat=10))) @ np.array(apart)  # of one figure |sum| orders as |t| does
    exact = float(np.mean(np.abs(sums) >= sum(apart) - 1e-9))
    assert found.p == pytest.approx(exact, abs=0.02)


def test_p_values_are_adjusted_over_all_differences() -> None:
    rng = np.random.default_rng(0)
    clear, noise = scored(*(rng.normal(1, 1, 12))), {name: scored(*rng.normal(0, 1, 12)) for name in "xyz"}
    nothing = scored(*[0.0] * 12)
    (alone,) = differences({"a": {"m": clear}, "b": {"m": nothing}}, TERMS)
    given = {"a": {"m": clear, **noise}, "b": dict.fromkeys(("m", *noise), nothing)}
    many = {each.measure: each.p for each in differences(given, TERMS)}
    assert many["m"] > alone.p
    assert all(p >= many["m"] for p in many.values())


def test_over_fewer_than_ten_clusters_there_is_no_interval_and_no_test() -> None:
    (found,) = differences({"a": {"m": scored(*[2.0] * 9, each=5)}, "b": {"m": scored(*[1.0] * 9, each=5)}}, TERMS)
    assert (found.figure.value, found.figure.low, found.figure.high, found.items) == (1.0, None, None, 45)
    assert math.isnan(found.p)


def test_one_alone_or_nothing_in_common_has_no_differences() -> None:
    assert differences({"a": {"m": scored(1.0, 2.0)}}, TERMS) == []
    assert differences({"a": {"m": scored(1.0)}, "b": {"n": scored(1.0)}}, TERMS) == []
    assert differences({"a": {}, "b": {}}, TERMS) == []


def test_an_item_scored_several_times_counts_with_its_mean() -> None:
    assert averages({Item("c", "x"): [1.0, 0.0, 0.5]}) == {Item("c", "x"): 0.5}
