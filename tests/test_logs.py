"""A log line shows what a message holds, and nothing in a message can pass for another line."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.logs import SafeFormatter

FORMATTER = SafeFormatter("%(asctime)s %(levelname)s %(message)s", "00:00:00")


def shown(message: str, *arguments: object, error: bool = False) -> str:
    try:
        raise ValueError(message)
    except ValueError as caught:
        info = (ValueError, caught, None) if error else None
        return FORMATTER.format(logging.LogRecord("ccfw", logging.WARNING, "", 0, message, arguments, info))


def test_control_characters_become_marks_and_arguments_too() -> None:
    assert shown("%s: \x1b[31m", "en\x9bwiki") == "00:00:00 WARNING en⟨U+009B⟩wiki: ⟨U+001B⟩[31m"


def test_a_message_cannot_forge_a_line() -> None:
    assert shown("a\n00:00:00 ERROR b\r\nc\x85d\u2028e") == (
        "00:00:00 WARNING a\n    00:00:00 ERROR b⟨U+000D⟩\n    c⟨U+0085⟩d⟨U+2028⟩e"
    )


def test_secrets_are_taken_out_of_messages_and_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "hunter2hunter2")
    assert shown("at hunter2hunter2") == "00:00:00 WARNING at <SOME_TOKEN>"
    assert shown("at hunter2hunter2", error=True) == (
        "00:00:00 WARNING at <SOME_TOKEN>\n    ValueError: at <SOME_TOKEN>"
    )


@given(st.text())
def test_only_the_first_line_of_anything_begins_at_the_margin(text: str) -> None:
    first, *rest = shown("%s", text).split("\n")
    assert first.startswith("00:00:00 WARNING ")
    assert all(line.startswith("    ") for line in rest)
    assert not {letter for letter in first + "".join(rest) if letter < " " and letter != "\t"}
