"""Figures hold what they are given: as text in the SVG, as numbers in the CSV, in colours that are told apart."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from ccfw.judging.score_table import COLUMNS
from ccfw.records import LanguageMode
from ccfw.report.figures import bar_chart, fitted, use_fonts
from ccfw.report.plots import COLOURS, Bar, Figure, Grid, Point, forest, heat_map, scatter, shares
from ccfw.report.tables import Row, build_row

HOSTILE = "<script>alert(1)</script> & $x$ _y"
SVG = "{http://www.w3.org/2000/svg}"


def texts(figure: Figure) -> list[str]:
    root = ElementTree.fromstring(figure.view.svg)
    return ["".join(each.itertext()).strip() for each in root.iter(f"{SVG}text")]


def drawings(label: str) -> dict[str, Figure]:
    grid = Grid([label, "B"], ["x", "y"], [[1.0, math.nan], [-2.0, 3.0]], [["1.0", ""], ["-2.0", "3.0"]])
    return {
        "heat": heat_map("heat", "Title", "Note.", grid),
        "signed": heat_map("signed", "Title", "Note.", grid, signed=True),
        "scatter": scatter(
            "scatter", "Title", "Note.", [Point(label, 1, 2), Point("G", 3, 4, grey=True)], x="x", y="y"
        ),
        "forest": forest("forest", "Title", "Note.", [Bar(label, 3.0, 2.5, 3.5, "rank 1")], x="3H"),
        "shares": shares("shares", "Title", "Note.", [label], [("Helpful", [[0.25, 0.75]])], ["1", "2"]),
    }


@pytest.fixture(scope="module")
def drawn() -> dict[str, Figure]:
    return drawings(HOSTILE)


KINDS = ("heat", "signed", "scatter", "forest", "shares")


@pytest.mark.parametrize("kind", KINDS)
def test_a_label_is_text_and_nothing_else(drawn: dict[str, Figure], kind: str) -> None:
    figure = drawn[kind]
    assert "<script" not in figure.view.svg
    assert any("<script>alert(1)</script> & $x$ _y" in text for text in texts(figure))


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_is_a_picture_in_both_forms_and_says_what_it_shows(drawn: dict[str, Figure], kind: str) -> None:
    figure = drawn[kind]
    assert figure.png.startswith(b"\x89PNG\r\n")
    assert ElementTree.fromstring(figure.view.svg).tag == f"{SVG}svg"
    assert "Title" in figure.view.alt
    assert not re.search(r"(href|src)=\"(?!#|data:image/png;base64,)", figure.view.svg)


def test_the_same_data_make_the_same_bytes(drawn: dict[str, Figure]) -> None:
    again = drawings(HOSTILE)
    assert {kind: figure.view.svg for kind, figure in again.items()} == {k: f.view.svg for k, f in drawn.items()}


def test_a_cell_without_a_number_is_a_dash_and_empty_in_the_csv(drawn: dict[str, Figure]) -> None:
    assert {"1.0", "–", "−2.0", "3.0"} <= set(texts(drawn["heat"]))
    rows = list(csv.reader(io.StringIO(drawn["heat"].csv())))
    assert rows == [["name", "x", "y"], [HOSTILE, "1.000000", ""], ["B", "-2.000000", "3.000000"]]


def test_points_have_numbers_and_names_and_published_ones_are_marked(drawn: dict[str, Figure]) -> None:
    shown = texts(drawn["scatter"])
    assert "published, not run here; not comparable:" in shown
    assert {"1", "a"} <= set(shown)
    assert "a G" in [" ".join(text.split()) for text in shown]
    rows = list(csv.DictReader(io.StringIO(drawn["scatter"].csv())))
    assert [(row["x"], row["source"]) for row in rows] == [("1.000000", "own"), ("3.000000", "published")]


def test_an_interval_is_written_beside_its_bar(drawn: dict[str, Figure]) -> None:
    assert "3.00   rank 1" in [text.replace("\xa0", " ") for text in texts(drawn["forest"])]


def test_nothing_to_show_is_drawn_all_the_same() -> None:
    empty = Grid(["A"], ["x"], [[math.nan]], [[""]])
    assert heat_map("a", "T", "", empty).png
    assert scatter("b", "T", "", [], x="x", y="y", logarithmic=True).png
    assert forest("c", "T", "", [Bar("A", 3.0, math.nan, math.nan)], x="x").png
    assert shares("d", "T", "", ["A"], [("Helpful", [[math.nan, math.nan]])], ["1", "2"]).png


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_colour_of_a_mark_stands_out_from_paper() -> None:
    """Marks differ in shape and number as well; by 2 to 1 from white they are still seen when printed in grey."""
    assert all(1.05 / (luminance(colour) + 0.05) >= 2 for colour in COLOURS)


FEW_SEEDS = Grid(["A", "B"], ["x", "y"], [[1.0, 5.0], [3.0, 3.5]], [["1.0", "5.0"], ["3.0", "3.5"]], [[1, 9], [10, 58]])


def test_a_cell_of_few_seeds_has_no_colour_and_says_how_many_they_are() -> None:
    figure = heat_map("thin", "T", "", FEW_SEEDS)
    shown = texts(figure)
    assert {"1.0 (1)", "5.0 (9)", "3.0", "3.5"} <= set(shown)
    scale = [float(text) for text in shown if re.fullmatch(r"\d\.\d+", text)]
    assert min(scale) >= 3.0  # what cells of few seeds hold sets no colours
    assert max(scale) <= 3.5
    assert list(csv.reader(io.StringIO(figure.csv()))) == [
        ["name", "x", "y", "x: seeds", "y: seeds"],
        ["A", "1.000000", "5.000000", "1", "9"],
        ["B", "3.000000", "3.500000", "10", "58"],
    ]


def test_without_a_solid_cell_there_is_no_scale_of_colours() -> None:
    thin = heat_map("thin", "T", "", FEW_SEEDS._replace(counts=[[1, 1], [1, 1]]))
    assert "points" in texts(heat_map("solid", "T", "", FEW_SEEDS))
    assert "points" not in texts(thin)
    assert {"1.0 (1)", "3.5 (1)"} <= set(texts(thin))


def test_a_page_that_sets_the_title_gets_the_picture_without_it(drawn: dict[str, Figure]) -> None:
    for figure in drawn.values():
        whole, bare = (ElementTree.fromstring(svg) for svg in (figure.view.svg, figure.view.bare))
        assert "Title" in ["".join(each.itertext()).strip() for each in whole.iter(f"{SVG}text")]
        assert "Title" not in ["".join(each.itertext()).strip() for each in bare.iter(f"{SVG}text")]
        assert float(bare.attrib["height"].rstrip("pt")) < float(whole.attrib["height"].rstrip("pt")) - 10
        assert bare.attrib["width"] == whole.attrib["width"]


def ink_at_the_edge(png: bytes) -> bool:
    """Whether anything is drawn on the outermost pixels, as letters are that are cut off."""
    from matplotlib.image import imread

    pixels = imread(io.BytesIO(png))[..., :3]
    edges = (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1])
    return any(bool((edge < 0.98).any()) for edge in edges)


LONG = ("W" * 44, "m" * 300, "Qwen3-235B-A22B-Instruct-2507-FP8-of-the-laboratory-in-town", "Ж" * 60)


@pytest.mark.filterwarnings("error:.*layout not applied")
@pytest.mark.parametrize("labels", [LONG[:1], LONG, [f"{LONG[2]} {place}" for place in range(30)]], ids=len)
def test_names_of_any_length_are_not_cut_off(labels: Sequence[str]) -> None:
    square = [[3.0] * len(labels)] * len(labels)
    drawn = [
        heat_map("a", "T", "", Grid(["R"], labels, square[:1], [["3.00"] * len(labels)])),
        heat_map("b", "T", "", Grid(labels, ["3H"], [[3.0]] * len(labels), [["3.00"]] * len(labels))),
        forest("c", "T", "", [Bar(label, 3.0, 2.0, 4.0, "ranks 1–30") for label in labels], x="3H"),
        scatter("d", "T", "", [Point(label, 1 + place, 2) for place, label in enumerate(labels)], x="x", y="y"),
        shares("e", "T", "", labels, [("Helpful", [[0.5, 0.5]] * len(labels))], ["1", "2"]),
    ]
    assert [figure.view.name for figure in drawn if ink_at_the_edge(figure.png)] == []


def test_two_long_names_that_look_alike_are_told_apart() -> None:
    one, other = (f"{'model-' * 8}{middle}{'-instruct' * 3}" for middle in "ab")
    short = fitted([one, other, "short", one])
    assert short[2] == "short"
    assert short[0] == short[3] != short[1]
    assert all(len(each) <= 44 for each in short)
    assert "…" in short[0]


def summary_row(place: int) -> Row:
    values = np.tile(np.linspace(1, 5, 12)[:, None], (1, len(COLUMNS)))
    return build_row(
        model=f"m{place}",
        label=f"Model {place}",
        language=LanguageMode.ENGLISH,
        judge="referee",
        values=values,
        episodes=12,
        held=12,
        broken=0,
        seed=1,
        resamples=50,
        level=0.95,
    )


@pytest.mark.parametrize("count", [1, 8, 9, 100])
def test_the_chart_names_every_assistant_however_many_they_are(tmp_path: Path, count: int) -> None:
    png, svg = bar_chart([summary_row(place) for place in range(count)], 0.95, tmp_path)
    assert not ink_at_the_edge(png.read_bytes())
    height = float(ElementTree.fromstring(svg.read_text("utf-8")).attrib["height"].rstrip("pt"))
    assert height >= 9 * count  # so many lines of text fit below one another
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_a_code_that_no_xml_holds_leaves_every_figure_whole() -> None:
    for figure in drawings("A\ufffe\uffffB\ufdd0").values():
        assert any("A⟨U+FFFE⟩⟨U+FFFF⟩B⟨U+FDD0⟩" in text for text in texts(figure))


# ---- fonts


def test_a_script_that_no_font_has_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matplotlib.font_manager.findSystemFonts", list)
    assert use_fonts(["Qwen", "ไทย", "日本"]) == [
        "no font here has the Cjk letters of the names: install one, as fonts-noto-cjk",
        "no font here has the Thai letters of the names: install one, as fonts-noto-core",
    ]


def test_latin_greek_and_cyrillic_need_nothing() -> None:
    assert use_fonts(["Größe", "αβγ", "модель", "plain"]) == []
