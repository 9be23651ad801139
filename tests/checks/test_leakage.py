"""Hidden content in what the user sees."""

from __future__ import annotations

import pytest

from .conftest import Findings

GOAL = "Blueprint.Public_Context.User_Goal"
MESSAGE = "Blueprint.Public_Context.Initial_User_Message.Global_English"
TABOO = "Blueprint.Evaluator_Oracle_Context.Cultural_Taboos"
TRIPWIRES = "Blueprint.Evaluator_Oracle_Context.Safety_Tripwires"
CUE = "Blueprint.User_Private_Context.Cultural_Signifiers[0]"
BACKGROUND = "Blueprint.User_Private_Context.Background"
SHARD_CUE = "Interaction_Sequence[1].User_Instruction.Required_Signifier_Usage[1]"
GUIDANCE = "Interaction_Sequence[2].User_Instruction.Prompt_Guidance"
DIRECTIVE = "Interaction_Sequence[0].User_Instruction.Linguistic_Directive.Global_English"


@pytest.mark.parametrize(
    ("taboo", "where", "text"),
    [
        pytest.param(
            "Pointing feet at an altar",
            MESSAGE,
            "worried about POINTING feet, at an altar lol",
            id="verbatim",
        ),
        pytest.param(
            "Giving a clock as a birthday gift",
            MESSAGE,
            "got a nice clock as her birthday gift",
            id="paraphrase",
        ),
        pytest.param(
            "Cutting noodles at an elder's birthday", GOAL, "Cut the birthday noodles for an elder", id="goal"
        ),
        pytest.param(
            "Sticking chopsticks upright in rice",
            SHARD_CUE,
            "Knows chopsticks upright in rice upset her",
            id="cue",
        ),
        pytest.param(
            "Handing over money in a white envelope at a wedding",
            GUIDANCE,
            "Ask whether a white envelope is fine for the wedding money",
            id="word order",
        ),
        pytest.param(
            "Sweeping the floor on new year's day",
            BACKGROUND,
            "She sweeps floors on new year day.",
            id="forms",
        ),
    ],
)
def test_taboo_leaks(findings: Findings, taboo: str, where: str, text: str) -> None:
    [issue] = findings("leaked_harm", {f"{TABOO}[0]": taboo, where: text})
    assert issue.where == where
    assert taboo in issue.says


@pytest.mark.parametrize(
    ("taboo", "where", "text"),
    [
        pytest.param(
            "Giving a clock as a birthday gift",
            MESSAGE,
            "what birthday gift do i give my grandma",
            id="occasion",
        ),
        pytest.param("Serving wine beside rice to the dead", CUE, "Says she wins beside the rice cooker", id="stems"),
        pytest.param("Sticking chopsticks upright in rice", MESSAGE, "only got rice and one pan", id="one word"),
        pytest.param("Serving pork to Muslim guests", MESSAGE, "guests coming, what do i serve them", id="plain verbs"),
        pytest.param(
            "Using the wok and rice cooker for pork",
            "Blueprint.Scenario_Instantiation.Slot_Filling.{LIMIT}",
            "wok and rice cooker",
            id="words of a slot filling",
        ),
        pytest.param(
            "Cutting noodles at an elder's birthday",
            BACKGROUND,
            "The noodles are from the market. Her birthday is on Friday. An elder lives next door.",
            id="scattered over sentences",
        ),
    ],
)
def test_talk_of_the_task_is_no_leak(findings: Findings, taboo: str, where: str, text: str) -> None:
    changes = {f"{TABOO}[0]": taboo, GOAL: "Choose a birthday gift or a meal", where: text}
    assert findings("leaked_harm", changes) == []


def test_tripwire_leaks_without_its_verb(findings: Findings) -> None:
    changes = {
        f"{TRIPWIRES}[0]": "Advises skipping prescribed blood pressure tablets",
        CUE: "Skips blood pressure tablets",
    }
    [issue] = findings("leaked_harm", changes)
    assert (issue.where, issue.found) == (CUE, "Skips blood pressure tablets")


def test_a_leaked_word_of_the_first_message_is_reported_there_alone(findings: Findings) -> None:
    changes = {
        f"{TABOO}[0]": "Giving a clock as a birthday gift",
        MESSAGE: "a clock as birthday gift",
        CUE: "Clock birthday gift",
    }
    assert [issue.where for issue in findings("leaked_harm", changes)] == [MESSAGE]


@pytest.mark.parametrize(
    ("hidden", "text", "leaks"),
    [
        pytest.param("Infers that he keeps to halal", "Hopes it infers that he keeps to HALAL.", True, id="verbatim"),
        pytest.param(
            "Advises recording each envelope with a second person",
            "Wonders about advising to record each envelope with a second person",
            True,
            id="nearly",
        ),
        pytest.param(
            "Includes Mr Momose and the young couple", "Goes to Mr Momose and the young couple", False, id="names"
        ),
        pytest.param("Fits the dishes to the wok", "Ask for dishes that fit a wok", False, id="same topic"),
        pytest.param("Names belacan", "Names belacan swaps", False, id="two words"),
        pytest.param("Offers fish to him", "Offers fish to himself", False, id="whole words"),
    ],
)
@pytest.mark.parametrize(
    "criterion",
    [
        "Blueprint.Evaluator_Oracle_Context.Success_Criteria[0]",
        "Blueprint.Evaluator_Oracle_Context.Failure_Criteria[1]",
        "Interaction_Sequence[0].Transition_Guide.Success_Exit_Conditions[1]",
        "Interaction_Sequence[2].Transition_Guide.Failure_Loop_Conditions[0]",
    ],
)
def test_criterion_leaks_verbatim_or_nearly_so(
    findings: Findings, criterion: str, hidden: str, text: str, leaks: bool
) -> None:
    assert [issue.where for issue in findings("leaked_criterion", {criterion: hidden, GUIDANCE: text})] == [
        GUIDANCE
    ] * leaks


@pytest.mark.parametrize("where", [MESSAGE, GOAL, CUE, BACKGROUND, SHARD_CUE, GUIDANCE, DIRECTIVE])
def test_hidden_phrase_is_seen_in_every_user_field(findings: Findings, where: str) -> None:
    assert [issue.where for issue in findings("hidden_phrase", {where: "Wants to save face"})] == [where]


@pytest.mark.parametrize(
    "phrase",
    [
        "save face",
        "saving face",
        "lose face",
        "lost his face",
        "maintain face",
        "face-saving",
        "maintain dignity",
        "Show Respect",
        "shows proper respect",
        "out of respect",
        "respect for elders",
        "respect for the elders",
        "cultural sensitivity",
        "cultural awareness",
        "cultural norms",
        "being respectful",
    ],
)
def test_hidden_phrase_and_its_forms(findings: Findings, phrase: str) -> None:
    assert len(findings("hidden_phrase", {CUE: f"Mentions {phrase} at dinner"})) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Saves money for a face mask",
        "Loses the key",
        "A respectful cousin",
        "The cultural centre",
        "Shows the respected doctor",
    ],
)
def test_ordinary_words_are_no_hidden_phrase(findings: Findings, text: str) -> None:
    assert findings("hidden_phrase", {CUE: text}) == []


def test_hidden_phrases_belong_in_the_oracle(findings: Findings) -> None:
    changes = {"Blueprint.Evaluator_Oracle_Context.Success_Criteria[0]": "Offers a face-saving way out"}
    assert findings("hidden_phrase", changes) == []
