"""What a provider says is told in one line, and what it counts is believed within reason."""

from __future__ import annotations

import pytest

from ccfw.errors import ProviderError
from ccfw.llm.replies import counted, reading, said

TRACE = 'Traceback (most recent call last):\n  File "x.py", line 1\nKeyError: 1'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\r\n\tb", "a b"),
        ("\x1b[31mred", "⟨U+001B⟩[31mred"),
        ("x" * 5000, "x" * 400),
        (f"APIConnectionError: lost\n{TRACE}", "APIConnectionError: lost"),
        (f"{TRACE}\n\n{TRACE}", "KeyError: 1"),
        ("", ""),
    ],
    ids=["lines", "terminal-codes", "long", "traceback", "tracebacks-alone", "nothing"],
)
def test_words_become_one_bounded_line(text: str, told: str) -> None:
    assert said(text) == told


@pytest.mark.parametrize("blanks", ["  ", " \t ", "\n"], ids=repr)
def test_a_secret_that_holds_blanks_goes_as_it_is_and_as_it_is_shown(
    monkeypatch: pytest.MonkeyPatch, blanks: str
) -> None:
    monkeypatch.setenv("A_SECRET", f"open{blanks}sesame")
    assert said(f"no: open{blanks}sesame") == "no: <A_SECRET>"
    assert said("no: open   sesame") == "no: <A_SECRET>"


@pytest.mark.parametrize(
    ("tokens", "known"),
    [(0, 0), (10**9, 10**9), (10**9 + 1, None), (10**400, None), (-1, None), (True, None), (7.0, None), ("7", None)],
    ids=lambda value: str(value)[:12],
)
def test_a_count_is_a_number_that_a_call_can_have(tokens: object, known: int | None) -> None:
    assert counted(tokens) == known


@pytest.mark.parametrize("error", [RecursionError("deep"), OverflowError("huge"), TypeError("odd"), KeyError("x")])
def test_whatever_befalls_a_reader_is_the_providers_and_may_be_tried_again(error: Exception) -> None:
    with pytest.raises(ProviderError) as caught, reading():
        raise error
    assert str(caught.value) == f"the provider's reply cannot be read ({type(error).__name__})"
    assert (caught.value.transient, caught.value.maybe_paid, caught.value.hopeless) == (True, True, False)


def test_what_a_reader_says_itself_stays() -> None:
    own = ProviderError("no choices", transient=False)
    with pytest.raises(ProviderError) as caught, reading():
        raise own
    assert caught.value is own
