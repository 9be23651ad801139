"""How often a check finds what a corpus is labelled with: counts, their shares, and a table of them."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

Pair = tuple[frozenset[str], frozenset[str]]
"""The names of the checks that ought to report a text, and of those that do."""
_WIDTH = 116


class Tally(NamedTuple):
    """How one check did."""

    right: int
    """Labelled and found."""
    found: int
    labelled: int

    @property
    def precision(self) -> float | None:
        """Share of the found ones that are right; ``None`` when none was found."""
        return self.right / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """Share of the labelled ones that were found; ``None`` when none is labelled."""
        return self.right / self.labelled if self.labelled else None


def tally(checks: Iterable[str], pairs: Iterable[Pair]) -> dict[str, Tally]:
    """Count every check over some texts."""
    right, reported, wanted = Counter[str](), Counter[str](), Counter[str]()
    for expected, found in pairs:
        right.update(found & expected)
        reported.update(found)
        wanted.update(expected)
    return {check: Tally(right[check], reported[check], wanted[check]) for check in checks}


def total(counts: Mapping[str, Tally]) -> Tally:
    """Return what all checks came to together."""
    return Tally(*(sum(each) for each in zip(*counts.values(), strict=True)))


def share(value: float | None) -> str:
    """Return a share as the page writes it."""
    return "–" if value is None else f"{value:.2f}"


def markdown(counts: Mapping[str, Tally], head: Sequence[str], kind: Callable[[str], str]) -> str:
    """Return a table of the checks that have a text; ``head`` names the check and what ``kind`` says of it."""
    rows = [
        f"| {check} | {kind(check)} | {tally.labelled} | {tally.found} "
        f"| {share(tally.precision)} | {share(tally.recall)} |"
        for check, tally in counts.items()
        if tally.labelled or tally.found
    ]
    titles = " | ".join((*head, "Labelled", "Found", "Precision", "Recall"))
    return "\n".join([f"| {titles} |", "|---|---|---:|---:|---:|---:|", *rows])


def prose(page: str) -> str:
    """Return a page with its paragraphs filled; headings and tables stay as they are."""
    filled = (
        part if part.startswith(("#", "|")) else textwrap.fill(part, _WIDTH, break_on_hyphens=False)
        for part in page.strip().split("\n\n")
    )
    return "\n\n".join(filled) + "\n"
