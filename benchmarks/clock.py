"""Times that can be compared: variants in turn within one process, each against its neighbour of the same round."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import NamedTuple

Variant = Callable[[int], object]
"""What is timed; it is given the number of the round."""


class Spent(NamedTuple):
    """What one run took, in seconds."""

    wall: float
    cpu: float
    """Of this process, all its threads."""


class Times(NamedTuple):
    """The runs of one variant, round by round."""

    runs: tuple[Spent, ...]

    @property
    def wall(self) -> float:
        """Median seconds."""
        return median(run.wall for run in self.runs)

    @property
    def cpu(self) -> float:
        """Median CPU seconds."""
        return median(run.cpu for run in self.runs)

    def slower(self, than: Times) -> float:
        """Return the median over rounds of this variant's seconds by the other's."""
        return median(mine.wall / its.wall for mine, its in zip(self.runs, than.runs, strict=True))

    def costlier(self, than: Times) -> float:
        """Return the median over rounds of this variant's CPU seconds by the other's."""
        return median(mine.cpu / its.cpu for mine, its in zip(self.runs, than.runs, strict=True))


def spent(work: Callable[[], object]) -> Spent:
    """Time one run; the garbage of earlier ones is collected first."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def interleaved(rounds: int, variants: Mapping[str, Variant]) -> dict[str, Times]:
    """Time the variants in turn, forwards in even rounds and backwards in odd ones."""
    runs: dict[str, list[Spent]] = {name: [] for name in variants}
    for number in range(rounds):
        for name in list(variants)[:: 1 if number % 2 == 0 else -1]:
            runs[name].append(spent(partial(variants[name], number)))
    return {name: Times(tuple(each)) for name, each in runs.items()}
