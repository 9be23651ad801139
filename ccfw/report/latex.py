"""A table in LaTeX, whatever its cells hold. Pure."""

from __future__ import annotations

from collections.abc import Sequence, Set

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


def escaped(text: str) -> str:
    """Return text as LaTeX prints it: nothing in it is a command."""
    return printable(text).translate(_ESCAPED)


def tabular(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str,
    label: str,
    texts: int = 1,
    breaks: Breaks = (),
    grey: Set[int] = frozenset(),
) -> str:
    """Return a table environment of the package *booktabs*, the first ``texts`` columns to the left.

    A break's text stands in a row of its own between rules; ``grey`` rows need the package *xcolor*.
    """
    needed = r"\usepackage{booktabs,xcolor}" if grey else r"\usepackage{booktabs}"
    shown = dict(breaks)
    body = []
    for number, row in enumerate(rows):
        if number in shown:
            rule = [r"\midrule"] if number else []
            body += [*rule, rf"\multicolumn{{{len(head)}}}{{l}}{{\emph{{{escaped(shown[number])}}}}} \\", r"\midrule"]
        body.append(_line(row, grey=number in grey))
    lines = [
        f"% needs {needed}, and a font with the letters that names are written in",
        r"\begin{table}",
        rf"\caption{{{escaped(caption)}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{{'l' * texts}{'r' * (len(head) - texts)}}}",
        r"\toprule",
        _line(head),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str], *, grey: bool = False) -> str:
    first, *rest = (escaped(cell) for cell in cells)
    if first.startswith(("[", "*")):  # after a line break they would be an argument of it
        first = f"{{}}{first}"
    shown = [rf"\textcolor{{gray}}{{{cell}}}" if grey and cell else cell for cell in (first, *rest)]
    return " & ".join(shown) + r" \\"
