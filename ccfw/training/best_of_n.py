"""Best-of-N among stored answers, in expectation over every choice of N of them (paper 2, Tables 4, 22, 23). Pure.

With k answers to a question there are C(k, N) ways to have been given N of them. A selector takes the one of highest
reward; which it takes in how many of these ways follows from its rank alone, so the mean over all of them needs no
resampling: the answer of rank r, counted from 1 at the top, is taken in C(k − r, N − 1) of them. The random baseline is
then the mean of the k scores, whatever N, and the oracle is the selector whose rewards are the scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

import numpy as np

from ccfw.align.alignment import Figure, Terms
from ccfw.stats.resampling import Array
from ccfw.training.differences import Item
from ccfw.training.figures import ratios

RANDOM = "random"
ORACLE = "oracle"


@dataclass(frozen=True)
class Question:
    """One policy's answers to one question that all selectors can choose from."""

    question_id: str
    cluster: str
    """What was drawn as a whole, as the norm of several situations."""
    policy: str
    scores: tuple[float, ...]
    """Of each answer, by the outcome judge."""
    rewards: Mapping[str, tuple[float, ...]]
    """Of each answer in the same order, by selector."""


class Selection(NamedTuple):
    """What one selector gets at one N."""

    policy: str
    """``all``: of every policy."""
    n: int
    selector: str
    score: Figure
    gain: Figure
    """Over the random baseline, question by question."""
    share: Figure
    """Of what the oracle gains over the random baseline."""
    questions: int
    """With at least N answers; policies count each their own."""


def weights(rewards: Sequence[float], n: int) -> tuple[float, ...]:
    """Return how often each answer is taken, as a share of all C(k, n) choices of ``n`` among the ``k`` rewards.

    Among equal rewards the one taken is drawn at random. Raises ``ValueError`` when ``n`` is not between 1 and k or a
    reward is not a number.
    """
    k = len(rewards)
    if not 1 <= n <= k:
        raise ValueError(f"n={n} of {k} answers")
    if any(map(math.isnan, rewards)):
        raise ValueError("a reward is not a number")
    found = [0.0] * k
    order, above = sorted(range(k), key=lambda place: -rewards[place]), 0
    for _, group in groupby(order, key=lambda place: rewards[place]):
        equal = list(group)
        # every choice that holds none of those above and at least one of these, shared evenly among them
        taken = math.comb(k - above, n) - math.comb(k - above - len(equal), n)
        for place in equal:
            found[place] = float(Fraction(taken, math.comb(k, n) * len(equal)))
        above += len(equal)
    return tuple(found)


def expected(rewards: Sequence[float], scores: Sequence[float], n: int) -> float:
    """Return the mean score of the answer of highest reward over all choices of ``n`` answers."""
    return math.fsum(weight * score for weight, score in zip(weights(rewards, n), scores, strict=True))


def best_of_n(questions: Sequence[Question], sizes: Sequence[int], terms: Terms) -> list[Selection]:
    """Return what each selector, chance and the oracle get at each N, pooled and by policy.

    Selectors compare question by question: all choose from the same answers, and one resample of whole clusters serves
    all of them. A question counts at N when it has N answers.
    """
    selectors = list(dict.fromkeys(name for each in questions for name in each.rewards))
    found: list[Selection] = []
    for n in sizes:
        enough = [each for each in questions if len(each.scores) >= n]
        if enough:
            found += _at(n, enough, [RANDOM, *selectors, ORACLE], terms)
    policies = ["all", *dict.fromkeys(each.policy for each in questions)]
    names = [RANDOM, *selectors, ORACLE]
    return sorted(found, key=lambda each: (policies.index(each.policy), each.n, names.index(each.selector)))


def taken(questions: Sequence[Question], sizes: Sequence[int]) -> dict[str, dict[str, dict[Item, float]]]:
    """Return the expected score of what each scorer takes: scorer → N → question → score; for differences."""
    names = dict.fromkeys(name for each in questions for name in each.rewards)
    return {
        name: {
            str(n): {
                Item(each.cluster, repr((each.policy, each.question_id))): _score(each, name, n)
                for each in questions
                if len(each.scores) >= n
            }
            for n in sizes
        }
        for name in names
    }


def _at(n: int, questions: Sequence[Question], names: Sequence[str], terms: Terms) -> list[Selection]:
    score: Array = np.array([[_score(each, name, n) for name in names] for each in questions], dtype=np.float64)
    ones, columns = np.ones_like(score), len(names)
    gain = score - score[:, :1]
    headroom = np.repeat(gain[:, -1:], columns, axis=1)
    policies = [each.policy for each in questions]
    found = ratios(
        np.concatenate([score, gain, gain], axis=1),
        np.concatenate([ones, ones, headroom], axis=1),
        [each.cluster for each in questions],
        terms,
        {"policy": policies},
    )
    one_policy = len(set(policies)) == 1
    return [
        Selection(
            group,
            n,
            name,
            score=figures[place],
            gain=figures[place + columns],
            share=figures[place + 2 * columns],
            questions=found.items[partition, group][0],
        )
        for (partition, group), figures in found.figures.items()
        if partition == "all" or not one_policy
        for place, name in enumerate(names)
    ]


def _score(question: Question, selector: str, n: int) -> float:
    if selector == RANDOM:
        return math.fsum(question.scores) / len(question.scores)
    rewards = question.scores if selector == ORACLE else question.rewards[selector]
    return expected(rewards, question.scores, n)
