"""Splits by norm: none crosses, cultures are divided alike, and the whole is as Table 17 has it."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ccfw.crisp.splits import PROPORTIONS, split_norms

SIZES = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 5), st.integers(1, 4)), max_size=80)


def situations(drawn: list[tuple[int, int, int]]) -> list[tuple[str, str]]:
    return [(f"c{culture}_n{norm}", f"c{culture}") for norm, culture, times in drawn for _ in range(times)]


@given(SIZES, st.integers(0, 5))
def test_every_norm_is_in_one_split_whatever_the_order(drawn: list[tuple[int, int, int]], seed: int) -> None:
    found = situations(drawn)
    assert split_norms(found, seed) == split_norms(found[::-1], seed)
    assert set(split_norms(found, seed)) == {norm for norm, _ in found}


@given(SIZES, st.integers(0, 5))
def test_each_split_is_within_a_norm_of_its_share_at_every_prefix(drawn: list[tuple[int, int, int]], seed: int) -> None:
    found = situations(drawn)
    splits, sizes = split_norms(found, seed), Counter(norm for norm, _ in found)
    counts = Counter(splits[norm] for norm, _ in found)
    largest = max(sizes.values(), default=0)
    for name, share in PROPORTIONS.items():
        assert abs(counts[name] - len(found) * share / 4192) <= 2 * largest


def test_the_papers_set_is_divided_as_the_paper_divides_it() -> None:
    # 1,636 norms and 4,192 scenarios over 19 cultures, as near to equal as that goes
    sizes = [4192 // 1636 + (i < 4192 % 1636) for i in range(1636)]
    found = [(f"n{i}", f"culture {i % 19}") for i, size in enumerate(sizes) for _ in range(size)]
    splits = split_norms(found, 0)
    counts = Counter(splits[norm] for norm, _ in found)
    assert sum(counts.values()) == 4192
    for name, share in PROPORTIONS.items():
        assert abs(counts[name] - share) <= 3
    for culture in {name for _, name in found}:
        own = Counter(splits[norm] for norm, name in found if name == culture)
        assert set(own) == set(PROPORTIONS)  # every culture is in each split
        assert abs(own["train"] - sum(own.values()) * 3521 / 4192) <= 6


def test_the_seed_draws_which_norms() -> None:
    found = [(f"n{i}", "one") for i in range(200)]
    assert split_norms(found, 0) != split_norms(found, 1)
