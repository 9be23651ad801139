"""Two ways to open for every seed: always the same, never twice one, and all of them in use."""

from __future__ import annotations

from collections import Counter

from ccfw.authoring.openers import OPENERS, opener_pair

SEED = "SG_Chinese_Secular_F_18_34__TPL_CUL_GIFT_01__TRAP__NORM__XCULTURE_CN"


def test_there_are_more_than_twenty_ways_with_names_of_their_own() -> None:
    assert len(OPENERS) == len({opener.name for opener in OPENERS}) == len({opener.says for opener in OPENERS}) == 24


def test_a_seed_keeps_its_pair() -> None:
    assert [opener.name for opener in opener_pair(SEED)] == ["asks around", "has tried already"]


def test_a_pair_has_two_ways_and_over_many_seeds_each_comes_about_as_often() -> None:
    pairs = [opener_pair(f"seed {number}") for number in range(2400)]
    assert all(first != second for first, second in pairs)
    counts = Counter(opener for pair in pairs for opener in pair)
    assert len(counts) == 24
    assert min(counts.values()) > 140  # 200 on average, four standard deviations are 55
    assert max(counts.values()) < 260


def test_no_way_begins_as_messages_must_not() -> None:
    quoted = [part.strip() for opener in OPENERS for part in opener.says.split("'")[1::2]]
    assert [q for q in quoted if q.startswith(("need", "so ", "ok so", "hi", "hello", "hey"))] == []
