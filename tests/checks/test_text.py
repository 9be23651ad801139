"""Words, sentences and content words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.checks.text import content_words, count_words, normalise, sentences, stem


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("one two", 2),
        ("wok/rice cooker", 2),
        ("quick q - hosting", 3),
        ("tmr... tips?", 2),
        ("  ", 0),
        ("…", 0),
    ],
)
def test_count_words(text: str, count: int) -> None:
    assert count_words(text) == count


@pytest.mark.parametrize(
    ("forms", "root"),
    [
        (("give", "gives", "giving"), "giv"),
        (("guest", "guests", "guest's"), "guest"),
        (("dish", "dishes"), "dish"),
        (("family", "families"), "family"),
        (("dress", "dresses"), "dress"),
        (("bring",), "bring"),
    ],
)
def test_stem_joins_forms(forms: tuple[str, ...], root: str) -> None:
    assert {stem(form) for form in forms} == {root}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Offer fruit, e.g. pears. Then sit!", ["Offer fruit, e.g. pears", "Then sit"]),
        ("one\ntwo", ["one", "two"]),
        ("at 7.30 sharp", ["at 7.30 sharp"]),
        ("", []),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


def test_content_words_leave_out_helpers_and_grammar() -> None:
    assert content_words("Recommends serving pork to likely Muslim guests") == ["pork", "muslim", "guest"]


@given(st.text())
def test_normalise_is_idempotent(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
