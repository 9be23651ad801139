"""The leaderboard in the layout of Tables 4 and 17, with ranks, completeness and what does not compare. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ccfw.judging.score_table import COLUMNS
from ccfw.records import LanguageMode
from ccfw.report.agreement import counted
from ccfw.report.board import H3, LANGUAGES
from ccfw.report.published_scores import PublishedAssistant, PublishedScores
from ccfw.report.sections import TableView, keys_of
from ccfw.report.standings import Standing, Standings, Terms
from ccfw.report.tables import FEW, HEADINGS, shown
from ccfw.report.writing import NONE
from ccfw.stats.bootstrap import Interval

_THIN = 0.9
"""Share of the dialogues of a row's fullest column below which a mean says over how many it is."""
_SHARED = "3H shared"
_DATA = (
    *("section", "assistant", "source"),
    *(f"{column}{end}" for column in COLUMNS for end in ("", "_lo", "_hi", "_n")),
    *("3h_shared", "3h_shared_lo", "3h_shared_hi", "rank", "rank_lo", "rank_hi", "group", "judged", "held", "planned"),
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
    rows: list[tuple[str, ...]] = []
    data: list[tuple[object, ...]] = []
    breaks: list[tuple[int, str]] = []
    grey = set()
    apart_from = ""
    beside = len(_beside(found))
    for place in found.order:
        standing = found.rows[place]
        text = f"Not ranked: {standing.unranked}" if standing.unranked else ""
        if text != apart_from:
            breaks.append((len(rows), text))
            apart_from = text
        ranks = [*_shared(found, place)[:beside], *_rank(found, place)]
        rows.append((standing.label, *_cells(standing.intervals), *ranks, _judged(standing)))
        data.append(
            (text, standing.label, "own", *_numbers(standing.intervals), *_ranks(found, place), *_counts(standing))
        )
    none = [NONE] * (beside + 2)
    for group in apart:
        text = f"Not comparable with the rows above: {group.differs}"
        breaks.append((len(rows), text))
        for standing in sorted(group.standings, key=_from_the_top):
            rows.append((standing.label, *_cells(standing.intervals), *none, _judged(standing)))
            data.append((text, standing.label, "own", *_numbers(standing.intervals), *[None] * 7, *_counts(standing)))
    if published is not None:
        text = f"Published, not run here: {published.source}, Table 17. Not comparable: {differences(published, judge)}"
        breaks.append((len(rows), text))
        for row in published.table_17:
            grey.add(len(rows))
            rows.append((row.label, *_published_cells(row), *none, f"{published.dialogues:,}"))
            data.append(
                (text, row.label, "published", *_published_numbers(row), *[None] * 7, published.dialogues, None, None)
            )
    scope = LANGUAGES[found.scope]
    return TableView(
        name=f"leaderboard{'' if found.scope is None else '_' + short(found.scope)}",
        title=f"Leaderboard, {scope}",
        note=_note(found, terms),
        head=("Assistant", *HEADINGS, *_beside(found), "Rank", "Group", "Judged"),
        rows=tuple(rows),
        breaks=tuple(breaks),
        grey=frozenset(grey),
        data_head=_DATA,
        data=tuple(data),
        keys=keys_of(_DATA, data, (*COLUMNS, *(("3h_shared",) if beside else ()), "rank", "group", "judged")),
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
        f"Rank, by 3H over the {counted(found.ranked_on, 'dialogue')} that all ranked assistants have scored, with the "
        f"ranks that cannot be ruled out, all at once at {terms.level:.0%}; every assistant of a group is surely "
        "better than those of later groups."
    )
    if found.ranked == 1:
        ranks = "One assistant alone has nobody to be ranked against."
    if not found.ranked_on:
        ranks = "No rank: no dialogue is scored for all assistants."
    if _beside(found):
        ranks += f" {_SHARED}: over those same dialogues, where the other columns are over all that an assistant has."
    few = f" Fewer than {FEW} seeds: every rank is open." if 0 < found.ranked_seeds < FEW else ""
    return (
        f"Means, 1 to 5, higher is better, with {terms.level:.0%} percentile bootstrap intervals over {units}; clean "
        f"in per cent. {ranks}{few} A mean is over the dialogues that have that score, and 3H and TDQ need all three "
        f"of theirs, so that they may differ from the mean of their columns; (n=…) is the number of dialogues where "
        f"it is less than {_THIN:.0%} of the row's largest, and where fewer than {FEW} seeds allow no interval. "
        "Judged: dialogues with all six scores, of those that the assistant's runs were asked for."
    )


def _beside(found: Standings) -> tuple[str, ...]:
    """Return the heading of the column that ranks are by, where that is not 3H as it stands."""
    pairs = zip(found.rows, found.shared, strict=True)
    other = any(shared.mean is not None and _two(shared.mean) != _two(row.intervals[H3].mean) for row, shared in pairs)
    return (_SHARED,) if other else ()


def _two(mean: float | None) -> str:
    return NONE if mean is None else f"{mean:.2f}"


def _shared(found: Standings, place: int) -> tuple[str]:
    return (shown("3h", found.shared[place]),)


def _from_the_top(standing: Standing) -> tuple[float, str]:
    mean = standing.intervals[0].mean
    return (-mean if mean is not None else float("inf"), standing.label)


def _cells(intervals: Sequence[Interval]) -> list[str]:
    most = max(interval.n for interval in intervals)
    return [_cell(column, interval, most) for column, interval in zip(COLUMNS, intervals, strict=True)]


def _cell(column: str, interval: Interval, most: int) -> str:
    """Write a mean, and over how many dialogues where other columns of the row have clearly more."""
    thin = interval.low is not None and interval.n < _THIN * most
    return f"{shown(column, interval)} (n={interval.n:,})" if thin else shown(column, interval)


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
    return [*found.shared[place][:3], *(numbers if numbers[0] else [None] * 4)]


def _judged(standing: Standing) -> str:
    if standing.planned is None:
        return f"{standing.judged:,}"
    if not standing.planned:
        return "not run"
    return f"{standing.judged:,} of {standing.planned:,} ({standing.judged / standing.planned:.1%})"


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
