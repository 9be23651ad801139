"""Sections → passages: nothing lost, none too large, sentences whole, in scripts with blanks and without."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.knowledge.splitting import Size, passages, sentence_spans

SIZE = Size(words=20, characters=40)
MIXED = st.text(alphabet="ab .,!?。、，\n漢字かなกาำ้ ་། Tế", max_size=600)


def sentences(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentence_spans(text) if text[start:end].strip()]


def letters(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A b. C d! E?", ["A b.", "C d!", "E?"]),
        ("Mr. Tan met Dr. Ong. They ate at 3.30 p.m.", ["Mr. Tan met Dr. Ong.", "They ate at 3.30 p.m."]),
        ('He said "go." Then left.', ['He said "go."', "Then left."]),
        ("One… two. Ba?\nFour", ["One… two.", "Ba?", "Four"]),
        ("我们过年。大家吃饺子！好吗？「好。」", ["我们过年。", "大家吃饺子！", "好吗？", "「好。」"]),
        ("お正月です。雑煮を食べる。", ["お正月です。", "雑煮を食べる。"]),
        ("Tết đến. Ông bà về.", ["Tết đến.", "Ông bà về."]),
        ("한국 음식이다. 김치를 먹는다.", ["한국 음식이다.", "김치를 먹는다."]),
        ("བོད་སྐད། ལོ་གསར། ", ["བོད་སྐད།", "ལོ་གསར།"]),
        ("วันสงกรานต์ เป็นวันปีใหม่\nไทย", ["วันสงกรานต์ เป็นวันปีใหม่", "ไทย"]),
    ],
)  # fmt: skip
def test_sentences_end_where_their_script_says(text: str, found: list[str]) -> None:
    assert sentences(text) == found


@given(MIXED)
def test_sentences_lie_side_by_side_over_the_whole_text(text: str) -> None:
    spans = sentence_spans(text)
    assert [start for start, _ in spans] == [0, *(end for _, end in spans)][: len(spans)]
    assert not text or spans[-1][1] == len(text)


@given(MIXED)
def test_nothing_is_lost_and_no_passage_is_more_than_a_full_one(text: str) -> None:
    found = passages(text, SIZE)
    assert letters("".join(found)) == letters(text)
    assert all(SIZE.of(each) <= 1 + 1e-9 for each in found)
    assert all(each == each.strip() and each for each in found)


@given(st.lists(st.integers(1, 15), min_size=1, max_size=30))
def test_sentences_that_fit_are_never_cut(lengths: list[int]) -> None:
    text = " ".join(f"{'Word ' * (length - 1)}end{number}." for number, length in enumerate(lengths))
    whole = set(sentences(text))
    assert all(set(sentences(each)) <= whole for each in passages(text, SIZE))


def test_passages_of_a_section_are_of_about_the_same_size() -> None:
    text = " ".join(f"One two three four n{number}." for number in range(13))  # 65 words: four passages of 15 to 20
    assert [len(each.split()) for each in passages(text, SIZE)] == [15, 15, 20, 15]


def test_a_section_that_fits_is_one_passage_with_its_line_breaks() -> None:
    assert passages("A b.\nC d.\n", SIZE) == ["A b.\nC d."]
    assert passages(" \n ", SIZE) == []


def test_a_sentence_larger_than_a_passage_is_cut_at_a_clause_or_else_between_words() -> None:
    clause = "a " * 11 + "a, "
    assert passages(clause * 3, SIZE) == [("a " * 11 + "a,")] * 3
    assert [len(each.split()) for each in passages("a " * 45, SIZE)] == [20, 20, 5]


def test_no_mark_is_parted_from_its_letter() -> None:
    text = "กี่" * 60
    found = passages(text, SIZE)
    assert "".join(found) == text
    assert not any(unicodedata.category(each[0]).startswith("M") for each in found)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("a b c d e", 5 / 20),
        ("漢字漢字漢字漢字", 8 / 40),
        ("漢字、漢字。", 4 / 40),
        ("Tết 春節 là", 2 / 20 + 2 / 40),
        ("김치를 먹는다", 2 / 20),
        ("ไทย", 3 / 40),
        ("x" * 60, 2 / 20),
        ("", 0),
    ],
)
def test_size_counts_words_or_characters_as_the_script_has_it(text: str, share: float) -> None:
    assert SIZE.of(text) == pytest.approx(share)
