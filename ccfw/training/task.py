"""What a policy is optimised for: questions, rewards that are logged apart, and a gold score that is not optimised."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Missing(str):
    """Why an answer that was to be rewarded has no reward: a kind of failure, as ``refused`` or ``too_long``."""

    __slots__ = ()


Given = float | Missing | None
"""A reward, or why there is none; ``None``: nobody was asked, as of an answer that is not in form."""
Rewarder = Callable[[Sequence[str], Sequence[str]], Sequence[Given]]
"""Keys of the questions, answers → a reward each. Nothing stands in for one that is missing: the answer is then in
neither mean nor spread of its group, and this reward moves it nowhere. Raises ``RewardError`` when it can give none."""
JUDGEMENTS, READINGS = "judgements", "readings"
"""What judges are asked for; what a reward model, or a supervisor of one's own, reads."""
SHARES = {JUDGEMENTS: "unscored", READINGS: "unrewarded"}
"""The share of each that gave no reward, by name."""


class RewardError(Exception):
    """A reward is no number, whatever step asks for it."""


def number(given: Given) -> float:
    """Return a reward, ``nan`` where there is none."""
    return math.nan if given is None or isinstance(given, Missing) else given


class Question(NamedTuple):
    """A question as the policy is asked it; what is private to judges is behind the key."""

    key: str
    prompt: tuple[dict[str, str], ...]
    """A chat that the policy is to go on."""


class Answered(NamedTuple):
    """The policy's answer to a held-out question at one look."""

    question: Question
    answer: str
    truncated: bool
    valid: bool
    """Whether it is in the form asked for."""
    proxy: Given
    gold: Given
    norm_match: Given = None
    """0 to 2; of looks in the middle of training nobody is asked for it."""


@dataclass
class Tally:
    """How many rewards were asked for since it was last taken, and how many are missing, by kind of failure."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, what: str, given: Iterable[Given]) -> None:
        """Count what was asked for: judgements, or readings."""
        for each in given:
            if each is not None:
                self.counts[what] += 1
            if isinstance(each, Missing):
                self.counts[f"{what}/{each}"] += 1

    def take(self) -> dict[str, float]:
        """Return the counts and start anew, with the share missing of each kind (``SHARES``) that was asked for."""
        counts, self.counts = self.counts, Counter()
        found = {name: float(count) for name, count in counts.items()}
        for what, share in SHARES.items():
            if counts[what]:
                missing = sum(count for name, count in counts.items() if name.startswith(f"{what}/"))
                found[share] = missing / counts[what]
        return found


def always(_answer: str) -> bool:
    """Whether an answer is valid where no form is asked for: it is."""
    return True


@dataclass(frozen=True)
class Task:
    """Questions to learn from, others that are only looked at, and who rewards what."""

    train: tuple[Question, ...]
    held_out: tuple[Question, ...]
    rewards: Mapping[str, Rewarder]
    """By name; each is normalised by itself before they are added up."""
    weights: Mapping[str, float]
    proxy: str
    """Of the rewards, the one that the gold score is held against."""
    gold: Rewarder | None
    tally: Tally = field(default_factory=Tally)
    """Of all that rewards and gold score ask for."""
    valid: Callable[[str], bool] = always
    """Whether an answer is in the form asked for, whatever rewards it has."""
    norm_match: Rewarder | None = None
    """Norm Match by the gold judge, 0 to 2, which is asked for before the first step and after the last."""
