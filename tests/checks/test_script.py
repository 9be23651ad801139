"""Scripts and Han forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.checks.script import (
    count_letters,
    dominant_script,
    han_form_of,
    han_forms,
    script_counts,
    script_of,
    script_share,
)

SAMPLES = {
    "Latin": "Xin chào, tôi cần được tư vấn",
    "Han": "你好，我需要一些帮助",
    "Kana": "ちょっとコーヒーのみたい",
    "Hangul": "안녕하세요 도움이 필요해서",
    "Thai": "ขอปรึกษาหน่อยนะคะ",
    "Tamil": "எனக்கு உதவி தேவை",
    "Tibetan": "བོད་སྐད་",
    "Arabic": "ئۇيغۇرچە",
}


@pytest.mark.parametrize(("script", "text"), SAMPLES.items(), ids=SAMPLES)
def test_dominant_script(script: str, text: str) -> None:
    assert dominant_script(text) == script
    assert script_share(text, frozenset({script})) == 1


@pytest.mark.parametrize(
    ("char", "script"),
    [
        ("a", "Latin"),
        ("Ａ", "Latin"),
        ("ｶ", "Kana"),
        ("ー", "Kana"),
        ("々", "Han"),
        ("ж", "Cyrillic"),
        ("ʼ", None),
        ("7", None),
        ("。", None),
        ("😅", None),
    ],
)
def test_script_of(char: str, script: str | None) -> None:
    assert script_of(char) == script


@pytest.mark.parametrize("text", ["", "123 …", "😅"])
def test_no_letters_no_script(text: str) -> None:
    assert dominant_script(text) is None
    assert script_share(text, frozenset({"Latin"})) == 0


@pytest.mark.parametrize(
    ("char", "form"),
    [
        ("们", "simplified"),
        ("國", "traditional"),
        ("饭", "simplified"),
        ("請", "traditional"),
        ("人", None),
        ("后", None),
        ("里", None),
        ("の", None),
        ("a", None),
    ],
)
def test_han_form_of(char: str, form: str | None) -> None:
    assert han_form_of(char) == form


def test_han_forms_keep_order_and_repeats() -> None:
    assert han_forms("我们請国們们") == {"simplified": "们国们", "traditional": "請們"}


def test_vowel_signs_count_as_letters() -> None:
    assert count_letters("ที่ 1!") == 3


@given(st.text())
def test_shares_of_all_scripts_add_up(text: str) -> None:
    counts = script_counts(text)
    assert script_share(text, frozenset(counts)) == (1 if counts else 0)
    assert counts.total() <= count_letters(text)


@given(st.sampled_from(sorted(SAMPLES)), st.integers(1, 5))
def test_dominant_script_survives_repetition_and_digits(script: str, times: int) -> None:
    assert dominant_script(f"{SAMPLES[script]} 12!" * times) == script
