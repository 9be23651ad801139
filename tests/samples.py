"""Good values of every kind that tests start from, and ways to spoil them."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from ccfw.llm.types import ChatReply, ChatRequest, Usage
from ccfw.records import (
    Episode,
    Failure,
    FailureKind,
    Judgement,
    LanguageMode,
    Message,
    Metric,
    Scenario,
    ShardOutcome,
    SimulationMode,
    TerminationReason,
    Turn,
)
from ccfw.settings.models import ModelConfig

ROOT = Path(__file__).resolve().parents[1]
STARTER = ROOT / "data" / "starter"
SEED = "SG_Tamil_Hindu_F_35_54__TPL_ECO_WAGE_01__STANDARD__XCULTURE_ID"


def raw_scenario(seed_id: str = SEED) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((STARTER / f"{seed_id}.json").read_text("utf-8"))
    return content


def scenario_of(raw: Mapping[str, Any]) -> Scenario:
    return Scenario.model_validate_json(json.dumps(raw))


def put(raw: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return a copy of ``raw`` with the value at a dotted path replaced."""
    made = copy.deepcopy(raw)
    *steps, last = path.split(".")
    node: Any = made
    for step in steps:
        node = node[int(step) if isinstance(node, list) else step]
    node[int(last) if isinstance(node, list) else last] = value
    return made


_CANARY = re.compile(r"canary:([^;]+);")
_TYPED = (
    "Blueprint.Seed.",
    "Blueprint.Public_Context.Initial_User_Message.",
    "Blueprint.Validation.Verdict",
    "Blueprint.Scenario_Instantiation.Parent_Template.Template_ID",
)
IDENTITY = "Blueprint.Seed.Persona.Identity"
NATIVE_LANGUAGE = "Blueprint.Seed.Persona.Native_Language"


def canary_scenario() -> Scenario:
    """Return a scenario whose every text but the first message, ids and enumerations names its own path."""
    raw = raw_scenario()
    seed = raw["Blueprint"]["Seed"]
    seed["Seed_ID"] = seed["Seed_ID"].replace("Tamil_Hindu", f"canary:{IDENTITY};")
    for path, value in _leaves(raw, ""):
        planted = path in (IDENTITY, NATIVE_LANGUAGE) or not path.startswith(_TYPED)
        if isinstance(value, str) and planted:
            raw = put(raw, path, f"canary:{path};")
    return scenario_of(raw)


def canaries(value: object) -> set[str]:
    """Return the paths of the canaries that a value's text holds."""
    return set(_CANARY.findall(repr(value)))


def _leaves(node: Any, path: str) -> Iterator[tuple[str, object]]:
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else None
    if children is None:
        yield path, node
        return
    for key, child in children:
        yield from _leaves(child, f"{path}.{key}" if path else str(key))


def raw_model(name: str = "scripted", /, **changes: object) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / "conf" / "model" / f"{name}.yaml").read_text("utf-8"))
    return content | changes


def model_config(name: str = "scripted", /, **changes: object) -> ModelConfig:
    return ModelConfig.model_validate(raw_model(name, **changes))


def reply(text: str = "hello", **changes: Any) -> ChatReply:
    fields: dict[str, Any] = {
        "text": text,
        "finish_reason": "stop",
        "has_reasoning": False,
        "served_model": "served",
        "usage": Usage(10, 5, None),
        "cost": 0.25,
        "seconds": 0.5,
    }
    return ChatReply(**fields | changes)


def chat_request(text: str = "hi", /, **changes: Any) -> ChatRequest:
    fields: dict[str, Any] = {
        "model": {"provider_model": "openai/scripted"},
        "messages": (Message(role="user", content=text),),
        "temperature": None,
        "seed": None,
        "schema_name": None,
        "schema": None,
    }
    return ChatRequest(**fields | changes)


def turn(user: str = "hi", assistant: str = "hello", shard_id: int = 1) -> Turn:
    return Turn(shard_id=shard_id, user=user, faults=(), assistant=assistant, decision=None, thinking="")


def episode_of(scenario: Scenario, turns: tuple[Turn, ...] = (turn(),), **changes: Any) -> Episode:
    template = scenario.blueprint.scenario_instantiation.parent_template
    fields: dict[str, Any] = {
        "episode_id": f"{scenario.seed.seed_id}__EN",
        "scenario_hash": "0123456789abcdef",
        "seed": scenario.seed,
        "domain": template.domain,
        "subdomain": template.subdomain,
        "target_model": "assistant",
        "simulator_model": "user",
        "language_mode": LanguageMode.ENGLISH,
        "simulation_mode": SimulationMode.EVAL,
        "termination_reason": TerminationReason.SHARD_CAP,
        "error": None,
        "shards_total": len(scenario.interaction_sequence),
        "shard_outcomes": (ShardOutcome(shard_id=1, outcome="OPEN", turns=len(turns)),),
        "turns": turns,
        "attempt": 0,
        "simulator_retries": 0,
    }
    return Episode(**fields | changes)


def judgement_of(metric: Metric, score: int | None, *, episode_id: str = "e", **changes: Any) -> Judgement:
    """Return a judgement; without a score it is one that could not be read."""
    fields: dict[str, Any] = {
        "judgement_id": f"{episode_id}::{metric.value}",
        "episode_id": episode_id,
        "metric": metric,
        "judge": "judge",
        "score": score,
        "failure": None if score is not None else Failure(kind=FailureKind.UNPARSED, detail="no JSON"),
        "reasoning": "because",
        "tripwires_triggered": (),
        "taboos_violated": (),
        "details": {},
        "tries": 1,
    }
    return Judgement(**fields | changes)
