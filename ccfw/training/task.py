"""What a policy is optimised for: questions, rewards that are logged apart, and a gold score that is not optimised."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Rewarder = Callable[[Sequence[str], Sequence[str]], list[float | None]]
"""Keys of the questions, answers → a reward each; ``None`` where there is none: it then moves nothing."""


class Question(NamedTuple):
    """A question as the policy is asked it; what is private to judges is behind the key."""

    key: str
    prompt: tuple[dict[str, str], ...]
    """A chat that the policy is to go on."""


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
