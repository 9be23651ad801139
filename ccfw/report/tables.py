"""The leaderboard: one row per model and language, each number with its interval (Tables 4 and 17). Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ccfw.judging.score_table import COLUMNS, Array
from ccfw.records import LanguageMode
from ccfw.report import writing
from ccfw.report.board import LANGUAGES
from ccfw.report.writing import as_markdown, markdown_table
from ccfw.stats.bootstrap import Interval, bootstrap_means
from ccfw.stats.intervals import FEW as FEW
from ccfw.terminal import one_line

HEADINGS = ("3H", "Help", "Hon", "Harm", "TDQ", "Nat", "Plaus", "Typ", "Clean %")
FEW_CAUTION = f"Fewer than {FEW} scenarios: a mean over so few says little, and has no interval."
SMALL_JUDGE = "The judge is a small model: its scores show that the program works and say nothing else."
_METRICS = [place for place, name in enumerate(COLUMNS) if name not in {"3h", "tdq", "clean"}]
_COUNTS = ("episodes", "judged", "not_judged", "broken", "not_run")
_WIDTH = 80
_DIGITS = 9
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
    """Of those, the ones that infrastructure ended; they are in no mean."""
    judged: int
    """Held dialogues with all six metrics scored."""
    not_judged: int
    """Held dialogues that lack at least one score."""
    not_run: int = 0
    """Asked for, and not held yet: a run still goes on, or stopped early."""


def build_row(
    *,
    model: str,
    label: str,
    language: LanguageMode,
    judge: str,
    values: Array,
    episodes: int,
    held: int,
    broken: int,
    seed: int,
    resamples: int,
    level: float,
) -> Row:
    """Summarise one model's scores (episodes × ``COLUMNS``, ``nan`` for a missing one), each of another scenario.

    ``episodes`` were asked for, of which ``held`` came to their end and infrastructure ended ``broken``. Every row
    uses the same resampling seed, so rows over the same episodes pair.
    """
    found = bootstrap_means(values, np.random.default_rng(seed), resamples=resamples, level=level)
    intervals = [supported(interval, interval.n) for interval in found]
    judged = int((~np.isnan(values[:, _METRICS])).all(axis=1).sum())
    return Row(
        model=model,
        label=label,
        language=language,
        judge=judge,
        intervals=dict(zip(COLUMNS, intervals, strict=True)),
        episodes=episodes,
        broken=broken,
        judged=judged,
        not_judged=held - judged,
        not_run=episodes - held - broken,
    )


def supported(interval: Interval, scenarios: int) -> Interval:
    """Return an interval over so many scenarios: without bounds where they are too few for any."""
    return interval if scenarios >= FEW else interval._replace(low=None, high=None)


def shown(column: str, interval: Interval) -> str:
    """Write an interval as Table 17 does: ``4.28 [4.28, 4.29]``; a dash where nothing was scored.

    A mean without bounds stands alone with the number of its dialogues: ``4.28 (n=3)``.
    """
    text = _figures(column, interval)
    return text if interval.mean is None or interval.low is not None else f"{text} (n={interval.n:,})"


def _figures(column: str, interval: Interval) -> str:
    if interval.mean is None:
        return "–"
    scale, digits = (100.0, 1) if column == "clean" else (1.0, 2)
    mean = f"{interval.mean * scale:.{digits}f}"
    if interval.low is None or interval.high is None:
        return mean
    return f"{mean} [{interval.low * scale:.{digits}f}, {interval.high * scale:.{digits}f}]"


def sorted_rows(rows: Sequence[Row]) -> list[Row]:
    """Order rows by language, then 3H from the top; rows without one come last."""

    def key(row: Row) -> tuple[str, float, str]:
        mean = row.intervals["3h"].mean
        high = -round(mean, _DIGITS) if mean is not None else float("inf")  # equal means, added up in another order
        return (row.language.value, high, row.model)

    return sorted(rows, key=key)


def cautions(rows: Sequence[Row], told: Sequence[str]) -> list[str]:
    """Return what a reader must know before believing the numbers: ``told``, and what the rows say themselves."""
    found = list(told)
    if any(row.judged + row.not_judged < FEW for row in rows):
        found.append(FEW_CAUTION)
    return found


def markdown(rows: Sequence[Row], level: float, told: Sequence[str] = ()) -> str:
    """Write the table in Markdown, with what was not judged beside what was."""
    head = ("Model", "Language", "Judge", *HEADINGS, "Judged", "Not judged", "Broken", "Not run")
    cells = [
        [
            *(row.label, LANGUAGES[row.language], row.judge),
            *(shown(column, row.intervals[column]) for column in COLUMNS),
            *(str(count) for count in (row.judged, row.not_judged, row.broken, row.not_run)),
        ]
        for row in rows
    ]
    lines = [markdown_table(head, cells, texts=3), ""]
    lines.append(
        f"Means with {level:.0%} percentile bootstrap intervals over episodes; over fewer than {FEW} the mean stands "
        "alone. Judged: dialogues with all six scores; a mean is over the dialogues that have that score, and 3H and "
        "TDQ need all three of theirs. Broken: dialogues ended by infrastructure, in no mean. Not run: asked for, and "
        "not held yet."
    )
    for caution in cautions(rows, told):
        lines += ["", f"**{as_markdown(caution)}**"]
    return "\n".join(lines) + "\n"


def comma_separated(rows: Sequence[Row]) -> str:
    """Write the table as CSV, one column for each bound; an empty cell where nothing was scored."""
    bounds = [f"{column}{suffix}" for column in COLUMNS for suffix in ("", "_lo", "_hi", "_n")]
    head = ("model", "label", "language", "judge", *bounds, *_COUNTS)
    return writing.comma_separated(
        head,
        [
            [
                *(row.model, row.label, row.language.value, row.judge),
                *(figure for column in COLUMNS for figure in row.intervals[column]),
                *(getattr(row, name) for name in _COUNTS),
            ]
            for row in rows
        ],
    )


def plain(rows: Sequence[Row], told: Sequence[str] = ()) -> str:
    """Write a narrow table for a terminal: one block per model, one line per number."""
    lines = []
    for row in rows:
        lines.append(f"{one_line(row.label)}, {LANGUAGES[row.language]}, judged by {one_line(row.judge)}")
        counts = f"judged {row.judged}, not judged {row.not_judged}, broken {row.broken}"
        not_run = f", not run {row.not_run}" if row.not_run else ""
        lines.append(f"  {counts}{not_run} of {row.episodes} dialogues")
        for column, heading in zip(COLUMNS, HEADINGS, strict=True):
            interval = row.intervals[column]
            lines.append(f"  {heading:<8} {_figures(column, interval):<22} n={interval.n}")
    for note in (_LEGEND, *cautions(rows, told)):
        lines += textwrap.wrap(one_line(note), _WIDTH)
    return "\n".join(lines)
