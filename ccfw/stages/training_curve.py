"""What a trainer logged at its steps, as a table and as curves to draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ccfw.report.writing import comma_separated

Curve = Sequence[Mapping[str, float]]
"""What every step logged, from the first."""
_DRAWN = ("loss", "accuracy", "margin", "mean_reward", "grad_norm", "learning_rate")
"""Stands first in the table, too; everything else that was logged follows by name."""
_SKIPPED = ("step", "num_tokens")
"""Tokens are counted anew where training goes on."""


def curve_series(curve: Curve) -> dict[str, list[tuple[float, float]]]:
    """Return what a figure shows: points by what was logged, those that are numbers."""
    found = {
        name: [(float(step), value) for step, each in enumerate(curve, 1) if (value := _known(each, name)) is not None]
        for name in _DRAWN
    }
    return {name: points for name, points in found.items() if points}


def curve_csv(curve: Curve) -> str:
    """Return a row for each step; an empty cell is a number that there is not.

    The columns stand in the same order whether or not training was interrupted.
    """
    logged = {name for each in curve for name in each if "runtime" not in name}
    names = [name for name in (*_DRAWN, *sorted(logged.difference(_DRAWN, _SKIPPED))) if name in logged]
    rows = [[step, *(_cell(_known(each, name)) for name in names)] for step, each in enumerate(curve, 1)]
    return comma_separated(["step", *names], rows)


def _known(logged: Mapping[str, float], name: str) -> float | None:
    value = logged.get(name, math.nan)
    return value if math.isfinite(value) else None


def _cell(value: float | None) -> str | None:
    return None if value is None else f"{value:.6g}"
