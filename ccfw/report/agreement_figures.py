"""Judges and panels in a plane of MAE and ±1, and their MAE by metric and region as colours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ccfw.align.alignment import ALL, Group
from ccfw.align.panel_records import Candidate, PanelStudy
from ccfw.humans.printed import brief
from ccfw.report.agreement import counted
from ccfw.report.figures import as_text, canvas, saved

_JUDGE, _PANEL, _FRONT, _PEOPLE = "#0072B2", "#999999", "#D55E00", "#009E73"
"""Of Okabe and Ito's palette, which colour-blind readers can tell apart."""
_SMALLEST, _LARGEST = 20.0, 110.0
"""Areas of the cheapest and the dearest, in points²."""
_BESIDE_A_DOT = 40
"""Letters of a label that fit beside a dot."""
_LETTER = 0.09
"""Inches that a letter of a label takes."""
_NARROWEST = 5.0
"""Inches that the title takes."""
_ROWS = 24
"""Candidates that a heat map shows at most."""


def draw(study: PanelStudy, folder: Path) -> list[Path]:
    """Draw ``scatter`` and a heat map for each partition, as PNG and SVG, and return their paths."""
    paths = _scatter(study, folder / "scatter")
    for partition in ("metric", "region", "language"):
        groups = [group for group in study.people.groups if group[0] == partition]
        if groups:
            paths += _heatmap(study, groups, folder / f"mae_by_{partition}")
    return paths


def _scatter(study: PanelStudy, stem: Path) -> list[Path]:
    figure, axes = canvas(8, 6)
    front = {each.name for each in study.front}
    for candidates, colour, label in ((study.panels, _PANEL, "panel"), (study.judges, _JUDGE, "judge")):
        shown = [each for each in candidates if each.whole.mae.value is not None]
        _dots(axes, shown, colour, counted(len(shown), label), _areas(study, shown))
    best = [each for each in study.front if each.whole.mae.value is not None]
    cheaper = "no other asks fewer judges and is nearer" if study.by_calls else "no other is both cheaper and nearer"
    _dots(axes, best, "none", cheaper, _areas(study, best), edge=_FRONT)
    for judge in study.judges:
        if judge.whole.mae.value is not None and judge.whole.within_one.value is not None:
            at = (judge.whole.mae.value, judge.whole.within_one.value * 100)
            weight = "bold" if judge.name in front else "normal"
            label = as_text(brief(judge.label, _BESIDE_A_DOT))
            axes.annotate(label, at, xytext=(6, 4), textcoords="offset points", fontsize=8, weight=weight)
    pairs = study.baseline.pairs[ALL]
    if pairs.mae.value is not None and pairs.within_one.value is not None:
        axes.scatter(
            [pairs.mae.value], [pairs.within_one.value * 100], marker="*", s=160, c=_PEOPLE, label="human–human"
        )
    axes.set_xlabel("MAE against the human consensus, points")
    axes.set_ylabel("within ±1 of the consensus, %")
    size = "judges asked" if study.by_calls else "cost of an item"
    axes.set_title(f"Judges and panels against people; area: {size}", loc="left", fontsize=11)
    axes.grid(color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, markerscale=0.8)
    return saved(figure, stem)


def _dots(
    axes: Any, candidates: Sequence[Candidate], colour: str, label: str, areas: Sequence[float], edge: str = "white"
) -> None:
    if candidates:
        maes = [each.whole.mae.value for each in candidates]
        shares = [(each.whole.within_one.value or 0.0) * 100 for each in candidates]
        width = 1.6 if colour == "none" else 0.6
        axes.scatter(maes, shares, s=areas, c=colour, edgecolors=edge, linewidths=width, alpha=0.8, label=label)


def _areas(study: PanelStudy, candidates: Sequence[Candidate]) -> list[float]:
    everyone = [_price(study, each) for each in (*study.judges, *study.panels)]
    low, high = min(everyone), max(everyone)
    span = (high - low) or 1.0
    return [_SMALLEST + (_LARGEST - _SMALLEST) * (_price(study, each) - low) / span for each in candidates]


def _price(study: PanelStudy, candidate: Candidate) -> float:
    return len(candidate.members) if study.by_calls or candidate.cost is None else candidate.cost


def _heatmap(study: PanelStudy, groups: Sequence[Group], stem: Path) -> list[Path]:
    rows = [*study.judges, *study.panels[:1]][:_ROWS]
    cells = [[each.lines[group].mae.value for group in groups] for each in rows]
    labels = [brief(each.label) for each in rows]
    heads = [brief(name) for _, name in groups]
    cells.append([study.baseline.pairs[group].mae.value for group in groups])
    labels.append("human–human")
    width = max(_NARROWEST, 2.2 + _LETTER * max(map(len, labels)) + 0.75 * len(groups))
    figure, axes = canvas(width, 1.9 + 0.34 * len(labels) + _LETTER * max(map(len, heads)) / 2)
    values = [[float("nan") if cell is None else cell for cell in row] for row in cells]
    image = axes.imshow(values, cmap="cividis_r", aspect="auto")
    bounds = [cell for row in cells for cell in row if cell is not None]
    middle = (min(bounds) + max(bounds)) / 2 if bounds else 0.0
    for row, found in enumerate(cells):
        for column, cell in enumerate(found):
            colour = "white" if cell is not None and cell > middle else "black"
            axes.text(
                column, row, "–" if cell is None else f"{cell:.2f}", ha="center", va="center", fontsize=8, color=colour
            )
    axes.set_xticks(range(len(groups)), [as_text(head) for head in heads], rotation=30, ha="right", fontsize=9)
    axes.set_yticks(range(len(labels)), [as_text(label) for label in labels], fontsize=9)
    figure.suptitle(f"MAE against the human consensus, by {groups[0][0]}", x=0.01, ha="left", fontsize=11)
    figure.colorbar(image, ax=axes, shrink=0.8)
    return saved(figure, stem)
