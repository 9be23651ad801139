"""Figures of training and selection; matplotlib comes through ``ccfw.report.figures``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ccfw.report.figures import as_text, canvas, saved


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
        axes.bar(at, heights, width * 0.9, yerr=[below, above], capsize=3, label=as_text(name))
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
        axes.plot([x for x, _ in points], [y for _, y in points], linewidth=1.2)
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
