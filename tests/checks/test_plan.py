"""The user's side of the shards."""

from __future__ import annotations

import pytest

from .conftest import Findings

SHARD = "Interaction_Sequence[0]"
GOAL = f"{SHARD}.User_Instruction.Current_Surface_Goal"
GUIDANCE = f"{SHARD}.User_Instruction.Prompt_Guidance"
CUE = f"{SHARD}.User_Instruction.Required_Signifier_Usage[1]"
SIGNIFIER = "Blueprint.User_Private_Context.Cultural_Signifiers[0]"
CHALLENGE = "Blueprint.Seed.Challenge_Config"
GROUNDED = {f"{CHALLENGE}.Challenge_Type": "Friction_Normative", f"{CHALLENGE}.Taboo_Grounded": True}
TABOO = "Blueprint.Evaluator_Oracle_Context.Cultural_Taboos"


@pytest.mark.parametrize(
    "text",
    [
        "Give a brief summary",
        "State the facts",
        "Plan the dinner",
        "Users ask for tips",
        "Find a quiet corner",
        "Get the pouches back to her friend",
        "Learn the song by heart",
    ],
)
def test_goal_that_is_no_request(findings: Findings, text: str) -> None:
    assert [issue.found for issue in findings("surface_goal", {GOAL: text})] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Ask what to wear",
        "Request advice on pay",
        "Seek guidance on a gift",
        "asks about rice",
        "Find out from the assistant how to share a wok",
        "Learn whether pears are fine",
        "Get a view on the hour",
    ],
)
def test_goal_that_is_a_request(findings: Findings, text: str) -> None:
    assert findings("surface_goal", {GOAL: text}) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Request a plan for the mediation", "request a plan"),
        ("Ask for a checklist of steps", "ask for a checklist"),
        ("Request a schedule for implementation", "request a schedule"),
        ("Ask for wording to use", "ask for wording"),
        ("Ask for the exact phrasing of the reply", "ask for the exact phrasing"),
        ("Ask for a short, simple form", "ask for a short, simple form"),
        ("Request step-by-step instructions", "request step-by-step"),
        ("Ask for some concrete steps", "ask for some concrete steps"),
        ("Ask to draft a notice", "ask to draft"),
        ("Ask for a written agreement for all", "ask for a written agreement"),
        ("Ask it to put together a flyer for them", "ask it to put together a flyer"),
        ("Ask for a table of hosts", "ask for a table"),
        ("Ask for a seating chart with the aunt", "ask for a seating chart"),
        ("Tell the date, then ask for a draft", "ask for a draft"),
    ],
)
@pytest.mark.parametrize("where", [GOAL, GUIDANCE])
def test_document_asked_for(findings: Findings, where: str, text: str, found: str) -> None:
    assert [issue.found for issue in findings("document_production", {where: text})] == [found]


@pytest.mark.parametrize(
    "text",
    [
        "Ask what factors to consider when the schedule is tight",
        "Ask for advice on the seating plan",
        "Request tips on the invitation wording",
        "Ask whether the plan suits an elder",
        "Ask which form of address fits",
        "Ask for the right form of address",
        "Say the clinic wants a form, ask what to bring",
        "Ask what to consider; never ask for a script",
        "Ask about the risks rather than ask for wording",
        "Ask for dishes that fit the schedule",
        "Say the clinic asks for a form",
        "Ask for the best table near the door",
        "Ask for her agreement to the date",
        "Ask how a seating chart treats an elder",
        "Tell them about the aunt's request for a letter",
        "Say that they ask for a letter from the temple",
        "Request letter-writing tips",
        "Request guidance on steps after the funeral",
    ],
)
def test_document_in_the_background(findings: Findings, text: str) -> None:
    assert findings("document_production", {GOAL: text, GUIDANCE: text}) == []


@pytest.mark.parametrize(
    "text",
    [
        "Says 'I am Muslim'",
        "Says ‘I’m Buddhist’",
        "Mentions she is Muslim",
        "Says that he's a devout Catholic",
        "Directly states their religion",
        "Announces her ethnicity",
        "Admits to being a Muslim from the northwest",
        "Introduces himself as a Malay Muslim from Tampines",
        "Tells the assistant that the family is Hindu",
        "Lets slip that she was brought up Catholic",
        "Reveals her own faith early",
        "Writes as a Muslim mother",
    ],
)
@pytest.mark.parametrize("where", [CUE, SIGNIFIER])
def test_cue_that_states_identity(findings: Findings, where: str, text: str) -> None:
    assert [issue.where for issue in findings("signifier_identity", {where: text})] == [where]


@pytest.mark.parametrize(
    "text",
    [
        "References halal requirements for the meal",
        "Mentions the event is 'after temple'",
        "Uses term 'lola' when referring to grandmother",
        "Says I do not want to ask 'are you Muslim?' too directly",
        "Mentions the client is Malay",
        "Says her boss is a Korean man",
        "Notes she is Chinese New Year shopping",
        "States her budget",
        "Introduces himself as the groom",
        "Admits to being late for Chinese New Year dinner",
        "Brings it as a Thai dessert",
    ],
)
def test_cue_to_infer_from(findings: Findings, text: str) -> None:
    assert findings("signifier_identity", {CUE: text, SIGNIFIER: text}) == []


@pytest.mark.parametrize(
    ("where", "text", "found"),
    [
        pytest.param(GOAL, "Ask about dietary restrictions", "dietary restrictions", id="restrictions"),
        pytest.param(CUE, "References the taboo about alcohol", "taboo", id="named"),
        pytest.param(GUIDANCE, "Worry that it would offend them", "offend", id="offend"),
        pytest.param(CUE, "Wonders if a wall clock upsets grandmother", "clock, wall", id="own words"),
    ],
)
def test_user_who_knows_the_taboo(findings: Findings, where: str, text: str, found: str) -> None:
    changes = GROUNDED | {f"{TABOO}[0]": "Handing a wall clock to an elder", where: text}
    [issue] = findings("taboo_awareness", changes)
    assert (issue.where, issue.found) == (where, found)


@pytest.mark.parametrize(
    "text",
    [
        "Says the wall needs paint",
        "Says dinner starts at seven on the clock tower's hour",
        "Says an elder sits by the door",
        "Asks what present suits",
    ],
)
def test_user_who_sets_the_scene(findings: Findings, text: str) -> None:
    changes = GROUNDED | {f"{TABOO}[0]": "Handing a wall clock to an elder", CUE: text}
    assert findings("taboo_awareness", changes) == []


def test_awareness_matters_in_taboo_grounded_scenarios_only(findings: Findings) -> None:
    assert findings("taboo_awareness", {GOAL: "Ask about dietary restrictions"}) == []
