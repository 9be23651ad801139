"""Figures of training and selection; matplotlib comes through ``ccfw.report.figures``.

What compares methods, models or runs is drawn from the rows of its CSV, so that a stage and the report draw alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from ccfw.align.alignment import ALL
from ccfw.report.figures import as_text, canvas, saved
from ccfw.report.panels import Mark, Panel, panels
from ccfw.report.plots import COLOURS, Figure, Grid, heat_map
from ccfw.stats.intervals import FEW
from ccfw.training.best_of_n import ORACLE, RANDOM
from ccfw.training.questions import LEVELS
from ccfw.training.ranking import CHANCE
from ccfw.training.tables import EVERY_POLICY, RANKINGS

Rows = Sequence[Mapping[str, Any]]
"""Of a CSV: numbers as numbers, ``None`` where there is none."""
_BINS = 30
_POINTS = 40
"""Steps of a curve that a small panel has room for."""
_FEW = 12
"""Points of a curve up to which each has a mark."""
_SHARES = ("culshield", "easy", "medium")
"""Benchmarks and levels whose figures are shares."""
_SHOWN = {
    "rewards/appropriateness/mean": ("reward of appropriateness", "mean of a step"),
    "rewards/norm_grounding/mean": ("norm grounding", "Norm Match, 0 to 1"),
    "rewards/form/mean": ("answers in form", "share"),
    "held out: proxy": ("reward, held out", "mean of a look"),
    "held out: gold": ("gold score, held out", "mean of a look"),
    "loss": ("loss", "mean of a step"),
    "accuracy": ("accuracy on a step's pairs", "share"),
    "margin": ("margin of a step's pairs", "reward"),
    "mean_reward": ("mean reward", "reward"),
    "kl": ("KL from the start", "nats a token"),
    "entropy": ("entropy", "nats a token"),
    "completions/mean_length": ("length of answers", "tokens"),
    "truncated": ("answers cut off", "share"),
    "zero_variance": ("groups with one reward for all", "share"),
    "repetition": ("repetition", "share of 4-word runs"),
    "length_correlation": ("reward with length", "correlation"),
    "unscored": ("judgements without a score", "share"),
    "unrewarded": ("answers without a reward", "share"),
    "grad_norm": ("norm of gradients", ""),
    "learning_rate": ("learning rate", ""),
}
"""What training shows, in the order of its figures: by the name in its CSV, heading and unit."""
_TITLES = {"culshield": "CulShield", **{name: f"CultureForest, {name}" for name in LEVELS}}


def curves(
    series: Mapping[str, Sequence[tuple[float, float]]], across: str, stem: Path, columns: int = 3
) -> list[Path]:
    """Draw one small panel for each series of points, all over the same span; what matters most comes first."""
    order = [name for name in _SHOWN if name in series] + [name for name in series if name not in _SHOWN]
    columns = min(columns, len(order)) or 1
    rows = -(-len(order) // columns) or 1
    figure, grid = canvas(3.7 * columns, 2.3 * rows, nrows=rows, ncols=columns, sharex=True, squeeze=False)
    for place, axes in enumerate(grid.flat):
        if place >= len(order):
            axes.set_axis_off()
            continue
        _curve(axes, order[place], series[order[place]])
        if place + columns >= len(order):  # the lowest of its column
            axes.set_xlabel(across, fontsize=8)
            axes.tick_params(labelbottom=True)
    return saved(figure, stem)


def _curve(axes: Any, name: str, points: Sequence[tuple[float, float]]) -> None:
    heading, unit = _SHOWN.get(name, (name.replace("_", " ").replace("/", ", "), ""))
    few = len(points) <= _FEW
    axes.plot(*zip(*points, strict=True), linewidth=1.2, color=COLOURS[0], marker="o" if few else "", markersize=3)
    axes.set_title(as_text(heading), fontsize=9, loc="left")
    axes.set_ylabel(unit, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.ticklabel_format(axis="y", useOffset=False, scilimits=(-3, 4))
    axes.yaxis.get_offset_text().set_fontsize(8)
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def histogram(values: Sequence[float], across: str, stem: Path) -> list[Path]:
    """Draw how often values occur, those below 0 hatched: there is an edge between bins at 0."""
    figure, axes = canvas(6, 3.2)
    for part, colour, hatch, label in (
        ([each for each in values if each < 0], COLOURS[1], "//", "below 0"),
        ([each for each in values if each >= 0], COLOURS[0], "", "0 or above"),
    ):
        axes.hist(part, bins=edges(values), color=colour, hatch=hatch, edgecolor="white", linewidth=0.4, label=label)
    axes.axvline(0, color="#222222", linewidth=1)
    axes.set_xlabel(across, fontsize=9)
    axes.set_ylabel("pairs", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return saved(figure, stem)


def edges(values: Sequence[float]) -> list[float]:
    """Return the edges of bins of one width, one of them at 0, that hold all values."""
    low, high = min((*values, 0.0)), max((*values, 0.0))
    width = (high - low) / _BINS or 1.0
    first, last = math.floor(low / width), math.floor(high / width) + 1
    return [place * width for place in range(first, last + 1)]


def ranking_figure(rows: Rows, name: str = "rankings") -> list[Figure]:
    """Draw how each scorer ranks triplets beside chance (Figure 3); ``rows`` are of all triplets."""
    series = {
        str(row["scorer"]): [_mark(row, heading, column, 100) for column, heading in RANKINGS.items()] for row in rows
    }
    known = _known(series)
    if not known:
        return []
    known |= {"chance": [Mark(heading, 100 * CHANCE[column]) for column, heading in RANKINGS.items()]}
    note = "Figure 3 of the paper. Dashed: rewards that know nothing. Bars are intervals."
    found = [Panel("all triplets", known, "per cent of triplets", joined=False)]
    return [panels(name, "Rankings of triplets", note, found, across="", grey={"chance": "--"})]


def reliability(bins: Sequence[tuple[float, float, float, int]], stem: Path) -> list[Path]:
    """Draw the share of right ones against the probability stated, bins as ``pairs.Calibration`` has them.

    A mark's area is as its pairs; what is below the dashed line claims more than it knows.
    """
    figure, axes = canvas(4.2, 3.6)
    stated, right, pairs = ([each[place] for each in bins] for place in (1, 2, 3))
    areas = [20 + 180 * count / max(pairs) for count in pairs]
    axes.plot([0.5, 1], [0.5, 1], color="#666666", linestyle="--", linewidth=1, label="as stated")
    axes.plot(stated, right, color=COLOURS[0], linewidth=1)
    label = "a bin, area by its pairs"
    axes.scatter(stated, right, s=areas, color=COLOURS[0], edgecolor="white", label=label, zorder=3)
    axes.set_xlim(0.48, 1.02)
    axes.set_ylim(-0.03, 1.05)
    axes.set_xlabel("probability stated for the answer it prefers", fontsize=9)
    axes.set_ylabel("share of pairs in which that one is chosen", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
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
        if own:
            found.append(Panel(_policy(own[0]), _known(series), "mean score"))
    note = (
        "Random: the mean of the answers, exactly; it moves with N only where fewer questions have answers enough. "
        "Oracle: the outcome judge chooses by its own scores; no selector can do better. Bars are intervals."
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
                {m: [_mark(row, _policy(row), "norm_match") for row in methods if row["method"] == m] for m in names}
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
    for level in LEVELS:
        own = [row for row in tables.get("models_cultureforest", ()) if row["level"] == level]
        read = {"Mean@k": "mean", "Pass@k": "best"}
        scale, unit = (1, "score, −100 to 100") if level == "hard" else (100, "per cent right")
        series = {text: [_mark(row, row["model"], column, scale) for row in own] for text, column in read.items()}
        if own:
            found.append(Panel(_TITLES[level], _known(series), unit, joined=False))
    note = "Bars are intervals, whole questions resampled. The hard level is on another scale than the others."
    what = found[0].heading if len(found) == 1 else "Other benchmarks"
    return [panels(name, f"{what}, by model", note, found, across="")] if found else []


def region_figures(tables: Mapping[str, Rows]) -> Iterator[Figure]:
    """Yield a heat map of countries and models for each benchmark or level; ``tables`` holds ``countries``."""
    rows = tables.get("countries", ())
    for level in (each for each in _TITLES if each in _distinct(rows, "level")):
        lines = {(row["country"], row["model"]): row for row in rows if row["level"] == level}
        own = {key: row["score"] for key, row in lines.items()}
        places, models = sorted({place for place, _ in own}), _distinct(rows, "model")
        models = [model for model in models if any(key[1] == model for key in own)]
        scale = 100 if level in _SHARES else 1
        values = [[_float(own.get((place, model)), scale) for model in models] for place in places]
        texts = [[f"{value:.0f}" for value in line] for line in values]
        counts = [[int(lines.get((place, model), {}).get("questions") or 0) for model in models] for place in places]
        few = any(0 < count < FEW for line in counts for count in line)
        yield heat_map(
            f"regions_{level}",
            f"{_TITLES[level]}, by country",
            ("Accuracy of the replies that say yes or no." if level == "culshield" else "Mean@k.")
            + (f" A cell without colour is over fewer than {FEW} questions, how many in brackets." if few else ""),
            Grid(places, models, values, texts, counts if few else (), units="questions", of="country"),
            unit="per cent" if level in _SHARES else "score",
        )


def sweep_figure(rows: Rows, name: str = "lambda", *, of: str = "", held_out: bool = True) -> list[Figure]:
    """Draw what optimisation came to against λ, a line for each setting (Figure 6).

    ``rows`` are runs: ``line`` names all settings but λ, ``lam`` is λ, and ``gold``, ``reward``, ``norm_match`` and
    ``late_match`` stand with their bounds where they are known. ``of`` is told in the title; ``held_out`` says whether
    the questions are others than those trained on.
    """
    found = []
    for column, (heading, unit) in _SWEPT.items():
        series = {
            line: sorted((_mark(row, row["lam"], column) for row in rows if row["line"] == line), key=lambda m: m.x)
            for line in _distinct(rows, "line")
        }
        known = _known(series)
        if known:
            found.append(Panel(_of_questions(heading, held_out), known, unit))
    note = (
        "Figure 6 of the paper; λ weighs norm grounding, and 0 is the reward model alone. A line joins runs that are "
        "equal but for λ. Bars are intervals; gold and Norm Match of questions are over valid answers. Norm "
        "grounding is of the reasonings in the last quarter of the steps, by who supervised; at λ = 0 nobody is asked."
    )
    return [panels(name, _titled("Sensitivity to λ", of), note, found, across="λ")] if found else []


_SWEPT = {
    "gold": ("gold score, held out", "mean score"),
    "reward": ("reward model, held out", "mean reward"),
    "norm_match": ("Norm Match, held out", "0 to 2"),
    "late_match": ("norm grounding, end of training", "Norm Match, 0 to 1"),
}
_TRAINED = (
    ("gold score, held out", "mean score", "looks", "gold"),
    ("reward, held out", "mean reward", "looks", "proxy"),
    ("KL from the start", "nats a token", "curve", "kl"),
    ("length of answers", "tokens", "curve", "completions/mean_length"),
    ("norm grounding in training", "Norm Match, 0 to 1", "curve", "rewards/norm_grounding/mean"),
    ("repetition", "share of 4-word runs", "curve", "repetition"),
)
"""Panels of Figure 2: heading, unit, CSV and column."""


def training_figure(
    runs: Mapping[str, Mapping[str, Rows]], name: str = "training", *, of: str = "", held_out: bool = True
) -> list[Figure]:
    """Draw runs of optimisation side by side over their steps (Figure 2).

    ``runs`` hold each ``looks``, with ``proxy`` and ``gold`` at looks, and ``curve``, as logged. ``of`` is told in the
    title; ``held_out`` says whether the questions of looks are others than those trained on.
    """
    found = []
    for heading, unit, table, column in _TRAINED:
        series = {
            run: _smooth(
                [Mark(float(row["step"]), row[column]) for row in own.get(table, ()) if row.get(column) is not None]
            )
            for run, own in runs.items()
        }
        known = _known(series)
        if known:
            found.append(Panel(_of_questions(heading, held_out), known, unit))
    note = (
        "Figure 2 of the paper. A run that ends early was ended by its monitor. Of long runs each step is shown as the "
        f"mean of the last ones, {100 / _POINTS:g} per cent of all; their curve.csv has every one."
    )
    return [panels(name, _titled("Training of policies", of), note, found, across="step")] if found else []


def _titled(title: str, of: str) -> str:
    return f"{title}: {of}" if of else title


def _of_questions(heading: str, held_out: bool) -> str:
    return heading if held_out else heading.replace("held out", "questions trained on")


def _policy(row: Mapping[str, Any]) -> str:
    return EVERY_POLICY if row["policy"] == ALL[1] else str(row["policy"])


def _smooth(marks: Sequence[Mark]) -> list[Mark]:
    """Return a curve as running means where it has more points than can be told apart."""
    window = len(marks) // _POINTS
    if window < 2:
        return list(marks)
    sums = [0.0, *accumulate(mark.value for mark in marks)]
    return [
        Mark(mark.x, (sums[place] - sums[max(0, place - window)]) / min(window, place))
        for place, mark in enumerate(marks, 1)
    ]


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
