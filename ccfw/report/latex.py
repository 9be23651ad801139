"""A table in LaTeX, whatever its cells hold, that fits a page. Pure.

Widths are estimated from the number of characters: wide tables stand in smaller letters, with intervals under their
figures, on their side, and at last in several parts. Long ones go on over pages.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from ccfw.report.writing import Breaks
from ccfw.terminal import printable

_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "−": r"$-$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "Δ": r"$\Delta$",
    "α": r"$\alpha$",
    "κ": r"$\kappa$",
    "ρ": r"$\rho$",
    "τ": r"$\tau$",
    "\n": " ",
    "\t": " ",
}
_ESCAPED = str.maketrans(_SIGNS)
_MINUS = re.compile(r"(?<![\w}-])-(?=\d)")
_BEHIND = re.compile(r"(.*?\d[^\[(]*) ([\[(].*[\])])")
_WIDTH, _HEIGHT = 337.0, 540.0
"""Points of a page of LaTeX's class *article*; on one that is turned they change places."""
_AROUND = 110.0
"""Points that caption and note take of a page's height."""
_NARROW, _WIDE = frozenset(".,:;'|!()[]ijlft "), re.compile(r"[A-Zmw%+Δ−–]")
"""Letters that are about half as wide as a figure, and half as wide again."""
_TINY, _GAP = 3.4, 6.0
"""Points of a figure in ``\tiny``, and between two columns."""


class _Layout(NamedTuple):
    """How wide a table may be, and how its cells stand."""

    sideways: bool
    command: str
    """Of the letters' size."""
    points: float
    """Width of a figure (0 to 9) in Computer Modern of that size."""
    leading: float
    """Points from one line to the next."""
    stacked: bool
    """Whether what stands in brackets behind a figure, such as its interval, stands under it."""

    @property
    def line(self) -> float:
        return _HEIGHT if self.sideways else _WIDTH

    def is_long(self, rows: int, breaks: int) -> bool:
        """Whether so many rows go on over pages; a break takes as much as two lines."""
        lines = rows * (1.0 + 0.7 * self.stacked) + 2 * breaks
        return lines * self.leading > (_WIDTH if self.sideways else _HEIGHT) - _AROUND

    def width(self, cells: Sequence[str], *, names: bool = False) -> float:
        """Return how wide a column of cells is about, in points."""
        parts = [self._parted(cell, names) for cell in cells]
        return max(max(self.points * _figures(cell), _TINY * _figures(behind)) for cell, behind in parts) + _GAP

    def cell(self, text: str, *, name: bool) -> str:
        """Return a cell in LaTeX."""
        cell, behind = self._parted(text, name)
        if not behind:
            return escaped(cell)
        return rf"\shortstack[r]{{{escaped(cell)}\\{{\tiny {escaped(behind)}}}}}"

    def _parted(self, cell: str, name: bool) -> tuple[str, str]:
        """Part a figure from what stands in brackets behind it; empty where there is nothing, or all on one line."""
        found = _BEHIND.fullmatch(cell) if self.stacked and not name else None
        return (found[1], found[2]) if found else (cell, "")


_LAYOUTS = (
    _Layout(False, r"\normalsize", 5.0, 12.0, False),
    _Layout(False, r"\footnotesize", 4.25, 9.5, False),
    _Layout(False, r"\footnotesize", 4.25, 9.5, True),
    _Layout(True, r"\footnotesize", 4.25, 9.5, False),
    _Layout(True, r"\footnotesize", 4.25, 9.5, True),
    _Layout(True, r"\scriptsize", 4.0, 8.0, True),
)
"""The first that a table fits is taken; one that fits none is parted."""


def escaped(text: str) -> str:
    """Return text as LaTeX prints it: nothing in it is a command, and a minus is no hyphen."""
    return _MINUS.sub("$-$", printable(text).translate(_ESCAPED))


def tabular(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str,
    label: str,
    note: str = "",
    texts: int = 1,
    breaks: Breaks = (),
    grey: Set[int] = frozenset(),
) -> str:
    """Return a table of the package *booktabs*, the first ``texts`` columns to the left, its note below.

    A break's text stands in a row of its own between rules. What other packages it needs its first line says. A table
    that is too wide for any page becomes several, each with the first columns.
    """
    columns = [[name, *(row[place] for row in rows)] for place, name in enumerate(head)]
    layout, chosen = _laid_out(columns, texts)
    long = layout.is_long(len(rows), len(breaks))
    parts = []
    for number, places in enumerate(chosen, 1):
        of = f", part {number} of {len(chosen)}" if len(chosen) > 1 else ""
        width = sum(layout.width(columns[place], names=place < texts) for place in places)
        cells = [[layout.cell(row[place], name=place < texts) for place in places] for row in rows]
        body = _body(layout, cells, breaks, grey, width)
        kinds = "".join("l" if place < texts else "r" for place in places)
        own = label if number == 1 else f"{label}:{number}"
        titles = rf"\caption{{{escaped(caption + of)}}}", rf"\label{{{own}}}"
        first = _line([escaped(head[place]) for place in places])
        parts.append(_table(layout, kinds, titles, first, body, note, long=long))
    return "\n".join([_needed(layout, grey, long=long), *itertools.chain(*parts)]) + "\n"


def _laid_out(columns: Sequence[Sequence[str]], texts: int) -> tuple[_Layout, list[list[int]]]:
    """Return how a table stands, and the columns of each of its parts."""
    for layout in _LAYOUTS:
        widths = [layout.width(column, names=place < texts) for place, column in enumerate(columns)]
        if sum(widths) <= layout.line:
            return layout, [list(range(len(columns)))]
    layout = _LAYOUTS[-1]
    if texts >= len(columns):
        return layout, [list(range(len(columns)))]
    names, room = list(range(texts)), layout.line - sum(widths[:texts])
    least = math.ceil(sum(widths[texts:]) / max(room, 1.0))
    parts = next(found for count in itertools.count(least) if (found := _even(widths[texts:], count, room)))
    return layout, [[*names, *(texts + place for place in part)] for part in parts]


def _even(widths: Sequence[float], count: int, room: float) -> list[list[int]]:
    """Return places in so many parts of about the same width; nothing where one is wider than there is room."""
    parts: list[list[int]] = [[] for _ in range(count)]
    total, before = sum(widths), 0.0
    for place, width in enumerate(widths):
        parts[min(int((before + width / 2) / total * count), count - 1)].append(place)
        before += width
    fits = count >= len(widths) or all(sum(widths[place] for place in part) <= room for part in parts)
    return [part for part in parts if part] if fits else []


def _body(layout: _Layout, rows: list[list[str]], breaks: Breaks, grey: Set[int], width: float) -> list[str]:
    shown, body = dict(breaks), []
    for number, row in enumerate(rows):
        if number in shown:
            text = shown[number]
            kind = "l" if layout.width([text]) <= width else f"p{{{min(width, layout.line) - _GAP:.0f}pt}}"
            rule = [r"\midrule"] if number else []
            body += [*rule, rf"\multicolumn{{{len(row)}}}{{{kind}}}{{\emph{{{escaped(text)}}}}} \\", r"\midrule"]
        body.append(_line(row, grey=number in grey))
    return body


def _table(
    layout: _Layout, kinds: str, titles: tuple[str, str], head: str, body: list[str], note: str, *, long: bool
) -> Iterator[str]:
    below = [rf"{{\footnotesize\raggedright {escaped(note)}\par}}"] if note else []
    size = rf"{layout.command}\setlength{{\tabcolsep}}{{{_GAP / 2:g}pt}}"
    if long:
        again = [r"\toprule", head, r"\midrule"]
        lines = [
            *("{" + size, rf"\begin{{longtable}}{{{kinds}}}", rf"{titles[0]}{titles[1]} \\", *again, r"\endfirsthead"),
            *(*again, r"\endhead", *body, r"\bottomrule", r"\end{longtable}", "}", *below),
        ]
        yield from (r"\begin{landscape}", *lines, r"\end{landscape}") if layout.sideways else lines
        return
    kind = "sidewaystable" if layout.sideways else "table"
    yield from (rf"\begin{{{kind}}}", r"\centering", *titles, size, rf"\begin{{tabular}}{{{kinds}}}")
    yield from (r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}")
    yield from (*([r"\par\smallskip", *below] if below else []), rf"\end{{{kind}}}")


def _needed(layout: _Layout, grey: Set[int], *, long: bool) -> str:
    turned = "pdflscape" if long else "rotating"
    names = ["booktabs", *["longtable"] * long, *[turned] * layout.sideways, *["xcolor"] * bool(grey)]
    return rf"% needs \usepackage{{{','.join(names)}}}, and a font with the letters that names are written in"


def _figures(text: str) -> float:
    """Return how many figures (0 to 9) wide a text is about."""
    return sum(0.56 if letter in _NARROW else 1.5 if _WIDE.match(letter) else 1.0 for letter in text)


def _line(cells: Sequence[str], *, grey: bool = False) -> str:
    first, *rest = cells
    if first.startswith(("[", "*")):  # after a line break they would be an argument of it
        first = f"{{}}{first}"
    shown = [rf"\textcolor{{gray}}{{{cell}}}" if grey and cell else cell for cell in (first, *rest)]
    return " & ".join(shown) + r" \\"
