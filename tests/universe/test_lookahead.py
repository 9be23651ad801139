"""Evidence that is looked up some seeds at a time is what each seed would have been shown alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ccfw.knowledge.retriever import Retriever, Wanted
from ccfw.stages import desk
from ccfw.stages.desk import Lookahead
from tests.knowledge.test_bulk import WANTED
from tests.knowledge.test_retriever import TERMS, Toy, shelves, shown


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wanted=st.lists(WANTED, min_size=1, max_size=12), other=WANTED)
def test_each_is_shown_what_it_finds_alone_in_order_and_out_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: list[Wanted], other: Wanted
) -> None:
    monkeypatch.setattr(desk, "AHEAD", 3)
    passages, taboos = shelves(tmp_path, embedder=Toy())
    retriever = Retriever(passages, taboos, TERMS)
    ahead = Lookahead(retriever, iter(wanted))
    for each in (*wanted, other):
        alone = shown(retriever, each)
        assert ahead.evidence(each) == alone
        assert len(ahead.found) <= 4
