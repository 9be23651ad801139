"""Differences between assistants, languages and modes are paired by seed; traps are between seeds."""

from __future__ import annotations

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
    assert row[2:6] == ("18", "-1.00 [-1.00, -1.00]", "–", "not tested")


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
    [row] = trap_table(board, found, trap_effects(found, TERMS), [0], TERMS).rows
    assert (row[0], row[1][:4], row[2][:4], row[3][:5]) == ("A", "4.00", "2.50", "-1.50")
    assert (row[4], row[5][:4], row[6][:4]) == ("0.005", "3.00", "1.00")


def test_without_traps_there_is_no_effect_and_the_table_says_so() -> None:
    board = laid_out(SEEDS, [assistant("A", SEEDS, BASE)])
    found = sliced(board, TERMS)
    [row] = trap_table(board, found, trap_effects(found, TERMS), [0], TERMS).rows
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
