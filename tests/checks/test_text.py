"""Words, sentences and content words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.checks.text import alike, content_words, count_words, normalise, sentences, stem, tokens, unmarked


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("one two", 2),
        ("wok/rice cooker", 2),
        ("quick q - hosting", 3),
        ("tmr... tips?", 2),
        ("  ", 0),
        ("…", 0),
        ("请她先把雨伞挂好。", 4),  # eight characters, two a word
        ("iPhone手机 ok", 3),
        ("タクシー", 2),
        ("ห้ามใส่เสื้อขาว", 3),  # eleven letters without their marks, four a word
        ("우산을 걸어 두세요", 3),
    ],
)
def test_count_words(text: str, count: int) -> None:
    assert count_words(text) == count


@pytest.mark.parametrize(
    ("forms", "root"),
    [
        (("give", "gives", "giving"), "give"),
        (("guest", "guests", "guest's"), "guest"),
        (("dish", "dishes"), "dish"),
        (("family", "families"), "family"),
        (("dress", "dresses"), "dress"),
        (("bring",), "bring"),
        (("name", "names", "named", "naming"), "name"),
        (("win", "wins"), "win"),
        (("wine", "wines"), "wine"),
        (("eat", "eats", "eating"), "eat"),
        (("box", "boxes"), "box"),
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
        ("Meet Mr. Lim and Dr. Ho at 6.30 p.m. sharp. Eat!", ["Meet Mr. Lim and Dr. Ho at 6.30 p.m. sharp", "Eat"]),
        ("Come at 7 p.m. Everyone pays.", ["Come at 7 p.m", "Everyone pays"]),
        ("H. Mappiare pays approx. 50 of it", ["H. Mappiare pays approx. 50 of it"]),
        ("It was I. Then he left", ["It was I", "Then he left"]),
        ("Go to the dr.", ["Go to the dr"]),
        ("", []),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


def test_content_words_leave_out_helpers_and_grammar() -> None:
    assert content_words("Recommends serving pork to likely Muslim guests") == ["pork", "muslim", "guest"]


def test_a_present_is_a_thing_and_to_present_is_not() -> None:
    assert content_words("Presents the plan and treats him well") == ["well"]
    assert content_words("Suggests a small present and that treat") == ["small", "present", "treat"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don’t go!", ["don't", "go"]),
        ("入门脱鞋。", ["入门", "门脱", "脱鞋"]),
        ("入る", ["入る"]),
        ("दूध पीना", ["दूध", "पीना"]),
        ("gu\u200dests le\u00adave\u2060", ["guests", "leave"]),
        ("❤\ufe0f tea", ["tea"]),
        ("tһе guеsts lеаvе", ["the", "guests", "leave"]),
        ("Москва и чай", ["москва", "и", "чай"]),
        ("ｆｕｌｌ", ["full"]),
    ],
)
def test_tokens(text: str, words: list[str]) -> None:
    assert tokens(text) == words


def test_phrases_of_scripts_without_blanks_are_held_against_each_other() -> None:
    assert alike("进门以前要脱鞋", "进门以前要脱鞋。")
    assert alike("客人进门以前要脱鞋", "进门以前要脱鞋")
    assert not alike("进门以前要脱鞋", "吃饭时不要说话")


def test_marks_on_letters_are_left_out() -> None:
    assert unmarked("Đà Nẵng, Huế") == "da nang, hue"


@given(st.text())
def test_normalise_is_idempotent(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("Offers two dishes for a wok", "Proposes a wok with two dishes", True, id="reworded"),
        pytest.param("Says the shop is shut", "Shop, shut", True, id="without-grammar"),
        pytest.param("Puts pork aside", "Puts pork and lard aside for Monday", True, id="half-in-common"),
        pytest.param("Puts pork aside", "Puts pork and lard into soup", False, id="one-in-common"),
        pytest.param("Eats before sunset at home", "Eats after sunset at home", False, id="turned-about"),
        pytest.param("What is it", "How are they", False, id="nothing-said"),
    ],
)
def test_alike(one: str, other: str, same: bool) -> None:
    assert alike(one, other) is same


@given(st.text(), st.text())
def test_alike_goes_both_ways(one: str, other: str) -> None:
    assert alike(one, other) == alike(other, one)


@given(st.text())
def test_what_says_anything_is_like_itself(text: str) -> None:
    assert alike(text, text) == bool(content_words(text))
