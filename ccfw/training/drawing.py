"""Figures of training and selection; matplotlib comes through ``ccfw.report.figures``.

What compares methods, models or runs is drawn from the rows of its CSV, so that a stage and the report draw alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ccfw.report.figures import as_text, canvas, saved
from ccfw.report.panels import Mark, Panel, panels
from ccfw.report.plots import COLOURS, Figure, Grid, heat_map
from ccfw.training.best_of_n import ORACLE, RANDOM

Rows = Sequence[Mapping[str, Any]]
"""Of a CSV: numbers as numbers, ``None`` where there is none."""
_HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")
_LEVELS = ("easy", "medium", "hard")
_SHARES = ("culshield", "easy", "medium")
"""Benchmarks and levels whose figures are shares."""
_TITLES = {"culshield": "CulShield", **{name: f"CultureForest, {name}" for name in _LEVELS}}


def grouped_bars(
    labels: Sequence[str],
    bars: Mapping[str, Sequence[float]],
    ends: Mapping[str, Sequence[tuple[float, float]]],
    chance: Sequence[float],
    unit: str,
    stem: Path,
) -> list[Path]:
    """Draw bars with intervals, a group for each label, and a dashed line at each group's chance level."""
    figure, axes = canvas(9, 4)
    width = 0.8 / max(1, len(bars))
    for place, (name, heights) in enumerate(bars.items()):
        at = [group - 0.4 + width * (place + 0.5) for group in range(len(labels))]
        below = [height - low for height, (low, _) in zip(heights, ends[name], strict=True)]
        above = [high - height for height, (_, high) in zip(heights, ends[name], strict=True)]
        axes.bar(
            at,
            heights,
            width * 0.9,
            yerr=[below, above],
            capsize=3,
            color=COLOURS[place % len(COLOURS)],
            hatch=_HATCHES[place % len(_HATCHES)],
            edgecolor="white",
            label=as_text(name),
        )
    for group, level in enumerate(chance):
        axes.plot([group - 0.45, group + 0.45], [level, level], color="#222222", linestyle="--", linewidth=1)
    axes.set_xticks(range(len(labels)), labels)
    axes.set_ylabel(unit)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, title="dashed: chance", title_fontsize=8)
    return saved(figure, stem)


def curves(
    series: Mapping[str, Sequence[tuple[float, float]]], across: str, stem: Path, columns: int = 3
) -> list[Path]:
    """Draw one small panel for each series of points, all over the same quantity."""
    rows = -(-len(series) // columns) or 1
    figure, _ = canvas(4 * columns, 2.6 * rows)
    figure.clf()
    for place, (name, points) in enumerate(series.items(), 1):
        axes = figure.add_subplot(rows, columns, place)
        axes.plot([x for x, _ in points], [y for _, y in points], linewidth=1.2, color=COLOURS[0])
        axes.set_title(as_text(name), fontsize=9, loc="left")
        axes.set_xlabel(across, fontsize=8)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    return saved(figure, stem)


def histogram(values: Sequence[float], across: str, stem: Path) -> list[Path]:
    """Draw how often values occur, with a line at 0."""
    figure, axes = canvas(6, 3.2)
    axes.hist(values, bins=30, color="#0072B2")
    axes.axvline(0, color="#222222", linewidth=1)
    axes.set_xlabel(across, fontsize=9)
    axes.set_ylabel("pairs")
    axes.spines[["top", "right"]].set_visible(False)
    return saved(figure, stem)


def selection_figure(rows: Rows, name: str = "selection") -> list[Figure]:
    """Draw the score of what each selector takes against N, a panel for each policy (Table 4, 22 and 23)."""
    found = []
    for policy in _distinct(rows, "policy"):
        own = [row for row in rows if row["policy"] == policy]
        series = {
            selector: [_mark(row, f"{row['n']:g}", "score") for row in own if row["selector"] == selector]
            for selector in _distinct(own, "selector")
        }
        found.append(Panel(policy, _known(series), "mean score"))
    note = (
        "Random: the mean of the answers, exactly. Oracle: the outcome judge chooses by its own scores; no selector "
        "can do better. Bars are intervals."
    )
    grey = {RANDOM: "--", ORACLE: ":"}
    return [panels(name, "Best of N: score of the answer taken", note, found, across="N", grey=grey)] if found else []


def methods_figure(methods: Rows, strata: Rows, name: str = "methods") -> list[Figure]:
    """Draw Norm Match by policy and method, and outcome by the base policy's Norm Match (Figure 5)."""
    names = _distinct([*methods, *strata], "method")
    found = [
        Panel(
            "a) Norm Match, valid answers",
            _known(
                {m: [_mark(row, row["policy"], "norm_match") for row in methods if row["method"] == m] for m in names}
            ),
            "Norm Match, 0 to 2",
            joined=False,
        ),
        Panel(
            "b) outcome by the base policy's Norm Match",
            _known(
                {m: [_mark(row, f"{row['base']:g}", "outcome") for row in strata if row["method"] == m] for m in names}
            ),
            "outcome, 1 to 5",
            joined=False,
        ),
    ]
    found = [panel for panel in found if panel.series]
    note = (
        "Figure 5 of the paper. In b) part of what the lowest stratum gains and the highest loses is regression to the "
        "mean: the base policy's Norm Match is a noisy score."
    )
    return [panels(name, "Methods of optimisation", note, found, across="")] if found else []


def level_figure(tables: Mapping[str, Rows], name: str = "levels") -> list[Figure]:
    """Draw every model's figures at each benchmark and level; ``tables`` are ``models_*`` by name."""
    found = []
    shield = tables.get("models_culshield", ())
    if shield:
        read = {"of resolved replies": "resolved", "of all replies": "every_reply"}
        series = {text: [_mark(row, row["model"], column, 100) for row in shield] for text, column in read.items()}
        found.append(Panel(_TITLES["culshield"], _known(series), "per cent right", joined=False))
    for level in _LEVELS:
        own = [row for row in tables.get("models_cultureforest", ()) if row["level"] == level]
        read = {"Mean@k": "mean", "Pass@k": "best"}
        scale, unit = (1, "score, −100 to 100") if level == "hard" else (100, "per cent right")
        series = {text: [_mark(row, row["model"], column, scale) for row in own] for text, column in read.items()}
        if own:
            found.append(Panel(_TITLES[level], _known(series), unit, joined=False))
    note = "Bars are intervals, whole questions resampled. The hard level is on another scale than the others."
    return [panels(name, "Other benchmarks, by model", note, found, across="")] if found else []


def region_figures(tables: Mapping[str, Rows]) -> Iterator[Figure]:
    """Yield a heat map of countries and models for each benchmark or level; ``tables`` holds ``countries``."""
    rows = tables.get("countries", ())
    for level in (each for each in _TITLES if each in _distinct(rows, "level")):
        own = {(row["country"], row["model"]): row["score"] for row in rows if row["level"] == level}
        places, models = sorted({place for place, _ in own}), _distinct(rows, "model")
        models = [model for model in models if any(key[1] == model for key in own)]
        scale = 100 if level in _SHARES else 1
        values = [[_float(own.get((place, model)), scale) for model in models] for place in places]
        texts = [[f"{value:.0f}" for value in line] for line in values]
        yield heat_map(
            f"regions_{level}",
            f"{_TITLES[level]}, by country",
            "Accuracy of the replies that say yes or no." if level == "culshield" else "Mean@k.",
            Grid(places, models, values, texts),
            unit="per cent" if level in _SHARES else "score",
        )


def sweep_figure(rows: Rows, name: str = "lambda") -> list[Figure]:
    """Draw what optimisation came to against λ, a series for each policy (Figure 6).

    ``rows`` are runs: ``policy``, ``lam``, and ``gold``, ``norm_match`` and ``reward`` with their bounds where known.
    """
    texts = {
        "gold": ("gold score on held-out norms", "judge's score"),
        "norm_match": ("Norm Match, end of training", "0 to 1"),
        "reward": ("reward model on held-out norms", "reward"),
    }
    found = []
    for column, (heading, unit) in texts.items():
        series = {
            policy: sorted(
                (_mark(row, row["lam"], column) for row in rows if row["policy"] == policy), key=lambda mark: mark.x
            )
            for policy in _distinct(rows, "policy")
        }
        known = _known(series)
        if known:
            found.append(Panel(heading, known, unit))
    note = (
        "Figure 6 of the paper; λ weighs norm grounding, and 0 is the reward model alone. Gold: over valid answers, "
        "with intervals. Norm Match: of the reasonings in the last quarter of the steps, by who supervised; at λ = 0 "
        "nobody is asked for it."
    )
    return [panels(name, "Sensitivity to λ", note, found, across="λ")] if found else []


def training_figure(runs: Mapping[str, Mapping[str, Rows]], name: str = "training") -> list[Figure]:
    """Draw runs of optimisation side by side over their steps (Figure 2).

    ``runs`` hold each ``looks``, with ``proxy`` and ``gold`` on held-out norms, and ``curve``, as logged.
    """
    wanted = (
        ("gold score, held out", "looks", "gold"),
        ("reward, held out", "looks", "proxy"),
        ("KL from the start", "curve", "kl"),
        ("answer's length, tokens", "curve", "completions/mean_length"),
        ("Norm Match in training", "curve", "rewards/norm_grounding/mean"),
        ("repetition", "curve", "repetition"),
    )
    found = []
    for heading, table, column in wanted:
        series = {
            run: [Mark(float(row["step"]), row[column]) for row in own.get(table, ()) if row.get(column) is not None]
            for run, own in runs.items()
        }
        known = _known(series)
        if known:
            found.append(Panel(heading, known, ""))
    note = "Figure 2 of the paper. A run that ends early was ended by its monitor, or is not finished."
    return [panels(name, "Training of policies", note, found, across="step")] if found else []


def _mark(row: Mapping[str, Any], x: str | float, column: str, scale: float = 1) -> Mark:
    value, low, high = (row.get(f"{column}{end}") for end in ("", "_lo", "_hi"))
    ends = (None if each is None else each * scale for each in (low, high))
    return Mark(x, _float(value, scale), *ends)


def _known(series: Mapping[str, Sequence[Mark]]) -> dict[str, list[Mark]]:
    """Leave out what has no value."""
    kept = {name: [mark for mark in marks if math.isfinite(mark.value)] for name, marks in series.items()}
    return {name: marks for name, marks in kept.items() if marks}


def _float(value: float | None, scale: float = 1) -> float:
    return math.nan if value is None else value * scale


def _distinct(rows: Rows, column: str) -> list[Any]:
    return list(dict.fromkeys(row[column] for row in rows))
