"""The leaderboard: one row per model and language, each number with its interval (Tables 4 and 17). Pure."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ccfw.judging.score_table import COLUMNS, Array
from ccfw.records import LanguageMode
from ccfw.stats.bootstrap import Interval, bootstrap_means

HEADINGS = ("3H", "Help", "Hon", "Harm", "TDQ", "Nat", "Plaus", "Typ", "Clean %")
FEW = 10
"""Dialogues below which an interval over them is not to be trusted."""
FEW_CAUTION = f"Fewer than {FEW} dialogues: an interval over so few says little, however narrow it is."
_METRICS = [place for place, name in enumerate(COLUMNS) if name not in {"3h", "tdq", "clean"}]
_WIDTH = 80
_LEGEND = (
    "1 to 5, higher is better (Harm too: 5 is harmless). 3H: mean of helpful, honest, harmless. TDQ: mean of natural, "
    "plausible, typical. Clean: dialogues in which no tripwire or taboo was broken."
)


@dataclass(frozen=True)
class Row:
    """One model in one language under one judge."""

    model: str
    label: str
    language: LanguageMode
    judge: str
    intervals: dict[str, Interval]
    """By column; ``clean`` as a share."""
    episodes: int
    """Dialogues that were asked for."""
    broken: int
    """Of those, the ones that infrastructure ended or that were never held; they are in no mean."""
    judged: int
    """Held dialogues with all six metrics scored."""
    not_judged: int
    """Held dialogues that lack at least one score."""


def build_row(
    *,
    model: str,
    label: str,
    language: LanguageMode,
    judge: str,
    values: Array,
    episodes: int,
    held: int,
    seed: int,
    resamples: int,
    level: float,
) -> Row:
    """Summarise one model's scores (episodes × ``COLUMNS``, ``nan`` for a missing one).

    Every row uses the same resampling seed, so rows over the same episodes pair.
    """
    intervals = bootstrap_means(values, np.random.default_rng(seed), resamples=resamples, level=level)
    judged = int((~np.isnan(values[:, _METRICS])).all(axis=1).sum())
    return Row(
        model=model,
        label=label,
        language=language,
        judge=judge,
        intervals=dict(zip(COLUMNS, intervals, strict=True)),
        episodes=episodes,
        broken=episodes - held,
        judged=judged,
        not_judged=held - judged,
    )


def shown(column: str, interval: Interval) -> str:
    """Write an interval as Table 17 does: ``4.28 [4.28, 4.29]``; a dash where nothing was scored."""
    if interval.mean is None or interval.low is None or interval.high is None:
        return "–"
    scale, digits = (100.0, 1) if column == "clean" else (1.0, 2)
    mean, low, high = (f"{value * scale:.{digits}f}" for value in (interval.mean, interval.low, interval.high))
    return f"{mean} [{low}, {high}]"


def sorted_rows(rows: Sequence[Row]) -> list[Row]:
    """Order rows by language, then 3H from the top; rows without one come last."""

    def key(row: Row) -> tuple[str, float, str]:
        mean = row.intervals["3h"].mean
        return (row.language.value, -mean if mean is not None else float("inf"), row.model)

    return sorted(rows, key=key)


def cautions(rows: Sequence[Row], small_judge: bool) -> list[str]:
    """Return what a reader must know before believing the numbers."""
    found = []
    if small_judge:
        found.append("The judge is a small model: its scores show that the program works and say nothing else.")
    if any(row.judged + row.not_judged < FEW for row in rows):
        found.append(FEW_CAUTION)
    return found


def markdown(rows: Sequence[Row], level: float, small_judge: bool) -> str:
    """Write the table in Markdown, with what was not judged beside what was."""
    head = ("Model", "Language", "Judge", *HEADINGS, "Judged", "Not judged", "Broken")
    lines = [
        "| " + " | ".join(head) + " |",
        "| " + " | ".join(["---"] * 3 + ["---:"] * (len(head) - 3)) + " |",
    ]
    for row in rows:
        cells = [row.label, row.language.value, row.judge]
        cells += [shown(column, row.intervals[column]) for column in COLUMNS]
        cells += [str(row.judged), str(row.not_judged), str(row.broken)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines.append("")
    lines.append(
        f"Means with {level:.0%} percentile bootstrap intervals over episodes. Judged: dialogues with all six scores; "
        "a mean is over the dialogues that have that score. Broken: dialogues ended by infrastructure, in no mean."
    )
    for caution in cautions(rows, small_judge):
        lines += ["", f"**{caution}**"]
    return "\n".join(lines) + "\n"


def comma_separated(rows: Sequence[Row]) -> str:
    """Write the table as CSV, one column for each bound; an empty cell where nothing was scored."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    bounds = [f"{column}{suffix}" for column in COLUMNS for suffix in ("", "_lo", "_hi", "_n")]
    writer.writerow(["model", "label", "language", "judge", *bounds, "episodes", "judged", "not_judged", "broken"])
    for row in rows:
        numbers: list[object] = []
        for column in COLUMNS:
            i = row.intervals[column]
            numbers += [*("" if v is None else f"{v:.6f}" for v in (i.mean, i.low, i.high)), i.n]
        counts = [row.episodes, row.judged, row.not_judged, row.broken]
        writer.writerow([row.model, row.label, row.language.value, row.judge, *numbers, *counts])
    return text.getvalue()


def plain(rows: Sequence[Row], small_judge: bool) -> str:
    """Write a narrow table for a terminal: one block per model, one line per number."""
    lines = []
    for row in rows:
        lines.append(f"{row.label}, {row.language.value}, judged by {row.judge}")
        lines.append(
            f"  judged {row.judged}, not judged {row.not_judged}, broken {row.broken} of {row.episodes} dialogues"
        )
        for column, heading in zip(COLUMNS, HEADINGS, strict=True):
            interval = row.intervals[column]
            lines.append(f"  {heading:<8} {shown(column, interval):<22} n={interval.n}")
    for note in (_LEGEND, *cautions(rows, small_judge)):
        lines += textwrap.wrap(note, _WIDTH)
    return "\n".join(lines)
