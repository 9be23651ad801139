"""How figures with intervals stand in the cells of a report. Pure."""

from __future__ import annotations

import math

from ccfw.report.writing import NONE


def interval(point: float, low: float, high: float, *, digits: int = 2, scale: float = 1.0, sign: bool = False) -> str:
    """Write ``4.28 [4.28, 4.29]``; a dash where there is no figure, and the figure alone where it has no bounds."""
    if math.isnan(point):
        return NONE
    form = f"{{:{'+' if sign else ''}z.{digits}f}}"
    shown = form.format(point * scale)
    if math.isnan(low) or math.isnan(high):
        return shown
    return f"{shown} [{form.format(low * scale)}, {form.format(high * scale)}]"


def percent(point: float, low: float, high: float) -> str:
    """Write a share in per cent: ``87.7 [87.1, 88.2]``."""
    return interval(point, low, high, digits=1, scale=100.0)


def points_of_percent(point: float, low: float, high: float) -> str:
    """Write a difference of shares: ``+5.3 [+4.1, +6.5]``."""
    return interval(point, low, high, digits=1, scale=100.0, sign=True)


def signed(point: float, low: float, high: float) -> str:
    """Write a difference in points: ``-0.06 [-0.08, -0.04]``."""
    return interval(point, low, high, sign=True)


def p_value(p: float) -> str:
    """Write a p-value; a dash where no test was made."""
    if math.isnan(p):
        return NONE
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def verdict(p: float, level: float) -> str:
    """Say whether a difference holds, by its adjusted p-value."""
    if math.isnan(p):
        return "not tested"
    return "yes" if p <= 1 - level else "no"


def number(value: float) -> float | None:
    """Return a figure as CSV takes it: ``None`` for one that there is not."""
    return None if math.isnan(value) else float(value)
