"""Intervals by matrix products and histograms beside plain loops, scipy and pandas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from math import comb
from typing import NamedTuple

import numpy as np

from benchmarks.clock import Times, interleaved
from benchmarks.page import Bar, Section
from benchmarks.panels import Matched, matched, ours_of_panels, pandas_loop
from benchmarks.resampling import COLUMNS, LEVEL, Scores, continuous, loop, ours, peak_mb, scores

LOOP, SCIPY, PANDAS = 50, 100, 500
MOST_APART = 4.5
BATCH = 8
"""Resamples that scipy makes at a time: faster for nine columns than 64, and less memory."""
ABOUT = (
    "*Table 17's size*: {columns} columns (six scores of 1 to 5, two means of three, a share) of {models} models in "
    "{episodes:,} episodes, {resamples:,} resamples; {rounds} rounds in turn, medians, ratios round by round. The loop "
    "takes the mean of resampled rows, model by model, and is scaled from {looped} resamples. `scipy.stats.bootstrap` "
    "takes all columns of a model at once (percentile, vectorised), model by model. *Panels*: {panels} panels of 3 of "
    "{judges} judges on {items:,} items, ±1, MAE and bias with percentile intervals overall, by 6 metrics and by 10 "
    "regions. The pandas loop resamples a table of an item's three figures and takes their means overall and by "
    "`groupby`; it is scaled from {looped_panels} panels × {looped_frames} resamples. Ours adds exact agreement and "
    "starts from the judges' scores. Memory is the peak above what was held before, as tracemalloc sees it in a run of "
    "its own."
)


class Sizes(NamedTuple):
    """How much is resampled."""

    episodes: int
    models: int
    judges: int
    dialogues: int
    resamples: int
    looped: int
    """Resamples of the numpy loop."""
    looped_panels: int
    looped_frames: int
    """Panels and resamples of the pandas loop."""
    rounds: int


class Found(NamedTuple):
    """What the ways came to."""

    times: dict[str, Times]
    scales: dict[str, float]
    """From what a way did to all of it."""
    peaks: dict[str, float]

    def faster(self, name: str, than: str = "ours") -> float:
        """Return how many times as long as ``than`` a way takes."""
        return self.times[name].slower(self.times[than]) * self.scales.get(name, 1.0)

    def row(self, what: str, name: str, than: str = "ours") -> tuple[str, ...]:
        """Write one way as a row of the table."""
        scale, times = self.scales.get(name, 1.0), self.times[name]
        peak = f"{self.peaks[name]:.0f}" if name in self.peaks else "–"
        return what, f"{times.wall * scale:.2f}", f"{times.cpu * scale:.2f}", f"{self.faster(name, than):.1f} x", peak


def table_17(episodes: int, models: int) -> Scores:
    """Return the table's nine columns for each model: six scores, two means of three of them, and a share."""
    found = scores(episodes, models).reshape(episodes, models, COLUMNS)
    found[..., 0], found[..., 4] = found[..., 1:4].mean(axis=2), found[..., 5:8].mean(axis=2)
    found[..., 8] = found[..., 8] > 1
    return found.reshape(episodes, models * COLUMNS)


def scipys(values: Scores, resamples: int) -> list[tuple[Scores, Scores]]:
    """Return the bounds that scipy gives for all columns of a model at once, model by model."""
    bootstrap = import_module("scipy.stats").bootstrap  # by name: it has no stubs
    bounds = []
    for start in range(0, values.shape[1], COLUMNS):
        interval = bootstrap(
            (values[:, start : start + COLUMNS],),
            np.mean,
            n_resamples=resamples,
            batch=BATCH,
            confidence_level=LEVEL,
            method="percentile",
            rng=np.random.default_rng(1),
        ).confidence_interval
        bounds.append((interval.low, interval.high))
    return bounds


def found(sizes: Sizes, table: Matched) -> Found:
    """Time every way in turn, and weigh ours."""
    whole = table_17(sizes.episodes, sizes.models)
    kinds = {"ours": whole, "rows": continuous(whole)}
    ways: dict[str, Callable[[], object]] = {name: partial(ours, of, sizes.resamples) for name, of in kinds.items()}
    ways["loop"] = partial(loop, whole, sizes.looped)
    ways["scipy"] = partial(scipys, whole, sizes.resamples)
    ways["panels"] = partial(ours_of_panels, table, sizes.resamples)
    ways["clustered"] = partial(ours_of_panels, table, sizes.resamples, clustered=True)
    ways["pandas"] = partial(pandas_loop, table, sizes.looped_panels, sizes.looped_frames)
    peaks = {name: peak_mb(ways[name]) for name in ("ours", "rows", "panels", "clustered")}
    times = interleaved(sizes.rounds, {name: lambda _, way=way: way() for name, way in ways.items()})  # type: ignore[misc]
    panels = comb(sizes.judges, 3)
    done = sizes.looped_panels * sizes.looped_frames
    return Found(times, {"loop": sizes.resamples / sizes.looped, "pandas": panels * sizes.resamples / done}, peaks)


def apart(episodes: int, resamples: int) -> float:
    """Return how far our bounds lie from scipy's at most, in standard errors of such a difference.

    A bound is a quantile of ``resamples`` means, so its own error is ``√(q(1 − q) / resamples) / density`` in standard
    deviations of the mean, which here is normal.
    """
    values = table_17(episodes, 1)
    theirs = np.column_stack(scipys(values, resamples)[0])
    tail = (1 - LEVEL) / 2
    density = np.exp(-(1.959963985**2) / 2) / np.sqrt(2 * np.pi)
    error = np.sqrt(2 * tail * (1 - tail) / resamples) / density * values.std(axis=0) / np.sqrt(episodes)
    return float(np.abs((ours(values, resamples) - theirs) / error[:, None]).max())


def measure(quick: bool) -> Section:
    """Measure Table 17's intervals and those of all panels."""
    sizes = Sizes(100, 2, 4, 20, 100, 50, 1, 2, 1) if quick else Sizes(14_610, 18, 11, 1_250, 1_000, 50, 2, 25, 3)
    table = matched(sizes.dialogues, sizes.judges)
    all_of_it = found(sizes, table)
    panels = comb(sizes.judges, 3)
    rows = (
        all_of_it.row("ccfw", "ours"),
        all_of_it.row("ccfw, were scores of any value (rows, not histograms)", "rows"),
        all_of_it.row("Loop in numpy", "loop"),
        all_of_it.row("`scipy.stats.bootstrap`", "scipy"),
        all_of_it.row(f"{panels} panels: ccfw", "panels", "panels"),
        all_of_it.row(f"{panels} panels: ccfw, clustered by dialogue", "clustered", "panels"),
        all_of_it.row(f"{panels} panels: loop in pandas", "pandas", "panels"),
    )
    from_scipy = apart(sizes.episodes, sizes.resamples)
    what = f"Bootstrap of {sizes.models} models"
    bars = (
        _bar(what, "the loop", LOOP, all_of_it.faster("loop")),
        _bar(what, "scipy", SCIPY, all_of_it.faster("scipy")),
        _bar(f"{panels} panels with all intervals", "the pandas loop", PANDAS, all_of_it.faster("pandas", "panels")),
        Bar(
            f"Bounds of one model, {COLUMNS} columns, beside scipy's",
            f"≤ {MOST_APART} Monte-Carlo standard errors apart",
            f"{from_scipy:.1f}",
            from_scipy <= MOST_APART,
        ),
    )
    about = ABOUT.format(columns=COLUMNS, panels=panels, items=len(table.metric), **sizes._asdict())
    head = ("Way", "Seconds", "CPU seconds", "Of ccfw's time", "Peak extra MB")
    return Section("Statistics", about, head, rows, bars)


def _bar(what: str, than: str, times: int, found: float) -> Bar:
    return Bar(what, f"≥ {times} x as fast as {than}", f"{found:.0f} x", found >= times)
