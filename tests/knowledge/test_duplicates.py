"""What says the same is found, what does not is left."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.knowledge.duplicates import MINIMA, exact, repeated, said, signature, similar


def shingles(text: str) -> set[str]:
    plain = said(text)
    return {plain[at : at + 8] for at in range(len(plain) - 7)}


def jaccard(one: str, other: str) -> float:
    a, b = shingles(one), shingles(other)
    return len(a & b) / len(a | b)


def texts(count: int, length: int = 900) -> list[str]:
    draw = random.Random(5)
    return ["".join(draw.choices("abcdefgh ijklmnop", k=length)) for _ in range(count)]


def test_case_marks_and_blanks_do_not_tell_texts_apart() -> None:
    assert exact("Phở bò, Hà Nội!") == exact("phở  bò hà nội") != exact("phở gà hà nội")


@given(st.text(max_size=300))
def test_a_signature_is_that_of_what_is_said(text: str) -> None:
    assert signature(text).tolist() == signature(f"  {text} ...").tolist()
    assert signature(text).shape == (MINIMA,)


def test_equal_minima_estimate_the_similarity() -> None:
    text, *others = texts(40)
    for number, other in enumerate(others):
        mixed = text[: number * 22] + other[number * 22 :]
        share = float((signature(text) == signature(mixed)).mean())
        assert share == pytest.approx(jaccard(text, mixed), abs=0.2)  # 64 draws: three standard errors


def test_rows_as_an_earlier_one_are_told_and_the_first_stays() -> None:
    assert repeated(np.array([3, 1, 3, 2, 1, 3], dtype=np.uint64)).tolist() == [False, False, True, False, True, True]
    assert repeated(np.zeros(0, dtype=np.uint64)).tolist() == []


def test_near_copies_are_found_wherever_they_stand_and_others_are_left() -> None:
    originals = texts(300)
    copies = [text[:880] + "new end" for text in originals[:100]]
    assert min(map(jaccard, originals, copies)) > 0.9
    found = similar(np.stack([signature(each) for each in (*originals, *copies)]), 0.8)
    assert found.tolist() == [False] * 300 + [True] * 100
    assert similar(np.zeros((0, MINIMA), dtype=np.uint16), 0.8).tolist() == []


def test_a_copy_before_its_original_stays() -> None:
    text = texts(1)[0]
    assert similar(np.stack([signature(text + "x"), signature(text), signature(text)]), 0.8).tolist() == [
        False,
        True,
        True,
    ]


def test_what_shares_half_stays() -> None:
    one, other = texts(2)
    half = one[:450] + other[450:]
    assert jaccard(one, half) < 0.4
    assert not similar(np.stack([signature(one), signature(half)]), 0.8).any()
