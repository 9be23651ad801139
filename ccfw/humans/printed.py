"""A score as it is printed → the fraction that it was, so that ±1 can be decided exactly. Pure."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
_AS_IT_IS = 60
"""Printed decimals of so small a denominator are taken for exact: 4.25 is 17/4."""
_PARTS = (3, 6, 7, 9, 11, 12, 15, 30, 60)
"""Denominators of means of a few calls or raters that no short decimal gives."""
_FINEST = 10**6
"""Other values are rounded to such parts."""
_ROUNDING = Fraction(1, 10**9)
"""What floating point may have added to a long decimal."""


@lru_cache(maxsize=1 << 16)
def exact(text: str) -> Fraction | None:
    """Return the fraction that a printed number stands for; ``None`` for what is no finite number.

    A mean of three calls is printed as 4.666667: where the value is within half a unit of its last digit of a mean of
    up to 12, or of 15, 30 or 60 scores, it is that mean. Any other is the decimal itself, to six places.
    """
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    value = Fraction(text)
    if value.denominator <= _AS_IT_IS:
        return value
    mantissa, _, exponent = text.lower().partition("e")
    places = len(mantissa.partition(".")[2]) - int(exponent or 0)
    slack = max(Fraction(1, 2 * 10 ** max(places, 0)), _ROUNDING)
    for parts in _PARTS:
        nearest = Fraction(round(value * parts), parts)
        if abs(nearest - value) <= slack:
            return nearest
    return Fraction(round(value * _FINEST), _FINEST)


def brief(text: str, longest: int = 80) -> str:
    """Return a name from a file as a message or a figure shows it: on one line, of so many characters at most."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def shown(value: Fraction) -> str:
    """Write a score as people do: 4, 3.5, 4.667."""
    return f"{float(value):.3f}".rstrip("0").rstrip(".")
