"""The bar chart with intervals, and what other figures start from; the only import of matplotlib."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ccfw.report.tables import HEADINGS, Row
from ccfw.terminal import printable

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
    figure, axes = canvas(11, 4.8)
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
    return saved(figure, folder / "chart")


def canvas(width: float, height: float, **more: Any) -> tuple[Any, Any]:
    """Return a new figure of so many inches and its axes, drawn without a display and the same for the same data."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "ccfw"
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained", **more)


def saved(figure: Any, stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG, close it, and return the paths."""
    from matplotlib import pyplot

    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    figure.savefig(paths[0], dpi=144)
    figure.savefig(paths[1], metadata={"Date": None})
    pyplot.close(figure)
    return paths


class Drawn(NamedTuple):
    """A figure in both forms."""

    svg: str
    """Its texts are texts, which can be searched and read aloud; every one is escaped."""
    png: bytes


def drawn(figure: Any) -> Drawn:
    """Return a figure as SVG and PNG, and close it."""
    from matplotlib import pyplot, rc_context

    png, svg = io.BytesIO(), io.StringIO()
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")  # laid out once for both
    figure.savefig(png, format="png", dpi=144)
    with rc_context({"svg.fonttype": "none"}):
        figure.savefig(svg, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    text = svg.getvalue()
    return Drawn(text[text.index("<svg") :], png.getvalue())


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
        label=as_text(f"{row.label}, {row.language.value.replace('_', ' ')}, n={row.judged}"),
    )
    if width > _ROOM:
        labels = [f"{mean:.2f}" for mean in means]
        axes.bar_label(bars, labels, label_type="center", color="white", fontsize=9, fontweight="bold")


def as_text(text: str) -> str:
    """Write a label that matplotlib takes as text: ``$`` starts no formula, a leading ``_`` hides nothing."""
    text = printable(text)
    return ("\u200b" + text if text.startswith("_") else text).replace("$", r"\$")


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
