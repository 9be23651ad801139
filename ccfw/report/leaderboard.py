"""The leaderboard in the layout of Tables 4 and 17, with ranks, completeness and what does not compare. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ccfw.judging.score_table import COLUMNS
from ccfw.records import LanguageMode
from ccfw.report.board import LANGUAGES
from ccfw.report.published_scores import PublishedAssistant, PublishedScores
from ccfw.report.sections import TableView
from ccfw.report.standings import Standing, Standings, Terms
from ccfw.report.tables import FEW, HEADINGS, shown
from ccfw.report.writing import NONE
from ccfw.stats.bootstrap import Interval

HEAD = ("Assistant", *HEADINGS, "Rank", "Group", "Judged")
_DATA = (
    *("section", "assistant", "source"),
    *(f"{column}{end}" for column in COLUMNS for end in ("", "_lo", "_hi", "_n")),
    *("rank", "rank_lo", "rank_hi", "group", "judged", "held", "planned"),
)


class Apart(NamedTuple):
    """Assistants that do not compare with those of the board, and why."""

    differs: str
    """``another judge (gpt54mini), other data``."""
    standings: tuple[Standing, ...]
    """In one language, or in all together."""


def leaderboard(
    found: Standings, terms: Terms, judge: str, apart: Sequence[Apart], published: PublishedScores | None
) -> TableView:
    """Return the table of one scope: the assistants that compare, then the others, then the paper's, each set apart."""
    rows, data = [], []
    for place in found.order:
        standing = found.rows[place]
        rank = _rank(found, place)
        rows.append((standing.label, *_cells(standing.intervals), *rank, _judged(standing)))
        data.append(
            ("", standing.label, "own", *_numbers(standing.intervals), *_ranks(found, place), *_counts(standing))
        )
    breaks, grey = [], set()
    for group in apart:
        text = f"Not comparable with the rows above: {group.differs}"
        breaks.append((len(rows), text))
        for standing in sorted(group.standings, key=_from_the_top):
            rows.append((standing.label, *_cells(standing.intervals), NONE, NONE, _judged(standing)))
            data.append((text, standing.label, "own", *_numbers(standing.intervals), *[None] * 4, *_counts(standing)))
    if published is not None:
        text = f"Published, not run here: {published.source}, Table 17. Not comparable: {differences(published, judge)}"
        breaks.append((len(rows), text))
        for row in published.table_17:
            grey.add(len(rows))
            rows.append((row.label, *_published_cells(row), NONE, NONE, f"{published.dialogues:,}"))
            data.append(
                (text, row.label, "published", *_published_numbers(row), *[None] * 4, published.dialogues, None, None)
            )
    scope = LANGUAGES[found.scope]
    return TableView(
        name=f"leaderboard{'' if found.scope is None else '_' + short(found.scope)}",
        title=f"Leaderboard, {scope}",
        note=_note(found, terms),
        head=HEAD,
        rows=tuple(rows),
        breaks=tuple(breaks),
        grey=frozenset(grey),
        data_head=_DATA,
        data=tuple(data),
    )


def differences(published: PublishedScores, judge: str) -> str:
    """Say in what the paper's rows differ from a run of ours: the prompts are our own words, and so are the data."""
    other = "" if judge == published.judge else f"another judge ({published.judge_label}), "
    return f"{other}other prompts, other data"


def short(language: LanguageMode) -> str:
    """Return a language mode in the names of files."""
    return language.value.partition("_")[0] if language is LanguageMode.NATIVE else "english"


def _note(found: Standings, terms: Terms) -> str:
    units = "dialogues" if found.scope is not None else "seeds (the dialogues of one seed are drawn together)"
    ranks = (
        f"Rank, by 3H over the {found.ranked_on:,} dialogues that all ranked assistants have scored, with the ranks "
        f"that cannot be ruled out, all at once at {terms.level:.0%}; every assistant of a group is surely better than "
        "those of later groups."
    )
    if not found.ranked_on:
        ranks = "No rank: no dialogue is scored for all assistants."
    few = f" Fewer than {FEW} seeds: every rank is open." if 0 < found.ranked_seeds < FEW else ""
    return (
        f"Means, 1 to 5, higher is better, with {terms.level:.0%} percentile bootstrap intervals over {units}; clean "
        f"in per cent. {ranks}{few} Judged: dialogues with all six scores, of those asked for."
    )


def _from_the_top(standing: Standing) -> tuple[float, str]:
    mean = standing.intervals[0].mean
    return (-mean if mean is not None else float("inf"), standing.label)


def _cells(intervals: Sequence[Interval]) -> list[str]:
    return [shown(column, interval) for column, interval in zip(COLUMNS, intervals, strict=True)]


def _numbers(intervals: Sequence[Interval]) -> list[object]:
    return [number for interval in intervals for number in interval]


def _rank(found: Standings, place: int) -> tuple[str, str]:
    ranks = found.ranks
    if not ranks.rank[place]:
        return NONE, NONE
    low, high = int(ranks.low[place]), int(ranks.high[place])
    span = f"{low}–{high}"
    shown = f"{ranks.rank[place]}" if low == high else f"{ranks.rank[place]} [{span}]"
    return shown, str(ranks.group[place])


def _ranks(found: Standings, place: int) -> list[object]:
    ranks = found.ranks
    numbers = [int(each[place]) for each in (ranks.rank, ranks.low, ranks.high, ranks.group)]
    return list(numbers) if numbers[0] else [None] * 4


def _judged(standing: Standing) -> str:
    if standing.planned is None:
        return f"{standing.judged:,}"
    share = f" ({standing.judged / standing.planned:.1%})" if standing.planned else ""
    return f"{standing.judged:,} of {standing.planned:,}{share}"


def _counts(standing: Standing) -> list[object]:
    return [standing.judged, standing.held, standing.planned]


def _published_cells(row: PublishedAssistant) -> list[str]:
    cells = []
    for column in COLUMNS:
        digits = 1 if column == "clean" else 2
        mean, low, high = (f"{value:.{digits}f}" for value in row.scores[column])
        cells.append(f"{mean} [{low}, {high}]")
    return cells


def _published_numbers(row: PublishedAssistant) -> list[object]:
    numbers: list[object] = []
    for column in COLUMNS:
        scale = 100.0 if column == "clean" else 1.0
        numbers += [*(value / scale for value in row.scores[column]), None]
    return numbers
