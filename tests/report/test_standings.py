"""Means, ranks and groups of assistants on the same seeds."""

from __future__ import annotations

import numpy as np
import pytest

from ccfw.judging.score_table import COLUMNS
from ccfw.records import LanguageMode
from ccfw.report.board import H3
from ccfw.report.standings import of_table, scopes, standings
from tests.report.boards import BOTH, TERMS, alike, assistant, laid_out, scored


def noisy(mean: float, seeds: int, languages: int = 2, seed: int = 0) -> list[list[float]]:
    drawn = np.random.default_rng(seed).normal(mean, 0.4, (seeds, languages))
    found: list[list[float]] = np.clip(np.rint(drawn), 1, 5).tolist()
    return found


def test_a_mean_over_both_languages_is_over_all_dialogues() -> None:
    """(1 + 3 + 5 + 5) / 4 in all, (1 + 5) / 2 in English."""
    seeds = alike(2)
    board = laid_out(seeds, [assistant("A", seeds, [[1, 3], [5, 5]])])
    assert [standings(board, scope, TERMS).rows[0].intervals[H3].mean for scope in scopes(board)] == [3.5, 3.0, 4.0]


def test_two_dialogues_of_a_seed_make_the_interval_no_narrower_than_one() -> None:
    seeds = alike(40)
    once = noisy(3, 40, 1)
    single = standings(laid_out(seeds, [assistant("A", seeds, once)]), None, TERMS).rows[0].intervals[H3]
    twice = laid_out(seeds, [assistant("A", seeds, [[row[0], row[0]] for row in once])])
    both = standings(twice, None, TERMS).rows[0].intervals[H3]
    assert both.mean == single.mean
    assert both.low == pytest.approx(single.low, abs=0.05)
    assert both.high == pytest.approx(single.high, abs=0.05)


def test_the_better_is_ranked_first_whatever_order_they_come_in() -> None:
    seeds = alike(30)
    labels = ["Worst", "Best", "Middle"]
    runs = [assistant(label, seeds, noisy(mean, 30, seed=7)) for label, mean in zip(labels, (2, 4, 3), strict=True)]
    found = standings(laid_out(seeds, runs), None, TERMS)
    assert found.ranks.rank.tolist() == [3, 1, 2]
    assert (found.ranks.low.tolist(), found.ranks.high.tolist()) == ([3, 1, 2], [3, 1, 2])
    assert found.ranks.group.tolist() == [3, 1, 2]
    assert [found.rows[place].label for place in found.order] == ["Best", "Middle", "Worst"]
    assert (found.ranked_on, found.ranked_seeds) == (60, 30)


@pytest.mark.parametrize("scope", BOTH)
def test_a_language_alone_ranks_by_its_own_dialogues(scope: LanguageMode) -> None:
    seeds = alike(20)
    up, down = [[5.0, 1.0]] * 20, [[1.0, 5.0]] * 20
    found = standings(laid_out(seeds, [assistant("A", seeds, up), assistant("B", seeds, down)]), scope, TERMS)
    assert found.ranks.rank.tolist() == ([1, 2] if scope is LanguageMode.ENGLISH else [2, 1])


def test_over_few_seeds_every_rank_is_open() -> None:
    seeds = alike(9)
    found = standings(
        laid_out(seeds, [assistant("A", seeds, [[5, 5]] * 9), assistant("B", seeds, [[1, 1]] * 9)]), None, TERMS
    )
    assert found.ranks.rank.tolist() == [1, 2]
    assert (found.ranks.low.tolist(), found.ranks.high.tolist()) == ([1, 1], [2, 2])


def test_ranks_are_over_what_all_have_and_who_has_little_is_not_ranked() -> None:
    seeds = alike(20)
    runs = [
        assistant("All", seeds, [[2, 2]] * 20),
        assistant("Most", seeds[:15], [[4, 4]] * 15),
        assistant("Few", seeds[:5], [[5, 5]] * 5),
    ]
    found = standings(laid_out(seeds, runs), None, TERMS)
    assert found.ranks.rank.tolist() == [2, 1, 0]
    assert (found.ranked_on, found.ranked_seeds) == (30, 15)
    assert [row.judged for row in found.rows] == [40, 30, 10]
    assert [row.planned for row in found.rows] == [40] * 3


def test_assistants_with_the_same_dialogues_are_resampled_as_if_alone() -> None:
    seeds = alike(12)
    first, second = assistant("A", seeds, noisy(3, 12)), assistant("B", seeds, noisy(4, 12, seed=3))
    together = standings(laid_out(seeds, [first, second]), None, TERMS)
    alone = [standings(laid_out(seeds, [each]), None, TERMS).rows[0] for each in (first, second)]
    assert list(together.rows) == alone


def test_an_assistant_without_a_score_has_no_mean_and_no_rank() -> None:
    seeds = alike(12)
    nobody = assistant("None", seeds, [[np.nan, np.nan]] * 12)
    found = standings(laid_out(seeds, [nobody, assistant("A", seeds, noisy(3, 12))]), None, TERMS)
    assert found.rows[0].intervals[H3].mean is None
    assert (found.rows[0].held, found.rows[0].judged) == (24, 0)
    assert found.ranks.rank.tolist() == [0, 1]
    assert found.order == [1, 0]


def test_scores_of_an_unknown_plan_stand_by_themselves() -> None:
    row = of_table("X", scored(["s1__EN", "s1__NATIVE", "s2__EN"], [1, 3, 5]), 4, TERMS)
    assert (row.intervals[H3].mean, row.intervals[H3].n) == (3.0, 3)
    assert (row.planned, row.held, row.judged) == (None, 4, 3)
    assert len(row.intervals) == len(COLUMNS)
