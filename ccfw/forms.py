"""The form of a reply as JSON Schema, and the reading of a reply by it: every mismatch is named. Pure."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ccfw.checks.issue import Issue
from ccfw.parsing import json_object
from ccfw.terminal import printable

Form = Mapping[str, Any]
TEXT: Form = {"type": "string"}
MOST_CHARACTERS = 3000
"""Of one text of a reply; the longest that ships, a background, has fewer than 1,000."""
NO_OTHER_KEY = "no key that was not asked for"
_LONGEST = 200


def an_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def a_list(item: Form, least: int, most: int) -> dict[str, Any]:
    """Return the form of a list of so many items."""
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def texts(least: int, most: int, options: Sequence[str] = ()) -> dict[str, Any]:
    """Return the form of a list of texts, each one of the options if there are any."""
    return a_list({**TEXT, "enum": list(options)} if options else TEXT, least, most)


def read_form(text: str, form: Form, *, lines: bool = False) -> dict[str, Any] | tuple[Issue, ...]:
    """Read a reply of the given form, or return what breaks it; raise ``Refusal`` when it is no JSON object.

    ``lines`` allows texts of several lines.
    """
    content = json_object(text)
    return tuple(_mismatches(content, form, "", lines)) or content


def text_fault(value: Any, *, lines: bool = False) -> str | None:
    """Return what a value should be instead, if it is no text that can be shown and sent on as it is.

    Every later prompt repeats a text of a reply: one without bound would be paid for in each of them, and one of
    several lines could pass for a section of the prompt.
    """
    if not isinstance(value, str) or _says_nothing(value):
        return "a text that is not empty"
    if len(value) > MOST_CHARACTERS:
        return f"a text of at most {MOST_CHARACTERS} characters, not {len(value)}"
    if printable(value) != value:
        return "a text without control characters"
    return "a text of one line" if "\n" in value and not lines else None


def _says_nothing(text: str) -> bool:
    """Whether a text is empty or all punctuation, as the dots of a form that was sent back as it came."""
    return all(unicodedata.category(char)[0] in "PZC" for char in text)


def _mismatches(value: Any, form: Form, where: str, lines: bool) -> Iterator[Issue]:
    """Hold a value against the part of JSON Schema that forms use; a text must not be empty."""
    match form["type"]:
        case "object":
            yield from _wrong_object(value, form, where, lines)
        case "array":
            yield from _wrong_list(value, form, where, lines)
        case "integer":
            if type(value) is not int or not form["minimum"] <= value <= form["maximum"]:
                yield _wrong(where, value, f"a whole number from {form['minimum']} to {form['maximum']}")
        case _:
            if fault := text_fault(value, lines=lines):
                yield _wrong(where, value, fault)
            elif value not in form.get("enum", (value,)):
                yield _wrong(where, value, f"one of {', '.join(form['enum'])}")


def _wrong_object(value: Any, form: Form, where: str, lines: bool) -> Iterator[Issue]:
    if not isinstance(value, dict):
        yield _wrong(where, value, "an object")
        return
    for name in sorted(set(form["properties"]) ^ set(value)):
        says = "this key" if name in form["properties"] else NO_OTHER_KEY
        yield _wrong(_path(where, name), "missing" if name in form["properties"] else name, says)
    for name, part in form["properties"].items():
        if name in value:
            yield from _mismatches(value[name], part, _path(where, name), lines)


def _wrong_list(value: Any, form: Form, where: str, lines: bool) -> Iterator[Issue]:
    if not isinstance(value, list):
        yield _wrong(where, value, "a list")
        return
    if not form["minItems"] <= len(value) <= form["maxItems"]:
        yield _wrong(where, f"{len(value)} items", f"{form['minItems']}–{form['maxItems']} items")
    for index, item in enumerate(value):
        yield from _mismatches(item, form["items"], f"{where}[{index}]", lines)


def _path(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _wrong(where: str, value: Any, says: str) -> Issue:
    found = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return Issue("schema", where, found[:_LONGEST], says)
