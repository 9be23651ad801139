"""How often each score was given, in the layout of Table 15. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ccfw.judging.score_table import COLUMNS
from ccfw.records import Metric
from ccfw.report.board import Board
from ccfw.report.sections import TableView
from ccfw.report.writing import NONE
from ccfw.stats.resampling import Ints

SCORES = (1, 2, 3, 4, 5)
TITLES = ("Helpful", "Honest", "Harmless", "Naturalness", "Plausibility", "Typicality")
_PLACES = [place for place, name in enumerate(COLUMNS) if name not in {"3h", "tdq", "clean"}]
METRICS = tuple(Metric)
"""In the order of the titles."""


def distribution(board: Board) -> Ints:
    """Return how often each assistant got each score, and last how often none (assistants × metrics × 6).

    The mean of several judges counts as the nearest whole score, a half as the one above.
    """
    scores = board.values[..., _PLACES]
    held = board.held[..., None] & np.ones(len(_PLACES), dtype=np.bool_)
    nearest = np.where(np.isnan(scores), 0.0, np.floor(scores + 0.5))
    found = np.empty((len(board.labels), len(_PLACES), len(SCORES) + 1), dtype=np.int64)
    for place, score in enumerate(SCORES):
        found[..., place] = (nearest == score).sum(axis=(1, 2))
    found[..., -1] = (held & np.isnan(scores)).sum(axis=(1, 2))
    return found


def distribution_table(board: Board, found: Ints, order: Sequence[int]) -> TableView:
    """Return the table, over all assistants first."""
    rows: list[tuple[str, ...]] = []
    data: list[tuple[object, ...]] = []
    everyone = [("All assistants", found.sum(axis=0))] if len(board.labels) > 1 else []
    breaks = []
    for label, counts in [*everyone, *((board.titles[place], found[place]) for place in order)]:
        breaks.append((len(rows), label))
        for title, row in zip(TITLES, counts, strict=True):
            total = int(row[:-1].sum())
            mean = float((row[:-1] * SCORES).sum() / total) if total else None
            shares = [f"{count / total:.1%}" if total else NONE for count in row[:-1].tolist()]
            rows.append((label, title, *shares, NONE if mean is None else f"{mean:.2f}", f"{total:,}", f"{row[-1]:,}"))
            data.append((label, title, *row.tolist(), mean))
    return TableView(
        name="score_distribution",
        title="Distribution of the scores",
        note="Shares of the scores given. The mean of several judges counts as the nearest whole score, a half as the "
        "one above. No score: dialogues held whose judgement could not be read, or is missing.",
        head=("Assistant", "Metric", *map(str, SCORES), "Mean", "Scored", "No score"),
        rows=tuple(rows),
        texts=2,
        data_head=("assistant", "metric", *(f"score_{score}" for score in SCORES), "no_score", "mean"),
        data=tuple(data),
    )
