"""What several members of a judge say of one thing."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.judging.scoring import Aggregation, combined

COMBINED = [
    pytest.param("mean", (3, 4, 5), 4.0, id="mean"),
    pytest.param("mean", (1, 1, 2), 4 / 3, id="mean-of-thirds"),
    pytest.param("median", (1, 4, 5), 4.0, id="median-of-three"),
    pytest.param("median", (1, 2, 4, 5), 3.0, id="median-of-four"),
    pytest.param("majority", (4, 4, 5), 4.0, id="majority"),
    pytest.param("majority", (3, 4, 5), None, id="no-majority"),
    pytest.param("majority", (4, 4, 5, 5), None, id="half-is-no-majority"),
    pytest.param("majority", (4, 4, 3, 5), None, id="a-plurality-is-no-majority"),
    pytest.param("mean", (4, None, 4), None, id="one-is-missing"),
]


@pytest.mark.parametrize(("aggregation", "values", "expected"), COMBINED)
def test_members_are_combined_by_the_rule(
    aggregation: Aggregation, values: tuple[int | None, ...], expected: float | None
) -> None:
    assert combined(values, aggregation) == expected


@given(
    st.lists(st.integers(1, 5), min_size=3, max_size=5),
    st.sampled_from(["mean", "median", "majority"]),
)
def test_a_panel_does_not_depend_on_the_order_of_its_members(values: list[int], aggregation: Aggregation) -> None:
    assert len({combined(order, aggregation) for order in itertools.permutations(values)}) == 1
