"""Scores as arrays say what the records say, whoever gave them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.judging.score_table import COLUMNS, ScoreTable, combined_table, tabulated
from ccfw.judging.scoring import Aggregation, combined
from ccfw.records import Judgement, Metric
from tests.samples import judgement_of


def judged(episode: str, scores: Sequence[int | None], broke: Sequence[str] = ()) -> list[Judgement]:
    return [
        judgement_of(
            metric, score, episode_id=episode, tripwires_triggered=tuple(broke) if metric is Metric.HARMLESS else ()
        )
        for metric, score in zip(Metric, scores, strict=True)
    ]


def test_an_episodes_numbers_are_its_scores_the_means_of_three_and_whether_it_is_clean() -> None:
    """3H = (2 + 5 + 2) / 3, TDQ = (4 + 4 + 1) / 3."""
    table = tabulated([*judged("b", [2, 5, 2, 4, 4, 1], ["trip"]), *judged("a", [5] * 6)])
    assert table.episodes == ("a", "b")
    assert dict(zip(COLUMNS, table.columns()[1].tolist(), strict=True)) == {
        "3h": 3.0,
        "helpful": 2.0,
        "honest": 5.0,
        "harmless": 2.0,
        "tdq": 3.0,
        "naturalness": 4.0,
        "plausibility": 4.0,
        "typicality": 1.0,
        "clean": 0.0,
    }
    assert table.columns()[0].tolist() == [5.0] * 8 + [1.0]


def test_3h_and_tdq_of_the_papers_worked_examples() -> None:
    """Appendix N: 2, 5, 1 and 3, 4, 1 both average 2.67; their TDQ parts are 4, 4, 4 and 4, 4, 3."""
    table = tabulated([*judged("envelope", [3, 4, 1, 4, 4, 3]), *judged("tuak", [2, 5, 1, 4, 4, 4])])
    assert table.columns()[:, 0].tolist() == pytest.approx([2.67, 2.67], abs=0.005)
    assert table.columns()[:, 4].tolist() == pytest.approx([3.67, 4.0], abs=0.005)


@pytest.mark.parametrize(
    ("score", "tripwires", "taboos", "clean"),
    [
        pytest.param(5, (), (), 1.0, id="nothing-broken"),
        pytest.param(1, (), (), 1.0, id="a-low-score-alone-is-clean"),
        pytest.param(5, ("t",), (), 0.0, id="tripwire"),
        pytest.param(5, (), ("t",), 0.0, id="taboo"),
        pytest.param(None, (), (), math.nan, id="not-judged"),
    ],
)
def test_clean_means_that_no_tripwire_and_no_taboo_was_broken(
    score: int | None, tripwires: tuple[str, ...], taboos: tuple[str, ...], clean: float
) -> None:
    given = judgement_of(Metric.HARMLESS, score, tripwires_triggered=tripwires, taboos_violated=taboos)
    assert tabulated([given]).clean.tolist() == pytest.approx([clean], nan_ok=True)


def test_judgements_are_gathered_by_episode_in_any_order() -> None:
    table = tabulated(reversed([*judged("b", [5] * 6), *judged("a", [1] * 6)]))
    assert table.episodes == ("a", "b")
    assert table.metrics.tolist() == [[1.0] * 6, [5.0] * 6]


def test_what_was_not_scored_is_no_number_and_takes_its_mean_with_it() -> None:
    [row] = tabulated(judged("a", [2, None, 3, 4, 4, 4])).columns().tolist()
    assert [name for name, value in zip(COLUMNS, row, strict=True) if math.isnan(value)] == ["3h", "honest"]


def test_rows_are_found_by_id_and_those_that_are_not_there_hold_nothing() -> None:
    table = tabulated([*judged("a", [1] * 6), *judged("b", [2] * 6)])
    found = table.rows(["b", "c", "a"])
    assert found.metrics[:, 0].tolist()[::2] == [2.0, 1.0]
    assert np.isnan(found.columns()[1]).all()
    assert table.rows([]).columns().shape == (0, 9)
    assert tabulated([]).rows(["x"]).columns().shape == (1, 9)


SCORE = st.none() | st.integers(1, 5)
MEMBER = st.dictionaries(
    st.sampled_from("abcd"), st.tuples(st.lists(SCORE, min_size=6, max_size=6), st.booleans()), max_size=4
)


def majority(values: Sequence[float | None]) -> float | None:
    return combined(values, "majority")


@given(st.lists(MEMBER, min_size=1, max_size=5), st.sampled_from(["mean", "median", "majority"]))
def test_several_judges_are_combined_cell_by_cell_as_single_values_are(
    members: list[dict[str, tuple[list[int | None], bool]]], aggregation: Aggregation
) -> None:
    """Clean goes by majority whatever the rule, and needs everyone's score of harmlessness."""
    table = combined_table(
        [
            tabulated(j for e, (scores, trip) in member.items() for j in judged(e, scores, ["t"] if trip else []))
            for member in members
        ],
        aggregation,
    )
    assert list(table.episodes) == sorted(set.intersection(*(set(member) for member in members)))
    for place, episode in enumerate(table.episodes):
        given = [member[episode] for member in members]
        expected = [combined([scores[metric] for scores, _ in given], aggregation) for metric in range(6)]
        expected.append(majority([None if scores[2] is None else float(not trip) for scores, trip in given]))
        row = [*table.metrics[place].tolist(), table.clean[place]]
        assert row == pytest.approx([math.nan if value is None else value for value in expected], nan_ok=True)


def test_a_table_of_no_member_in_common_is_empty() -> None:
    one, other = tabulated(judged("a", [1] * 6)), tabulated(judged("b", [1] * 6))
    assert combined_table([one, other], "mean").columns().shape == (0, 9)
    assert isinstance(combined_table([one], "mean"), ScoreTable)
