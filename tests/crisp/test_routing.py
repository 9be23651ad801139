"""The routing table holds what Table 2 says, for all 32 verdicts, and both of its loops end."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.crisp.records import Decision, Reason, Verdict
from ccfw.crisp.routing import TABLE, Bounds, diagnosis, route

EVERY = list(product((0, 1), repeat=5))


def verdict(values: tuple[int, ...]) -> Verdict:
    return Verdict.model_validate(dict(zip("AENRL", values, strict=True)))


def by_table_2(a: int, e: int, n: int, r: int, leak: int) -> Decision:
    """The four conditions of Table 2, each applied by itself."""
    holding = []
    if leak == 1:
        holding.append(Decision.REVISE_QUESTION)
    if a == 0 or n == 0:
        holding.append(Decision.REVISE_QUESTION)
    if a == n == 1 and leak == 0 and e * r == 0:
        holding.append(Decision.RERUN_ANSWER)
    if a == e == n == r == 1 and leak == 0:
        holding.append(Decision.KEEP)
    assert len(set(holding)) == 1  # the conditions cover every verdict and do not contradict each other
    return holding[0]


@pytest.mark.parametrize("values", EVERY, ids=lambda values: "".join(map(str, values)))
def test_each_verdict_goes_where_table_2_sends_it(values: tuple[int, ...]) -> None:
    assert route(verdict(values)) is by_table_2(*values)


def test_the_table_has_each_verdict_once_and_these_shares() -> None:
    assert set(TABLE) == set(EVERY)
    decisions = list(TABLE.values())
    assert [decisions.count(each) for each in Decision] == [1, 3, 28]


@pytest.mark.parametrize("values", EVERY)
def test_a_leak_that_checks_see_counts_whatever_the_verifier_says(values: tuple[int, ...]) -> None:
    assert route(verdict(values), leaks=True) is Decision.REVISE_QUESTION


@pytest.mark.parametrize(
    ("values", "says"),
    [
        pytest.param((1, 1, 1, 1, 0), "", id="all-well"),
        pytest.param((1, 0, 1, 1, 0), "the inferred norm does not rest on concrete cues of the scenario", id="thin"),
        pytest.param(
            (0, 1, 1, 0, 1),
            "the scenario or the question gives the target norm away; the proposed action is not appropriate in this "
            "situation; the reasoning does not carry the action",
            id="three",
        ),
    ],
)
def test_the_diagnosis_names_what_is_wrong(values: tuple[int, ...], says: str) -> None:
    assert diagnosis(verdict(values)) == says


@given(
    revisions=st.integers(0, 4),
    reruns=st.integers(0, 4),
    verdicts=st.lists(st.sampled_from(EVERY), min_size=25, max_size=25),
)
def test_any_sequence_of_verdicts_ends_within_the_product_of_the_bounds(
    revisions: int, reruns: int, verdicts: list[tuple[int, ...]]
) -> None:
    bounds, answers = Bounds.of(revisions, reruns), 0
    for values in verdicts:
        answers += 1
        left = bounds.after(route(verdict(values)))
        if not isinstance(left, Bounds):
            break
        assert (left.revisions, left.reruns) < (bounds.revisions, bounds.reruns)  # lexicographically
        bounds = left
    else:
        pytest.fail("25 answers, and no end")
    assert answers <= (1 + revisions) * (1 + reruns)


def test_the_longest_way_is_as_long_as_the_bounds_allow() -> None:
    thin, wrong = Decision.RERUN_ANSWER, Decision.REVISE_QUESTION
    bounds: Bounds | Reason | None = Bounds.of(2, 2)
    answers = 0
    for decision in [thin, thin, wrong] * 3:
        assert isinstance(bounds, Bounds)
        answers += 1
        bounds = bounds.after(decision)
    assert (answers, bounds) == (9, Reason.REVISIONS_SPENT)


@pytest.mark.parametrize(
    ("decision", "reason"),
    [(Decision.RERUN_ANSWER, Reason.RERUNS_SPENT), (Decision.REVISE_QUESTION, Reason.REVISIONS_SPENT)],
)
def test_bounds_of_zero_give_up_at_once(decision: Decision, reason: Reason) -> None:
    assert Bounds.of(0, 0).after(decision) is reason
