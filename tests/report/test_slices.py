"""Means by group of users, and how far groups lie apart beside what chance gives."""

from __future__ import annotations

import csv
import io

import numpy as np

from ccfw.records import Region, Tier
from ccfw.report.board import MOST_GROUPS
from ccfw.report.disparities import disparities, disparity_table, spread_table
from ccfw.report.distribution import distribution, distribution_table
from ccfw.report.slices import left_out, slice_table, sliced
from tests.report.boards import TERMS, alike, assistant, laid_out, outline

SG, MY = alike(12), alike(12, region=Region.MY, identity="Kadazan_Christian")
SEEDS = [*SG, *MY]


def place(name: str, board: object) -> int:
    return [axis.name for axis in board.axes].index(name)  # type: ignore[attr-defined]


def test_a_group_has_its_own_mean_and_one_without_dialogues_says_so() -> None:
    board = laid_out(SEEDS, [assistant("A", SEEDS, [[2.0, 3.0]] * 12 + [[4.0, 4.0]] * 12)])
    table = slice_table(board, sliced(board, TERMS), place("region", board), TERMS)
    assert table.head == ("Region", "Dialogues", "A")
    assert table.rows[:3] == (
        ("SG", "24", "2.50 [2.50, 2.50]"),
        ("MY", "24", "4.00 [4.00, 4.00]"),
        ("ID", "none judged", "–"),
    )
    data = list(csv.DictReader(io.StringIO(table.csv())))
    assert (data[0]["group"], data[0]["3h"], data[0]["tdq"], data[0]["clean"]) == (
        *("SG", "2.500000", "2.500000"),
        "1.000000",
    )
    assert (data[2]["dialogues"], data[2]["3h"]) == ("0", "")


def test_a_group_that_the_dataset_has_and_nobody_asked_for_is_listed() -> None:
    board = laid_out(SG, [assistant("A", SG, [[2.0, 3.0]] * 12)], SEEDS)
    table = slice_table(board, sliced(board, TERMS), place("identity", board), TERMS)
    assert [row[:2] for row in table.rows] == [("MY Kadazan Christian", "none judged"), ("SG Malay Muslim", "24")]


def test_over_few_dialogues_the_mean_stands_alone_with_their_number() -> None:
    seeds = [*SG, outline(40, tier=Tier.NORMATIVE)]
    board = laid_out(seeds, [assistant("A", seeds, [[2.0, 2.0]] * 12 + [[5.0, 4.0]])])
    table = slice_table(board, sliced(board, TERMS), place("tier", board), TERMS)
    assert [row[2] for row in table.rows] == ["2.00 [2.00, 2.00]", "–", "4.50 (n=2)"]


def test_languages_are_an_axis_where_there_are_two() -> None:
    board = laid_out(SG, [assistant("A", SG, [[2.0, 4.0]] * 12)])
    found = sliced(board, TERMS)
    assert found.axes[-1].name == "language"
    table = slice_table(board, found, len(found.axes) - 1, TERMS)
    assert [(row[0], row[2]) for row in table.rows] == [
        ("English", "2.00 [2.00, 2.00]"),
        ("native language", "4.00 [4.00, 4.00]"),
    ]
    english = laid_out(SG, [assistant("A", SG, [[2.0]] * 12)])
    assert [axis.name for axis in sliced(english, TERMS).axes].count("language") == 0


def test_every_axis_of_the_paper_is_there() -> None:
    board = laid_out(SEEDS, [assistant("A", SEEDS, [[2.0, 3.0]] * 24)])
    assert [axis.name for axis in sliced(board, TERMS).axes] == [
        *("region", "identity", "age", "gender", "domain", "subdomain", "tier", "cross_cultural", "taboo_grounded"),
        "language",
    ]


def test_an_axis_with_too_many_groups_is_left_out_and_named() -> None:
    seeds = [outline(1, identity=f"Group_{number}") for number in range(MOST_GROUPS + 1)]
    board = laid_out(seeds, [assistant("A", seeds, [[2.0]] * len(seeds))])
    assert "identity" not in [axis.name for axis in board.axes]
    table = left_out(board)
    assert table is not None
    assert table.rows == (("Identity", "too many groups to be told apart"),)
    assert left_out(laid_out(SG, [assistant("A", SG, [[2.0]] * 12)])) is None


# ---- disparities


def test_a_real_gap_is_beyond_chance_and_names_its_groups() -> None:
    rng = np.random.default_rng(3)
    scores = np.clip(rng.integers(3, 6, (24, 2)) - np.repeat([0, 2], 12)[:, None], 1, 5).tolist()
    board = laid_out(SEEDS, [assistant("A", SEEDS, scores)])
    found = sliced(board, TERMS)
    apart = disparities(board, found, TERMS)
    table = disparity_table(board, found, apart, [0], TERMS)
    rows = {row[0]: row for row in table.rows}
    assert rows["Region"][2] == "2"
    assert rows["Region"][3].startswith("MY ")
    assert rows["Region"][4].startswith("SG ")
    assert rows["Region"][-1] == "yes"
    assert rows["Gender"][2:] == ("1", "–", "–", "–", "–", "–", "–", "not tested")
    spreads = {row[:2]: row for row in spread_table(board, found, apart, TERMS).rows}
    assert spreads["Region", "widest"][2] == "A"
    assert spreads["Gender", "–"][2] == "no two groups of 10 seeds"


def test_the_same_scores_in_both_groups_are_within_chance() -> None:
    scores = [[float(1 + number % 5), float(1 + number % 3)] for number in range(12)] * 2
    board = laid_out(SEEDS, [assistant("A", SEEDS, scores)])
    found = sliced(board, TERMS)
    table = disparity_table(board, found, disparities(board, found, TERMS), [0], TERMS)
    region = next(row for row in table.rows if row[0] == "Region")
    assert (region[5][:5], region[-1]) == ("0.000", "no")
    assert float(region[6]) > 0


# ---- distribution


def test_every_score_is_counted_and_what_has_none_apart() -> None:
    """Scores 1, 2.5 (which counts as 3), 5, and two dialogues without one, one of them never held."""
    seeds = alike(5)
    run = assistant("A", seeds, [[1.0], [2.5], [5.0], [np.nan], [np.nan]])
    run = run._replace(held={each for each in run.held if "DINE_05" not in each})
    board = laid_out(seeds, [run])
    counts = distribution(board)
    assert counts.shape == (1, 6, 6)
    assert counts[0, 0].tolist() == [1, 0, 1, 0, 1, 1]
    row = distribution_table(board, counts, [0]).rows[0]
    assert row == ("A", "Helpful", "33.3%", "0.0%", "33.3%", "0.0%", "33.3%", "3.00", "3", "1")
