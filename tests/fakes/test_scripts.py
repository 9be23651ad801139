"""The scripted roles answer in the shapes asked for, from the request alone."""

from __future__ import annotations

import json
from importlib import import_module
from random import Random
from typing import Any

import pytest

from tests.fakes import faults
from tests.fakes.faults import FaultPlan
from tests.fakes.filling import fill
from tests.fakes.scripts import (
    ADVANCE,
    CONTINUE,
    SCRIPTS,
    SIMULATOR_SCHEMA,
    TYPICALITY_LABELS,
    TYPICALITY_SCHEMA,
    faulty,
    role_of,
    roles,
)
from tests.fakes.wire import FakeReply, FakeRequest

jsonschema: Any = import_module("jsonschema")  # has no stubs

EVERYTHING: dict[str, Any] = {
    "type": "object",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "kind": {"const": "leaf"},
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
            "required": ["kind", "next"],
            "additionalProperties": False,
        }
    },
    "properties": {
        "short": {"type": "string", "maxLength": 7},
        "long": {"type": "string", "minLength": 200},
        "exact": {"type": "string", "minLength": 12, "maxLength": 12},
        "choice": {"type": "string", "enum": ["a", "b"]},
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "above": {"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 4},
        "below": {"type": "integer", "maximum": -3},
        "share": {"type": "number", "minimum": 0.5, "maximum": 1},
        "flag": {"type": "boolean"},
        "maybe": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3},
        "many": {"type": "array", "items": {"$ref": "#/$defs/node"}, "minItems": 5},
        "node": {"allOf": [{"$ref": "#/$defs/node"}]},
    },
    "required": ["short", "long", "score"],
    "additionalProperties": False,
}


def request(
    schema_name: str | None = None,
    schema: dict[str, Any] | None = None,
    system: str = "Be kind.",
    user: str = "Hello",
    attempt: int = 0,
) -> FakeRequest:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    body: dict[str, Any] = {"model": "m", "messages": messages}
    if schema_name is not None:
        json_schema = {"name": schema_name, "schema": schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": json_schema}
    return FakeRequest(body, {}, 0, attempt, 0.0)


def played(asked: FakeRequest, script: faults.Script = SCRIPTS["roles"]) -> Any:
    answer = script(asked)
    assert isinstance(answer, str)
    return json.loads(answer)


@pytest.mark.parametrize("seed", range(50))
def test_a_filled_schema_validates_and_has_every_property(seed: int) -> None:
    filled = fill(EVERYTHING, Random(seed))
    jsonschema.validate(filled, EVERYTHING)
    assert filled.keys() == EVERYTHING["properties"].keys()
    assert filled == fill(EVERYTHING, Random(seed))


def test_the_assistant_answers_the_last_user_message() -> None:
    assistant = SCRIPTS["assistant"]
    again = assistant(request(system="Be brief."))
    assert assistant(request()) == again != assistant(request(user="Goodbye"))


@pytest.mark.parametrize("user", [str(n) for n in range(20)])
def test_the_simulator_keeps_to_its_schema_and_advances(user: str) -> None:
    turn = played(request("simulator", SIMULATOR_SCHEMA, user=user))
    jsonschema.validate(turn, SIMULATOR_SCHEMA)
    assert turn["decision"] == ADVANCE
    assert 50 <= len(turn["message"]) <= 150


def test_the_simulator_can_stay_once_on_each_shard() -> None:
    lines = ["User: a", "Assistant: b", "User: c", "**Assistant:** d", "User: e", "[Assistant]: f"]
    shown = [request("simulator", SIMULATOR_SCHEMA, user="\n".join(lines[:n])) for n in (2, 4, 6)]
    turns = [played(each, SCRIPTS["continue_once"]) for each in shown]
    assert [turn["decision"] for turn in turns] == [CONTINUE, ADVANCE, CONTINUE]


def test_typicality_labels_agree_with_scores() -> None:
    asked = [request("judge_cultural_typicality", TYPICALITY_SCHEMA, user=str(n)) for n in range(40)]
    verdicts = [played(each) for each in asked]
    assert {verdict["score"] for verdict in verdicts} == set(TYPICALITY_LABELS)
    assert all(verdict["label"] == TYPICALITY_LABELS[verdict["score"]] for verdict in verdicts)


def test_other_schemas_are_filled_as_they_come() -> None:
    for name in ("judge_helpful", "seed_writer"):
        jsonschema.validate(played(request(name, EVERYTHING)), EVERYTHING)


def test_markers_tell_roles_without_a_schema() -> None:
    markers = {"You play": "simulator", "You rate typicality": "judge_cultural_typicality"}
    asked = request(system="You rate typicality of scenes.")
    assert role_of(asked, markers) == "judge_cultural_typicality"
    assert played(asked, roles(markers=markers)).keys() == {"rationale", "label", "score"}
    assert "message" in played(request(system="You play a user."), roles(markers=markers))
    assert role_of(asked) == "assistant"


def test_faults_strike_by_role_and_attempt() -> None:
    script = faulty(roles(), {("judge", 0): faults.STALL, ("judge_honest", 1): faults.CLOSED})
    schema = SIMULATOR_SCHEMA

    def struck(name: str, attempt: int) -> faults.Kind | None:
        answer = script(request(name, schema, attempt=attempt))
        return answer.kind if isinstance(answer, faults.Fault) else None

    assert [struck("judge_honest", n) for n in range(3)] == [faults.Kind.STALL, faults.Kind.CLOSED, None]
    assert [struck("judge_helpful", n) for n in range(2)] == [faults.Kind.STALL, None]
    assert struck("simulator", 0) is None


def test_a_fault_spoils_the_scripts_own_reply() -> None:
    answer = faulty(lambda asked: "Mine", FaultPlan(0, {faults.DRIP: 1.0}))(request())
    assert isinstance(answer, faults.Fault)
    assert answer.reply == FakeReply("Mine")
