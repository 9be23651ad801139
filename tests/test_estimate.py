"""What a dry run says that a job would take: means, intervals and sums worked out by hand."""

from __future__ import annotations

import math
import re

import pytest

from ccfw.estimate import (
    HEAD,
    LEAST_PILOT,
    Estimate,
    Mean,
    PerCall,
    mean_of,
    product,
    sum_of,
    table,
    tries_of,
)

CALL = PerCall(1000, 200, 6.0, Mean(0.02, 0.001), 0.01, 0.015, 400)


def estimate(calls: Mean, call: PerCall = CALL, *, role: str = "judge", at_once: int = 100) -> Estimate:
    return Estimate("evaluate", role, "gpt5mini", calls, 600, 1200, call, at_once, otherwise=role == "judge")


def test_nineteen_values_are_no_pilot() -> None:
    assert mean_of([1.0] * (LEAST_PILOT - 1)) is None


def test_a_pilots_mean_has_its_standard_error() -> None:
    found = mean_of([1.0, 3.0] * 10)  # sd = sqrt(20/19), over sqrt(20)
    assert found is not None
    assert [found.value, found.error] == pytest.approx([2.0, math.sqrt(1 / 19)])


def test_dollars_are_calls_by_cost_and_their_relative_variances_add() -> None:
    each = estimate(Mean(600, 18))  # 3 % and 5 %: together sqrt(34) %
    bounds = each.interval(0.95)
    assert bounds is not None
    half = 1.959963984540054 * 12.0 * math.sqrt(0.03**2 + 0.05**2)
    assert each.usd == pytest.approx(12.0)
    assert list(bounds) == pytest.approx([12.0 - half, 12.0 + half])


def test_a_known_number_of_calls_adds_no_error() -> None:
    bounds = estimate(Mean(600, 0.0)).interval(0.95)
    assert bounds is not None
    assert bounds[1] - bounds[0] == pytest.approx(2 * 1.959963984540054 * 12.0 * 0.05)


def test_nothing_to_do_costs_nothing() -> None:
    none = estimate(Mean(0, 0.0))
    assert (none.usd, none.interval(0.95), none.minutes) == (0.0, (0.0, 0.0), 0.0)


@pytest.mark.parametrize(
    ("calls", "at_once", "minutes"),
    [
        pytest.param(600, 100, 0.6, id="in-rounds-of-a-hundred"),
        pytest.param(600, 1, 60.0, id="one-by-one"),
        pytest.param(10, 100, 0.1, id="all-at-once"),
    ],
)
def test_minutes_follow_from_what_runs_at_the_same_time(calls: int, at_once: int, minutes: float) -> None:
    assert estimate(Mean(calls, 0.0), at_once=at_once).minutes == pytest.approx(minutes)


def test_a_row_says_everything() -> None:
    assert dict(zip(HEAD, estimate(Mean(600, 0.0)).row(0.95), strict=True)) == {
        "stage": "evaluate",
        "role": "judge",
        "model": "gpt5mini",
        "calls": "600",
        "range": "600..1200",
        "tokens in": "600000",
        "tokens out": "120000",
        "US$": "12.0000",
        "interval": "10.8240..13.1760",
        "minutes": "0.6",
        "by batch": "6.0000",
        "shared prefix": "9.0000",
        "basis": "400 calls",
    }


def test_an_assumption_has_no_interval_and_an_unknown_price_no_dollars() -> None:
    assumed = PerCall(1000, 200, 6.0, Mean(0.02), None, None, 0)
    unpriced = PerCall(1000, 200, 6.0, None, None, None, 0)
    rows = [estimate(Mean(600), call, role="assistant").row(0.95) for call in (assumed, unpriced)]
    assert rows[0][7:] == ("12.0000", "unknown", "0.6", "-", "-", "assumed")
    assert rows[1][7:] == ("unknown", "unknown", "0.6", "-", "-", "assumed")


def test_a_request_takes_its_first_try_and_its_share_of_further_ones() -> None:
    found = tries_of(400, 100)
    assert [found.value, found.error] == pytest.approx([1.25, 10 / 400])


def test_without_a_further_try_one_may_still_come() -> None:
    found = tries_of(400, 0)
    assert [found.value, found.error] == pytest.approx([1.0, 1 / 400])


def test_relative_errors_of_a_product_add_in_squares() -> None:
    found = product(Mean(10, 0.3), Mean(4, 0.16))
    assert [found.value, found.error] == pytest.approx([40.0, 40 * math.sqrt(0.03**2 + 0.04**2)])
    assert product(Mean(10, 0.3), Mean(4)) == Mean(40)


def cells(estimates: list[Estimate]) -> list[list[str]]:
    return [re.split(r"  +", line) for line in table(estimates, 0.95).splitlines()]


def test_independent_errors_of_a_sum_add_in_squares() -> None:
    half = 1.959963984540054 * 12.0 * 0.05 * math.sqrt(2)
    assert cells([estimate(Mean(600, 0.0))] * 2)[-1] == [
        "all",
        "1200",
        "24.0000",
        f"{24 - half:.4f}..{24 + half:.4f}",
        "1.2",
    ]


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    unpriced = PerCall(1000, 200, 6.0, None, None, None, 0)
    parts = [estimate(Mean(600, 0.0)), estimate(Mean(600, 0.0), unpriced)]
    assert cells(parts)[-1] == ["all", "1200", "unknown", "unknown", "1.2"]
    assert sum_of(parts) is None


def test_columns_stand_under_their_heads() -> None:
    head, *rows = table([estimate(Mean(600, 0.0))], 0.95).splitlines()
    assert rows[0].index("12.0000") == head.index("US$")
