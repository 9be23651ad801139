"""The held-out answers of a policy before and after optimisation: rewards, gold score, Norm Match (Tables 5 and 24)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import compress

import numpy as np

from ccfw.report.agreement import Table, percent, points
from ccfw.settings import Settings
from ccfw.stages.rated import terms_of
from ccfw.stages.rewarding import asks_gold
from ccfw.stats.resampling import Array
from ccfw.training.figures import intervals_note, means
from ccfw.training.task import Answered, Missing, number

_FIGURES = ("reward", "gold_valid", "gold_all", "norm_match_valid", "norm_match_all", "valid", "truncated")
_HEAD = ("Reward", "Gold, valid", "Gold, all", "Norm Match, valid", "Norm Match, all", "Valid", "Cut off")
_SHARES = 2
"""Figures at the end that are shares."""


def before_and_after(settings: Settings, first: Sequence[Answered], last: Sequence[Answered]) -> Table:
    """Return the table of answers to the same questions before the first step and after the last.

    What nobody was asked for is in its data alone, empty.
    """
    toy, judged = settings.grpo.task == "toy", asks_gold(settings)
    least = (settings.norm_match.invalid_outcome, settings.norm_match.invalid_norm_match) if judged else (None, None)
    before, after = (_columns(answers, least) for answers in (first, last))
    lines = (("before", before, first), ("after", after, last), ("difference", after - before, ()))
    keys, terms = [each.question.key for each in first], terms_of(settings)
    gold, match = judged or toy, judged
    asked = (True, gold, gold, match, match, True, True)
    rows, data = [], []
    for name, values, answers in lines:
        figures = means(values, keys, terms).figures["all", "all"]
        shown = compress((*map(points, figures[:-_SHARES]), *map(percent, figures[-_SHARES:])), asked)
        unread = Counter(each.proxy for each in answers if isinstance(each.proxy, Missing))
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(unread.items())) or "0"
        rows.append((name, *shown, told if answers else "", str(len(keys))))
        ends = (end for figure in figures for end in figure)
        data.append((name, *ends, unread.total() if answers else None, len(keys)))
    return Table(
        "policies",
        "Before and after",
        ("Policy", *compress(_HEAD, asked), "No reward", "Questions"),
        tuple(rows),
        _note(settings, judged=judged),
        data_head=(
            "policy",
            *(f"{name}{end}" for name in _FIGURES for end in ("", "_lo", "_hi")),
            "without_reward",
            "questions",
        ),
        data=tuple(data),
    )


def _columns(answers: Sequence[Answered], least: tuple[float | None, float | None]) -> Array:
    """Return answers × figures; ``nan`` where there is none.

    ``least`` is what an answer out of form counts as over all answers, by gold score and Norm Match; ``None``: nothing.
    Nothing is known of all answers either where every one in form lacks its score.
    """
    valid = np.array([each.valid for each in answers], dtype=bool)
    proxy, gold, match = (
        np.array([number(getattr(each, name)) for each in answers]) for name in ("proxy", "gold", "norm_match")
    )
    every = [
        np.where(valid, scores, np.nan if lowest is None or (valid.any() and np.isnan(scores).all()) else lowest)
        for scores, lowest in zip((gold, match), least, strict=True)
    ]
    truncated = np.array([float(each.truncated) for each in answers])
    return np.array([proxy, gold, every[0], match, every[1], valid.astype(float), truncated]).T


def _note(settings: Settings, *, judged: bool) -> str:
    """Return whose answers the table is of, and what its figures are."""
    if settings.grpo.task == "toy":
        whose = (
            "Answers to the questions of the made-up task, the same that it is trained on. Gold: 1 for an answer whose "
            "first act is the right one, else 0. "
        )
    else:
        outcome, match = settings.norm_match.invalid_outcome, settings.norm_match.invalid_norm_match
        counted = f"gold {'left out' if outcome is None else format(outcome, 'g')}, Norm Match {match:g}"
        scores = f"Gold, Norm Match: the gold judge's scores of valid answers, and of all, where others are {counted}. "
        whose = (
            f"Answers to questions of norms not trained on. Valid: in the form asked for. {scores if judged else ''}"
            "No reward: valid answers that the reward model does not read, and why. "
        )
    return (
        f"{whose}Valid, cut off: per cent. {intervals_note(settings.bootstrap.level, 'questions')} Differences are "
        "paired by question."
    )
