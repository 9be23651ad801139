"""A verifier's tokens → the three labels, whatever the tokeniser."""

from __future__ import annotations

import math
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.llm.types import Token
from ccfw.parsing import Refusal
from ccfw.training.cultureforest import credit
from ccfw.training.verifier import LABELS, read_labels

NONE = "none of the labels is among the likeliest tokens"


def plain(*texts: str) -> list[Token]:
    return [Token(text, {text: -0.1}) for text in texts]


def place(text: str, **shares: float) -> Token:
    return Token(text, {token: math.log(share) for token, share in shares.items()})


def test_tokens_that_begin_one_label_add_up() -> None:
    token = place("S", S=0.2, Sat=0.1, Satisfy=0.1, Ne=0.1, V=0.05, Satan=0.3, s=0.05)
    found = read_labels([*plain("{", '"Answer"', ': "'), token, *plain("atisfy", '"}')])
    assert [math.exp(log) for log in found] == pytest.approx([0.4, 0.1, 0.05])
    # .4, .1, .05 of .55
    assert credit("No", *found) == pytest.approx((0.4 - 0.05 - 0.05) / 0.55)


def test_the_quotation_mark_may_stand_in_the_labels_token() -> None:
    shares = {'"S': 0.5, '"Ne': 0.25, '"V': 0.125, ' "S': 0.1}
    token = Token('"S', {text: math.log(share) for text, share in shares.items()})
    found = read_labels([*plain('{"Answer":'), token, *plain('atisfy"}')])
    assert [math.exp(log) for log in found] == pytest.approx([0.5, 0.25, 0.125])


def test_the_last_verdict_counts() -> None:
    first, last = place("Violate", Violate=0.9, Ne=0.05, S=0.05), place("Satis", Satis=0.9, Ne=0.05, V=0.05)
    found = read_labels([*plain('<think>{"Answer": "'), first, *plain('"}</think>{"Answer": "'), last, *plain('fy"}')])
    assert found.satisfy == pytest.approx(math.log(0.9))


def test_a_label_too_unlikely_to_be_listed_has_none() -> None:
    found = read_labels([*plain('{"Answer": "'), place("S", S=0.9, Ne=0.09, x=0.005)])
    assert found.violate == -math.inf


@pytest.mark.parametrize(
    ("tokens", "kind", "says"),
    [
        (None, "incomplete", "the reply came without log-probabilities"),
        (plain("Satisfy"), "unparsed", 'the reply has no {"Answer": "…"}'),
        (plain('{"Answer": "'), "unparsed", 'the reply has no {"Answer": "…"}'),
        (
            [*plain('{"Answer": "'), place("Yes", Yes=0.9)],
            "incomplete",
            NONE,
        ),
        (
            [*plain('{"Answer": "'), place("S", S=0.5, x=0.4)],
            "incomplete",
            "Neutral and Violate: not among the likeliest tokens, and perhaps not unlikely",
        ),
        ([*plain('{"Answer": "'), Token("S", {})], "incomplete", NONE),
        (
            [*plain('{"Answer": "'), Token("S", {"S": 0.9, "Ne": 0.05, "V": 0.05})],
            "out_of_range",
            "0.9 is no log-probability",
        ),
        ([*plain('{"Answer": "'), Token("S", {"S": math.nan})], "out_of_range", "nan is no log-probability"),
    ],
)
def test_what_says_nothing_is_refused(tokens: list[Token] | None, kind: str, says: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_labels(tokens)
    assert (refused.value.kind, refused.value.detail) == (kind, says)


@given(st.data())
def test_how_the_beginning_is_cut_into_tokens_does_not_matter(data: st.DataObject) -> None:
    beginning = '  {\n "Answer" : "'
    cuts = sorted(data.draw(st.sets(st.integers(1, len(beginning) - 1))))
    pieces = [beginning[a:b] for a, b in zip([0, *cuts], [*cuts, len(beginning)], strict=True)]
    assert list(accumulate(pieces))[-1] == beginning
    found = read_labels([*plain(*pieces), place("Ne", S=0.25, Ne=0.5, V=0.125), *plain('utral"}')])
    assert dict(zip(LABELS, map(math.exp, found), strict=True)) == pytest.approx(
        {"Satisfy": 0.25, "Neutral": 0.5, "Violate": 0.125}
    )
