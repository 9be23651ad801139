"""Scripts that play ccfw's roles from the request alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any

from tests.fakes import faults
from tests.fakes.faults import Fault, FaultPlan, Script, overlaid
from tests.fakes.filling import fill, prose
from tests.fakes.wire import FakeReply, FakeRequest, content_text

ADVANCE, CONTINUE = "ADVANCE_NEXT", "CONTINUE_CURRENT"
TYPICALITY_LABELS = {
    5: "Highly typical/common",
    4: "Typical/common",
    3: "Neither typical nor atypical",
    2: "Atypical/uncommon",
    1: "Highly atypical/uncommon",
}


def _plain_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_TEXT, _SCORE = {"type": "string"}, {"type": "integer", "minimum": 1, "maximum": 5}
_LABEL_FIELDS = ("label", "cultural_typicality")
_LABEL = {"enum": list(TYPICALITY_LABELS.values())}
SIMULATOR_SCHEMA = _plain_schema(
    goal=_TEXT,
    relevance=_TEXT,
    newness=_TEXT,
    actionable=_TEXT,
    decision_reason=_TEXT,
    decision={"enum": [ADVANCE, CONTINUE]},
    message=_TEXT,
)
"""What a simulator fills if the request carries no schema; the next two are the judge's."""
JUDGE_SCHEMA = _plain_schema(rationale=_TEXT, score=_SCORE)
TYPICALITY_SCHEMA = _plain_schema(rationale=_TEXT, label=_LABEL, score=_SCORE)


def role_of(request: FakeRequest, markers: Mapping[str, str] = {}) -> str:
    """Return the role asked for: the schema's name, else that of the marker which opens the system message.

    ``markers`` maps first words to roles; a request that nothing else tells is the assistant's.
    """
    if request.schema_name is not None:
        return request.schema_name
    opening = "".join(request.said("system")[:1]).lstrip()
    return next((role for words, role in markers.items() if opening.startswith(words)), "assistant")


def play_assistant(request: FakeRequest) -> str:
    """Give short advice whose words follow from the last user message."""
    rng = Random("".join(request.said("user")[-1:]))
    opening = rng.choice(("You could start gently:", "A kind way to do this:", "Here is what I would do:"))
    return f"{opening} {prose(rng, 80, 200)}. Also, {prose(rng, 40, 90)}."


def always_advance(_: FakeRequest) -> str:
    """Decide that every reply settles its shard."""
    return ADVANCE


def replies_seen(request: FakeRequest) -> int:
    """Count the assistant's turns shown: its own messages, and transcript lines opened by its name."""
    texts = [content_text(message) for message in request.messages if message.get("role") != "assistant"]
    turns = re.findall(r"^\W*assistant\b[^:\n]{0,12}:", "\n".join(texts), re.IGNORECASE | re.MULTILINE)
    return len(request.said("assistant")) + len(turns)


def continue_once(request: FakeRequest, replies: Callable[[FakeRequest], int] = replies_seen) -> str:
    """Decide to stay on each shard once: after an odd number of replies CONTINUE, otherwise ADVANCE."""
    return CONTINUE if replies(request) % 2 else ADVANCE


def play_simulator(request: FakeRequest, decide: Callable[[FakeRequest], str] = always_advance) -> str:
    """Fill the simulator's schema, with the decision given and a message of 50 to 150 characters."""
    schema, rng = request.schema or SIMULATOR_SCHEMA, request.rng()
    turn = fill(schema, rng)
    if "decision" in turn:
        turn["decision"] = decide(request)
    if isinstance(turn.get("message"), str):
        turn["message"] = prose(rng, *_message_bounds(schema))
    return json.dumps(turn, ensure_ascii=False)


def _message_bounds(schema: Mapping[str, Any]) -> tuple[int, int]:
    stated = schema.get("properties", {}).get("message", {})
    least, most = max(50, stated.get("minLength", 0)), min(150, stated.get("maxLength", 150))
    return min(least, most), most


def play_judge(request: FakeRequest, markers: Mapping[str, str] = {}) -> str:
    """Fill the judge's schema; the score follows from the body, a typicality label from the score."""
    typicality = role_of(request, markers) == "judge_cultural_typicality"
    default = TYPICALITY_SCHEMA if typicality else JUDGE_SCHEMA
    verdict = fill(request.schema or default, request.rng())
    return json.dumps(_agreeing(verdict) if typicality else verdict, ensure_ascii=False)


def _agreeing(value: Any) -> Any:
    if isinstance(value, list):
        return [_agreeing(each) for each in value]
    if not isinstance(value, dict):
        return value
    value = {name: _agreeing(each) for name, each in value.items()}
    score = next((each for name, each in value.items() if name.lower().endswith("score")), None)
    if isinstance(score, int | float):
        label = TYPICALITY_LABELS[round(score)]
        value |= {name: label for name in value if name in _LABEL_FIELDS}
    return value


def play_other(request: FakeRequest) -> str:
    """Fill whatever schema came; without one, answer as the assistant."""
    if request.schema is None:
        return play_assistant(request)
    return json.dumps(fill(request.schema, request.rng()), ensure_ascii=False)


def roles(
    assistant: Script = play_assistant,
    simulator: Script = play_simulator,
    judge: Script | None = None,
    other: Script = play_other,
    markers: Mapping[str, str] = {},
) -> Script:
    """Return the script that hands each request to the script of its role (judges: :func:`play_judge`)."""
    cast = {
        "assistant": assistant,
        "simulator": simulator,
        "judge": judge or partial(play_judge, markers=markers),
    }

    def play(request: FakeRequest) -> FakeReply | Fault | str:
        return cast.get(_family(role_of(request, markers)), other)(request)

    return play


def _family(role: str) -> str:
    return "judge" if role.startswith("judge_") else role


def faulty(
    script: Script, faults: Mapping[tuple[str, int], Fault] | FaultPlan, markers: Mapping[str, str] = {}
) -> Script:
    """Return ``script`` with faults by role and attempt (0 is the first), or by a plan.

    The role is the full one (``judge_helpful``) or, for all judges, ``judge``.
    """
    if isinstance(faults, FaultPlan):
        return faults.over(script)

    def draw(request: FakeRequest) -> Fault | None:
        role, attempt = role_of(request, markers), request.attempt
        return faults.get((role, attempt)) or faults.get((_family(role), attempt))

    return overlaid(script, draw)


FLAKY = FaultPlan(
    seed=0,
    rates={
        faults.rate_limited(0.05): 0.05,
        faults.SERVER_ERROR: 0.03,
        faults.UNAVAILABLE: 0.02,
        faults.CLOSED: 0.02,
        faults.MALFORMED: 0.01,
        faults.HTML: 0.01,
    },
    last_attempt=1,
)
"""A bad day that three attempts at each call survive."""

SCRIPTS: dict[str, Script] = {
    "assistant": play_assistant,
    "continue_once": roles(simulator=partial(play_simulator, decide=continue_once)),
    "flaky": faulty(roles(), FLAKY),
    "roles": roles(),
}
"""The scripts that the command line knows by name."""
