"""Before anything is paid: keys that can be sent, and budgets that can hold."""

from __future__ import annotations

from typing import Any

import pytest

from ccfw.errors import RequestError
from ccfw.job import check_prerequisites
from ccfw.settings import Settings
from tests.samples import raw_model
from tests.test_settings import content, option

KEY = "sk-canary-7d1f0b2c9e"


def problems(model: dict[str, Any], **changes: Any) -> list[str]:
    asked = {"stage": option("stage", "simulate"), "simulator": raw_model("scripted", api_key_env=None)} | changes
    try:
        check_prerequisites(Settings.model_validate(content("scripted", **asked) | {"model": model}))
    except RequestError as error:
        return list(error.problems)
    return []


@pytest.mark.parametrize(
    "key", [f" {KEY}", f"{KEY}\n", f"{KEY}\r\nX-Other: 1", f"{KEY}\x07", f"{KEY}é", f"{KEY}\u200b", "  "], ids=repr
)
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("SOME_API_KEY", key)
    assert problems(raw_model("scripted", api_key_env="SOME_API_KEY")) == [
        "model=scripted: the environment variable SOME_API_KEY holds what no key can: "
        "blanks around it, a line break, a control character or one beyond ASCII"
    ]


@pytest.mark.parametrize(("key", "lines"), [(KEY, 0), ("", 1), (None, 1)])
def test_a_key_is_there_or_it_is_not(monkeypatch: pytest.MonkeyPatch, key: str | None, lines: int) -> None:
    monkeypatch.delenv("SOME_API_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("SOME_API_KEY", key)
    told = ["model=scripted: the environment variable SOME_API_KEY is not set"]
    assert problems(raw_model("scripted", api_key_env="SOME_API_KEY")) == told * lines


BOUND, LEAVE, NAME = "give model.max_output_tokens", "leave it out", "give model.provider_model"


@pytest.mark.parametrize("transport", ["litellm", "openai_http"])
@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("max_tokens", BOUND),
        ("max_completion_tokens", BOUND),
        ("max_output_tokens", BOUND),
        ("n", LEAVE),
        ("best_of", LEAVE),
        ("model", NAME),
        ("models", NAME),
    ],
)
def test_under_a_budget_nothing_may_change_what_is_billed(transport: str, key: str, instead: str) -> None:
    model = raw_model("scripted", api_key_env=None, transport=transport, extra_body={key: 9, "top_p": 0.5})
    assert problems(model) == []
    assert problems(model, budget=2) == [
        f"budget=2: model.extra_body.{key} changes what a call of scripted is billed for, so that no budget can hold; "
        f"{instead}"
    ]
