"""Tables as Markdown and CSV, whatever their cells hold; LaTeX is in ``ccfw.report.latex``. Pure."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence

from ccfw.terminal import one_line, printable

NONE = "–"
Breaks = Sequence[tuple[int, str]]
"""Before which row a visible break stands, with its text."""
_MARKS = re.compile(r"[\\`*<>|&~$#]|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


_FORMULA = re.compile(r"\s*[=+\-@]")
"""How a text begins that a spreadsheet would work out."""
_FIGURE = re.compile(r"[+-][\d.,]+([eE][+-]?\d+)?( ?(pp|%))?( \[[+\-\d., ]+\])?")


def as_markdown(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return _MARKS.sub(lambda found: f"\\{found[0]}", one_line(text))


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1, breaks: Breaks = ()) -> str:
    """Return a table, the first ``texts`` columns to the left; after a break, its text in bold, it begins anew."""
    marks = ["---"] * texts + ["---:"] * (len(head) - texts)
    parts = []
    for text, part in parted(rows, breaks):
        lines = [[as_markdown(cell) for cell in head], marks]
        lines += [[as_markdown(cell) for cell in row] for row in part]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        parts.append(f"**{as_markdown(text)}**\n\n{table}" if text else table)
    return "\n\n".join(parts)


def parted(rows: Sequence[Sequence[str]], breaks: Breaks) -> Iterator[tuple[str, Sequence[Sequence[str]]]]:
    """Yield the rows between breaks with the text of the break before them; empty before the first."""
    marks = sorted(breaks)
    if not marks or marks[0][0] > 0:
        marks = [(0, ""), *marks]
    for (start, text), (stop, _) in itertools.pairwise([*marks, (len(rows), "")]):
        yield text, rows[start:stop]


def comma_separated(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Write rows as CSV; an empty cell is a figure that there is not."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_cell, row) for row in (head, *rows))
    return text.getvalue()


def sections_separated(head: Sequence[str], rows: Sequence[Sequence[str]], breaks: Breaks) -> str:
    """Write rows as CSV; where there are breaks, a first column says which a row stands after."""
    if not breaks:
        return comma_separated(head, rows)
    found = [(text, *row) for text, part in parted(rows, breaks) for row in part]
    return comma_separated(("section", *head), found)


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str):
        text = printable(value)
        return f"'{text}" if _FORMULA.match(text) and not _FIGURE.fullmatch(text) else text
    return f"{value:.6f}" if isinstance(value, float) else value
