"""Small multiples: what is drawn is in the data, and every series has a look of its own."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from pathlib import Path

from ccfw.report.panels import Mark, Panel, panels

FOUND = [
    Panel("one", {"a": [Mark(0, 1.0, 0.5, 2.0), Mark(1, 2.0)], "chance": [Mark(0, 0.5), Mark(1, 0.5)]}, "points"),
    Panel("two", {"a": [Mark(0, 3.0)], "$b$ <i>": [Mark(0, 4.0, 3.5, 4.5)]}, "points", joined=False),
]


def test_a_figure_is_written_in_three_forms_with_its_data(tmp_path: Path) -> None:
    made = panels("small", "Small multiples", "note", FOUND, across="N", grey={"chance": "--"})
    assert [path.name for path in made.write(tmp_path)] == ["small.svg", "small.csv", "small.png"]
    assert (tmp_path / "small.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.reader((tmp_path / "small.csv").read_text("utf-8").splitlines()))
    assert rows == [
        ["panel", "N", "series", "value", "low", "high"],
        ["one", "0", "a", "1.000000", "0.500000", "2.000000"],
        ["one", "1", "a", "2.000000", "", ""],
        ["one", "0", "chance", "0.500000", "", ""],
        ["one", "1", "chance", "0.500000", "", ""],
        ["two", "0", "a", "3.000000", "", ""],
        ["two", "0", "$b$ <i>", "4.000000", "3.500000", "4.500000"],
    ]


def test_texts_are_texts_and_the_same_data_gives_the_same_picture() -> None:
    first, second = (panels("small", "Small multiples", "note", FOUND, across="N") for _ in range(2))
    texts = [
        "".join(each.itertext()) for each in ET.fromstring(first.view.svg).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert {"one", "two", "a", "chance", "$b$ <i>", "N"} < set(texts)
    assert first.view.svg == second.view.svg
    assert first.png == second.png


def test_a_series_keeps_its_colour_in_every_panel() -> None:
    alone = panels("small", "t", "n", FOUND[:1], across="N").view.svg
    both = panels("small", "t", "n", FOUND, across="N").view.svg
    assert all(colour in both for colour in ("#0072b2", "#d55e00", "#009e73"))
    assert "#009e73" not in alone
