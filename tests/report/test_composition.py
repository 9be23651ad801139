"""What dialogues there are, each counted once."""

from __future__ import annotations

from ccfw.records import LanguageMode, Region, SimulationMode, Tier
from ccfw.report.composition import composition, composition_table
from ccfw.stages.report_page import published
from ccfw.universe.seed_id import episode_id
from tests.report.boards import outline

SEEDS = [
    outline(1),
    outline(2, tier=Tier.NORMATIVE, identity="Tamil_Hindu"),
    outline(3, region=Region.MY, tier=Tier.CONTEXTUAL, split="train"),
]
ENGLISH, NATIVE = ([episode_id(each.seed.seed_id, language) for each in SEEDS] for language in LanguageMode)


def test_a_dialogue_is_counted_once_whoever_held_it() -> None:
    found = composition(
        SEEDS, [(SimulationMode.EVAL, {*ENGLISH, NATIVE[0]}), (SimulationMode.EVAL, {ENGLISH[0], "of another set"})]
    )
    rows = composition_table(found, None).rows
    assert rows[:3] == (
        ("Test (eval)", "English", "2", "1", "0", "1"),
        ("Train (eval)", "English", "1", "0", "1", "0"),
        ("Test (eval)", "native language", "1", "1", "0", "0"),
    )
    assert rows[3:5] == (
        ("SG", "2 identities", "3", "2", "0", "1"),
        ("MY", "1 identity", "1", "0", "1", "0"),
    )
    assert rows[-1] == ("All dialogues", "3 identities", "4", "2", "1", "1")


def test_the_modes_are_counted_apart_and_a_region_without_dialogues_says_so() -> None:
    found = composition(SEEDS, [(SimulationMode.EVAL, {ENGLISH[0]}), (SimulationMode.GOLD, {ENGLISH[0]})])
    table = composition_table(found, None)
    assert [row[:3] for row in table.rows[:2]] == [("Test (eval)", "English", "1"), ("Test (gold)", "English", "1")]
    assert ("BN", "0 identities", "0", "0", "0", "0") in table.rows
    assert table.breaks == ((0, "By split, mode and language"), (2, "By region"), (2 + len(Region), "In all"))


def test_nothing_held_is_a_table_of_noughts() -> None:
    table = composition_table(composition(SEEDS, []), None)
    assert table.rows[-1] == ("All dialogues", "0 identities", "0", "0", "0", "0")


def test_the_papers_composition_adds_up() -> None:
    """288,905 = 14,610 test + 274,295 train; Table 2 prints both sums and the three tiers."""
    table = composition_table(composition(SEEDS, []), published())
    grey = [table.rows[row] for row in sorted(table.grey)]
    assert grey[-1] == ("All dialogues", "58 identities", "288,905", "144,766", "72,171", "71,968")
    numbers = [int(row[2].replace(",", "")) for row in grey]
    assert (sum(numbers[:2]), sum(numbers[2:4]), sum(numbers[4:-1])) == (14_610, 274_295, 288_905)
