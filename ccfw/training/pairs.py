"""Which pairs can be learnt from, and how well rewards order them: accuracy, calibration, margins (paper 2, part II).

A Bradley–Terry model takes the chosen answer of a pair with probability ``σ(r⁺ − r⁻)``; the difference is the margin.
Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ccfw.align.alignment import Figure, Group, Terms
from ccfw.checks.text import count_words, normalise
from ccfw.crisp.records import Preference
from ccfw.training.figures import means

_GAPS = ((-math.inf, -10, "chosen shorter by 10 words or more"), (-9, -1, "shorter by 1–9"), (0, 0, "equally long"))
LENGTH_GAPS = (*_GAPS, (1, 9, "longer by 1–9"), (10, math.inf, "chosen longer by 10 words or more"))
"""Least and greatest difference in words, and its name."""
_BINS = 10


def fault_of(pair: Preference) -> str | None:
    """Return why nothing can be learnt from a pair: an answer says nothing, or both say the same; ``None`` if it can.

    Layout, case and punctuation make no difference between answers, as among those that pairs are made of.
    """
    chosen, rejected = _said(pair.chosen), _said(pair.rejected)
    if not (chosen and rejected):
        return "no rejected answer" if chosen else "no chosen answer" if rejected else "no answers"
    return "both answers the same" if chosen == rejected else None


def _said(text: str) -> str:
    return normalise(text) or "".join(filter(str.isprintable, text)).strip()


class Margin(NamedTuple):
    """A held-out pair with the difference of its rewards."""

    pair: Preference
    margin: float


class Calibration(NamedTuple):
    """How far stated probabilities are from what happens.

    Of two answers the model states the probability that the one it prefers is the chosen one, between 0.5 and 1.
    """

    error: float
    """Expected calibration error: mean over the bins of |accuracy − confidence|, weighted by their pairs."""
    loss: float
    """Mean ``−log σ(margin)``: the loss that training makes small; ``log 2`` is that of a model that knows nothing."""
    brier: float
    bins: tuple[tuple[float, float, float, int], ...]
    """Upper end of the bin, mean confidence, accuracy, pairs; empty bins are left out."""


def right(margin: float) -> float:
    """Return 1 when the chosen answer has the higher reward, 0 when the lower, and a half when neither."""
    if math.isnan(margin):
        raise ValueError("a margin is not a number")
    return 0.5 if margin == 0 else float(margin > 0)


def gap_of(pair: Preference) -> str:
    """Return in which class of ``LENGTH_GAPS`` a pair is."""
    gap = count_words(pair.chosen) - count_words(pair.rejected)
    return next(name for low, high, name in LENGTH_GAPS if low <= gap <= high)


def accuracies(found: Sequence[Margin], terms: Terms) -> tuple[Mapping[Group, Figure], Mapping[Group, int]]:
    """Return the share of pairs ordered rightly, and the pairs: of all, by kind, culture and length gap, whole norms
    resampled.
    """
    values = np.array([[right(each.margin)] for each in found], dtype=np.float64).reshape(-1, 1)
    partitions = {
        "kind": [each.pair.kind.value for each in found],
        "culture": [each.pair.culture for each in found],
        "length_gap": [gap_of(each.pair) for each in found],
    }
    made = means(values, [each.pair.norm_id for each in found], terms, partitions)
    groups = sorted(made.figures, key=_place)
    return {group: made.figures[group][0] for group in groups}, {group: made.items[group][0] for group in groups}


def _place(group: Group) -> int:
    """Return where a group stands, those of length by length; sorting leaves all others in their order."""
    partition, name = group
    return 1 + [each for *_, each in LENGTH_GAPS].index(name) if partition == "length_gap" else 0


def calibration(margins: Sequence[float]) -> Calibration | None:
    """Return the calibration of margins; ``None`` of none."""
    if not margins:
        return None
    stated = [1.0 / (1.0 + math.exp(-min(abs(each), 700.0))) for each in margins]
    hits = [right(each) for each in margins]
    placed: dict[int, list[tuple[float, float]]] = {}
    for p, hit in zip(stated, hits, strict=True):
        placed.setdefault(min(_BINS - 1, int((p - 0.5) * 2 * _BINS)), []).append((p, hit))
    bins = tuple(
        (
            0.5 + (place + 1) / (2 * _BINS),
            math.fsum(p for p, _ in own) / len(own),
            math.fsum(hit for _, hit in own) / len(own),
            len(own),
        )
        for place, own in sorted(placed.items())
    )
    n = len(margins)
    return Calibration(
        math.fsum(count * abs(accuracy - confidence) for _, confidence, accuracy, count in bins) / n,
        math.fsum(_softplus(-each) for each in margins) / n,
        math.fsum((p - hit) ** 2 for p, hit in zip(stated, hits, strict=True)) / n,
        bins,
    )


def _softplus(value: float) -> float:
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))
