"""What there is to know of judges and of panels of them (paper 1, Table 11), as records. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ccfw.align.alignment import ALL, Baseline, Figure, Line, Lines
from ccfw.humans.study import People
from ccfw.stats.agreement import Scores
from ccfw.stats.panels import Rule
from ccfw.stats.ppi import Powered
from ccfw.stats.resampling import Ints
from ccfw.stats.selection import JudgeValue, Selection


class Spec(NamedTuple):
    """How panels are made and chosen."""

    size: int
    rule: Rule
    folds: int
    repeats: int
    tolerance: float
    """Points that the judges of a cascade may differ by before the next is asked."""


class Entrant(NamedTuple):
    """A judge, with what it scored."""

    name: str
    label: str
    cost: float | None
    """US dollars for one item in one metric; ``None``: unknown."""
    missing: Mapping[str, int]


class Unrated(NamedTuple):
    """What judges scored and nobody rated."""

    metrics: tuple[str, ...]
    """Of each row."""
    scores: Scores
    """Rows × judges."""
    clusters: Ints


@dataclass(frozen=True)
class Candidate:
    """A judge or a panel against the human consensus."""

    members: tuple[int, ...]
    """Places of its judges among the entrants."""
    name: str
    label: str
    cost: float | None
    lines: Lines

    @property
    def whole(self) -> Line:
        """Its figures over everything."""
        return self.lines[ALL]

    @property
    def mae(self) -> float:
        """What candidates are ordered by; one without a figure comes last."""
        value = self.whole.mae.value
        return math.inf if value is None else value


class Rank(NamedTuple):
    """How sure a judge's place is."""

    rank: int
    low: int
    high: int
    """Best and worst rank that cannot be ruled out; all ranks hold at once."""
    group: int
    """Judges of one group cannot be told apart; 0: without a figure."""
    behind: Figure
    """MAE minus that of the best judge, paired."""
    p: float | None
    """Of no difference from the best judge, by Holm over the judges."""


class Versus(NamedTuple):
    """The best panel minus the best judge, on the same items."""

    within_one: Figure
    mae: Figure
    bias: Figure


class Cascade(NamedTuple):
    """Judges asked one after the other, further ones only on disagreement."""

    label: str
    line: Line
    asked: float
    """Judges asked for an item, on average."""
    cost: float | None


class Inferred(NamedTuple):
    """A mean of human ratings over judged items that nobody rated, too."""

    judge: str
    metric: str
    found: Powered


@dataclass(frozen=True)
class PanelStudy:
    """What there is to know of all judges and panels; both lists from the best MAE on."""

    people: People
    baseline: Baseline
    entrants: tuple[Entrant, ...]
    judges: tuple[Candidate, ...]
    panels: tuple[Candidate, ...]
    ranks: Mapping[str, Rank]
    detectable: float | None
    """Difference in MAE between the first two judges that so many items would show with a power of 80 %."""
    versus: Versus | None
    selections: Mapping[str, Selection]
    front: tuple[Candidate, ...]
    """Those that no other beats in both cost and MAE, from the cheapest on."""
    by_calls: bool
    """Whether cost is the number of judges asked, as not every judge's price is known."""
    values: tuple[JudgeValue, ...]
    """What each judge adds to the panel of all; the judges are places among the entrants."""
    cascades: tuple[Cascade, ...]
    inferred: tuple[Inferred, ...]
