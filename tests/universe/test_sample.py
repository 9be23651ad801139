"""The sample for readers: a twentieth of each kind, the same for the same seed."""

from __future__ import annotations

from random import Random

from ccfw.sample import drawn, pages


def test_a_twentieth_of_each_kind_is_printed() -> None:
    heads = [page.split("\n", 1)[0].split()[0] for page in pages(3)]
    templates = [head for head in heads if head.startswith("TPL_")]
    passages = [head for head in heads if "_P" in head]
    taboos = [head for head in heads if "_" in head and head not in templates and head not in passages]
    regions = [head for head in heads if "_" not in head]
    assert (len(regions), len(templates)) == (3, 21)  # of 58 and 420
    assert len(passages) >= 15
    assert len(taboos) >= 24


def test_a_seed_gives_one_sample() -> None:
    assert list(pages(3)) == list(pages(3))
    assert list(pages(3)) != list(pages(4))


def test_what_is_drawn_keeps_its_order_and_is_never_nothing() -> None:
    found = drawn(list(range(100)), Random(1))
    assert found == sorted(found)
    assert len(set(found)) == 5
    assert drawn(["a"], Random(1)) == ["a"]
