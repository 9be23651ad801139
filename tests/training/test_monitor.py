"""The monitor's signs by hand, and what ends a run."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.training.monitor import Limits, Look, Monitor, Trip, length_correlation, normalised, repetition, zero_variance

LIMITS = Limits(3, 0.2, 2, 1.0, 0.5, 0.8, 0.4, 0.6, 0.25, 0.3)


def test_a_gold_score_that_falls_while_the_reward_rises_ends_the_run_after_patience() -> None:
    monitor = Monitor(LIMITS)
    assert monitor.look(Look(0, 1.0, 3.0)) is None
    assert monitor.look(Look(5, 1.5, 3.5)) is None
    assert monitor.look(Look(10, 1.8, 3.2)) is None  # behind, once
    trip = monitor.look(Look(15, 2.0, 3.1))
    reason = "the gold score fell from 3.500 at step 5 to 3.100 while the reward went from 1.500 to 2.000"
    assert trip == Trip(15, "gold_gap", f"{reason}: the reward is being exploited")


@pytest.mark.parametrize(
    "looks",
    [
        [(0, 1.0, 3.0), (1, 2.0, 3.0), (2, 3.0, 2.9), (3, 4.0, 2.85)],  # not far enough
        [(0, 1.0, 3.0), (1, 0.5, 2.0), (2, 0.4, 1.0)],  # both fall: worse, and no hack
        [(0, 1.0, 3.0), (1, 2.0, 2.0), (2, 2.0, 2.9), (3, 3.0, 2.0)],  # never twice in a row
        [(0, 1.0, math.nan), (1, 2.0, 3.0), (2, 3.0, math.nan)],
    ],
)
def test_nothing_else_is_a_gap(looks: list[tuple[int, float, float]]) -> None:
    monitor = Monitor(LIMITS)
    assert [monitor.look(Look(*each)) for each in looks] == [None] * len(looks)


def test_a_sign_ends_the_run_when_its_mean_over_the_window_is_above_its_limit() -> None:
    monitor = Monitor(LIMITS)
    found = [monitor.step(number, {"truncated": value}) for number, value in enumerate((1.0, 0.0, 0.4, 0.9, 0.9), 1)]
    assert found[:4] == [None] * 4  # means: too few, too few, 0.47, 0.43
    assert found[4] == Trip(5, "truncated", "truncated 0.733 in the mean of 3 steps, above 0.5")


def test_a_negative_correlation_with_length_counts_as_well_and_a_missing_sign_does_not() -> None:
    monitor = Monitor(LIMITS)
    assert monitor.step(1, {"length_correlation": math.nan}) is None
    found = [monitor.step(n, {"length_correlation": -0.9}) for n in (2, 3, 4)]
    assert found == [None, None, Trip(4, "length_correlation", found[2].reason if found[2] else "")]
    unwatched = Monitor(LIMITS._replace(kl=None))
    assert [unwatched.step(n, {"kl": 99.0}) for n in range(5)] == [None] * 5


def test_repetition_is_the_share_of_sequences_that_stood_there_before() -> None:
    assert repetition("a b c d e f g") == 0.0
    assert repetition("a b c d a b c d") == pytest.approx(1 / 5)  # abcd bcda cdab dabc abcd
    assert repetition("x " * 20) == pytest.approx(16 / 17)
    assert repetition("too short here") == 0.0


@given(st.text(alphabet="ab ", max_size=60))
def test_repetition_is_a_share(text: str) -> None:
    assert 0.0 <= repetition(text) < 1.0


def test_groups_without_variance_teach_nothing() -> None:
    assert zero_variance([1, 1, 1, 2, 3, 3], 2) == pytest.approx(2 / 3)
    assert zero_variance([math.nan, 1, math.nan, math.nan], 2) == 1.0
    assert math.isnan(zero_variance([math.nan] * 4, 2))


def test_rewards_are_normalised_within_groups_and_a_missing_one_is_in_none() -> None:
    assert normalised([1, 3, 10, 10], 2) == pytest.approx([-(0.5**0.5), 0.5**0.5, 0, 0])
    assert normalised([0, math.nan, 4, 2], 4) == pytest.approx([-1.0, 0.0, 1.0, 0.0])  # mean 2, spread 2
    assert normalised([math.nan, 7, math.nan, math.nan], 2) == [0.0] * 4


def test_length_and_reward_correlate_within_groups_only() -> None:
    # between groups the longer earn more, within them less
    assert length_correlation([1, 2, 11, 12], [6, 5, 26, 25], 2) == pytest.approx(-1.0)
    assert length_correlation([1, 2, 3, 4], [1, 2, 3, 4], 4) == pytest.approx(1.0)
    assert math.isnan(length_correlation([1, 1, 1], [1, 2, 3], 3))
    assert length_correlation([1, math.nan, 2], [5, 99, 6], 3) == pytest.approx(1.0)
