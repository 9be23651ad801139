"""The embedded model, for real: no key, no network, no stand-in."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from ccfw.llm import local
from ccfw.llm.asking import build_request
from ccfw.llm.litellm_client import LitellmClient, close
from ccfw.llm.types import ChatReply, ChatRequest
from ccfw.records import Message
from ccfw.resources import resource
from ccfw.settings.models import ModelConfig
from tests.e2e.conftest import Shared
from tests.e2e.running import Run, ccfw

jsonschema: Any = import_module("jsonschema")  # has no stubs
pytestmark = [pytest.mark.embedded, pytest.mark.long]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string", "minLength": 10, "maxLength": 80},
        "named": {"type": "array", "items": {"type": "string", "enum": ["a gift", "a title"]}, "maxItems": 2},
        "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
    },
    "required": ["reasoning", "named", "score"],
    "additionalProperties": False,
}


# ---- the smoke experiment


@pytest.fixture(scope="module")
def smoke(shared: Shared) -> Run:
    return shared("smoke", lambda folder: ccfw(folder, "experiment=smoke", "report.shown=0", timeout=1800))


def test_smoke_ends_ok_or_partial_with_a_dialogue_and_its_judgements(smoke: Run) -> None:
    closings = smoke.closings
    assert "Traceback" not in smoke.err
    assert list(closings) == ["simulate", "evaluate", "report", "pipeline"]
    assert closings["pipeline"]["status"] in ("ok", "partial")
    assert smoke.code == (0 if closings["pipeline"]["status"] == "ok" else 1)
    assert len(smoke.records("simulate")) == 1
    assert len(smoke.records("evaluate")) == 6


def test_smoke_is_talk_and_costs_nothing(smoke: Run) -> None:
    (episode,) = smoke.records("simulate")
    assert episode["termination_reason"] in ("ALL_SHARDS_CLEARED", "TURN_CAP", "SHARD_CAP")
    assert all(len(turn["assistant"].split()) > 3 for turn in episode["turns"])
    assert smoke.closings["pipeline"]["cost"] == "0.0000"
    assert smoke.closings["pipeline"]["calls"] > 6


def test_smoke_leaves_nothing_to_mlflow(smoke: Run) -> None:
    assert {path.name for path in smoke.folder.iterdir()} == {"workspace", "multirun"}


# ---- the model itself


@pytest.fixture(scope="module")
def model() -> Iterator[ModelConfig]:
    content = yaml.safe_load((resource("conf") / "model" / "smollm2.yaml").read_text("utf-8"))
    yield ModelConfig.model_validate(content | {"extra_body": {"cache_prompt": False}, "max_output_tokens": 120})
    local.stop()


def replies(model: ModelConfig, requests: list[ChatRequest]) -> list[ChatReply]:
    """Ask one after another, past every ledger."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

    async def ask() -> list[ChatReply]:
        client = LitellmClient(model, local.base_url(model))
        try:
            return [await client.complete(request) for request in requests]
        finally:
            await close()

    return asyncio.run(ask())


def request(model: ModelConfig, text: str, **more: Any) -> ChatRequest:
    return build_request(model, (Message(role="user", content=text),), role="judge", temperature=0.0, seed=0, **more)


def test_greedy_replies_repeat_whatever_was_asked_between(model: ModelConfig) -> None:
    one = request(model, "Name three fruits that grow in Brunei.")
    other = request(model, "Name three fruits that grow in Japan, and say when they ripen.")
    first, between, again = replies(model, [one, other, one])
    assert first.text == again.text
    assert first.text.strip()
    assert between.text != first.text


@pytest.mark.parametrize("topic", ["gifts", "titles", "food"])
def test_a_reply_under_a_schema_is_valid(model: ModelConfig, topic: str) -> None:
    asked = request(model, f"Rate this advice about {topic}: be kind.", schema_name="judge_helpful", schema=SCHEMA)
    (reply,) = replies(model, [asked])
    jsonschema.validate(json.loads(reply.text), SCHEMA)
    assert reply.finish_reason == "stop"


def test_usage_is_counted_and_free(model: ModelConfig) -> None:
    (reply,) = replies(model, [request(model, "Say hello.")])
    assert reply.usage.prompt_tokens
    assert reply.usage.completion_tokens
    assert reply.cost == 0.0


def test_weights_are_found_in_their_package(model: ModelConfig) -> None:
    assert model.embedded is not None
    path: Path = local.gguf_path(model.embedded)
    assert path.read_bytes()[:4] == b"GGUF"
    assert local.missing(model) == []
