"""The bootstrap of a table of scores beside a plain loop and scipy's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.clock import Times, interleaved
from benchmarks.page import Bar, Section
from benchmarks.resampling import BATCH, COLUMNS, continuous, loop, ours, peak_mb, scipys, scores, with_gaps

LIMIT, FASTER, EXTRA_MB = 0.5, 25, 64
ABOUT = (
    "Scores of 1 to 5 in {episodes:,} episodes × {columns} columns, {resamples:,} resamples, and the same for {models} "
    "models side by side; {rounds} rounds in turn, medians. The loop takes the mean of resampled rows, model by model, "
    "and is scaled from {looped} resamples. `scipy.stats.bootstrap` takes one column of one model (percentile, batch "
    "of {batch}). Memory is the peak above what was held before, as tracemalloc sees it in a run of its own."
)


class Sizes(NamedTuple):
    """How much is resampled."""

    episodes: int
    models: int
    resamples: int
    looped: int
    """Resamples of the loop."""
    rounds: int


class Found(NamedTuple):
    """What one table of scores came to."""

    models: int
    times: dict[str, Times]
    peaks: dict[str, float]
    scale: float
    """From the loop's resamples to all."""

    def faster(self, name: str) -> float:
        """How many times faster ours is than another way."""
        return self.times[name].slower(self.times["ours"]) * (self.scale if name == "loop" else 1.0)

    def row(self, what: str, name: str) -> tuple[str, ...]:
        """Write one way as a row of the table."""
        scale = self.scale if name == "loop" else 1.0
        seconds, cpu = self.times[name].wall * scale, self.times[name].cpu * scale
        columns = 1 if name == "scipy" else self.models * COLUMNS
        return (
            what,
            str(columns),
            f"{seconds:.2f}",
            f"{cpu:.2f}",
            f"{self.faster(name):.1f} x",
            f"{self.peaks[name]:.0f}",
        )


def found(sizes: Sizes, models: int) -> Found:
    """Time and weigh every way on one table."""
    values = scores(sizes.episodes, models)
    ways: dict[str, Callable[[], object]] = {
        "ours": partial(ours, values, sizes.resamples),
        "gaps": partial(ours, with_gaps(values), sizes.resamples),
        "loop": partial(loop, values, sizes.looped),
    }
    if models == 1:
        ways["scipy"] = partial(scipys, values, sizes.resamples)
    peaks = {name: peak_mb(way) for name, way in ways.items()}
    times = interleaved(sizes.rounds, {name: lambda _, way=way: way() for name, way in ways.items()})  # type: ignore[misc]
    return Found(models, times, peaks, sizes.resamples / sizes.looped)


def measure(quick: bool) -> Section:
    """Measure one model's table and that of all models."""
    sizes = Sizes(100, 2, 100, 50, 1) if quick else Sizes(14_610, 18, 1000, 50, 3)
    one, every = found(sizes, 1), found(sizes, sizes.models)
    complete = continuous(scores(sizes.episodes, 1))
    tables = (complete, with_gaps(complete))
    apart = max(float(np.abs(ours(each, sizes.looped) - loop(each, sizes.looped)).max()) for each in tables)
    rows = (
        one.row("ccfw", "ours"),
        one.row("ccfw, one score in twenty missing", "gaps"),
        one.row("Loop in numpy", "loop"),
        one.row("`scipy.stats.bootstrap`", "scipy"),
        every.row("ccfw", "ours"),
        every.row("ccfw, one score in twenty missing", "gaps"),
        every.row("Loop in numpy", "loop"),
    )
    took, ratio = every.times["ours"], every.faster("loop")
    extra = max(every.peaks["ours"], every.peaks["gaps"])
    what = f"Bootstrap of {sizes.models} models"
    bars = (
        Bar(what, f"≤ {LIMIT} s", f"{took.wall:.2f} s ({took.cpu:.2f} s of CPU)", took.wall <= LIMIT),
        Bar(what, f"≥ {FASTER} x the loop", f"{ratio:.1f} x", ratio >= FASTER),
        Bar(what, f"≤ {EXTRA_MB} MB extra memory, scores missing or not", f"{extra:.0f} MB", extra <= EXTRA_MB),
        Bar(
            f"Bounds of one model, scores of any value, missing or not, {sizes.looped} resamples, same draws",
            "the loop's",
            f"at most {apart:.0e} apart",
            apart < 1e-9,
        ),
    )
    about = ABOUT.format(columns=COLUMNS, batch=BATCH, **sizes._asdict())
    head = ("Way", "Columns", "Seconds", "CPU seconds", "Of ccfw's time", "Peak extra MB")
    return Section("The bootstrap", about, head, rows, bars)
