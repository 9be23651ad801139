"""Means by group of users, and how far groups lie apart beside what chance gives."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from ccfw.records import Region, Tier
from ccfw.report.board import MOST_GROUPS, unique
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
    table = slice_table(board, sliced(board, TERMS), place("region", board), [0], TERMS)
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
    table = slice_table(board, sliced(board, TERMS), place("identity", board), [0], TERMS)
    assert [row[:2] for row in table.rows] == [("MY Kadazan Christian", "none judged"), ("SG Malay Muslim", "24")]


def test_over_few_dialogues_the_mean_stands_alone_with_their_number() -> None:
    seeds = [*SG, outline(40, tier=Tier.NORMATIVE)]
    board = laid_out(seeds, [assistant("A", seeds, [[2.0, 2.0]] * 12 + [[5.0, 4.0]])])
    table = slice_table(board, sliced(board, TERMS), place("tier", board), [0], TERMS)
    assert [row[2] for row in table.rows] == ["2.00 [2.00, 2.00]", "–", "4.50 (n=2)"]


def test_five_seeds_in_two_languages_are_ten_dialogues_and_too_few_for_an_interval() -> None:
    seeds = [*SG, *alike(5, region=Region.MY, identity="Kadazan_Christian")]
    board = laid_out(seeds, [assistant("A", seeds, [[2.0, 2.0]] * 12 + [[5.0, 4.0], [4.0, 3.0]] + [[4.0, 4.0]] * 3)])
    table = slice_table(board, sliced(board, TERMS), place("region", board), [0], TERMS)
    assert table.rows[1] == ("MY", "10", "4.00 (n=10)")
    row = list(csv.DictReader(io.StringIO(table.csv())))[1]
    assert (row["dialogues"], row["seeds"]) == ("10", "5")
    assert {row[f"{name}_{end}"] for name in ("3h", "tdq", "clean") for end in ("lo", "hi")} == {""}


def test_who_has_clearly_fewer_dialogues_than_another_says_how_many() -> None:
    less = assistant("Less", SG[:10], [[3.0, 3.0]] * 10)
    board = laid_out(SG, [assistant("Most", SG, [[3.0, 3.0]] * 12), less])
    table = slice_table(board, sliced(board, TERMS), place("region", board), [1, 0], TERMS)
    assert table.head[2:] == ("Less", "Most")
    assert table.rows[0] == ("SG", "24", "3.00 [3.00, 3.00] (n=20)", "3.00 [3.00, 3.00]")


def test_languages_are_an_axis_where_there_are_two() -> None:
    board = laid_out(SG, [assistant("A", SG, [[2.0, 4.0]] * 12)])
    found = sliced(board, TERMS)
    assert found.axes[-1].name == "language"
    table = slice_table(board, found, len(found.axes) - 1, [0], TERMS)
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


def dealt_by_hand(values: list[list[float]], codes: list[int], draws: int) -> list[float]:
    """Deal the seeds that have a score out to groups of the same sizes, and return the ranges of means."""
    rng, found = np.random.default_rng(1), []
    scored = [(row, code) for row, code in zip(values, codes, strict=True) if not all(x != x for x in row)]
    sizes = [count for count in np.bincount([code for _, code in scored]) if count >= 10]
    for _ in range(draws):
        order = rng.permutation(len(scored))
        parts = np.split(order, np.cumsum(sizes))[: len(sizes)]
        means = [np.nanmean([x for seed in part for x in scored[seed][0]]) for part in parts]
        found.append(float(max(means) - min(means)))
    return found


def test_chance_deals_the_scored_seeds_of_each_assistant_to_groups_of_its_own_sizes() -> None:
    """One has all seeds, the other lacks half of one group, some dialogues, and all but three of another group."""
    rng = np.random.default_rng(11)
    seeds = [*alike(30), *alike(25, region=Region.MY), *alike(20, region=Region.ID), *alike(20, region=Region.TH)]
    codes = [0] * 30 + [1] * 25 + [2] * 20 + [3] * 20
    full = rng.integers(1, 6, (95, 2)).astype(float)
    gaps = full.copy()
    gaps[30:42] = gaps[78:] = np.nan
    gaps[5:9, 0] = gaps[60:65, 1] = np.nan
    runs = {"Full": full.tolist(), "Gaps": gaps.tolist()}
    board = laid_out(seeds, [assistant(label, seeds, scores) for label, scores in runs.items()])
    terms = TERMS._replace(resamples=4000)
    found = disparities(board, sliced(board, terms), terms)
    for model, scores in enumerate(runs.values()):
        by_hand = dealt_by_hand(scores, codes, 4000)
        assert found.groups[0][model] == (("SG", "MY", "ID", "TH") if model == 0 else ("SG", "MY", "ID"))
        assert found.chance.expected[0, model] == pytest.approx(np.mean(by_hand), rel=0.03)
        assert found.chance.high[0, model] == pytest.approx(np.quantile(by_hand, 0.95), rel=0.05)


def test_dialogues_that_are_missing_from_some_groups_are_no_gap_between_them() -> None:
    """No group differs; of four groups of 99 seeds all but one have scores of ten. One in twenty may be beyond."""
    regions = (Region.SG, Region.MY, Region.ID, Region.TH)
    seeds = [each for region in regions for each in alike(99, region=region)]
    beyond = 0
    for draw in range(40):
        scores = np.random.default_rng(draw).integers(1, 6, (396, 1)).astype(float)
        for region in range(1, 4):
            scores[99 * region + 10 : 99 * region + 99] = np.nan
        board = laid_out(seeds, [assistant("A", seeds, scores.tolist())])
        terms = TERMS._replace(seed=draw, resamples=99)
        beyond += bool(disparities(board, sliced(board, terms), terms).chance.p[0, 0] <= 0.05)
    assert beyond <= 6


def test_languages_swap_only_where_a_seed_has_both() -> None:
    """Twelve pairs of 3 and 3; thirty English dialogues of 5 alone make a range, and as large a one by chance."""
    seeds = alike(42)
    board = laid_out(seeds, [assistant("A", seeds, [[3.0, 3.0]] * 12 + [[5.0, np.nan]] * 30)])
    found = disparities(board, sliced(board, TERMS), TERMS)
    each = found.spreads[-1][0]
    assert each is not None
    assert each.range == pytest.approx((12 * 3 + 30 * 5) / 42 - 3)
    assert found.chance.expected[-1, 0] == pytest.approx(each.range)
    assert found.chance.p[-1, 0] == 1.0


def test_where_all_groups_are_equal_none_is_named_lowest_or_highest() -> None:
    board = laid_out(SEEDS, [assistant("A", SEEDS, [[4.0, 4.0]] * 24)])
    found = sliced(board, TERMS)
    table = disparity_table(board, found, disparities(board, found, TERMS), [0], TERMS)
    region = next(row for row in table.rows if row[0] == "Region")
    assert region[3:5] == ("all groups 4.00", "all groups 4.00")
    row = next(row for row in csv.DictReader(io.StringIO(table.csv())) if row["axis"] == "region")
    assert [row[name] for name in ("lowest", "lowest_3h", "highest", "highest_3h")] == ["", "4.000000"] * 2


# ---- labels


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (["Amber", "Birch"], ("Amber", "Birch")),
        (["Amber", "Amber"], ("Amber (1)", "Amber (2)")),
        (["Amber", "Amber", "Amber (2)"], ("Amber (1)", "Amber (3)", "Amber (2)")),
        (["Amber (1)", "Amber (1)", "Amber", "Amber"], ("Amber (1) (1)", "Amber (1) (2)", "Amber (2)", "Amber (3)")),
        (["", " ", "Amber"], ("without a name (1)", "without a name (2)", "Amber")),
        ([], ()),
    ],
)
def test_no_two_labels_are_the_same_and_none_is_empty(labels: list[str], shown: tuple[str, ...]) -> None:
    assert unique(labels) == shown


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
