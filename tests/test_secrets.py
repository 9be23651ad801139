"""Secrets of the environment leave no text."""

from __future__ import annotations

import pytest

from ccfw.secrets import scrub


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "HF_TOKEN", "my_secret", "DB_PASSWORD", "AZURE_CREDENTIALS"],
)
def test_the_value_of_a_secret_becomes_its_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "sk-0123456789")
    assert scrub("Bearer sk-0123456789, sk-0123456789!") == f"Bearer <{name}>, <{name}>!"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("EDITOR_NAME", "sk-0123456789", id="no-secret-by-its-name"),
        pytest.param("LOCAL_API_KEY", "none", id="a-word"),
        pytest.param("LOCAL_API_KEY", "", id="empty"),
    ],
)
def test_ordinary_text_stays(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    text = "none of sk-0123456789 is secret"
    assert scrub(text) == text


def test_two_secrets_in_one_text_both_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "first-secret")
    monkeypatch.setenv("B_KEY", "other-secret")
    assert scrub("first-secret other-secret") == "<A_KEY> <B_KEY>"


@pytest.mark.parametrize("order", [("A_KEY", "B_KEY"), ("B_KEY", "A_KEY")], ids=["short-first", "long-first"])
def test_a_secret_that_begins_with_another_leaves_no_rest(
    monkeypatch: pytest.MonkeyPatch, order: tuple[str, str]
) -> None:
    values = {"A_KEY": "sk-project", "B_KEY": "sk-project-9f8e7d"}
    for name in order:
        monkeypatch.setenv(name, values[name])
    assert scrub("sent sk-project-9f8e7d") == "sent <B_KEY>"
