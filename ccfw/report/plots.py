"""The figures of a report: heat maps, scatter, intervals, distributions (paper 1, Figures 4 and 33 to 40).

Colours are told apart by colour-blind readers and in print, and no figure says anything by colour alone: cells hold
their numbers, assistants have marks and numbers of their own, and negative differences a sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ccfw.report.figures import TITLE, as_text, canvas, colour_map, drawn, fitted, inches, patch
from ccfw.report.sections import FigureView
from ccfw.report.tables import FEW
from ccfw.report.writing import NONE, comma_separated
from ccfw.store import write_atomically

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#333333", "#999933")
"""Of Okabe and Ito's palette, yellow aside, which print does not show."""
MARKS = "osD^vP*XphdH<>8"
_GREY = "#777777"
_FAINT = "#767676"
_SIZE = 9
_TILT = 35
"""Degrees by which long labels of columns are turned."""
_LEGEND = 40
"""Names below one another beside a scatter plot."""


class Figure(NamedTuple):
    """A figure with its picture for those who cannot take SVG."""

    view: FigureView
    png: bytes

    def csv(self) -> str:
        """Return the data that it shows."""
        return comma_separated(self.view.head, self.view.rows)

    def write(self, folder: Path) -> list[Path]:
        """Write it in all its forms, and return their paths."""
        forms: dict[str, str | bytes] = {".svg": self.view.svg, ".csv": self.csv(), ".png": self.png}
        written = {folder / f"{self.view.name}{end}": content for end, content in forms.items()}
        for path, content in written.items():
            write_atomically(path, content)
        return list(written)


class Grid(NamedTuple):
    """What a heat map shows; ``nan`` where there is nothing."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    texts: Sequence[Sequence[str]]
    counts: Sequence[Sequence[int]] = ()
    """Of how many seeds, or other units, each cell is; empty: all are of enough."""
    units: str = "seeds"
    of: str = "name"
    """What a row is, for the head of the data."""

    def thin(self, row: int, column: int) -> bool:
        """Whether a cell is of so few units that it says little."""
        return bool(self.counts) and self.counts[row][column] < FEW


class Point(NamedTuple):
    """One assistant in a plane."""

    label: str
    x: float
    y: float
    grey: bool = False
    """Not run here."""


class Bar(NamedTuple):
    """One interval of a forest plot."""

    label: str
    point: float
    low: float
    high: float
    note: str = ""


THIN = (
    f"A cell without colour is over fewer than {FEW} seeds, how many in brackets: it says little. The numbers below "
    "the figure say how many each cell is over."
)
"""What the note of a heat map with such cells says."""


def heat_map(name: str, title: str, note: str, grid: Grid, *, signed: bool = False, unit: str = "points") -> Figure:
    """Draw cells with their numbers; ``signed`` ones in two colours around 0, and those of few seeds in none."""
    rows, columns = fitted(grid.rows), fitted(grid.columns)
    tilt = 0 if max(map(len, columns), default=0) <= 6 else _TILT
    figure, axes = canvas(*_room(rows, columns, tilt, title))
    solid = [
        [math.nan if grid.thin(row, column) else value for column, value in enumerate(line)]
        for row, line in enumerate(grid.values)
    ]
    known = [value for row in solid for value in row if not math.isnan(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if signed:
        high = max(abs(low), abs(high)) or 1.0
        low = -high
    mesh = axes.pcolormesh(
        solid,
        cmap="PuOr" if signed else "cividis",
        vmin=low,
        vmax=high if high > low else low + 1.0,
        edgecolors="white",
        linewidth=0.8,
    )
    for row, line in enumerate(grid.values):
        for column, value in enumerate(line):
            _write_cell(axes, mesh, grid, row, column, value)
    axes.invert_yaxis()
    axes.set_xticks(
        [place + 0.5 for place in range(len(columns))],
        [as_text(each) for each in columns],
        rotation=tilt,
        ha="right" if tilt else "center",
        rotation_mode="anchor",
        fontsize=_SIZE,
    )
    axes.set_yticks([place + 0.5 for place in range(len(rows))], [as_text(each) for each in rows], fontsize=_SIZE)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    titled(figure, title)
    if known:
        figure.colorbar(mesh, ax=axes, shrink=0.9, aspect=30, pad=0.02, label=unit)
    return finished(figure, name, title, note, _heat_alt(title, grid, unit), *_heat_data(grid))


def _room(rows: Sequence[str], columns: Sequence[str], tilt: int, title: str) -> tuple[float, float]:
    """Return the inches that a heat map takes with its labels, of which tilted ones reach to the left and down."""
    across, down = (part(math.radians(tilt)) * inches(columns) for part in (math.cos, math.sin))
    left = max(inches(rows), across - 0.3 if tilt else 0.0)
    width = left + 0.62 * len(columns) + 1.5
    return max(width, 0.6 + 0.09 * len(title)), 1.1 + 0.3 * len(rows) + max(0.3, down)


def _write_cell(axes: Any, mesh: Any, grid: Grid, row: int, column: int, value: float) -> None:
    text, thin = NONE, False
    if not math.isnan(value):
        text, thin = grid.texts[row][column].replace("-", "−"), grid.thin(row, column)
    axes.text(
        column + 0.5,
        row + 0.5,
        f"{text} ({grid.counts[row][column]})" if thin else text,
        ha="center",
        va="center",
        fontsize=7 if thin else 7.5,
        style="italic" if thin else "normal",
        color=_FAINT if thin else _ink(mesh, value),
    )


def _heat_alt(title: str, grid: Grid, unit: str) -> str:
    known = [value for row in grid.values for value in row if not math.isnan(value)]
    shown = f"from {min(known):.2f} to {max(known):.2f} {unit}" if known else "without a figure"
    return f"Heat map: {title}. {len(grid.rows)} rows and {len(grid.columns)} columns, {shown}."


def _heat_data(grid: Grid) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return head and rows of a heat map's data, the units of its cells in columns after all figures."""
    head = (grid.of, *grid.columns, *(f"{column}: {grid.units}" for column in grid.columns if grid.counts))
    rows = []
    for place, (label, line) in enumerate(zip(grid.rows, grid.values, strict=True)):
        seeds = map(str, grid.counts[place]) if grid.counts else ()
        rows.append((label, *("" if math.isnan(value) else f"{value:.6f}" for value in line), *seeds))
    return head, tuple(rows)


def _ink(mesh: Any, value: float) -> str:
    """Return the colour of text that can be read on a cell's own."""
    if math.isnan(value):
        return "black"
    red, green, blue, _ = mesh.to_rgba(value)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def scatter(
    name: str, title: str, note: str, points: Sequence[Point], *, x: str, y: str, logarithmic: bool = False
) -> Figure:
    """Draw assistants in a plane, numbered, with their names beside it; those not run here in grey, with letters."""
    own = [point for point in points if not point.grey]
    grey = [point for point in points if point.grey]
    labels = fitted([point.label for point in (*own, *grey)])
    columns = max(1, math.ceil((len(points) + 1) / _LEGEND))
    height = max(4.8, 0.2 * math.ceil((len(points) + 1) / columns) + 1.2)
    figure, axes = canvas(6.4 + columns * (inches(labels) + 0.6), height)
    for number, (point, label) in enumerate(zip(own, labels, strict=False)):
        colour, mark = COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]
        style = {"s": 52, "c": colour, "edgecolors": "white", "linewidths": 0.6}
        _point(axes, point, f"{number + 1}", label, colour="black", marker=mark, **style)
    if grey:
        axes.scatter([], [], s=0, label="published, not run here; not comparable:")
    for number, (point, label) in enumerate(zip(grey, labels[len(own) :], strict=True)):
        style = {"s": 26, "facecolors": "none", "edgecolors": _GREY, "linewidths": 0.8}
        _point(axes, point, _letters(number), label, colour=_GREY, marker="D", **style)
    if logarithmic and own and 0 < 10 * min(point.x for point in own) <= max(point.x for point in own):
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(lambda *_: "")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(x, fontsize=_SIZE)
    axes.set_ylabel(y, fontsize=_SIZE)
    titled(figure, title)
    axes.grid(color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(0.08)
    if points:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, ncols=columns)
    rows = tuple(
        (point.label, f"{point.x:.6f}", f"{point.y:.6f}", "published" if point.grey else "own") for point in points
    )
    alt = (
        f"Scatter plot: {title}. "
        + "; ".join(f"{point.label}: {point.x:.3g}, {point.y:.2f}" for point in own[:12])
        + "."
    )
    return finished(figure, name, title, note, alt, ("assistant", x, y, "source"), rows)


def _point(axes: Any, point: Point, sign: str, label: str, *, colour: str, **style: Any) -> None:
    axes.scatter([point.x], [point.y], label=as_text(f"{sign}  {label}"), **style)
    axes.annotate(
        sign,
        (point.x, point.y),
        xytext=(5, 4),
        textcoords="offset points",
        fontsize=7 if point.grey else 8,
        color=colour,
    )


def _letters(number: int) -> str:
    """Return a letter for a number: a for 0, z for 25, aa for 26."""
    before, place = divmod(number, 26)
    return (_letters(before - 1) if before else "") + chr(ord("a") + place)


def forest(name: str, title: str, note: str, bars: Sequence[Bar], *, x: str) -> Figure:
    """Draw intervals one below the other, the first on top."""
    labels = fitted([bar.label for bar in bars])
    figure, axes = canvas(7.5 + inches(labels), 1.3 + 0.28 * max(1, len(bars)))
    for place, bar in enumerate(bars):
        if not math.isnan(bar.low) and not math.isnan(bar.high):
            axes.plot([bar.low, bar.high], [place, place], color=COLOURS[0], linewidth=2.2, solid_capstyle="butt")
        axes.plot(
            [bar.point], [place], "o", color="white", markeredgecolor=COLOURS[0], markersize=5, markeredgewidth=1.6
        )
        text = f"{bar.point:.2f}" + (f"   {bar.note}" if bar.note else "")
        axes.annotate(
            as_text(text),
            (1.01, place),
            xycoords=("axes fraction", "data"),
            fontsize=8,
            va="center",
            annotation_clip=False,
        )
    axes.set_yticks(range(len(bars)), [as_text(label) for label in labels], fontsize=_SIZE)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xlabel(x, fontsize=_SIZE)
    titled(figure, title)
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    rows = tuple((bar.label, *("" if math.isnan(v) else f"{v:.6f}" for v in bar[1:4]), bar.note) for bar in bars)
    alt = f"Forest plot: {title}. " + "; ".join(f"{bar.label} {bar.point:.2f}" for bar in bars[:20]) + "."
    return finished(figure, name, title, note, alt, ("assistant", x, "low", "high", "note"), rows)


def shares(
    name: str,
    title: str,
    note: str,
    labels: Sequence[str],
    panels: Sequence[tuple[str, Sequence[Sequence[float]]]],
    parts: Sequence[str],
) -> Figure:
    """Draw stacked bars, one panel beside the other: of each label the shares that add up to 1."""
    columns = 3
    lines = max(1, math.ceil(len(panels) / columns))
    height = 0.7 + lines * (0.7 + 0.2 * len(labels))
    names = fitted(labels)
    figure, grid = canvas(
        9 + inches(names), height, nrows=lines, ncols=columns, sharey=True, sharex=True, squeeze=False
    )
    colours = _ramp(len(parts))
    for place, (heading, values) in enumerate(panels):
        axes = grid[place // columns][place % columns]
        _stacked(axes, values, colours, parts)
        axes.set_title(as_text(heading), loc="left", fontsize=10)
        axes.set_yticks(range(len(labels)), [as_text(name) for name in names], fontsize=8)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"], fontsize=8)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
    for place in range(len(panels), lines * columns):
        grid[place // columns][place % columns].set_axis_off()
    handles = [patch(colour) for colour in colours]
    figure.legend(
        handles, list(parts), loc="outside lower center", ncols=len(parts), frameon=False, fontsize=_SIZE, title="score"
    )
    titled(figure, title)
    head = ("metric", "assistant", *parts)
    rows = tuple(
        (heading, label, *("" if math.isnan(value) else f"{value:.6f}" for value in line))
        for heading, values in panels
        for label, line in zip(labels, values, strict=True)
    )
    alt = f"Stacked bars: {title}, for {len(labels)} assistants in {len(panels)} metrics."
    return finished(figure, name, title, note, alt, head, rows)


def _stacked(axes: Any, values: Sequence[Sequence[float]], colours: Sequence[Any], parts: Sequence[str]) -> None:
    left = [0.0] * len(values)
    for part, colour in enumerate(colours):
        widths = [0.0 if math.isnan(line[part]) else line[part] for line in values]
        axes.barh(range(len(values)), widths, left=left, height=0.84, color=colour, edgecolor="white", linewidth=0.6)
        for row, width in enumerate(widths):
            if width >= 0.12:
                ink = "black" if 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] > 0.5 else "white"
                axes.text(left[row] + width / 2, row, parts[part], ha="center", va="center", fontsize=7, color=ink)
        left = [start + width for start, width in zip(left, widths, strict=True)]


def _ramp(count: int) -> list[Any]:
    ramp = colour_map("cividis")
    return [ramp(0.05 + 0.9 * place / max(1, count - 1)) for place in range(count)]


def titled(figure: Any, title: str) -> None:
    """Set a figure's title at its upper left."""
    figure.suptitle(as_text(title), x=0.01, ha="left", fontsize=11, gid=TITLE)


def finished(
    figure: Any, name: str, title: str, note: str, alt: str, head: Sequence[str], rows: Sequence[Sequence[str]]
) -> Figure:
    """Return a figure that is drawn, with what it shows; ``alt`` is for those who cannot see it."""
    found = drawn(figure)
    data = tuple(map(tuple, rows))
    return Figure(FigureView(name, title, note, alt, found.svg, tuple(head), data, found.bare), found.png)
