"""What went into a stage, what came out, and what was lost on the way, by reason. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ccfw.crisp.records import Loss, Reason


@dataclass
class Tally:
    """Counts of one stage, so far; ``taken`` must be ``kept`` and all that was lost."""

    taken: int
    """What there was to be worked on in this run."""
    kept: int = 0
    lost: Counter[Reason] = field(default_factory=Counter)
    examples: dict[Reason, str] = field(default_factory=dict)
    waiting: int = 0
    """What a run that was stopped has not come to."""

    def lose(self, loss: Loss) -> None:
        """Count one loss."""
        self.lost[loss.reason] += 1
        self.examples.setdefault(loss.reason, loss.detail)

    def add(self, losses: Iterable[Loss | None]) -> None:
        """Count what was kept, ``None``, and what was lost."""
        for loss in losses:
            if loss is None:
                self.kept += 1
            else:
                self.lose(loss)

    def settle(self) -> None:
        """Count what is neither kept nor lost as waiting."""
        self.waiting = self.taken - self.kept - self.lost.total()

    def numbers(self) -> dict[str, int]:
        """Return the counts by name, for the manifest and the tracker."""
        lost = {f"lost_{reason.value}": count for reason, count in sorted(self.lost.items())}
        return {"taken": self.taken, "kept": self.kept, **lost, "waiting": self.waiting}
