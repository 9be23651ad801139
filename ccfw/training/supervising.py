"""Norm grounding as a trained classifier gives it, and how far it agrees with the judge that it learnt from. Pure.

The judge's Norm Match is 0, 1 or 2. The classifier has one output, a logit, and learns ``score / 2`` by cross-entropy
(Papke & Wooldridge 1996, fractional logit): what it then gives is the expected share of the highest score, which is the
reward. Read as a score it is the nearest of the three.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from ccfw.align.alignment import Figure, Terms
from ccfw.crisp.records import BOUNDS, Scale
from ccfw.records import Record
from ccfw.stats.agreement import exact_scores
from ccfw.stats.intervals import percentile
from ccfw.stats.reliability import categories, table_features, weighted_kappa
from ccfw.stats.resampling import Array, resampled
from ccfw.training.figures import means

HIGHEST = BOUNDS[Scale.NORM_MATCH][1]
FIGURES = ("accuracy", "mae", "kappa")


class Grade(Record):
    """A reasoning with the judge's Norm Match; a panel's may lie between two whole scores."""

    grade_id: str
    norm_id: str
    culture: str
    split: str
    norm: str
    """Private to judges and supervisor."""
    reasoning: str
    score: Annotated[float, Field(ge=0, le=HIGHEST)]


def fault_of(grade: Grade) -> str | None:
    """Return why nothing can be learnt from a grade; ``None`` if it can."""
    if not grade.reasoning.strip():
        return "no reasoning"
    return None if grade.norm.strip() else "no norm"


def grounding(logit: float) -> float:
    """Return the reward, from 0 to 1."""
    return 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, logit))))


def read_as(reward: float) -> int:
    """Return the score that a reward is nearest to; halfway the higher one."""
    return math.floor(HIGHEST * reward + 0.5)


def agreement(
    rewards: Mapping[str, Sequence[float]], scores: Sequence[float], clusters: Sequence[str], terms: Terms
) -> Mapping[str, tuple[Figure, ...]]:
    """Return accuracy, mean absolute error and quadratic-weighted kappa of each grader against the judge's scores.

    ``rewards`` holds, by grader, rewards from 0 to 1 in the order of ``scores``. Accuracy and kappa are of the nearest
    scores, the error (in points) of the rewards themselves. Whole clusters are resampled, the same for all graders.
    """
    judge: Array = np.asarray(scores, dtype=np.float64)
    found: dict[str, tuple[Figure, ...]] = {}
    for name, given in rewards.items():
        nearest: Array = np.array([read_as(each) for each in given], dtype=np.float64)
        columns = [nearest == judge, np.abs(HIGHEST * np.asarray(given, dtype=np.float64) - judge)]
        figures = means(np.stack(columns, axis=1).astype(np.float64), clusters, terms).figures["all", "all"]
        found[name] = (*figures, _kappa(nearest, judge, clusters, terms))
    return found


class Constants(NamedTuple):
    """For each figure the one score for all that has the least error on some grades."""

    accuracy: int
    """The commonest whole score, the lowest of several."""
    mae: float
    """The median: no other score has a lower mean distance."""


def constants(scores: Sequence[float]) -> Constants:
    """Return the constants of least error on scores, at least one."""
    counts = Counter(scores)
    return Constants(max(range(int(HIGHEST) + 1), key=lambda score: counts[score]), float(median(scores)))


def constant_agreement(
    given: Constants, scores: Sequence[float], clusters: Sequence[str], terms: Terms
) -> tuple[Figure, ...]:
    """Return the figures of constants, each figure that of its own; kappa has no value of a constant."""
    rewards = {name: [score / HIGHEST] * len(scores) for name, score in given._asdict().items()}
    found = agreement(rewards, scores, clusters, terms)
    return found["accuracy"][0], found["mae"][1], Figure(None, None, None)


def _kappa(one: Array, other: Array, clusters: Sequence[str], terms: Terms) -> Figure:
    denominator = _denominator(other)
    first, second = (exact_scores(each[:, None], denominator) for each in (one, other))
    levels = categories(first, second)
    found = resampled(
        table_features(first, second, levels),
        lambda sums: weighted_kappa(sums, levels)[..., None],
        terms.generator(),
        resamples=terms.resamples,
        clusters=np.asarray(clusters, dtype=np.str_),
    )
    ends = [float(side[0, 0]) for side in percentile(found, terms.level)]
    return Figure(*(None if math.isnan(each) else each for each in ends))


def _denominator(scores: Array) -> int:
    """Return the least whole number that makes all scores whole: 1 of a judge, up to twice its members of a panel."""
    return next(n for n in range(1, 1000) if np.allclose(scores * n, np.rint(scores * n), atol=1e-6))
