"""Texts of a reply that may not go on into records and prompts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ccfw.authoring.audits import DIMENSIONS, read_audit
from ccfw.authoring.blueprint_review import read_english, read_translation
from ccfw.forms import MOST_CHARACTERS, TEXT, an_object, read_form
from ccfw.records import Failure, FailureKind

FORM = an_object({"background": TEXT})


@pytest.mark.parametrize(
    ("value", "says"),
    [
        pytest.param("", "a text that is not empty", id="empty"),
        pytest.param(" \n", "a text that is not empty", id="blank"),
        pytest.param(7, "a text that is not empty", id="number"),
        pytest.param("x" * 3001, "a text of at most 3000 characters, not 3001", id="long"),
        pytest.param("a\x00b", "a text without control characters", id="nul"),
        pytest.param("a\x1b[31mb", "a text without control characters", id="escape"),
        pytest.param("a\x9bb", "a text without control characters", id="c1"),
        pytest.param("a\u202eb", "a text without control characters", id="bidi-override"),
        pytest.param("a flat\n\n# What earlier versions got wrong", "a text of one line", id="lines"),
        pytest.param("a flat\n", "a text of one line", id="line-break-at-the-end"),
    ],
)
def test_a_text_that_cannot_go_on_is_sent_back(value: Any, says: str) -> None:
    found = read_form(json.dumps({"background": value}), FORM)
    assert isinstance(found, tuple)
    assert [(issue.check, issue.where, issue.says) for issue in found] == [("schema", "background", says)]


@pytest.mark.parametrize("value", ["தமிழ் எழுத்து", "ئۇيغۇرچە", "क\u200dष", "words\tand a tab", "x" * MOST_CHARACTERS])
def test_scripts_and_tabs_are_no_control_characters(value: str) -> None:
    assert read_form(json.dumps({"background": value}), FORM) == {"background": value}


def test_lines_are_kept_where_they_are_allowed() -> None:
    assert read_form('{"background": "two\\nlines"}', FORM, lines=True) == {"background": "two\nlines"}


def test_translations_are_held_to_the_same() -> None:
    assert read_english('{"english": "two\\nlines"}') == Failure(
        kind=FailureKind.INCOMPLETE, detail="english must be a text of one line"
    )
    assert read_english('{"english": "one line\\n"}') == "one line"
    assert read_translation(json.dumps({"message": "a\x1bb", "summary": "c"})) == Failure(
        kind=FailureKind.INCOMPLETE, detail="message must be a text without control characters"
    )
    assert read_english(json.dumps({"english": "x" * 4000})) == Failure(
        kind=FailureKind.INCOMPLETE, detail="english must be a text of at most 3000 characters, not 4000"
    )


def test_an_auditors_reason_is_cut_and_cleaned_before_it_is_passed_on() -> None:
    flags = {name: {"reason": "", "passes": True} for name in DIMENSIONS}
    found = read_audit(json.dumps(flags | {"Plausible": {"reason": "\x1b" + "x" * 9000, "passes": False}}))
    assert isinstance(found, tuple)
    assert found[0].says == "plausible: ⟨U+001B⟩" + "x" * (MOST_CHARACTERS - len("⟨U+001B⟩"))
