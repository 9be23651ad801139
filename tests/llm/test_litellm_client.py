"""What litellm is handed for a request."""

from __future__ import annotations

from typing import Any

import pytest

from ccfw.llm.asking import build_request
from ccfw.llm.litellm_client import LitellmClient
from ccfw.records import Message
from tests.samples import chat_request, model_config


def arguments(model: Any = None, **changes: Any) -> dict[str, Any]:
    return LitellmClient(model or model_config(), "http://127.0.0.1:1/v1")._arguments(chat_request(**changes))


@pytest.mark.parametrize(
    ("seed", "replicate", "sent"),
    [
        pytest.param(0, 0, 0, id="first"),
        pytest.param(0, 1, 1, id="repeat"),
        pytest.param(20260101, 2003, 20262104, id="third-repeat-second-retry"),
    ],
)
def test_a_repeat_is_asked_under_another_seed(seed: int, replicate: int, sent: int) -> None:
    assert arguments(seed=seed, replicate=replicate)["seed"] == sent


def test_a_repeat_differs_from_the_first_in_its_seed_alone() -> None:
    first, again = arguments(seed=5), arguments(seed=5, replicate=7)
    assert {key for key in first | again if first.get(key) != again.get(key)} == {"seed"}


def test_where_no_seed_is_taken_none_is_sent_and_a_repeat_is_still_a_request_of_its_own() -> None:
    model = model_config(accepts={"temperature": True, "seed": False, "structured": "none"})
    asked = [
        build_request(
            model, (Message(role="user", content="hi"),), role="judge", temperature=1.0, seed=5, replicate=replicate
        )
        for replicate in range(3)
    ]
    client = LitellmClient(model, None)
    assert ["seed" in client._arguments(request) for request in asked] == [False] * 3
    assert len({request.key for request in asked}) == 3


def test_what_is_sent_is_what_was_asked_and_nothing_retries_but_us() -> None:
    sent = arguments(seed=1, temperature=0.5, schema_name="judge", schema={"type": "object"})
    assert sent == {
        "model": "openai/scripted",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 4096,
        "timeout": 5.0,
        "num_retries": 0,
        "max_retries": 0,
        "api_key": "none",
        "api_base": "http://127.0.0.1:1/v1",
        "temperature": 0.5,
        "seed": 1,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "judge", "schema": {"type": "object"}, "strict": True},
        },
    }


@pytest.mark.parametrize(
    ("structured", "sent"),
    [
        pytest.param("json_object", {"response_format": {"type": "json_object"}}, id="object"),
        pytest.param("none", {}, id="none"),
    ],
)
def test_a_schema_is_asked_for_as_far_as_the_model_takes_one(structured: str, sent: dict[str, Any]) -> None:
    model = model_config(accepts={"temperature": True, "seed": True, "structured": structured})
    found = arguments(model, schema_name="judge", schema={"type": "object"})
    assert {key: value for key, value in found.items() if key == "response_format"} == sent
