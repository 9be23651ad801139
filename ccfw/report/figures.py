"""The bar chart with intervals, and what other figures start from; the only import of matplotlib."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ccfw.report.board import LANGUAGES
from ccfw.report.tables import HEADINGS, Row
from ccfw.store import write_atomically
from ccfw.terminal import printable

_SHOWN = ("3h", "helpful", "honest", "harmless", "tdq", "naturalness", "plausibility", "typicality")
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""
_ROOM = 0.25
"""Bars at least so wide have room for their number."""
_FLOOR = 0.6
"""Where bars stand: below the scale, so that a mean of 1 still shows."""
_FEW_BARS = 8
"""Rows that are drawn as bars side by side; more would be too thin to be read."""
_CHART = 11.0
"""Inches of the bar chart's width."""
_LONGEST = 40
"""Letters of a label that a figure has room for; files with its data have it whole."""
_SIZE = 9
"""Points of a label's letters; those of East Asia are as wide as high."""
_PAD = 0.12
"""Inches around everything: a text is not as wide in one resolution as in another."""
_POINTS = 72
"""In an inch."""
_UNDER_TITLE = 0.04
"""Inches that are left free below a title."""


def bar_chart(rows: Sequence[Row], level: float, folder: Path) -> list[Path]:
    """Draw every row's means with intervals to ``chart.png`` and ``chart.svg`` and return their paths.

    A few assistants are bars side by side; many, one below the other in a panel for each metric.
    """
    labels = fitted([f"{row.label}, {LANGUAGES[row.language]}, n={row.judged:,}" for row in rows], _LONGEST + 20)
    title = f"Assistance quality (3H) and data quality (TDQ), {level:.0%} bootstrap intervals"
    draw = _side_by_side if len(rows) <= _FEW_BARS else _one_below_the_other
    return saved(draw(rows, labels, title), folder / "chart")


def _side_by_side(rows: Sequence[Row], labels: Sequence[str], title: str) -> Any:
    columns = max(1, min(3, int(_CHART / (0.5 + inches(labels)))))
    figure, axes = canvas(_CHART, 4.5 + 0.2 * -(-len(rows) // columns))
    width = 0.8 / max(1, len(rows))
    for index, (row, label) in enumerate(zip(rows, labels, strict=True)):
        _bars(axes, row, label, index, width)
    axes.set_xticks(range(len(_SHOWN)), [HEADINGS[i] for i in range(len(_SHOWN))])
    axes.set_ylim(_FLOOR, 5.4)
    axes.set_yticks(range(1, 6))
    axes.set_ylabel("mean score, 1 to 5")
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, loc="left", fontsize=11)
    if rows:
        figure.legend(loc="outside lower left", ncols=columns, frameon=False, fontsize=9)
    return figure


def _one_below_the_other(rows: Sequence[Row], labels: Sequence[str], title: str) -> Any:
    figure, panels = canvas(
        inches(labels) + 1.05 * len(_SHOWN), 1.0 + 0.2 * len(rows), ncols=len(_SHOWN), sharey=True, sharex=True
    )
    for heading, column, axes in zip(HEADINGS, _SHOWN, panels, strict=False):
        for place, row in enumerate(rows):
            mean, low, high, _ = row.intervals[column]
            if mean is None:
                continue
            if low is not None and high is not None:
                axes.plot([low, high], [place, place], color=_COLOURS[0], linewidth=2)
            axes.plot([mean], [place], "o", color="white", markeredgecolor=_COLOURS[0], markersize=4)
        axes.set_title(heading, fontsize=9)
        axes.set_xlim(0.8, 5.2)
        axes.set_xticks(range(1, 6))
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelsize=8)
    panels[0].set_yticks(range(len(rows)), [as_text(label) for label in labels], fontsize=8)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure


def canvas(width: float, height: float, **more: Any) -> tuple[Any, Any]:
    """Return a new figure of so many inches and its axes, drawn without a display and the same for the same data."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "ccfw"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(width, height), layout="constrained", **more)
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=_PAD, h_pad=_PAD / 2)
    return figure, axes


def saved(figure: Any, stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG, close it, and return the paths."""
    from matplotlib import pyplot

    png, svg = io.BytesIO(), io.StringIO()
    figure.savefig(png, format="png", dpi=144)
    figure.savefig(svg, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    write_atomically(paths[0], png.getvalue())
    write_atomically(paths[1], svg.getvalue())
    return paths


TITLE = "title"
"""The mark of what ``drawn`` leaves out for a page that sets the title itself."""


class Drawn(NamedTuple):
    """A figure in its forms."""

    svg: str
    """Its texts are texts, which can be searched and read aloud; every one is escaped."""
    png: bytes
    bare: str
    """The SVG without its title, and without the room for it."""


def drawn(figure: Any) -> Drawn:
    """Return a figure as SVG and PNG, and close it."""
    from matplotlib import pyplot

    png = io.BytesIO()
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")  # laid out once for all
    figure.savefig(png, format="png", dpi=144)
    whole = _svg(figure, None)
    bare = whole
    for title in figure.findobj(lambda each: each.get_gid() == TITLE):
        below = title.get_window_extent().y0 / figure.dpi
        title.set_visible(False)
        bare = _svg(figure, below - _UNDER_TITLE)
    pyplot.close(figure)
    return Drawn(whole, png.getvalue(), bare)


def _svg(figure: Any, height: float | None) -> str:
    """Return a figure, or as many inches of it from the bottom."""
    from matplotlib import rc_context
    from matplotlib.transforms import Bbox

    svg = io.StringIO()
    box = None if height is None else Bbox([[0, 0], [figure.get_figwidth(), height]])
    with rc_context({"svg.fonttype": "none"}):
        figure.savefig(svg, format="svg", metadata={"Date": None}, bbox_inches=box)
    text = svg.getvalue()
    return text[text.index("<svg") :]


def _bars(axes: Any, row: Row, label: str, index: int, width: float) -> None:
    places, means, below, above = [], [], [], []
    for position, column in enumerate(_SHOWN):
        interval = row.intervals[column]
        if interval.mean is None:
            continue
        low, high = (interval.mean if bound is None else bound for bound in (interval.low, interval.high))
        places.append(position - 0.4 + width * (index + 0.5))
        means.append(interval.mean)
        below.append(interval.mean - low)
        above.append(high - interval.mean)
    bars = axes.bar(
        places,
        [mean - _FLOOR for mean in means],
        width * 0.92,
        bottom=_FLOOR,
        yerr=[below, above],
        capsize=3,
        color=_COLOURS[index % len(_COLOURS)],
        edgecolor="white",
        error_kw={"elinewidth": 1.1, "ecolor": "#222222"},
        label=as_text(label),
    )
    if width > _ROOM:
        labels = [f"{mean:.2f}" for mean in means]
        axes.bar_label(bars, labels, label_type="center", color="white", fontsize=9, fontweight="bold")


def as_text(text: str) -> str:
    """Write a label that matplotlib takes as text: ``$`` starts no formula, a leading ``_`` hides nothing."""
    text = printable(text)
    return ("\u200b" + text if text.startswith("_") else text).replace("$", r"\$")


def fitted(labels: Sequence[str], most: int = _LONGEST) -> list[str]:
    """Return labels of at most so many letters: of longer ones head and tail, with a number where two look alike."""
    short = [_shortened(printable(label), most) for label in labels]
    alike: dict[str, list[str]] = {}
    for label, found in zip(labels, short, strict=True):
        if label not in alike.setdefault(found, []):
            alike[found].append(label)
    return [
        found if len(alike[found]) == 1 else f"{found} ({1 + alike[found].index(label)})"
        for label, found in zip(labels, short, strict=True)
    ]


def _shortened(label: str, most: int) -> str:
    tail = most // 3
    return label if len(label) <= most else f"{label[: most - tail - 1]}…{label[-tail:]}"


def inches(labels: Iterable[str]) -> float:
    """Return the width of the widest of some labels as figures write them, on the wide side."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font, widest = FontProperties(size=_SIZE), 0.0
    for label in set(labels):
        own = "".join(letter for letter in label if unicodedata.east_asian_width(letter) not in "WF")
        width, *_ = text_to_path.get_text_width_height_descent(own, font, ismath=False)
        widest = max(widest, width + (len(label) - len(own)) * _SIZE)
    return widest / _POINTS


def colour_map(name: str) -> Any:
    """Return a colour map: shares from 0 to 1 → colours."""
    import matplotlib

    return matplotlib.colormaps[name]


def patch(colour: Any) -> Any:
    """Return what a legend shows for an area of a colour."""
    from matplotlib.patches import Patch

    return Patch(facecolor=colour, edgecolor="white")


_INSTALL = {"CJK": "fonts-noto-cjk", "HIRAGANA": "fonts-noto-cjk", "KATAKANA": "fonts-noto-cjk"}
_INSTALL |= {"HANGUL": "fonts-noto-cjk", "IDEOGRAPHIC": "fonts-noto-cjk"}
_FILES = {"CJK": "cjk", "HIRAGANA": "cjk", "KATAKANA": "cjk", "HANGUL": "cjk", "IDEOGRAPHIC": "cjk"}
_TRIED = 40
"""Font files of a script that are opened at most."""


def use_fonts(texts: Iterable[str]) -> list[str]:
    """Have figures use a font for every script in some texts; return a line for each script that no font here has.

    matplotlib's own font has Latin, Greek and Cyrillic letters; what it lacks is looked for among the system's.
    """
    letters = {letter for text in texts for letter in text if ord(letter) > 0x7F and letter.isalpha()}
    if not letters:
        return []
    from matplotlib import rcParams
    from matplotlib.font_manager import findfont, findSystemFonts, fontManager, get_font

    own = get_font(findfont("DejaVu Sans")).get_charmap()
    by_script: dict[str, set[str]] = {}
    for letter in letters:
        if ord(letter) not in own:
            by_script.setdefault(unicodedata.name(letter, "UNKNOWN").split()[0], set()).add(letter)
    files = sorted(findSystemFonts()) if by_script else []
    families, lacking = ["DejaVu Sans"], []
    for script, wanted in sorted(by_script.items()):
        path = _font_for(script, wanted, files)
        if path is None:
            package = _INSTALL.get(script, "fonts-noto-core")
            lacking.append(f"no font here has the {script.title()} letters of the names: install one, as {package}")
            continue
        fontManager.addfont(path)
        families.append(str(get_font(path).family_name))
    rcParams["font.family"] = list(dict.fromkeys(families))
    return lacking


def _font_for(script: str, letters: set[str], files: Sequence[str]) -> str | None:
    """Return a file whose name speaks of a script and that has its letters; sans serif and regular ones first."""
    from matplotlib.font_manager import get_font

    word = _FILES.get(script, script.lower())
    named = [path for path in files if word in Path(path).name.lower()]
    named.sort(key=lambda path: ("sans" not in path.lower(), "regular" not in path.lower(), path))
    for path in named[:_TRIED]:
        try:
            found = get_font(path).get_charmap()
        except (OSError, RuntimeError):
            continue
        if all(ord(letter) in found for letter in letters):
            return path
    return None
