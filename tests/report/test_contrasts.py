"""Differences between assistants, languages and modes are paired by seed; traps are between seeds."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from ccfw.records import LanguageMode, Tier
from ccfw.report.contrasts import (
    compared,
    gold_table,
    language_deltas,
    language_table,
    pairs_table,
    region_table,
    trap_effects,
    trap_table,
)
from ccfw.report.slices import sliced
from ccfw.report.standings import standings
from ccfw.stages.report_page import published
from tests.report.boards import TERMS, alike, assistant, laid_out


def up(scores: list[list[float]], by: float) -> list[list[float]]:
    return [[value + by for value in row] for row in scores]


SEEDS = alike(20)
BASE = [[1.0 + number % 3, 1.0 + number % 2] for number in range(20)]


def test_the_higher_is_named_first_and_a_sure_difference_holds() -> None:
    board = laid_out(SEEDS, [assistant("Low", SEEDS, BASE), assistant("High", SEEDS, up(BASE, 2))])
    pairs = compared(board, TERMS)
    assert pairs is not None
    order = standings(board, None, TERMS).order
    [row] = pairs_table(board, pairs, order, TERMS).rows
    assert row[:6] == ("High", "Low", "40", "+2.00 [+2.00, +2.00]", "0.005", "yes")
    assert row[9:] == ("+0.0 [+0.0, +0.0]", "1.000", "no")


def test_a_difference_on_few_seeds_is_not_tested() -> None:
    few = SEEDS[:9]
    board = laid_out(SEEDS, [assistant("A", SEEDS, BASE), assistant("B", few, up(BASE, 1)[:9])])
    pairs = compared(board, TERMS)
    assert pairs is not None
    [row] = pairs_table(board, pairs, [0, 1], TERMS).rows
    assert row[2:6] == ("18", "-1.00", "–", "not tested")


def test_one_assistant_alone_is_compared_with_nobody() -> None:
    assert compared(laid_out(SEEDS, [assistant("A", SEEDS, BASE)]), TERMS) is None


def test_the_language_delta_is_native_minus_english_on_seeds_that_have_both() -> None:
    scores = [[2.0, 3.0]] * 19 + [[5.0, np.nan]]
    board = laid_out(SEEDS, [assistant("A", SEEDS, scores)])
    found = language_deltas(board, TERMS)
    assert found is not None
    [row] = language_table(board, found, [0], TERMS).rows
    assert row[:3] == ("A", "19", "+1.00 [+1.00, +1.00]")
    regions = region_table(board, found, [0], TERMS).rows
    assert regions[:2] == (("all", "+1.00 [+1.00, +1.00]"), ("SG", "+1.00 [+1.00, +1.00]"))
    assert regions[-1] == ("BN", "none")


def test_one_language_has_no_delta() -> None:
    english = [[row[0]] for row in BASE]
    assert language_deltas(laid_out(SEEDS, [assistant("A", SEEDS, english)]), TERMS) is None


def test_the_effect_of_traps_is_trap_minus_standard() -> None:
    """Standard 4, contextual 3, normative 1: traps are (12 * 3 + 4 * 1) / 16 = 2.5."""
    contextual = alike(12, tier=Tier.CONTEXTUAL)
    normative = alike(4, tier=Tier.NORMATIVE)
    seeds = [*SEEDS, *contextual, *normative]
    scores = [[4.0, 4.0]] * 20 + [[3.0, 3.0]] * 12 + [[1.0, 1.0]] * 4
    board = laid_out(seeds, [assistant("A", seeds, scores)])
    found = sliced(board, TERMS)
    [row] = trap_table(board, found, trap_effects(board, found, TERMS), [0], TERMS).rows
    assert (row[0], row[1][:4], row[2][:4], row[3][:5]) == ("A", "4.00", "2.50", "-1.50")
    assert (row[4], row[5][:4], row[6][:4]) == ("0.005", "3.00", "1.00")


def test_an_effect_of_few_seeds_has_no_interval_and_no_test() -> None:
    few = alike(9, tier=Tier.CONTEXTUAL)
    seeds = [*SEEDS, *few]
    board = laid_out(seeds, [assistant("A", seeds, [[4.0, 4.0]] * 20 + [[3.0, 2.0]] * 9)])
    found = sliced(board, TERMS)
    [row] = trap_table(board, found, trap_effects(board, found, TERMS), [0], TERMS).rows
    assert row == ("A", "4.00 [4.00, 4.00]", "2.50", "-1.50", "–", "2.50", "–")


def test_all_regions_together_are_tested_in_one_table_alone() -> None:
    board = laid_out(SEEDS, [assistant("A", SEEDS, [[2.0, 3.0]] * 20)])
    found = language_deltas(board, TERMS)
    assert found is not None
    rows = list(csv.DictReader(io.StringIO(region_table(board, found, [0], TERMS).csv())))
    assert [row["3h_p"] for row in rows[:2]] == ["", "0.004975"]
    assert language_table(board, found, [0], TERMS).rows[0][-1] == "0.005"


def test_without_traps_there_is_no_effect_and_the_table_says_so() -> None:
    board = laid_out(SEEDS, [assistant("A", SEEDS, BASE)])
    found = sliced(board, TERMS)
    [row] = trap_table(board, found, trap_effects(board, found, TERMS), [0], TERMS).rows
    assert row[2:] == ("–", "–", "–", "–", "–")


# ---- gold against eval


def test_gold_and_eval_are_compared_on_the_dialogues_that_both_scored() -> None:
    blind = laid_out(SEEDS, [assistant("A", SEEDS, [[3.0, 2.0]] * 20)])
    gold = laid_out(SEEDS, [assistant("A", SEEDS[:15], [[4.0, 4.0]] * 15)])
    table = gold_table(blind, gold, "j", TERMS, None)
    assert table is not None
    assert [(row[1], row[2], row[3], row[4], row[-1]) for row in table.rows] == [
        ("English", "3.00", "4.00", "+1.00 [+1.00, +1.00]", "15"),
        ("native language", "2.00", "4.00", "+2.00 [+2.00, +2.00]", "15"),
        ("both languages", "2.50", "4.00", "+1.50 [+1.50, +1.50]", "30"),
    ]


def test_modes_are_matched_by_what_an_assistant_is_and_not_by_its_place_or_name() -> None:
    """Two settings of one model, in another order in gold mode; gold changes nothing, so every difference is 0."""
    scores = {"low": [[2.0, 2.0]] * 20, "high": [[4.0, 4.0]] * 20}
    blind, gold = (
        laid_out(SEEDS, [assistant("X", SEEDS, scores[kind], kind=kind) for kind in kinds])
        for kinds in (("low", "high"), ("high", "low"))
    )
    table = gold_table(blind, gold, "j", TERMS, None)
    assert table is not None
    assert [row[:5] for row in table.rows if row[1] == "English"] == [
        ("X (1)", "English", "2.00", "2.00", "+0.00 [+0.00, +0.00]"),
        ("X (2)", "English", "4.00", "4.00", "+0.00 [+0.00, +0.00]"),
    ]


def test_differences_between_modes_are_adjusted_over_the_whole_table() -> None:
    """One clear difference: the more others are tested beside it, the larger its p."""
    rng = np.random.default_rng(5)
    labels = "ABCDEFGH"
    blind_scores = {each: rng.integers(1, 6, (20, 2)).astype(float).tolist() for each in labels}
    gold_scores = {each: rng.integers(1, 6, (20, 2)).astype(float).tolist() for each in labels}
    p = []
    for count in (1, 8):
        blind, gold = (
            laid_out(SEEDS, [assistant(each, SEEDS, scores[each]) for each in labels[:count]])
            for scores in (blind_scores, gold_scores)
        )
        table = gold_table(blind, gold, "j", TERMS, None)
        assert table is not None
        p.append([float(row["p_3h"]) for row in list(csv.DictReader(io.StringIO(table.csv())))[:3]])
    assert all(alone <= among for alone, among in zip(*p, strict=True))
    assert p[0] != p[1]


def test_both_languages_together_need_matches_in_both() -> None:
    blind = laid_out(SEEDS, [assistant("A", SEEDS, [[3.0, 2.0]] * 20)])
    gold = laid_out(SEEDS, [assistant("A", SEEDS, [[4.0, np.nan]] * 20)])
    table = gold_table(blind, gold, "j", TERMS, None)
    assert table is not None
    assert [row[1] for row in table.rows] == ["English"]


def test_the_papers_table_10_stands_below_in_grey() -> None:
    board = laid_out(SEEDS, [assistant("A", SEEDS, BASE)])
    table = gold_table(board, board, "gpt5mini", TERMS, published())
    assert table is not None
    assert [row[1:8] for row in table.rows[3:]] == [
        ("English", "4.26", "4.35", "+0.09", "3.79", "3.76", "-0.03"),
        ("native language", "4.31", "4.48", "+0.17", "3.83", "3.82", "-0.01"),
        ("both languages", "4.28", "4.41", "+0.13", "3.81", "3.79", "-0.02"),
    ]
    assert table.grey == frozenset({3, 4, 5})
    assert table.breaks[0][1].endswith("Table 10, GPT-5 mini. Not comparable: other prompts, other data")


@pytest.mark.parametrize("label", ["B", "A"])
def test_without_a_match_there_is_no_table(label: str) -> None:
    blind = laid_out(SEEDS, [assistant("A", SEEDS[:10], BASE[:10])])
    gold = laid_out(SEEDS, [assistant(label, SEEDS[10:], BASE[10:])])
    assert gold_table(blind, gold, "j", TERMS, published()) is None
    assert blind.languages == tuple(LanguageMode)
