"""Conversations are chosen by what they have, and one without a score is never taken for one with a low score."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.records import LanguageMode, Tier
from ccfw.report.reader_index import (
    BROKEN,
    SCORES,
    UNSCORED,
    Entry,
    Filter,
    faults_of,
    identity_label,
    indexed,
    language_label,
    meeting,
    tier_label,
)
from tests.report.shelves import entry


def scored(*values: float) -> tuple[float, ...]:
    """Return scores of which the first ones are given, the others 3."""
    return (*values, *[3.0] * (len(SCORES) - len(values)))


ENTRIES = (
    entry(0, scores=scored(2.0), faults=("user: repeated question",)),
    entry(1, scores=scored(math.nan), clean=math.nan, region="JP", tier="normative trap", faults=(UNSCORED,)),
    entry(2, scores=scored(4.5), clean=0.0, model="Birch"),
    entry(3, scores=scored(4.5, 1.0), region="SG", ended="SHARD_CAP", language="native: Thai"),
)
INDEX = indexed(ENTRIES)


def chosen(**wanted: Any) -> list[int]:
    places: list[int] = meeting(INDEX, Filter(**wanted)).tolist()
    return places


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ({}, [0, 1, 2, 3]),
        ({"model": "Birch"}, [2]),
        ({"region": "JP"}, [1]),
        ({"tier": "standard", "region": "SG"}, [3]),
        ({"language": "native: Thai"}, [3]),
        ({"ended": "SHARD_CAP"}, [3]),
        ({"fault": "user: repeated question"}, [0]),
        ({"clean": "yes"}, [0, 3]),
        ({"clean": "no"}, [2]),
        ({"clean": "unknown"}, [1]),
        ({"least": 4.5}, [2, 3]),
        ({"most": 2.0}, [0]),
        ({"least": 1.0}, [0, 2, 3]),
        ({"score": "helpful", "most": 1.0}, [3]),
        ({"order": "lowest"}, [0, 2, 3, 1]),
        ({"order": "highest"}, [2, 3, 0, 1]),
        ({"order": "lowest", "score": "helpful"}, [3, 0, 1, 2]),
        ({"model": "nobody"}, []),
        ({"fault": "nothing"}, []),
    ],
    ids=str,
)
def test_a_filter_chooses_and_orders(wanted: dict[str, Any], places: list[int]) -> None:
    assert chosen(**wanted) == places


def test_values_are_offered_in_their_own_order() -> None:
    assert INDEX.known["region"] == ("SG", "TH", "JP")
    assert INDEX.known["tier"] == ("standard", "normative trap")
    assert INDEX.known["model"] == ("Amber", "Birch")
    assert INDEX.known["fault"] == (UNSCORED, "user: repeated question")


@pytest.mark.parametrize("place", range(len(ENTRIES)))
def test_what_was_indexed_is_what_is_read_back(place: int) -> None:
    def comparable(one: Entry) -> list[Any]:
        return [str(value) for value in one]

    assert comparable(INDEX.entry(place)) == comparable(ENTRIES[place])


def test_a_row_holds_none_where_there_is_no_number() -> None:
    row = INDEX.row(1)
    assert (row["scores"][0], row["scores"][1], row["clean"], row["faults"]) == (None, 3.0, None, [UNSCORED])


def test_columns_hold_what_rows_hold() -> None:
    columns = INDEX.columns()
    for place in range(len(INDEX)):
        row = INDEX.row(place)
        facet = columns["facets"]["region"]
        assert facet["values"][facet["codes"][place]] == row["region"]
        assert [column[place] for column in columns["scores"]] == row["scores"]
        assert [columns["fault_values"][each] for each in columns["faults"][place]] == row["faults"]


def test_an_empty_index_has_nothing_to_choose_from() -> None:
    nothing = indexed([])
    assert (len(nothing), meeting(nothing, Filter(model="Amber", least=2.0)).tolist()) == (0, [])
    assert nothing.columns()["scores"] == [[] for _ in SCORES]


@given(st.lists(st.one_of(st.just(math.nan), st.floats(1, 5)), max_size=30), st.sampled_from(["lowest", "highest"]))
def test_ordering_keeps_everyone_and_puts_those_without_a_score_last(values: list[float], order: Any) -> None:
    index = indexed([entry(place, scores=scored(value)) for place, value in enumerate(values)])
    places = meeting(index, Filter(order=order)).tolist()
    assert sorted(places) == list(range(len(values)))
    found = np.array([values[place] for place in places])
    known = found[~np.isnan(found)]
    steps = np.diff(known) if order == "lowest" else -np.diff(known)
    assert (steps >= 0).all()
    assert not np.isnan(found[: len(known)]).any()


def test_faults_name_whose_they_are() -> None:
    nothing = (math.nan,) * len(SCORES)
    assert faults_of(["repeated_question", "repeated_question"], scored(), broken=False) == ("user: repeated question",)
    assert faults_of([], nothing, broken=False) == (UNSCORED,)
    assert faults_of([], nothing, broken=True) == (BROKEN,)


def test_labels_are_as_people_read_them() -> None:
    assert identity_label("MY", "Tamil_Hindu") == "MY Tamil Hindu"
    assert [tier_label(tier) for tier in Tier] == ["standard", "contextual trap", "normative trap"]
    assert language_label(LanguageMode.NATIVE, "Tamil") == "native: Tamil"
    assert language_label(LanguageMode.ENGLISH, "Tamil") == "English"
