"""Splits by norm: none crosses, cultures are divided alike, and the whole is as Table 17 has it."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ccfw.crisp.reading import read_norms, shipped_folder
from ccfw.crisp.splits import PROPORTIONS, families, split_norms

SIZES = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 5), st.integers(1, 4)), max_size=80)


def situations(drawn: list[tuple[int, int, int]]) -> list[tuple[str, str]]:
    return [(f"c{culture}_n{norm}", f"c{culture}") for norm, culture, times in drawn for _ in range(times)]


@given(SIZES, st.integers(0, 5))
def test_every_norm_is_in_one_split_whatever_the_order(drawn: list[tuple[int, int, int]], seed: int) -> None:
    found = situations(drawn)
    assert split_norms(found, seed) == split_norms(found[::-1], seed)
    assert set(split_norms(found, seed)) == {norm for norm, _ in found}


@given(SIZES, st.integers(0, 5))
def test_each_culture_is_divided_to_within_a_norm_at_each_border(drawn: list[tuple[int, int, int]], seed: int) -> None:
    found = situations(drawn)
    splits, sizes = split_norms(found, seed), Counter(norm for norm, _ in found)
    for culture in {name for _, name in found}:
        own = Counter(splits[norm] for norm, name in found if name == culture)
        largest = max(sizes[norm] for norm, name in found if name == culture)
        for name, share in PROPORTIONS.items():
            borders = 2 if name == "validation" else 1
            assert abs(own[name] - sum(own.values()) * share / 4192) <= borders * largest


@given(st.integers(2, 40), st.integers(0, 39), st.integers(0, 5))
def test_a_norm_that_goes_moves_one_at_each_border_of_its_culture(n: int, gone: int, seed: int) -> None:
    norms = [(f"{culture}{i}", culture) for culture in "ab" for i in range(n)]
    found = [norm for norm in norms for _ in range(3)]
    before = split_norms(found, seed)
    after = split_norms([norm for norm in found if norm[0] != f"a{gone % n}"], seed)
    moved = [norm for norm in after if after[norm] != before[norm]]
    assert len(moved) <= 2
    assert all(norm.startswith("a") for norm in moved)


@given(SIZES, SIZES, st.integers(0, 5))
def test_a_split_once_given_stays_whatever_comes(
    first: list[tuple[int, int, int]], more: list[tuple[int, int, int]], seed: int
) -> None:
    given_before = split_norms(situations(first), seed)
    later = split_norms([*situations(first), *situations(more)], seed, known=given_before)
    assert {norm: later[norm] for norm in given_before} == given_before
    assert set(later) == {norm for norm, _ in [*situations(first), *situations(more)]}


def test_twenty_more_norms_move_none_of_forty() -> None:
    forty, sixty = ([(f"n{i}", f"c{i % 20}") for i in range(n)] for n in (40, 60))
    before = split_norms(forty, 0)
    after = split_norms(sixty, 0, known=before)
    assert all(after[norm] == before[norm] for norm in before)


NORMS = read_norms(shipped_folder())
TEXTS = {norm.norm_id: norm.norm for norm in NORMS}


def test_norms_of_several_cultures_that_say_the_same_are_of_one_family() -> None:
    heads = families(TEXTS)
    assert heads["china_12"] == heads["india_05"] == heads["philippines_11"] == "china_12"  # a neighbour's dish
    assert heads["japan_01"] == "japan_01"
    texts = {
        "a": "Guests leave muddy boots outside",
        "b": "Guests leave muddy boots upstairs",
        "c": "Guests take boots",
    }
    assert families(texts) == {"a": "a", "b": "a", "c": "c"}  # four words in common, and two


@given(st.integers(0, 200))
def test_a_family_is_in_one_split(seed: int) -> None:
    splits = split_norms(((norm.norm_id, norm.culture) for norm in NORMS), seed, texts=TEXTS)
    for norm, head in families(TEXTS).items():
        assert splits[norm] == splits[head]


def test_one_of_a_family_that_comes_later_goes_where_the_family_is() -> None:
    pairs = [("china_12", "China"), ("india_05", "India")]
    for split in PROPORTIONS:
        known = {"india_05": split}
        assert split_norms(pairs, 0, known=known, texts=TEXTS) == {"china_12": split, "india_05": split}


def test_the_papers_set_is_divided_as_the_paper_divides_it() -> None:
    # 1,636 norms and 4,192 scenarios over 19 cultures, as near to equal as that goes
    sizes = [4192 // 1636 + (i < 4192 % 1636) for i in range(1636)]
    found = [(f"n{i}", f"culture {i % 19}") for i, size in enumerate(sizes) for _ in range(size)]
    splits = split_norms(found, 0)
    counts = Counter(splits[norm] for norm, _ in found)
    assert sum(counts.values()) == 4192
    for name, share in PROPORTIONS.items():
        assert abs(counts[name] - share) <= 21  # half a per cent of the whole
    for culture in {name for _, name in found}:
        own = Counter(splits[norm] for norm, name in found if name == culture)
        assert set(own) == set(PROPORTIONS)  # every culture is in each split
        assert abs(own["train"] - sum(own.values()) * 3521 / 4192) <= 6


def test_the_seed_draws_which_norms() -> None:
    found = [(f"n{i}", "one") for i in range(200)]
    assert split_norms(found, 0) != split_norms(found, 1)
