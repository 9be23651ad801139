"""How figures of agreement are written: counts, cells, tables in Markdown, CSV and LaTeX. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ccfw.align.alignment import FIGURES, Figure, Line
from ccfw.report.latex import tabular
from ccfw.report.writing import NONE, as_markdown, comma_separated, markdown_table


@dataclass(frozen=True)
class Table:
    """A table as people read it; every cell is plain text."""

    name: str
    """Of its files: ``table_11``."""
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str
    texts: int = 1
    """Columns from the left that hold names."""
    data_head: tuple[str, ...] = ()
    data: tuple[tuple[object, ...], ...] = ()
    """The same as numbers, shares between 0 and 1, for CSV; empty: the cells as they are shown."""

    def csv(self) -> str:
        """Return the table as CSV."""
        return comma_separated(self.data_head, self.data) if self.data else comma_separated(self.head, self.rows)

    def records(self) -> list[dict[str, Any]]:
        """Return the numbers by name of column."""
        return [dict(zip(self.data_head, row, strict=True)) for row in self.data]

    def markdown(self) -> str:
        """Return the table in Markdown, with its title and note."""
        table = markdown_table(self.head, self.rows, texts=self.texts)
        return f"## {as_markdown(self.title)}\n\n{table}\n\n{as_markdown(self.note)}\n"

    def latex(self) -> str:
        """Return the table in LaTeX."""
        label = f"tab:{self.name}"
        return tabular(self.head, self.rows, caption=self.title, label=label, note=self.note, texts=self.texts)


def counted(count: int, one: str, many: str | None = None) -> str:
    """Write how many: ``1 judge``, ``11 judges``, ``2 people``."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def percent(figure: Figure) -> str:
    """Write a share in per cent: ``90.1 [89.2, 91.0]``."""
    return _shown(figure, 100.0, "{:z.1f}")


def points(figure: Figure) -> str:
    """Write a distance in points: ``0.581 [0.566, 0.596]``."""
    return _shown(figure, 1.0, "{:z.3f}")


def signed(figure: Figure) -> str:
    """Write a difference in points: ``-0.126 [-0.150, -0.101]``."""
    return _shown(figure, 1.0, "{:+z.3f}")


def signed_percent(figure: Figure) -> str:
    """Write a difference of shares in points of per cent: ``-3.7 pp [-4.9, -2.6]``."""
    return _shown(figure, 100.0, "{:+z.1f}", " pp")


KEPT = 6
"""Digits that a CSV keeps: what is shown is rounded from these, so that a table read back shows the same."""


def number(value: float | None, digits: int = 3) -> str:
    """Write a figure without an interval."""
    return NONE if value is None else f"{round(value, KEPT):z.{digits}f}"


def _shown(figure: Figure, scale: float, form: str, unit: str = "") -> str:
    if figure.value is None:
        return NONE
    value, low, high = (None if end is None else form.format(round(end, KEPT) * scale) for end in figure)
    return f"{value}{unit}" if low is None or high is None else f"{value}{unit} [{low}, {high}]"


LINE_HEAD = (*(f"{name}{end}" for name in FIGURES for end in ("", "_lo", "_hi")), "items", "missing")


def line_cells(line: Line) -> list[object]:
    """Return a line's figures with their bounds and counts, as CSV has them."""
    return [*(bound for name in FIGURES for bound in getattr(line, name)), line.items, line.missing]
