"""A provider that echoes the key in a reply does not get it kept."""

from __future__ import annotations

import pytest

from ccfw.llm.replies import keyless
from tests.samples import reply

KEY = "sk-0123456789"


@pytest.mark.parametrize("field", ["text", "served_model", "finish_reason"])
def test_the_key_becomes_its_name_wherever_the_provider_puts_it(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    kept = keyless(reply(**{field: f"your {KEY}, {KEY}!"}), "A_KEY")
    assert kept == reply(**{field: "your <A_KEY>, <A_KEY>!"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("OTHER_KEY", KEY, id="of-another-model"),
        pytest.param("A_KEY", "your", id="a-word"),
        pytest.param("A_KEY", "", id="empty"),
    ],
)
def test_every_other_reply_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    answered = reply(f"your {KEY}")
    assert keyless(answered, "A_KEY") is answered
    assert keyless(answered, None) is answered
