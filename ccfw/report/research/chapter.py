"""The chapter itself: what there is, its tables and figures, and where situations can be read. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ccfw.report.plots import Figure
from ccfw.report.research import runs
from ccfw.report.research.kinds import KINDS
from ccfw.report.research.shelves import Shelf
from ccfw.report.sections import Chapter, Link, TableView

TITLE = "CRISP and training"
SMALL = "Scores by a small judge show that the program works and say nothing else."
_JUDGED = {kind.stage for kind in KINDS if kind.judged}


def chapter(
    shelves: Sequence[Shelf], found: Sequence[TableView], figures: Sequence[Figure], links: Sequence[Link] = ()
) -> Chapter:
    """Return the chapter of the page."""
    return Chapter(
        "crisp", TITLE, _summary(shelves), tuple(found), tuple(figure.view for figure in figures), tuple(links)
    )


def _summary(shelves: Sequence[Shelf]) -> str:
    stages = dict.fromkeys([*(kind.stage for kind in KINDS), runs.STAGE])
    counts = {stage: sum(shelf.stage == stage for shelf in shelves) for stage in stages}
    told = ", ".join(f"{stage} {count}" for stage, count in counts.items() if count)
    if not told:
        return "No stage of paper 2 has left a table in this workspace."
    text = f"Outputs of paper 2's stages in this workspace: {told}. Whatever does not compare stands after a break."
    small = any(shelf.small_judge for shelf in shelves if shelf.stage in _JUDGED or runs.is_judged(shelf))
    return f"{text}\n\n{SMALL}" if small else text
