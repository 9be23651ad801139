"""The page is one file in which nothing but its own scripts can run, whatever stands in the report."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.report.page import Served, parts, render
from ccfw.report.reader_index import indexed
from ccfw.report.sections import FigureView, Report, TableView
from tests.report.shelves import embedded, entry, held
from tests.samples import SEED

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>&\x1b[31m\u2028\u202e"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="75pt" height="30pt"><text>α &lt; β</text></svg>'
TABLE = TableView(
    name="leaderboard",
    title="Leaderboard",
    note="Means.\n\nHigher is better.",
    head=("Assistant", "3H", "Clean %"),
    rows=(("Amber", "3.92 [3.83, 4.02]", "91.4"), ("Birch", "–", "90.5"), ("GPT-5 mini", "4.28", "87.7")),
    breaks=((2, "Published; does not compare"),),
    grey=frozenset({2}),
)
FIGURE = FigureView("intervals", "Intervals", "Of 3H.", "Amber leads", SVG, ("Assistant", "3H"), (("Amber", "3.92"),))
REPORT = Report("A title", (("Judge", "referee"),), "First.\n\nSecond.", (TABLE,), (FIGURE,))


class Reading(HTMLParser):
    """What a browser would make of a page: elements with their attributes, and the text of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag in {"script", "style"}:
            self.inside.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem and self.inside:
            self.inside[-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def page(report: Report = REPORT, **changes: Any) -> str:
    return render(report, embedded([held(SEED, **changes)]))


def policy(text: str) -> dict[str, str]:
    rules = next(each["content"] for each in Reading(text).all("meta") if "http-equiv" in each) or ""
    return {name: value for name, _, value in (rule.strip().partition(" ") for rule in rules.split(";"))}


def test_the_policy_lets_only_the_pages_own_script_and_style_in() -> None:
    text = page()
    style, *_, script = Reading(text).inside

    def hashed(content: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

    assert policy(text) == {
        "default-src": "'none'",
        "style-src": hashed(style),
        "script-src": hashed(script),
        "img-src": "data:",
        "connect-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_a_served_page_may_ask_its_own_server_and_holds_no_conversation() -> None:
    text = render(REPORT, Served(indexed([entry(0)])))
    assert policy(text)["connect-src"] == "'self'"
    assert [each.get("class") for each in Reading(text).all("script")] == [None, None]


def test_the_page_names_no_address_but_its_own() -> None:
    reading = Reading(page())
    addresses = [
        value or ""
        for _, attributes in reading.found
        for name, value in attributes.items()
        if name in {"src", "href", "action", "srcset", "poster", "data", "formaction"}
    ]
    assert {address.split(":")[0] for address in addresses if not address.startswith("#")} == {"data"}
    assert not [name for _, attributes in reading.found for name in attributes if name.startswith("on")]
    assert not [attributes for _, attributes in reading.found if "style" in attributes]
    assert "url(" not in reading.inside[0]


@pytest.mark.parametrize("where", ["title", "fact", "summary", "cell", "break", "note", "alt", "answer", "label"])
def test_what_nobody_vouches_for_is_text_wherever_it_stands(where: str) -> None:
    table = TABLE._replace(
        rows=((EVIL if where == "cell" else "Amber", "1", "2"),),
        note=EVIL if where == "note" else "",
        breaks=((0, EVIL),) if where == "break" else (),
        grey=frozenset(),
    )
    report = REPORT._replace(
        title=EVIL if where == "title" else "t",
        facts=(("Judge", EVIL if where == "fact" else "referee"),),
        summary=EVIL if where == "summary" else "",
        tables=(table,),
        figures=(FIGURE._replace(alt=EVIL if where == "alt" else "a"),),
    )
    answers = (EVIL, "b") if where == "answer" else ("a", "b")
    text = render(report, embedded([held(SEED, answers=answers, label=EVIL if where == "label" else "Amber")]))
    reading = Reading(text)
    assert [each.get("id") or each.get("class") for each in reading.all("script")] == ["setup", "chunk", None]
    assert [list(each) for each in reading.all("img")] == [["src", "alt", "width", "height"]]
    assert "\x1b" not in text
    assert "\u2028" not in text
    assert "\u202e" not in text
    assert "⟨U+001B⟩[31m" in text


@given(st.text(max_size=40))
def test_embedded_data_says_what_it_was_given(text: str) -> None:
    conversation = held(SEED, answers=(text, "b"))
    chunk = Reading(render(REPORT, embedded([conversation]))).inside[2]
    found = json.loads(chunk)
    shown = found["texts"][found["episodes"][0]["turns"][0]["assistant"]]
    assert re.sub(r"⟨U\+([0-9A-F]{4,6})⟩", lambda mark: chr(int(mark[1], 16)), shown) == text
    assert not set("<>&\u2028\u2029") & set(chunk)


def test_rows_are_parted_at_breaks_and_grey_where_they_were_not_run() -> None:
    assert [(part.heading, [place for place, _ in part.rows]) for part in parts(TABLE)] == [
        ("", [0, 1]),
        ("Published; does not compare", [2]),
    ]
    rows = [each.get("class") for each in Reading(page()).all("tr")]
    assert rows == [None, None, None, "break", "grey", None, None]


def test_a_break_before_the_first_row_heads_it() -> None:
    table = TABLE._replace(breaks=((0, "Mine"), (2, "Theirs")))
    assert [(part.heading, len(part.rows)) for part in parts(table)] == [("Mine", 2), ("Theirs", 1)]


def test_an_interval_stands_apart_from_its_mean() -> None:
    text = page()
    assert '<td class="number">3.92 <span class="interval">[3.83, 4.02]</span></td>' in text
    assert '<td class="number">–</td>' in text


@pytest.mark.parametrize(
    ("cell", "head", "behind"),
    [
        ("4.28 [4.28, 4.29]", "4.28", "[4.28, 4.29]"),
        ("116 of 116 (100.0%)", "116 of 116", "(100.0%)"),
        ("3.90 (n=4)", "3.90", "(n=4)"),
        ("3.90 [3.1, 4.2] (n=12)", "3.90", "[3.1, 4.2] (n=12)"),
        ("2 [1–4]", "2", "[1–4]"),
    ],
)
def test_what_stands_behind_a_figure_in_brackets_is_set_apart(cell: str, head: str, behind: str) -> None:
    text = page(REPORT._replace(tables=(TABLE._replace(rows=(("Amber", cell, "1"),), breaks=(), grey=frozenset()),)))
    assert f'<td class="number">{head} <span class="interval">{behind}</span></td>' in text


def test_a_figure_that_has_its_title_apart_is_shown_without_it() -> None:
    bare = SVG.replace("30pt", "15pt")
    (image,) = Reading(page(REPORT._replace(figures=(FIGURE._replace(bare=bare),)))).all("img")
    assert base64.b64decode((image["src"] or "").partition(",")[2]).decode() == bare
    assert image["height"] == "20"


def test_a_cell_carries_what_it_is_sorted_by() -> None:
    table = TABLE._replace(keys=((3.9249, None), (None, None), (4.28, 87.7)))
    text = page(REPORT._replace(tables=(table,)))
    assert re.findall(r'data-key="([^"]*)"', text) == ["3.9249", "", "", "", "4.28", "87.7"]


def test_one_row_is_one_row() -> None:
    tables = (TABLE, TABLE._replace(name="a"), TABLE._replace(name="b", rows=TABLE.rows[:1], breaks=()))
    assert re.findall(r'class="count">([^<]*)<', page(REPORT._replace(tables=tables))) == ["3 rows", "1 row"]


def test_a_figure_is_a_picture_that_holds_itself_and_takes_its_room_at_once() -> None:
    (image,) = Reading(page()).all("img")
    prefix, _, data = (image["src"] or "").partition(",")
    assert (prefix, base64.b64decode(data).decode()) == ("data:image/svg+xml;base64", SVG)
    assert (image["alt"], image["width"], image["height"]) == ("Amber leads", "100", "40")


def test_a_sample_says_of_how_many() -> None:
    text = " ".join(render(REPORT, embedded([held(SEED)], total=263_000)).split())
    assert "1 of 263,000: those of the first scenarios" in text
    assert "stage=view" in text
    assert "stage=view" not in page()


def test_a_report_of_nothing_is_still_a_page() -> None:
    text = render(Report("Nothing", (), "", (), ()), embedded([]))
    assert "<h1>Nothing</h1>" in text
    assert "There are none." in text
    assert not Reading(text).all("table")
