"""The evidence of many seeds is that of each seed by itself, and no query is embedded twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ccfw.knowledge.queries import Queries
from ccfw.knowledge.query_vectors import QueryVectors
from ccfw.knowledge.retriever import Retriever, Wanted
from tests.knowledge.test_retriever import AXES, TERMS, Toy, shelves, shown

TEXT = st.lists(st.sampled_from([*AXES, "other"]), min_size=1, max_size=3).map(" ".join)
WANTED = st.builds(
    Wanted,
    st.builds(Queries, TEXT, TEXT, TEXT),
    st.lists(st.sampled_from(["SG", "MY", "JP"]), min_size=1, max_size=2, unique=True).map(tuple),
    st.sampled_from([None, "Malay_Muslim", "Chinese_Secular"]),
    st.booleans(),
)


class Counting(Toy):
    """Keeps the queries that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def queries(self, texts, instruction):  # type: ignore[no-untyped-def]
        self.asked += texts
        return self._counts(texts)


@pytest.mark.parametrize("lexical", [False, True], ids=["vectors", "hybrid"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wanted=st.lists(WANTED, max_size=12))
def test_many_at_once_find_what_each_finds_alone(tmp_path: Path, lexical: bool, wanted: list[Wanted]) -> None:
    passages, taboos = shelves(tmp_path, lexical=lexical, embedder=Toy())
    retriever = Retriever(passages, taboos, TERMS)
    found = dict(retriever.evidence_of(wanted))
    assert set(found) == set(wanted)
    for each in found:
        alone = shown(retriever, each)
        assert found[each] == alone


def test_many_come_region_by_region_and_those_that_ask_the_same_once(tmp_path: Path) -> None:
    passages, taboos = shelves(tmp_path, embedder=Toy())
    one, other = (Wanted(Queries("a", "b", "c"), (region,), None, False) for region in ("SG", "MY"))
    more = Wanted(Queries("d", "b", "c"), ("SG", "MY"), None, True)
    assert [each for each, _ in Retriever(passages, taboos, TERMS).evidence_of([one, other, more, one])] == [
        one,
        more,
        other,
    ]


def test_a_query_is_embedded_once_in_a_process_and_once_on_disk(tmp_path: Path) -> None:
    toy, again = Counting(), Counting()
    held = QueryVectors(toy, tmp_path)
    first = held.of(["a wedding", "an exam", "a wedding"], "find")
    assert toy.asked.count("an exam") == 1
    toy.asked.clear()
    assert (held.of(["an exam", "a wedding"], "find") == first[[1, 0]]).all()
    assert (QueryVectors(again, tmp_path).of(["an exam", "a wedding"], "find") == first[[1, 0]]).all()
    assert toy.asked == again.asked == []


def test_the_same_words_under_another_instruction_are_another_query(tmp_path: Path) -> None:
    toy = Counting()
    held = QueryVectors(toy, tmp_path)
    held.of(["an exam"], "find")
    toy.asked.clear()
    held.of(["an exam"], "find taboos")
    assert "an exam" in toy.asked


def test_two_processes_add_to_one_file(tmp_path: Path) -> None:
    one, other = QueryVectors(Counting(), tmp_path), QueryVectors(Counting(), tmp_path)
    one.of(["a wedding"], "")
    other.of(["an exam"], "")
    found = one.of(["a market", "an exam"], "")
    assert (found == Toy()._counts(["a market", "an exam"])).all()
    assert np.array_equal(other.of(["a market"], ""), found[:1])
