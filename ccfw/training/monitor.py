"""Is the policy still getting better, or only its reward? What ends a run of GRPO, with the reason. Pure.

The reward that is optimised is a proxy. Every few steps a gold judge that is not optimised scores answers to held-out
questions: when its score falls behind the best it had while the proxy stands no lower, the proxy is being exploited
(Gao et al. 2023, *Scaling laws for reward model overoptimization*). The other signs are cheap: every step has them.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_WORD = re.compile(r"\S+")
_FLAT = 1e-9


class Limits(NamedTuple):
    """Where a sign trips the monitor, as a mean over ``window`` steps; ``None``: it is logged and not watched."""

    window: int
    gold_drop: float | None
    """Points below its best that the gold score may fall to while the proxy does not fall."""
    patience: int
    """Looks in a row at which that must be so."""
    kl: float | None
    truncated: float | None
    """Share of the answers that were cut off."""
    zero_variance: float | None
    """Share of the groups whose answers all get one reward, so that nothing is learnt from them."""
    repetition: float | None
    length_correlation: float | None
    """Absolute, between reward and length within groups."""
    unscored: float | None
    """Share of the judgements asked for that gave no score."""
    unrewarded: float | None
    """Share of the answers that a reward model was to read, or a supervisor of one's own, that are too long for it."""


class Trip(NamedTuple):
    """Why a run ended."""

    step: int
    sign: str
    reason: str


class Look(NamedTuple):
    """What the gold judge and the proxy said of held-out questions at a step; ``nan`` where nothing was scored."""

    step: int
    proxy: float
    gold: float


SIGNS = ("kl", "truncated", "zero_variance", "repetition", "length_correlation", "unscored", "unrewarded")


@dataclass
class Monitor:
    """The state of the watch over one run."""

    limits: Limits
    looks: list[Look] = field(default_factory=list)
    _recent: dict[str, deque[float]] = field(default_factory=dict)
    _behind: int = 0

    def step(self, number: int, signs: Mapping[str, float]) -> Trip | None:
        """Take what a step showed, and return why the run should end, if it should."""
        for name in SIGNS:
            limit, value = getattr(self.limits, name), signs.get(name)
            if value is None or math.isnan(value):
                continue
            recent = self._recent.setdefault(name, deque(maxlen=self.limits.window))
            recent.append(abs(value) if name == "length_correlation" else value)
            mean = sum(recent) / len(recent)
            if limit is not None and len(recent) == self.limits.window and mean > limit:
                what = f"{name} {mean:.3g} in the mean of {self.limits.window} steps, above {limit:g}"
                return Trip(number, name, what)
        return None

    def look(self, found: Look) -> Trip | None:
        """Take what the gold judge said, and return why the run should end, if it should."""
        earlier = [each for each in self.looks if not math.isnan(each.gold)]
        self.looks.append(found)
        if not earlier or math.isnan(found.gold) or self.limits.gold_drop is None:
            return None
        best = max(earlier, key=lambda each: each.gold)
        behind = best.gold - found.gold >= self.limits.gold_drop and found.proxy >= best.proxy
        self._behind = self._behind + 1 if behind else 0
        if self._behind < self.limits.patience:
            return None
        reason = (
            f"the gold score fell from {_figure(best.gold)} at step {best.step} to {_figure(found.gold)} while the "
            f"reward went from {_figure(best.proxy)} to {_figure(found.proxy)}: the reward is being exploited"
        )
        return Trip(found.step, "gold_gap", reason)


def repetition(text: str, length: int = 4) -> float:
    """Return the share of word sequences of a length that stood in the text before; 0 of a text too short for two."""
    words = _WORD.findall(text)
    grams = [tuple(words[place : place + length]) for place in range(len(words) - length + 1)]
    return 1.0 - len(set(grams)) / len(grams) if len(grams) > 1 else 0.0


def normalised(rewards: Sequence[float], group: int) -> list[float]:
    """Return rewards less their group's mean, by its standard deviation: what one of several rewards is added up as.

    A missing reward (``nan``) is in neither, and 0 takes its place: the answer is moved by its other rewards alone. So
    is every answer of a group in which all rewards, or all but one, are missing or the same.
    """
    found: list[float] = []
    for start in range(0, len(rewards), group):
        part = rewards[start : start + group]
        there = [each for each in part if not math.isnan(each)]
        mean = math.fsum(there) / len(there) if there else 0.0
        spread = math.sqrt(math.fsum((x - mean) ** 2 for x in there) / (len(there) - 1)) if len(there) > 1 else 0.0
        found += [0.0 if math.isnan(x) or spread < _FLAT else (x - mean) / spread for x in part]
    return found


def zero_variance(rewards: Sequence[float], group: int) -> float:
    """Return the share of groups whose rewards are all the same; a missing reward (``nan``) is none."""
    parts = [rewards[start : start + group] for start in range(0, len(rewards), group)]
    flat = [max(there) - min(there) < _FLAT for part in parts if (there := [x for x in part if not math.isnan(x)])]
    return sum(flat) / len(flat) if flat else math.nan


def length_correlation(rewards: Sequence[float], lengths: Sequence[int], group: int) -> float:
    """Return Pearson's correlation of reward and length within groups; ``nan`` where one of the two never differs."""
    xs: list[float] = []
    ys: list[float] = []
    for start in range(0, len(rewards), group):
        pairs = [
            (reward, float(length))
            for reward, length in zip(rewards[start : start + group], lengths[start : start + group], strict=True)
            if not math.isnan(reward)
        ]
        if pairs:
            mean_x, mean_y = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
            xs += [x - mean_x for x, _ in pairs]
            ys += [y - mean_y for _, y in pairs]
    spread = math.sqrt(math.fsum(x * x for x in xs) * math.fsum(y * y for y in ys))
    return math.fsum(x * y for x, y in zip(xs, ys, strict=True)) / spread if spread > 1e-12 else math.nan


def _figure(value: float) -> str:
    """Write a score as tables do: rounded from the six digits that a CSV keeps."""
    return f"{round(value, 6):z.3f}"
