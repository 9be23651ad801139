"""Small multiples: marks with intervals, or curves, of several series over one quantity (paper 2, Figures 2, 5 and 6).

A series has its own colour, mark and kind of line in every panel, so that print and colour-blind readers tell them
apart; what is no candidate, such as chance, is grey.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ccfw.report.figures import as_text, canvas, inches
from ccfw.report.plots import COLOURS, MARKS, Figure, finished, titled

_LINES = ("-", "--", "-.", ":")
_GREY = "#666666"
_COLUMNS = 3
_HANDLE = 0.75
"""Inches that a name in the legend takes beside its letters."""
_APART = 0.5
"""Of the room between two places, what the series of one place spread over."""
_LEVEL = 0.4
"""How far to either side of its place a level reaches."""
_FEW = 12
"""Points of a curve from which on it has no marks."""
_TILTED = 10
"""Letters of a place's name from which on names stand aslant."""


class Mark(NamedTuple):
    """A figure of one series at one place, with its interval where it has one."""

    x: str | float
    value: float
    low: float | None = None
    high: float | None = None


class Panel(NamedTuple):
    """One panel; over names where ``x`` of its marks are texts, else over numbers."""

    heading: str
    series: Mapping[str, Sequence[Mark]]
    unit: str
    joined: bool = True
    """Whether the marks of a series are joined: not where places have no order."""


def panels(
    name: str,
    title: str,
    note: str,
    found: Sequence[Panel],
    *,
    across: str,
    grey: Mapping[str, str] = {},
) -> Figure:
    """Draw panels side by side; ``grey`` names the series that are no candidates, and the line of each."""
    columns = 2 if len(found) == 4 else min(_COLUMNS, len(found)) or 1
    lines = max(1, math.ceil(len(found) / columns))
    names = list(dict.fromkeys(series for panel in found for series in panel.series))
    styles = _styles(names, grey)
    width = max(4.4 if columns == 1 else 3.9 * columns, 0.095 * len(title) + 0.4)
    abreast = max(1, min(len(names), int(width // (_HANDLE + inches(map(as_text, names))))))
    rows = math.ceil(len(names) / abreast)
    figure, grid = canvas(width, 0.7 + 3.0 * lines + 0.24 * rows, nrows=lines, ncols=columns, squeeze=False)
    span = _span(found)
    for place, panel in enumerate(found):
        axes = grid[place // columns][place % columns]
        _draw(axes, panel, styles, across)
        if span is not None:
            axes.set_xlim(*span)
    _align([(grid[place // columns][place % columns], panel.unit) for place, panel in enumerate(found)])
    for place in range(len(found), lines * columns):
        grid[place // columns][place % columns].set_axis_off()
    handles = {
        label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower left",
        ncols=abreast,
        frameon=False,
        fontsize=8.5,
    )
    titled(figure, title)
    head = ("panel", across or "place", "series", "value", "low", "high")
    data = [
        (panel.heading, _shown(mark.x), series, *("" if v is None else f"{v:.6f}" for v in mark[1:]))
        for panel in found
        for series, marks in panel.series.items()
        for mark in marks
    ]
    alt = f"{len(found)} panels: {title}. " + "; ".join(_last(panel) for panel in found[:6]) + "."
    return finished(figure, name, title, note, alt, head, data)


def _align(drawn: Sequence[tuple[Any, str]]) -> None:
    """Give panels of one unit one scale, so that heights compare from panel to panel."""
    for unit in {unit for _, unit in drawn if unit}:
        own = [axes for axes, its in drawn if its == unit]
        ends = [axes.get_ylim() for axes in own]
        for axes in own:
            axes.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))


def _styles(names: Sequence[str], grey: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    own = [name for name in names if name not in grey]
    styles: dict[str, dict[str, Any]] = {
        name: {
            "color": COLOURS[place % len(COLOURS)],
            "marker": MARKS[place % len(MARKS)],
            "linestyle": _LINES[place % len(_LINES)],
        }
        for place, name in enumerate(own)
    }
    return styles | {name: {"color": _GREY, "marker": "", "linestyle": line} for name, line in grey.items()}


def _draw(axes: Any, panel: Panel, styles: Mapping[str, dict[str, Any]], across: str) -> None:
    places = list(dict.fromkeys(mark.x for marks in panel.series.values() for mark in marks))
    named = any(isinstance(place, str) for place in places)
    at = {place: float(number) if named else float(place) for number, place in enumerate(places)}
    own = [series for series in panel.series if styles[series]["marker"]]
    room = _APART * (1.0 if named else _least_step(sorted(at.values())))
    for series, marks in panel.series.items():
        style = dict(styles[series])
        if named and not panel.joined and not style["marker"]:  # what is no candidate: a level at each place
            left, right = ([at[mark.x] + end for mark in marks] for end in (-_LEVEL, _LEVEL))
            heights, line = [mark.value for mark in marks], style["linestyle"]
            axes.hlines(heights, left, right, _GREY, line, label=as_text(series), linewidth=1.3)
            continue
        few = len(marks) <= _FEW
        with_intervals = any(mark.low is not None for mark in marks)
        aside = (
            room * ((own.index(series) + 0.5) / len(own) - 0.5) if series in own and (named or with_intervals) else 0
        )
        if not panel.joined:
            style["linestyle"] = style["linestyle"] if not style["marker"] else "none"
        if not few:
            style["marker"] = ""
        x = [at[mark.x] + aside for mark in marks]
        bars = [[_reach(mark, end) for mark in marks] for end in ("low", "high")] if with_intervals else None
        style |= {"markersize": 5.5, "linewidth": 1.3, "elinewidth": 1.2, "capsize": 2.5, "markeredgecolor": "white"}
        axes.errorbar(x, [mark.value for mark in marks], yerr=bars, label=as_text(series), markeredgewidth=0.5, **style)
    if named:
        tilt = 25 if max(len(str(place)) for place in places) > _TILTED else 0
        axes.set_xticks(
            list(at.values()),
            [as_text(str(place)) for place in places],
            rotation=tilt,
            ha="right" if tilt else "center",
            rotation_mode="anchor",
        )
        axes.set_xlim(-0.6, len(places) - 0.4)
    elif len(places) <= _FEW:
        axes.set_xticks(list(at.values()), [_shown(place) for place in places])
    axes.set_title(as_text(panel.heading), loc="left", fontsize=9.5)
    axes.set_xlabel(across, fontsize=8.5)
    axes.set_ylabel(panel.unit, fontsize=8.5)
    axes.tick_params(labelsize=8)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "−"))
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _span(found: Sequence[Panel]) -> tuple[float, float] | None:
    """Return from where to where numbers reach in all panels; ``None`` over names."""
    places = [mark.x for panel in found for marks in panel.series.values() for mark in marks]
    numbers = [place for place in places if not isinstance(place, str)]
    if not numbers or len(numbers) < len(places):
        return None
    room = 0.06 * (max(numbers) - min(numbers)) or 0.5
    return min(numbers) - room, max(numbers) + room


def _least_step(values: Sequence[float]) -> float:
    """Return a share of the least distance between two places, so that marks beside one stay its own."""
    steps = [after - before for before, after in pairwise(values) if after > before]
    return 0.4 * min(steps, default=1.0)


def _reach(mark: Mark, end: str) -> float:
    bound = getattr(mark, end)
    return math.nan if bound is None else max(0.0, mark.value - bound if end == "low" else bound - mark.value)


def _shown(place: str | float) -> str:
    return place if isinstance(place, str) else f"{place:g}"


def _last(panel: Panel) -> str:
    ends = (f"{series} {marks[-1].value:.3g}" for series, marks in list(panel.series.items())[:6] if marks)
    return f"{panel.heading}: {', '.join(ends)}"
