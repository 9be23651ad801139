"""Figures hold what they are given: as text in the SVG, as numbers in the CSV, in colours that are told apart."""

from __future__ import annotations

import csv
import io
import math
import re
from xml.etree import ElementTree

import pytest

from ccfw.report.figures import use_fonts
from ccfw.report.plots import COLOURS, Bar, Figure, Grid, Point, forest, heat_map, scatter, shares

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
    assert {"1.0", "–", "-2.0", "3.0"} <= set(texts(drawn["heat"]))
    rows = list(csv.reader(io.StringIO(drawn["heat"].csv())))
    assert rows == [["", "x", "y"], [HOSTILE, "1.000000", ""], ["B", "-2.000000", "3.000000"]]


def test_points_have_numbers_and_names_and_published_ones_are_marked(drawn: dict[str, Figure]) -> None:
    shown = texts(drawn["scatter"])
    assert "published, not run here" in shown
    assert "1" in shown
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


# ---- fonts


def test_a_script_that_no_font_has_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matplotlib.font_manager.findSystemFonts", list)
    assert use_fonts(["Qwen", "ไทย", "日本"]) == [
        "no font here has the Cjk letters of the names: install one, as fonts-noto-cjk",
        "no font here has the Thai letters of the names: install one, as fonts-noto-core",
    ]


def test_latin_greek_and_cyrillic_need_nothing() -> None:
    assert use_fonts(["Größe", "αβγ", "модель", "plain"]) == []
