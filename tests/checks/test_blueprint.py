"""Checks that only a blueprint has, before it has shards."""

from __future__ import annotations

import pytest

from ccfw.checks.blueprint import Supplied, generations, summary_length, taboo_grounding, variety_named

from .conftest import altered

MESSAGE = "Blueprint.Public_Context.Initial_User_Message.Global_English"
SUMMARY = "Blueprint.Scenario_Instantiation.Instantiated_Summary.Global_English"
VARIETY = "Blueprint.Linguistic_Instruction.Native_Language"
TABOOS = "Blueprint.Evaluator_Oracle_Context.Cultural_Taboos"
CHAIN = "Blueprint.Multi_Hop_Chain"
GROUNDED = {
    "Blueprint.Seed.Challenge_Config.Challenge_Type": "Friction_Normative",
    "Blueprint.Seed.Challenge_Config.Taboo_Grounded": True,
}
ENTRY = Supplied("SG_001", "Handing a wall clock to an elder. Clocks, churches and Chinese families tell of endings.")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("my own mother of 84 adores my grandson", 1, id="own"),
        pytest.param("papa is 88 and my two grandsons bring friends", 1, id="bare"),
        pytest.param("my dear old dad minds my granddaughter", 1, id="adjectives"),
        pytest.param("my grandson and his mother come along", 0, id="the-childs-own"),
        pytest.param("my late mother's ring goes to my granddaughter", 0, id="late"),
        pytest.param("my mum's sister adores my grandson", 0, id="aunt"),
        pytest.param("my mother-in-law minds my grandson", 0, id="in-law"),
    ],
)
def test_a_parent_and_a_grandchild_are_too_many(text: str, faults: int) -> None:
    assert len(list(generations(altered({MESSAGE: text})))) == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("Casual Simplified Chinese", 0),
        ("随意的普通话", 0),
        ("四十多岁女性的中文", 0),
        ("Casual Mandarin", 1),
        ("随意，像发短信", 1),
        ("日本語", 1),
    ],
)
def test_a_language_is_named_in_english_or_in_itself(text: str, faults: int) -> None:
    assert len(list(variety_named(altered({VARIETY: text})))) == faults


def test_abbreviations_make_no_sentence_of_a_summary() -> None:
    assert list(summary_length(altered({SUMMARY: "Mr. Ho comes at 7 p.m. on Friday. She cooks. She asks."}))) == []
    assert len(list(summary_length(altered({SUMMARY: "Mr. Ho comes at 7 p.m. She cooks. She asks. He eats."})))) == 1


@pytest.mark.parametrize(
    ("hop", "says"),
    [
        pytest.param("Wall clock for an elder -> an ending", [], id="taboo"),
        pytest.param("Churches and families -> endings", ["a hop that infers the taboo"], id="explanation-only"),
        pytest.param("Chinese Christian -> an elder", ["a hop that infers the taboo"], id="community"),
    ],
)
def test_a_hop_must_have_words_of_the_taboo_itself(hop: str, says: list[str]) -> None:
    chain = [hop, "Kelantan -> Malay", "Malay -> Muslim"]
    taboo = "Handing a wall clock to a Chinese Christian elder"
    blueprint = altered(GROUNDED | {f"{TABOOS}[0]": taboo, CHAIN: chain}).blueprint
    assert [found.says for found in taboo_grounding(blueprint, ["SG_001"], [ENTRY])] == says
