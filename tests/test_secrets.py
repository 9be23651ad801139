"""Secrets of the environment leave no text."""

from __future__ import annotations

import pytest

from ccfw.secrets import scrub, sendable


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(" sk-0123456789\n", "Bearer sk-0123456789", id="stripped"),
        pytest.param("sk-0123456789\r\n  X-Other: 1", "Bearer sk-0123456789 X-Other: 1", id="collapsed"),
        pytest.param(" sk-0123456789 ", "Bearer  sk-0123456789 ", id="whole"),
    ],
)
def test_a_secret_goes_however_its_blanks_are_shown(monkeypatch: pytest.MonkeyPatch, value: str, text: str) -> None:
    monkeypatch.setenv("A_KEY", value)
    assert scrub(text).split() == ["Bearer", "<A_KEY>"]


def test_a_word_with_blanks_around_it_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "none        ")
    assert scrub("none of it") == "none of it"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot reach http://me:hunter2@proxy:3128/a", "cannot reach http://<login>@proxy:3128/a"),
        ("URL('https://token@host/v1?x=1')", "URL('https://<login>@host/v1?x=1')"),
        ("postgresql://u:p@ss@db, socks5h://u:@h", "postgresql://<login>@db, socks5h://<login>@h"),
        ("https://medium.com/@somebody and a@b.c", "https://medium.com/@somebody and a@b.c"),
        ("https://host?mail=a@b.c", "https://host?mail=a@b.c"),
    ],
)
def test_the_login_of_any_url_goes(text: str, shown: str) -> None:
    assert scrub(text) == shown
    assert scrub(shown) == shown


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "http_proxy", "all_proxy"])
@pytest.mark.parametrize(
    "text",
    ["me:pa%2Fss/w@rd", "me:pa/ss/w@rd", "pa%2Fss/w@rd", "pa/ss/w@rd"],
    ids=["login", "login-as-it-is", "password", "password-as-it-is"],
)
def test_what_a_proxy_is_told_goes_outside_its_url_too(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(name, "http://me:pa%2Fss/w@rd@proxy:3128")
    assert scrub(f"denied: {text}!") == f"denied: <{name}>!"
    assert scrub("http://me:pa%2Fss/w@rd@proxy:3128") == "http://<login>@proxy:3128"


def test_a_proxy_without_a_login_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.org:3128")
    assert scrub("no answer of proxy.example.org:3128") == "no answer of proxy.example.org:3128"


@pytest.mark.parametrize(
    ("key", "good"),
    [
        ("sk-0123456789", True),
        ("two words", True),
        (" sk-0123456789", False),
        ("sk-0123456789\n", False),
        ("sk-01234\r\nX: 1", False),
        ("sk-\x7f0123", False),
        ("sk-\u200b0123", False),
        ("sk-é123", False),
        ("   ", False),
    ],
)
def test_a_key_must_fit_into_a_header(key: str, good: bool) -> None:
    assert sendable(key) is good
