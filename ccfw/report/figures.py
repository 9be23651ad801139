"""The bar chart with intervals; the only import of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ccfw.report.tables import HEADINGS, Row

_SHOWN = ("3h", "helpful", "honest", "harmless", "tdq", "naturalness", "plausibility", "typicality")
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""
_ROOM = 0.25
"""Bars at least so wide have room for their number."""
_FLOOR = 0.6
"""Where bars stand: below the scale, so that a mean of 1 still shows."""
_HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")


def bar_chart(rows: Sequence[Row], level: float, folder: Path) -> list[Path]:
    """Draw every row's means with intervals to ``chart.png`` and ``chart.svg`` and return their paths."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "ccfw"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(11, 4.8), layout="constrained")
    width = 0.8 / max(1, len(rows))
    for index, row in enumerate(rows):
        _bars(axes, row, index, width)
    axes.set_xticks(range(len(_SHOWN)), [HEADINGS[i] for i in range(len(_SHOWN))])
    axes.set_ylim(_FLOOR, 5.4)
    axes.set_yticks(range(1, 6))
    axes.set_ylabel("mean score, 1 to 5")
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(
        f"Assistance quality (3H) and data quality (TDQ), {level:.0%} bootstrap intervals", loc="left", fontsize=11
    )
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.1), ncols=3, frameon=False, fontsize=9)
    paths = [folder / "chart.png", folder / "chart.svg"]
    figure.savefig(paths[0], dpi=144)
    figure.savefig(paths[1], metadata={"Date": None})
    pyplot.close(figure)
    return paths


def _bars(axes: Any, row: Row, index: int, width: float) -> None:
    places, means, below, above = [], [], [], []
    for position, column in enumerate(_SHOWN):
        interval = row.intervals[column]
        if interval.mean is None or interval.low is None or interval.high is None:
            continue
        places.append(position - 0.4 + width * (index + 0.5))
        means.append(interval.mean)
        below.append(interval.mean - interval.low)
        above.append(interval.high - interval.mean)
    bars = axes.bar(
        places,
        [mean - _FLOOR for mean in means],
        width * 0.92,
        bottom=_FLOOR,
        yerr=[below, above],
        capsize=3,
        color=_COLOURS[index % len(_COLOURS)],
        hatch=_HATCHES[index // len(_COLOURS) % len(_HATCHES)],
        edgecolor="white",
        error_kw={"elinewidth": 1.1, "ecolor": "#222222"},
        label=_legend(f"{row.label}, {row.language.value.replace('_', ' ')}, n={row.judged}"),
    )
    if width > _ROOM:
        labels = [f"{mean:.2f}" for mean in means]
        axes.bar_label(bars, labels, label_type="center", color="white", fontsize=9, fontweight="bold")


def _legend(text: str) -> str:
    """Write a label that matplotlib takes as text: ``$`` starts no formula, a leading ``_`` hides nothing."""
    return ("\u200b" + text if text.startswith("_") else text).replace("$", r"\$")
