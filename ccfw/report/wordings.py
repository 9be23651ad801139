"""One judge under several prompts: how far its scores of the same episodes agree, and what each prompt costs. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ccfw.llm.types import ChatReply
from ccfw.records import Metric
from ccfw.report import writing
from ccfw.report.board import words
from ccfw.report.tables import FEW, FEW_CAUTION, supported
from ccfw.stats.bootstrap import Interval, bootstrap_means

ALL = "all"
_NAMES = (*(metric.value for metric in Metric), ALL)
_UNKNOWN = "unknown"
Key = tuple[str, Metric]
"""A judgement: its episode and its metric."""


@dataclass(frozen=True)
class Cost:
    """What the judgements of some episodes took, each call counted once; ``None`` is unknown and not 0."""

    episodes: int
    calls: int | None
    prompt_tokens: float | None
    cached_tokens: float | None
    """Of the prompts' tokens, those that the provider had read before and kept."""
    completion_tokens: float | None
    usd: float | None


@dataclass(frozen=True)
class Wording:
    """One member of the judge under one style of prompts."""

    judge: str
    style: str
    scores: Mapping[Key, int | None]
    """``None``: a judgement that could not be read."""
    cost: Cost


@dataclass(frozen=True)
class Agreement:
    """Two styles beside each other, in one metric or in all."""

    judge: str
    first: str
    second: str
    metric: str
    judged: int
    """Judgements that both hold, readable or not."""
    both: int
    """Of those, the ones that both scored: what the next three are over."""
    exact: int
    within_one: int
    distance: int
    """Sum of the absolute differences."""
    difference: Interval
    """Second minus first, over episodes. In all, an episode counts once, with the mean of its differences."""
    unread: tuple[int, int]
    """Judgements without a score, under the first and under the second."""


def cost(episodes: int, replies: Iterable[ChatReply] | None) -> Cost:
    """Sum up what calls took; when not every reply is there, nothing is known."""
    if replies is None:
        return Cost(episodes, None, None, None, None, None)
    found = list(replies)
    return Cost(
        episodes=episodes,
        calls=len(found),
        prompt_tokens=_total([reply.usage.prompt_tokens for reply in found]),
        cached_tokens=_total([reply.usage.cached_tokens for reply in found]),
        completion_tokens=_total([reply.usage.completion_tokens for reply in found]),
        usd=_total([reply.cost for reply in found]),
    )


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def agreements(wordings: Sequence[Wording], *, seed: int, resamples: int, level: float) -> list[Agreement]:
    """Compare each two styles of a judge, by metric and in all, over the judgements that both hold."""
    found = []
    for first, second in itertools.combinations(wordings, 2):
        keys = sorted(first.scores.keys() & second.scores.keys())
        if first.judge != second.judge or not keys:
            continue
        differences = _differences(first, second, keys)
        drawn = bootstrap_means(differences, np.random.default_rng(seed), resamples=resamples, level=level)
        intervals = map(supported, drawn, _scenarios(keys, differences))
        for name, interval in zip(_NAMES, intervals, strict=True):
            found.append(_agreement(first, second, name, [key for key in keys if name in (ALL, key[1])], interval))
    return found


def _scenarios(keys: Sequence[Key], differences: NDArray[np.float64]) -> list[int]:
    """Return from how many scenarios the episodes are that each column has a difference of."""
    scenarios = np.array(
        [episode.rpartition("__")[0] or episode for episode in dict.fromkeys(episode for episode, _ in keys)]
    )
    return [len(np.unique(scenarios[~np.isnan(column)])) for column in differences.T]


def _agreement(first: Wording, second: Wording, name: str, keys: Sequence[Key], interval: Interval) -> Agreement:
    pairs = [(first.scores[key], second.scores[key]) for key in keys]
    distances = [abs(a - b) for a, b in pairs if a is not None and b is not None]
    return Agreement(
        judge=first.judge,
        first=first.style,
        second=second.style,
        metric=name,
        judged=len(pairs),
        both=len(distances),
        exact=sum(distance == 0 for distance in distances),
        within_one=sum(distance <= 1 for distance in distances),
        distance=sum(distances),
        difference=interval,
        unread=(sum(a is None for a, _ in pairs), sum(b is None for _, b in pairs)),
    )


def _differences(first: Wording, second: Wording, keys: Sequence[Key]) -> NDArray[np.float64]:
    """Return episodes × metrics, and each episode's mean as the last column; ``nan`` where a score is missing."""
    rows = {episode: row for row, episode in enumerate(dict.fromkeys(episode for episode, _ in keys))}
    columns = {metric: column for column, metric in enumerate(Metric)}
    values = np.full((len(rows), len(_NAMES)), np.nan)
    for episode, metric in keys:
        a, b = first.scores[episode, metric], second.scores[episode, metric]
        if a is not None and b is not None:
            values[rows[episode], columns[metric]] = b - a
    own = values[:, :-1]
    scored = np.count_nonzero(~np.isnan(own), axis=1)
    np.divide(np.nansum(own, axis=1), scored, out=values[:, -1], where=scored > 0)
    return values


_HEAD = (
    *("Judge", "First", "Second", "Metric", "Both scored", "Equal %", "Within 1 %", "Mean distance"),
    *("Second minus first", "No score, first %", "No score, second %"),
)
_COST_HEAD = ("Judge", "Prompts", "Episodes", "Calls", "Prompt tokens", "Of those cached", "Reply tokens", "USD")


def markdown(wordings: Sequence[Wording], found: Sequence[Agreement], level: float) -> list[str]:
    """Return the lines of both tables, or of what would fill them."""
    if not found:
        return ["- nothing to compare: judge the same episodes once more with another prompt=…"]
    lines = _table(_HEAD, 4, [_cells(each) for each in found])
    lines += [
        "",
        f"The same episodes, judged by the same model under two styles of prompts. Differences with {level:.0%} "
        "bootstrap intervals over episodes; in all, an episode counts once, with the mean of its differences. No "
        "score: of the judgements that both hold.",
        *(["", f"**{FEW_CAUTION}**"] if any(wording.cost.episodes < FEW for wording in wordings) else []),
        "",
        "What judging one episode took, retries included:",
        "",
    ]
    return lines + _table(_COST_HEAD, 2, [_cost_cells(each) for each in wordings])


def _table(head: Sequence[str], texts: int, rows: Iterable[Sequence[str]]) -> list[str]:
    marks = ["---"] * texts + ["---:"] * (len(head) - texts)
    lines = [head, marks, *([writing.as_markdown(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _cells(row: Agreement) -> list[str]:
    interval = row.difference
    shown = "–"
    if interval.mean is not None:
        shown = f"{interval.mean:+.2f}"
    if interval.low is not None and interval.high is not None:
        shown += f" [{interval.low:+.2f}, {interval.high:+.2f}]"
    return [
        *(row.judge, row.first, row.second, words(row.metric), str(row.both)),
        *(_shown(_share(count, row.both), 100, 0) for count in (row.exact, row.within_one)),
        *(_shown(_share(row.distance, row.both), 1, 2), shown),
        *(_shown(_share(count, row.judged), 100, 0) for count in row.unread),
    ]


def _cost_cells(wording: Wording) -> list[str]:
    spent = wording.cost
    counts = [(spent.calls, 1), (spent.prompt_tokens, 0), (spent.cached_tokens, 0), (spent.completion_tokens, 0)]
    return [
        *(wording.judge, wording.style, str(spent.episodes)),
        *(_shown(_share(total, spent.episodes), 1, digits, _UNKNOWN) for total, digits in [*counts, (spent.usd, 6)]),
    ]


def _share(part: float | None, whole: int) -> float | None:
    return part / whole if part is not None and whole else None


def _shown(value: float | None, scale: float, digits: int, missing: str = "–") -> str:
    return missing if value is None else f"{value * scale:.{digits}f}"


def agreements_csv(found: Sequence[Agreement]) -> str:
    """Write the comparison as CSV, shares between 0 and 1; an empty cell where nothing was scored."""
    head = (
        *("judge", "first", "second", "metric", "judged", "both_scored", "equal", "within_1", "mean_distance"),
        *("difference", "difference_lo", "difference_hi", "no_score_first", "no_score_second"),
    )
    return writing.comma_separated(
        head,
        [
            [
                *(row.judge, row.first, row.second, row.metric, row.judged, row.both),
                *(_number(_share(count, row.both)) for count in (row.exact, row.within_one, row.distance)),
                *(_number(bound) for bound in row.difference[:3]),
                *(_number(_share(count, row.judged)) for count in row.unread),
            ]
            for row in found
        ],
    )


def costs_csv(wordings: Sequence[Wording]) -> str:
    """Write the costs as CSV: totals, and dollars an episode; an empty cell is unknown."""
    head = ("judge", "prompts", "episodes", "calls", "prompt_tokens", "cached_tokens", "reply_tokens", "usd")
    return writing.comma_separated(
        (*head, "usd_per_episode"),
        [
            [
                *(each.judge, each.style, each.cost.episodes),
                *("" if count is None else f"{count:.0f}" for count in _counts(each.cost)),
                *(_number(usd, 8) for usd in (each.cost.usd, _share(each.cost.usd, each.cost.episodes))),
            ]
            for each in wordings
        ],
    )


def _counts(spent: Cost) -> tuple[float | None, ...]:
    return spent.calls, spent.prompt_tokens, spent.cached_tokens, spent.completion_tokens


def _number(value: float | None, digits: int = 6) -> str:
    return "" if value is None else f"{value:.{digits}f}"
