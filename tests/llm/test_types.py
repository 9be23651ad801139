"""A request's key is its whole content."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ccfw.records import Message
from tests.samples import chat_request

OTHERS = [
    pytest.param({"model": {"provider_model": "openai/other"}}, id="model"),
    pytest.param({"messages": (Message(role="user", content="hi "),)}, id="text"),
    pytest.param({"messages": (Message(role="system", content="hi"),)}, id="role"),
    pytest.param({"messages": (Message(role="user", content="hi"),) * 2}, id="length"),
    pytest.param({"temperature": 0.0}, id="temperature"),
    pytest.param({"seed": 0}, id="seed"),
    pytest.param({"schema_name": "judge"}, id="schema-name"),
    pytest.param({"schema": {"type": "object"}}, id="schema"),
    pytest.param({"replicate": 1}, id="replicate"),
    pytest.param({"top_p": 0.9}, id="top-p"),
    pytest.param({"top_logprobs": 5}, id="top-logprobs"),
]


@pytest.mark.parametrize("changes", OTHERS)
def test_every_field_of_a_request_is_in_its_key(changes: dict[str, Any]) -> None:
    assert chat_request(**changes).key != chat_request().key


def test_equal_requests_have_equal_keys_whatever_the_order_of_their_settings() -> None:
    first = chat_request(model={"a": 1, "b": {"c": 2, "d": 3}})
    second = chat_request(model={"b": {"d": 3, "c": 2}, "a": 1})
    assert first.key == second.key


def test_a_request_without_the_later_fields_keeps_the_key_that_ledgers_know() -> None:
    written = (
        '{"messages":[["user","hi"]],"model":{"provider_model":"openai/scripted"},"replicate":0,"schema":null,'
        '"schema_name":null,"seed":null,"temperature":null}'
    )
    assert chat_request().key == hashlib.sha256(written.encode()).hexdigest()


def test_half_a_character_has_a_key_too() -> None:
    assert chat_request("\ud83d").key != chat_request("\ud83e").key


def test_the_same_request_is_the_same_whoever_is_asked() -> None:
    assert chat_request(role="judge").key == chat_request(role="simulator").key == chat_request().key
