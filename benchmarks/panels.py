"""Judges and people on matched items, and the two ways of giving every panel its intervals."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ccfw.stats.agreement import consensus, differences, exact_scores
from ccfw.stats.figures import FigureIntervals, figure_intervals
from ccfw.stats.panels import ensembles, panel_scores
from ccfw.stats.resampling import Slices

METRICS, REGIONS, LEVEL = 6, 10, 0.95


class Matched(NamedTuple):
    """Items with the scores of every judge and of three people."""

    judges: NDArray[np.float64]
    """Items × judges."""
    humans: NDArray[np.float64]
    dialogue: NDArray[np.int64]
    metric: list[str]
    region: list[str]


def matched(dialogues: int, judges: int) -> Matched:
    """Return six items a dialogue; judges differ in noise and bias."""
    rng = np.random.default_rng(3)
    dialogue = np.repeat(np.arange(dialogues), METRICS)
    true = rng.normal(3.5, 0.9, len(dialogue))[:, None]
    noise, bias = np.linspace(0.5, 1.2, judges), -np.linspace(0.0, 0.8, judges)
    return Matched(
        _rated(true + bias + rng.normal(size=(len(true), judges)) * noise),
        _rated(true + rng.normal(0.0, 0.8, (len(true), 3))),
        dialogue,
        np.tile([f"metric {number}" for number in range(METRICS)], dialogues).tolist(),
        [f"region {number % REGIONS}" for number in dialogue],
    )


def _rated(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(np.rint(values), 1.0, 5.0)


def ours_of_panels(found: Matched, resamples: int, *, clustered: bool = False) -> FigureIntervals:
    """Return the figures of all panels of three with intervals, overall, by metric and by region."""
    judges, humans = exact_scores(found.judges), exact_scores(found.humans)
    panels = panel_scores(judges, ensembles(found.judges.shape[1], 3))
    return figure_intervals(
        differences(panels, consensus(humans)),
        np.random.default_rng(1),
        resamples=resamples,
        level=LEVEL,
        slices=Slices.of({"metric": found.metric, "region": found.region}),
        clusters=found.dialogue if clustered else None,
    )


def pandas_loop(found: Matched, panels: int, resamples: int) -> list[object]:
    """Return the bounds that a loop over panels and resamples of a table gives, for the first panels."""
    rng, bounds = np.random.default_rng(1), list[object]()
    figures = ["within_one", "mae", "bias"]
    for members in list(combinations(range(found.judges.shape[1]), 3))[:panels]:
        error = found.judges[:, members].mean(axis=1) - found.humans.mean(axis=1)
        table = pd.DataFrame({"metric": found.metric, "region": found.region, "bias": error, "mae": np.abs(error)})
        table["within_one"] = table["mae"] <= 1.0 + 1e-9
        drawn = []
        for _ in range(resamples):
            sample = table.iloc[rng.integers(0, len(table), len(table))]
            overall = sample[figures].mean().to_frame().T
            drawn.append(pd.concat([overall, *(sample.groupby(by)[figures].mean() for by in ("metric", "region"))]))
        tail = (1 - LEVEL) / 2
        bounds.append(np.quantile(np.stack([each.to_numpy(float) for each in drawn]), [tail, 1 - tail], axis=0))
    return bounds
