"""Template, slots and rendering."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.checks.template import render, slot_name, slots

from .conftest import FILLING, TEMPLATE_TEXT, Findings

MADE = "Blueprint.Scenario_Instantiation"
TEMPLATE = f"{MADE}.Parent_Template"

NAMES = st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True)
WORDS = st.text(st.characters(exclude_characters="{}"), min_size=1)


@given(st.dictionaries(NAMES, WORDS), st.lists(NAMES), WORDS)
def test_rendering_fills_every_filled_slot_and_no_other(filling: dict[str, str], used: list[str], glue: str) -> None:
    text = glue.join(f"{{{name}}}" for name in used)
    rendered = render(text, filling)
    assert rendered == glue.join(filling.get(name, f"{{{name}}}") for name in used)
    assert slots(rendered) == set(used) - set(filling)


@given(st.dictionaries(NAMES, WORDS), WORDS)
def test_rendering_is_one_pass_and_deaf_to_braces_in_keys(filling: dict[str, str], tail: str) -> None:
    braced = {f"{{{name}}}": value for name, value in filling.items()}
    text = " ".join(braced) + tail
    assert render(text, braced) == render(text, filling)
    assert {slot_name(key) for key in braced} == set(filling)


def test_a_filling_that_looks_like_a_slot_is_not_filled_again() -> None:
    assert render("{A} {B}", {"A": "{B}", "B": "x"}) == "{B} x"


@pytest.mark.parametrize(
    ("path", "value", "where", "found"),
    [
        pytest.param(
            f"{MADE}.Slot_Filling",
            FILLING | {"{EXTRA}": "x"},
            f"{MADE}.Slot_Filling",
            "{EXTRA}",
            id="extra filling",
        ),
        pytest.param(
            f"{MADE}.Slot_Filling",
            {key: value for key, value in FILLING.items() if key != "{MEAL}"},
            f"{MADE}.Slot_Filling",
            "{MEAL}",
            id="filling missing",
        ),
        pytest.param(
            f"{TEMPLATE}.Slot_Definitions",
            {"{MEAL}": "m", "{GUEST}": "g", "{TIMING}": "t"},
            f"{TEMPLATE}.Slot_Definitions",
            "{LIMIT}",
            id="definition missing",
        ),
    ],
)
def test_slots_differ(findings: Findings, path: str, value: object, where: str, found: str) -> None:
    [issue] = findings("slots_match", {path: value})
    assert (issue.where, issue.found) == (where, found)


def test_slot_of_the_template_alone_is_missing_twice(findings: Findings) -> None:
    issues = findings("slots_match", {f"{TEMPLATE}.template_text": TEMPLATE_TEXT + " {NEW_1}"})
    assert [issue.found for issue in issues] == ["{NEW_1}", "{NEW_1}"]


@pytest.mark.parametrize(
    ("text", "faults"),
    [("dinner", 0), ("one two three four five", 0), ("one two three four five six", 1), ("…", 1)],
    ids=["one", "five", "six", "no word"],
)
def test_filling_length(findings: Findings, text: str, faults: int) -> None:
    assert len(findings("filling_length", {f"{MADE}.Slot_Filling.{{MEAL}}": text})) == faults


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("The user needs to cook.", id="something else"),
        pytest.param(TEMPLATE_TEXT, id="not filled"),
        pytest.param(render(TEMPLATE_TEXT, FILLING | {"{MEAL}": "lunch"}), id="another filling"),
        pytest.param(render(TEMPLATE_TEXT, FILLING).lower(), id="case"),
    ],
)
def test_rendered_text_differs(findings: Findings, text: str) -> None:
    [issue] = findings("rendered_text", {f"{MADE}.Rendered_Template_Text": text})
    assert issue.says == render(TEMPLATE_TEXT, FILLING)


def test_blanks_do_not_matter_in_rendered_text(findings: Findings) -> None:
    text = render(TEMPLATE_TEXT, FILLING).replace(". ", ".\n ")
    assert findings("rendered_text", {f"{MADE}.Rendered_Template_Text": text}) == []


@pytest.mark.parametrize("text", ["A user needs {MEAL}.", "the user needs {MEAL}.", "The user needsa {MEAL}."])
def test_template_opening(findings: Findings, text: str) -> None:
    assert len(findings("template_opening", {f"{TEMPLATE}.template_text": text})) == 1


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("The user needs {MEAL}.", 1),
        ("The user needs {MEAL}. They wait.", 0),
        ("The user needs {MEAL}, e.g. soup. They wait. They eat.", 0),
        ("The user needs {MEAL}. They wait. They eat. They go.", 1),
    ],
    ids=["one", "two", "three", "four"],
)
def test_template_sentences(findings: Findings, text: str, faults: int) -> None:
    assert len(findings("template_sentences", {f"{TEMPLATE}.template_text": text})) == faults


@pytest.mark.parametrize(("words", "faults"), [(12, 0), (13, 1)])
def test_definition_length(findings: Findings, words: int, faults: int) -> None:
    changes = {f"{TEMPLATE}.Slot_Definitions.{{MEAL}}": " ".join(["word"] * words)}
    assert len(findings("definition_length", changes)) == faults
