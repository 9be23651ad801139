"""What a policy is optimised for: questions, rewards that are logged apart, and a gold score that is not optimised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Rewarder = Callable[[Sequence[str], Sequence[str]], list[float | None]]
"""Keys of the questions, answers → a reward each. ``None`` where there is none, and nothing stands in for it: the
answer is then in neither mean nor spread of its group, and this reward moves it nowhere."""
JUDGEMENTS = "judgements"


class Question(NamedTuple):
    """A question as the policy is asked it; what is private to judges is behind the key."""

    key: str
    prompt: tuple[dict[str, str], ...]
    """A chat that the policy is to go on."""


@dataclass
class Tally:
    """How many judgements were asked for since it was last taken, and how many gave no score, by kind of failure."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, failure: str | None) -> None:
        """Count a judgement, and why it gave no score if it gave none."""
        self.counts[JUDGEMENTS] += 1
        if failure is not None:
            self.counts[f"{JUDGEMENTS}/{failure}"] += 1

    def take(self) -> dict[str, float]:
        """Return the counts and start anew; ``unscored`` is their share without a score. Of no judgement: nothing."""
        counts, self.counts = self.counts, Counter()
        asked = counts[JUDGEMENTS]
        if not asked:
            return {}
        return {name: float(count) for name, count in counts.items()} | {"unscored": counts.total() / asked - 1.0}


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
    """Of the judges that rewards and gold score ask."""
