"""Replies are read strictly: what was not written is not read into them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.parsing import (
    CORE_SIMULATOR_KEYS,
    SIMULATOR_KEYS,
    Refusal,
    SimulatorReply,
    json_object,
    read_simulator,
    visible,
)
from ccfw.records import Decision, FailureKind

FORM = "the form is <thinking>…</thinking>, <decision>…</decision>, then the message on its own line"
LINES = "<thinking> must hold these lines once each: Goal, Relevance, Newness, Actionable, Decision"


def refused(text: str, protocol: str | None = None, keys: tuple[str, ...] = SIMULATOR_KEYS) -> tuple[str, str]:
    with pytest.raises(Refusal) as caught:
        read_simulator(text, protocol, keys) if protocol else json_object(text)
    assert str(caught.value) == caught.value.detail
    return caught.value.kind.value, caught.value.detail


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        pytest.param("  plain answer \n", "plain answer", id="no-thinking"),
        pytest.param("<think>plan</think>\n\nanswer", "answer", id="closed"),
        pytest.param("<think>a\nb</think>one<think>c</think> two", "one two", id="two-blocks"),
        pytest.param("<think>a <think>b</think> c</think>answer", "answer", id="nested"),
        pytest.param("plan\n</think>\nanswer", "answer", id="closing-tag-only"),
        pytest.param("<think>never ends", "", id="unclosed"),
        pytest.param("answer <think>never ends", "answer", id="unclosed-after-an-answer"),
        pytest.param("<think>plan</think>answer<think>more", "answer", id="closed-then-unclosed"),
        pytest.param("plan</think>answer<think>more", "answer", id="closing-tag-only-then-unclosed"),
        pytest.param("<think></think>", "", id="nothing-but-thinking"),
    ],
)
def test_thinking_is_never_visible(text: str, seen: str) -> None:
    assert visible(text) == seen


@given(st.lists(st.sampled_from(["<think>", "</think>", " SECRET ", "\n"]), max_size=8))
def test_what_stands_inside_thinking_never_shows_however_tags_nest(parts: list[str]) -> None:
    text = "<think>" + "".join(parts).replace("</think>", "") + "</think>said"
    assert visible(text) == "said"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a": 1}', id="bare"),
        pytest.param('\n  {"a": 1}\n', id="with-space-around"),
        pytest.param('```json\n{"a": 1}\n```', id="json-fence"),
        pytest.param('```\n{"a":\n1}\n```\n', id="plain-fence"),
        pytest.param('```json\r\n{"a": 1}\r\n```', id="fence-with-crlf"),
        pytest.param('<think>{"a": 2}</think>\n```json\n{"a": 1}\n```', id="fence-after-thinking"),
        pytest.param('{"a": 2}\n</think>{"a": 1}', id="after-a-lone-closing-tag"),
    ],
)
def test_one_json_object_is_read_bare_or_fenced(text: str) -> None:
    assert json_object(text) == {"a": 1}


JSON_FAULTS = [
    pytest.param("", "empty", "the reply is empty", id="empty"),
    pytest.param("<think>{}</think>", "empty", "the reply is empty", id="thinking-alone"),
    pytest.param(
        'Sure: {"a": 1}',
        "unparsed",
        "not one JSON object: Expecting value: line 1 column 1 (char 0)",
        id="prose-before",
    ),
    pytest.param(
        '{"a": 1} Hope it helps',
        "unparsed",
        "not one JSON object: Extra data: line 1 column 10 (char 9)",
        id="prose-after",
    ),
    pytest.param(
        'Here:\n```json\n{"a": 1}\n```',
        "unparsed",
        "not one JSON object: Expecting value: line 1 column 1 (char 0)",
        id="prose-before-a-fence",
    ),
    pytest.param(
        '{"a": 1}\n{"a": 2}',
        "unparsed",
        "not one JSON object: Extra data: line 2 column 1 (char 9)",
        id="two-objects",
    ),
    pytest.param('{"a": 1, "a": 1}', "unparsed", "not one JSON object: a key is given twice", id="key-twice"),
    pytest.param(
        '{"a": {"y": 1, "x": 1, "y": 2, "x": 3}}',
        "unparsed",
        "not one JSON object: a key is given twice",
        id="inner-keys-twice",
    ),
    pytest.param('{"a": NaN}', "unparsed", "not one JSON object: NaN is not JSON", id="nan"),
    pytest.param('{"a": -Infinity}', "unparsed", "not one JSON object: -Infinity is not JSON", id="infinity"),
    pytest.param("[1]", "unparsed", "not a JSON object but list", id="list"),
    pytest.param('"text"', "unparsed", "not a JSON object but str", id="text"),
    pytest.param("null", "unparsed", "not a JSON object but NoneType", id="null"),
    pytest.param("4", "unparsed", "not a JSON object but int", id="number"),
    pytest.param(
        '{"a": 1,}',
        "unparsed",
        "not one JSON object: Expecting property name enclosed in double quotes: line 1 column 9 (char 8)",
        id="trailing-comma",
    ),
    pytest.param(
        "{'a': 1}",
        "unparsed",
        "not one JSON object: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        id="single-quotes",
    ),
]


@pytest.mark.parametrize(("text", "kind", "detail"), JSON_FAULTS)
def test_a_reply_that_is_not_one_json_object_is_refused_with_the_reason(text: str, kind: str, detail: str) -> None:
    assert refused(text) == (kind, detail)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a":' * 100_000, id="objects"),
        pytest.param('{"a":' + "[" * 100_000, id="lists"),
        pytest.param('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", id="closed-lists"),
        pytest.param('{"a":' + "1" * 5_000 + "}", id="digits"),
        pytest.param('{"a": "cut of', id="cut-off"),
    ],
)
def test_a_reply_without_end_is_refused(text: str) -> None:
    kind, detail = refused(text)
    assert kind == "unparsed"
    assert detail.startswith("not one JSON object: ")
    assert len(detail) < 300


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(value=st.dictionaries(st.text(), JSON, max_size=4), fenced=st.booleans(), escaped=st.booleans())
def test_any_json_object_is_read_back_as_it_was_written(value: dict[str, Any], fenced: bool, escaped: bool) -> None:
    text = json.dumps(value, ensure_ascii=escaped)
    assert json_object(f"```json\n{text}\n```" if fenced else text) == value


@given(st.text() | st.lists(st.sampled_from('{}[]",:1a \n`')).map("".join))
def test_any_text_gives_an_object_or_a_refusal(text: str) -> None:
    kind = None
    try:
        value = json_object(text)
    except Refusal as refusal:
        kind = refusal.kind
    assert kind in {FailureKind.UNPARSED, FailureKind.EMPTY} or isinstance(value, dict)


def test_a_think_tag_quoted_inside_a_json_text_stays() -> None:
    assert json_object('{"reasoning": "A1 shows <think>plan</think> to the user"}') == {
        "reasoning": "A1 shows <think>plan</think> to the user"
    }


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a": "\\ud83d"}', id="text"),
        pytest.param('{"a": ["ok", "\\udc00"]}', id="in-a-list"),
        pytest.param('{"\\ud83d": "a"}', id="key"),
    ],
)
def test_half_a_character_is_refused_since_no_record_can_hold_it(text: str) -> None:
    kind, _ = refused(text)
    assert kind == "unparsed"


FULL = {
    "goal": "what THR is",
    "relevance": "yes, on point",
    "newness": "yes, the law",
    "actionable": "yes, pay in march",
    "decision": "ADVANCE_NEXT",
    "message": " ok, how much is fair? ",
}


def test_the_simulators_json_is_read_with_its_reasons() -> None:
    assert read_simulator(json.dumps(FULL), "json", SIMULATOR_KEYS) == SimulatorReply(
        Decision.ADVANCE_NEXT,
        "ok, how much is fair?",
        "goal: what THR is\nrelevance: yes, on point\nnewness: yes, the law\nactionable: yes, pay in march",
    )


def test_the_short_json_has_no_reasons() -> None:
    text = '{"message": "ok", "decision": "CONTINUE_CURRENT"}'
    assert read_simulator(text, "json", CORE_SIMULATOR_KEYS) == (Decision.CONTINUE_CURRENT, "ok", "")


KEYS = "keys must be exactly goal, relevance, newness, actionable, decision, message"


@pytest.mark.parametrize(
    ("changes", "kind", "detail"),
    [
        pytest.param({"newness": ...}, "incomplete", KEYS, id="missing-key"),
        pytest.param({"mood": "good"}, "incomplete", KEYS, id="extra-key"),
        pytest.param({"relevance": True}, "unparsed", "relevance is not a text", id="reason-not-a-text"),
        pytest.param({"message": None}, "unparsed", "message is not a text", id="null-message"),
        pytest.param({"message": " \n"}, "empty", "the message is empty", id="blank-message"),
        pytest.param(
            {"decision": "STOP"},
            "out_of_range",
            "decision is none of: ADVANCE_NEXT, CONTINUE_CURRENT",
            id="unknown-decision",
        ),
        pytest.param(
            {"decision": "advance_next"},
            "out_of_range",
            "decision is none of: ADVANCE_NEXT, CONTINUE_CURRENT",
            id="decision-in-lower-case",
        ),
        pytest.param(
            {"decision": ""},
            "out_of_range",
            "decision is none of: ADVANCE_NEXT, CONTINUE_CURRENT",
            id="no-decision",
        ),
    ],
)
def test_a_json_move_that_breaks_the_protocol_is_refused(changes: dict[str, object], kind: str, detail: str) -> None:
    reply = {key: value for key, value in (FULL | changes).items() if value is not ...}
    assert refused(json.dumps(reply), "json") == (kind, detail)


THINKING = (
    "<thinking>\nGoal: what THR is\nRelevance: yes\nNewness: yes, the law\n"
    "Actionable: yes\nDecision: ADVANCE_NEXT, it is settled\n</thinking>"
)
TAGS = f"{THINKING}\n<decision>ADVANCE_NEXT</decision>\nok, how much is fair?"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TAGS, id="as-asked-for"),
        pytest.param(f"<think>hm</think>{TAGS}\n", id="after-the-models-own-thinking"),
        pytest.param(TAGS.replace("</decision>\n", "</decision>  \n\n"), id="with-a-blank-line"),
        pytest.param(TAGS.replace("ADVANCE_NEXT</decision>", " ADVANCE_NEXT </decision>"), id="with-spaces"),
    ],
)
def test_the_simulators_tags_are_read_with_their_reasons(text: str) -> None:
    decision, message, thinking = read_simulator(text, "tags", SIMULATOR_KEYS)
    assert (decision, message) == (Decision.ADVANCE_NEXT, "ok, how much is fair?")
    assert thinking.splitlines()[0] == "Goal: what THR is"
    assert thinking.splitlines()[-1] == "Decision: ADVANCE_NEXT, it is settled"


def test_a_message_of_several_lines_is_kept_whole() -> None:
    assert read_simulator(f"{TAGS}\nand when?", "tags", SIMULATOR_KEYS).message == "ok, how much is fair?\nand when?"


TAG_FAULTS = [
    pytest.param("ok, how much is fair?", "unparsed", FORM, id="no-tags"),
    pytest.param(TAGS.replace("Newness: yes, the law\n", ""), "incomplete", LINES, id="missing-line"),
    pytest.param(
        TAGS.replace("Relevance: yes\n", "Relevance: yes\nRelevance: no\n"), "incomplete", LINES, id="line-twice"
    ),
    pytest.param(
        TAGS.replace("Relevance: yes\nNewness: yes, the law", "Newness: yes, the law\nRelevance: yes"),
        "incomplete",
        LINES,
        id="lines-out-of-order",
    ),
    pytest.param(
        f"{THINKING}\n<decision>ADVANCE_NEXT</decision>\n<decision>CONTINUE_CURRENT</decision>\nok",
        "unparsed",
        "a tag stands inside the message",
        id="second-decision-after",
    ),
    pytest.param(
        TAGS.replace("Relevance: yes\n", "Relevance: yes <decision>CONTINUE_CURRENT</decision>\n"),
        "unparsed",
        FORM,
        id="second-decision-in-the-thinking",
    ),
    pytest.param(
        f"{THINKING}\n<decision>ADVANCE_NEXT</decision><decision>ADVANCE_NEXT</decision>\nok",
        "unparsed",
        FORM,
        id="second-decision-beside",
    ),
    pytest.param(TAGS.replace("</decision>\n", "</decision> "), "unparsed", FORM, id="message-glued-to-the-tag"),
    pytest.param(f"Sure!\n{TAGS}", "unparsed", FORM, id="prose-before"),
    pytest.param(TAGS.replace("</thinking>\n", "</thinking>\nso:\n"), "unparsed", FORM, id="prose-between"),
    pytest.param(f"{TAGS}\n</thinking>", "unparsed", "a tag stands inside the message", id="stray-closing-tag"),
    pytest.param(
        f"{THINKING}\n<decision>ADVANCE_NEXT</decision>\n \n", "empty", "the message is empty", id="empty-message"
    ),
    pytest.param(
        TAGS.replace("ADVANCE_NEXT</decision>", "END</decision>"),
        "out_of_range",
        "decision is none of: ADVANCE_NEXT, CONTINUE_CURRENT",
        id="unknown-decision",
    ),
    pytest.param(TAGS.replace("</thinking>", ""), "unparsed", FORM, id="thinking-never-closed"),
]


@pytest.mark.parametrize(("text", "kind", "detail"), TAG_FAULTS)
def test_a_tagged_move_that_breaks_the_protocol_is_refused(text: str, kind: str, detail: str) -> None:
    assert refused(text, "tags") == (kind, detail)


CANARY = "qzx7"


def spoilt(reply: dict[str, Any]) -> Iterator[str]:
    """Yield an object with a canary in every place: each key, each value in every form, beside it and around it."""
    whole = json.dumps(reply)
    yield from (CANARY, f'"{CANARY}"', f'["{CANARY}"]', f"{CANARY} {whole}", f"{whole} {CANARY}", f"{{{CANARY}}}")
    yield from (f"```{CANARY}\n{whole}\n```", f"<think>{CANARY}</think>", f"{CANARY}</think>", f"<{CANARY}>{whole}")
    yield f'{{"{CANARY}": 1, "{CANARY}": 2}}'
    yield json.dumps(reply | {CANARY: CANARY})
    for key in reply:
        yield json.dumps({CANARY if name == key else name: value for name, value in reply.items()})
        for value in (CANARY, [CANARY], {CANARY: CANARY}, [[CANARY]], [{CANARY: 1}]):
            yield json.dumps(reply | {key: value})
        for raw in (CANARY, f'"{CANARY}', f'"{CANARY}\n"', f'"\\{CANARY}"', f'"{CANARY}\\ud83d"', f"1{CANARY}"):
            yield json.dumps(reply | {key: "RAW"}).replace('"RAW"', raw)


def reasons(texts: Iterable[str], read: Callable[[str], object]) -> list[str]:
    """Return what the refusals among replies say."""
    said = []
    for text in texts:
        try:
            read(text)
        except Refusal as refusal:
            said.append(refusal.detail)
    return said


@pytest.mark.parametrize("keys", [SIMULATOR_KEYS, CORE_SIMULATOR_KEYS], ids=["full", "core"])
def test_no_refusal_of_a_json_move_repeats_the_move(keys: tuple[str, ...]) -> None:
    texts = list(spoilt({key: FULL[key] for key in keys}))
    said = reasons(texts, lambda text: read_simulator(text, "json", keys))
    assert len(said) > len(texts) - len(keys) - 3  # a text may hold anything
    assert [detail for detail in said if CANARY in detail] == []
    assert {"a key", "keys must", "decision is", "message is"} <= {
        " ".join(detail.removeprefix("not one JSON object: ").split()[:2]) for detail in said
    }


MARKS = (CANARY, f"\n{CANARY}: Goal\n", f"<decision>{CANARY}</decision>", f"<{CANARY}>", f"\nGoal: {CANARY}\n")


def test_no_refusal_of_a_tagged_move_repeats_the_move() -> None:
    parts = re.split(r"(?<=[\n>:])|(?=<)", TAGS)
    planted = ["".join([*parts[:at], mark, *parts[at:]]) for at in range(len(parts) + 1) for mark in MARKS]
    replaced = ["".join([*parts[:at], CANARY, *parts[at + 1 :]]) for at in range(len(parts))]
    said = reasons([*planted, *replaced], lambda text: read_simulator(text, "tags", SIMULATOR_KEYS))
    assert [detail for detail in said if CANARY in detail] == []
    assert set(said) == {
        FORM,
        LINES,
        "a tag stands inside the message",
        "decision is none of: ADVANCE_NEXT, CONTINUE_CURRENT",
    }


def test_a_reply_of_nothing_but_opening_tags_is_read_in_one_pass() -> None:
    assert visible("<think>" * 500_000) == ""
    assert visible("<think>" * 500_000 + "</think>answer") == "answer"


def test_an_object_of_many_keys_is_read_in_one_pass() -> None:
    many = {f"k{n}": n for n in range(60_000)}
    assert json_object(json.dumps(many)) == many
