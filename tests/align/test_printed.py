"""A printed score is the fraction that it was."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.humans.printed import exact, shown


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", Fraction(4)),
        (" 4.0 ", Fraction(4)),
        ("4.", Fraction(4)),
        ("+3", Fraction(3)),
        ("-1", Fraction(-1)),
        ("4e0", Fraction(4)),
        ("4.25", Fraction(17, 4)),
        ("4.666667", Fraction(14, 3)),
        ("4.67", Fraction(14, 3)),
        ("4.666666666666667", Fraction(14, 3)),
        ("4.666666666666666", Fraction(14, 3)),  # what a sum of floats may leave
        ("1.933333", Fraction(29, 15)),
        ("3.142857", Fraction(22, 7)),
        ("3.980667", Fraction(3980667, 1000000)),  # a mean of nothing simple stays what is printed
        ("4.28", Fraction(107, 25)),  # not 30/7, which would be printed 4.29
    ],
)
def test_a_number_is_read_as_the_simplest_mean_that_is_printed_so(text: str, value: Fraction) -> None:
    assert exact(text) == value


@pytest.mark.parametrize("text", ["", "four", "4,5", "1/2", "nan", "inf", "0x4", "4 5", "1e999", "٤", "--4"])
def test_what_is_no_plain_number_is_none(text: str) -> None:
    assert exact(text) is None


@given(st.integers(1, 12), st.data())
def test_the_mean_of_up_to_twelve_scores_survives_six_decimals(calls: int, data: st.DataObject) -> None:
    mean = Fraction(data.draw(st.integers(calls, 5 * calls)), calls)
    assert exact(f"{float(mean):.6f}") == mean
    assert exact(repr(float(mean))) == mean


@given(st.decimals(min_value=1, max_value=5, places=6))
def test_no_value_moves_by_more_than_half_its_last_digit(value: object) -> None:
    found = exact(str(value))
    assert found is not None
    assert abs(found - Fraction(str(value))) <= Fraction(1, 2_000_000)


def test_scores_are_shown_as_people_write_them() -> None:
    assert [shown(Fraction(*each)) for each in ((4, 1), (7, 2), (14, 3), (10, 1))] == ["4", "3.5", "4.667", "10"]
