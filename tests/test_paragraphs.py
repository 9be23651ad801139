"""Lines for a terminal: none too wide in any script, and nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.paragraphs import columns, filled, line_width


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("红包", 4), ("งาน", 3), ("ที่", 1), ("é", 1), ("e\u0301", 1), ("가나", 4), ("", 0)]
)
def test_columns_are_what_a_terminal_gives(text: str, width: int) -> None:
    assert columns(text) == width


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three", ["  one two", "  three"]),
        ("一二三四五六七八", ["  一二三四", "  五六七八"]),
        ("ab 红包 cd", ["  ab 红包", "  cd"]),
        ("abcdefghijklm", ["  abcdefgh", "  ijklm"]),
        ("", ["  "]),
    ],
)
def test_lines_end_between_words_or_between_wide_characters(text: str, lines: list[str]) -> None:
    assert filled(text, 10, "  ").splitlines() == lines


@given(st.text("ab 红งั\u0301가,.", max_size=80), st.integers(4, 30))
def test_no_line_is_too_wide_and_nothing_is_lost(text: str, width: int) -> None:
    found = filled(text, width, " ").split("\n")
    assert all(columns(line) <= width for line in found)
    assert "".join("".join(found).split()) == "".join(text.split())


@pytest.mark.parametrize(("said", "width"), [("60", 60), ("20", 40), ("300", 110)])
def test_the_terminal_says_how_wide_within_what_can_be_read(
    monkeypatch: pytest.MonkeyPatch, said: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", said)
    assert line_width() == width
