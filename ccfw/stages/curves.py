"""Numbers that a stage wrote as CSV, read back: rows of a table, and what training showed at its steps."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

CURVE, LOOKS = "curve.csv", "looks.csv"
"""What every step showed; what looks at held-out questions showed."""
_HELD_OUT = "held_out"
_MOST_BYTES = 1 << 26
"""Of one CSV: what is larger is no table that a page can show."""
_STEP = "step"


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a CSV, numbers as numbers and ``None`` where there is none; none where there is no file.

    Raises ``ValueError`` for a file that is larger than any table.
    """
    if not path.is_file():
        return []
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"{path.name} has more than {_MOST_BYTES} bytes")
    found = csv.DictReader(path.read_text("utf-8").splitlines())
    return [{str(name): _value(cell) for name, cell in row.items()} for row in found]


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Return what training showed, by name: steps with the value at each, those before the first step as well."""
    looks = [{f"{_HELD_OUT}/{name}": value for name, value in row.items()} for row in rows(folder / LOOKS)]
    every = [(row.get(_STEP), row) for row in rows(folder / CURVE)]
    every += [(row.get(f"{_HELD_OUT}/{_STEP}"), row) for row in looks]
    found: dict[str, dict[int, float]] = {}
    for step, row in every:
        for name, value in row.items():
            if isinstance(value, float) and isinstance(step, float) and name not in (_STEP, f"{_HELD_OUT}/{_STEP}"):
                found.setdefault(name, {})[int(step)] = value
    return {name: sorted(points.items()) for name, points in found.items()}


def _value(cell: Any) -> Any:
    """Return a cell as a number where it is one, ``None`` where it is empty."""
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return cell or None
    return value if math.isfinite(value) else None
