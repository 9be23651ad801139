"""How the figures of a CSV's row are written in a table. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ccfw.align.alignment import Figure as Bounded
from ccfw.report.agreement import number, percent, points, signed, signed_percent
from ccfw.report.cells import p_value
from ccfw.report.research.shelves import Row, Shelf, inside
from ccfw.report.writing import NONE
from ccfw.training.figures import intervals_note

HARD = "hard"


class Column(NamedTuple):
    """A column of figures: how it is headed, and written from a row."""

    heading: str
    shown: Callable[[Row], str]


def bounded(column: str, row: Row) -> Bounded:
    """Return a figure of a row with its bounds."""
    return Bounded(*(row.get(f"{column}{end}") for end in ("", "_lo", "_hi")))


def with_intervals(note: str, cells: Iterable[str], shelves: Iterable[Shelf]) -> str:
    """Return a table's note with what its intervals are, where one of its cells of figures has one."""
    if not any(cell.endswith("]") for cell in cells):
        return note
    levels = {inside(shelf.settings, "bootstrap", "level") for shelf in shelves}
    known = sorted(level for level in levels if isinstance(level, float))
    return " ".join([note, *(intervals_note(level, "norms or questions") for level in known)])


def in_points(heading: str, column: str) -> Column:
    """Return a column of scores with intervals."""
    return Column(heading, lambda row: points(bounded(column, row)))


def in_percent(heading: str, column: str) -> Column:
    """Return a column of shares with intervals."""
    return Column(heading, lambda row: percent(bounded(column, row)))


def gain(heading: str, column: str) -> Column:
    """Return a column of differences with intervals; a dash where something is held against itself."""

    def shown(row: Row) -> str:
        found = bounded(column, row)
        return NONE if found.value in (None, 0.0) and found.low in (None, 0.0) else signed(found)

    return Column(heading, shown)


def signed_percents(heading: str, column: str) -> Column:
    """Return a column of differences of shares with intervals; of the hard level's scores in points."""

    def shown(row: Row) -> str:
        return (signed if row.get("measure") == HARD else signed_percent)(bounded(column, row))

    return Column(heading, shown)


def p_values(heading: str, column: str) -> Column:
    """Return a column of p-values."""
    return Column(heading, lambda row: p_value(math.nan if row.get(column) is None else row[column]))


def count(heading: str, column: str) -> Column:
    """Return a column of counts."""
    return Column(heading, lambda row: "" if row.get(column) is None else f"{row[column]:g}")


def spread(heading: str, column: str) -> Column:
    """Return a column of spreads: shares as per cent, but for the hard level, whose scores are no shares."""

    def shown(row: Row) -> str:
        value = row.get(column)
        return number(value if value is None or row.get("level") == HARD else 100 * value, 1)

    return Column(heading, shown)


def by_level(heading: str, column: str) -> Column:
    """Return a column of shares, or of the hard level's scores, with intervals."""
    return Column(heading, lambda row: (points if row.get("level") == HARD else percent)(bounded(column, row)))
