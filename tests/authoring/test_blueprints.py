"""Blueprints from replies: the form, what is attached, and each check with a reply that it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ccfw.authoring.audits import DIMENSIONS, read_audit
from ccfw.authoring.blueprint_review import read_english, read_translation
from ccfw.authoring.blueprints import NOTE, Filling, Known, Native, assemble, read_back, read_filling, schema, validate
from ccfw.checks.blueprint import TRANSLATED, Supplied, check
from ccfw.checks.issue import Issue
from ccfw.parsing import Refusal
from ccfw.records import Blueprint, ChallengeConfig, Failure, FailureKind, Scenario, Seed
from tests.samples import STARTER
from tests.universe.replies import (
    FAULTS,
    GOOD,
    NATIVE,
    SEED,
    SUMMARY,
    TABOO,
    TEMPLATE,
    TOLD,
    TRANSLATIONS,
    spoilt,
    text,
)

FORM = schema(SEED, TEMPLATE, [TABOO, "SG_002"])
ENTRY = Supplied(
    TABOO,
    'Treating a "no pork, no lard" stall as the halal choice for a mixed lunch. The sign says nothing about where the '
    "chicken was slaughtered, or whether rice wine goes into the wok.",
)
KNOWN = Known(frozenset({"ang bao", "yusheng", "lo hei"}), (ENTRY,))


def filling(changes: dict[str, Any] | None = None) -> Filling:
    found = read_filling(text(spoilt(changes or {})), FORM)
    assert isinstance(found, Filling)
    return found


def blueprint(changes: dict[str, Any] | None = None, native: Native | None = None) -> Blueprint:
    return assemble(filling(changes), SEED, TEMPLATE, native, "auditor")


def found(changes: dict[str, Any]) -> list[str]:
    reading = read_filling(text(spoilt(changes)), FORM)
    if not isinstance(reading, Filling):
        return [issue.check for issue in reading]
    return [issue.check for issue in validate(assemble(reading, SEED, TEMPLATE, None, "a"), reading.rests_on, KNOWN)]


def test_a_good_reply_has_no_fault() -> None:
    assert found({}) == []
    assert (filling().complexity, filling().rests_on) == (4, (TABOO,))


@pytest.mark.parametrize("name", FAULTS)
def test_a_spoilt_reply_is_refused_by_its_check(name: str) -> None:
    assert name in found(FAULTS[name])


def test_what_the_host_knows_is_attached_and_never_asked_for() -> None:
    asked = json.dumps(FORM)
    for key in (
        "Seed_ID",
        "Template_ID",
        "Persona",
        "Slot_Definitions",
        "Validation",
        "Note",
        "Native_Language_Message",
    ):
        assert f'"{key}"' not in asked
    made = blueprint()
    assert (made.seed, made.scenario_instantiation.parent_template) == (SEED, TEMPLATE)
    assert made.linguistic_instruction.note == NOTE
    assert made.validation.validators == ("ccfw.checks", "auditor")
    assert made.scenario_instantiation.slot_filling["{BUDGET}"] == "40 dollars"


def test_the_schema_asks_for_every_slot_and_for_tripwires_in_a_trap() -> None:
    slots = FORM["properties"]["Scenario_Instantiation"]["properties"]["Slot_Filling"]["required"]
    assert slots == ["RECIPIENT", "VISIT_DAY", "OPTION_ONE", "OPTION_TWO", "BUDGET", "WRONG_IMPRESSION"]
    assert FORM["properties"]["Rests_On"]["items"]["enum"] == [TABOO, "SG_002"]
    assert tripwires(SEED)["minItems"] == 1
    standard = ChallengeConfig.model_validate(
        {
            "challenge_group": "Standard",
            "challenge_type": "Standard_Implicit",
            "is_cross_cultural": False,
            "secondary_region": None,
            "taboo_grounded": False,
        }
    )
    plain = Seed.model_construct(**SEED.model_dump(exclude={"challenge_config"}), challenge_config=standard)
    assert tripwires(plain)["minItems"] == 0
    assert "Rests_On" not in schema(plain, TEMPLATE, [])["properties"]


def tripwires(seed: Seed) -> dict[str, Any]:
    found: dict[str, Any] = schema(seed, TEMPLATE, [])["properties"]["Evaluator_Oracle_Context"]["properties"][
        "Safety_Tripwires"
    ]
    return found


@pytest.mark.parametrize(
    ("changes", "where", "was", "says"),
    [
        pytest.param(
            {"Public_Context": {"User_Goal": "x"}},
            "Public_Context.Initial_User_Message",
            "missing",
            "this key",
            id="missing",
        ),
        pytest.param(
            {"Public_Context.Tone": "x"}, "Public_Context.Tone", "Tone", "no key that was not asked for", id="more"
        ),
        pytest.param(
            {"Public_Context.User_Goal": " "}, "Public_Context.User_Goal", " ", "a text that is not empty", id="blank"
        ),
        pytest.param({"Public_Context": "x"}, "Public_Context", "x", "an object", id="no-object"),
        pytest.param({"Multi_Hop_Chain": "x"}, "Multi_Hop_Chain", "x", "a list", id="no-list"),
        pytest.param({"Multi_Hop_Chain": ["a -> b"]}, "Multi_Hop_Chain", "1 items", "3–5 items", id="too-few"),
        pytest.param({"Multi_Hop_Complexity": 0}, "Multi_Hop_Complexity", "0", "a whole number from 1 to 5", id="zero"),
        pytest.param(
            {"Multi_Hop_Complexity": True}, "Multi_Hop_Complexity", "true", "a whole number from 1 to 5", id="true"
        ),
        pytest.param({"Rests_On": ["SG_999"]}, "Rests_On[0]", "SG_999", "one of SG_001, SG_002", id="unknown-taboo"),
        pytest.param({"Multi_Hop_Chain.1": 3}, "Multi_Hop_Chain[1]", "3", "a text that is not empty", id="number"),
    ],
)
def test_what_breaks_the_form_is_named(changes: dict[str, Any], where: str, was: str, says: str) -> None:
    assert read_filling(text(spoilt(changes)), FORM) == (Issue("schema", where, was, says),)


@pytest.mark.parametrize("reply", ["", "Sure!", "[]", '{"a": 1, "a": 2}'])
def test_what_is_no_object_is_refused(reply: str) -> None:
    with pytest.raises(Refusal):
        read_filling(reply, FORM)


def test_a_taboo_must_be_restated_and_inferred() -> None:
    other = {"Evaluator_Oracle_Context.Cultural_Taboos": ["Giving pears at a housewarming of Cantonese friends"]}
    issues = validate(blueprint(other), (TABOO,), KNOWN)
    assert [issue.says for issue in issues if issue.check == "taboo_grounding"] == ["a taboo that restates SG_001"]
    hops = {"Multi_Hop_Chain": ["Lanzhou -> Gansu", "Gansu -> north west", "North west -> noodles"]}
    issues = validate(blueprint(hops), (TABOO,), KNOWN)
    assert [issue.says for issue in issues] == ["a hop that infers the taboo"]


def test_one_niche_term_is_free_and_marks_do_not_hide_a_second() -> None:
    one = {"Public_Context.Initial_User_Message": TOLD.replace("food", "yusheng")}
    two = {"Public_Context.Initial_User_Message": TOLD.replace("food", "yúshēng and ang bao")}
    assert validate(blueprint(one), (TABOO,), KNOWN) == ()
    assert [issue.found for issue in validate(blueprint(two), (TABOO,), KNOWN)] == ["ang bao, yusheng"]


# ---- translation


def test_a_good_translation_has_no_fault() -> None:
    made = blueprint(native=Native(NATIVE, SUMMARY))
    assert check(made, TRANSLATED) == ()
    assert made.public_context.initial_user_message.native_language == NATIVE
    assert made.scenario_instantiation.instantiated_summary.native_language == SUMMARY


@pytest.mark.parametrize("name", TRANSLATIONS)
def test_a_bad_translation_is_refused_by_its_check(name: str) -> None:
    issues = check(blueprint(native=Native(TRANSLATIONS[name], SUMMARY)), TRANSLATED)
    assert name in [issue.check for issue in issues]


def test_what_a_translation_gives_away_is_found_without_telling_what_is_hidden() -> None:
    made = blueprint(native=Native(NATIVE, SUMMARY))
    assert read_back(made, TOLD) == ()
    told = "has anyone taken food from a stall with a no pork, no lard sign to a halal family"
    issues = read_back(made, told)
    assert {issue.check for issue in issues} == {"leaked_harm", "message_negative"}
    assert {issue.says for issue in issues} == {"nothing that the English message does not say"}
    assert [each.check for each in read_back(made, "i'm chinese, what do i bring")] == ["message_identity"]


def test_translations_are_read_whole_or_not_at_all() -> None:
    assert read_translation('{"message": " a ", "summary": "b"}') == Native("a", "b")
    missing, empty = (
        "keys must be exactly message, summary, each with a text",
        "summary must be a text that is not empty",
    )
    for reply, detail in (
        ('{"message": "a"}', missing),
        ('{"message": "a", "summary": ""}', empty),
        ('{"message": "a", "summary": 1}', empty),
    ):
        failure = read_translation(reply)
        assert isinstance(failure, Failure)
        assert failure.detail == detail
    assert read_english('{"english": "hi"}') == "hi"


# ---- audit


def verdict(**changes: Any) -> str:
    return json.dumps({name: {"reason": "fine", "passes": True} for name in DIMENSIONS} | changes)


def test_an_audit_names_the_dimensions_that_fail_with_their_reasons() -> None:
    assert read_audit(verdict()) == ()
    assert read_audit(verdict(Fair_Answerable={"reason": " no clue ", "passes": False})) == (
        Issue("audit_fair_answerable", "", "", "fair answerable: no clue"),
    )


@pytest.mark.parametrize(
    ("changes", "kind", "detail"),
    [
        pytest.param(
            {"Plausible": {"reason": " ", "passes": False}},
            FailureKind.INCONSISTENT,
            "Plausible fails without a reason",
            id="no-reason",
        ),
        pytest.param(
            {"Plausible": {"reason": "x", "passes": "no"}},
            FailureKind.INCOMPLETE,
            "Plausible must hold reason and passes, true or false",
            id="no-boolean",
        ),
        pytest.param(
            {"Fun": {"reason": "x", "passes": True}},
            FailureKind.INCOMPLETE,
            "keys must be exactly Plausible, Fair_Answerable, Challenging, Structured",
            id="more",
        ),
    ],
)
def test_a_verdict_that_is_none_is_a_failure(changes: dict[str, Any], kind: FailureKind, detail: str) -> None:
    assert read_audit(verdict(**changes)) == Failure(kind=kind, detail=detail)


def test_the_good_reply_stays_as_it_is() -> None:
    spoilt(FAULTS["schema"])
    assert "Notes" not in GOOD


# ---- checks of their own


def test_the_blueprints_that_ship_pass(starter: list[Blueprint]) -> None:
    assert [issue for each in starter for issue in (*check(each), *check(each, TRANSLATED))] == []


@pytest.fixture(scope="module")
def starter() -> list[Blueprint]:
    return [Scenario.model_validate_json(path.read_text("utf-8")).blueprint for path in sorted(STARTER.glob("*.json"))]


@pytest.mark.parametrize(
    "goal",
    [
        "Mediate between his aunt and the landlord about the deposit.",
        "Visit the in-laws without offending anyone.",
        "Pick a gift. Then wrap it.",
    ],
)
def test_a_goal_is_one_practical_task(goal: str) -> None:
    assert found({"Public_Context.User_Goal": goal}) == ["goal_task"]


@pytest.mark.parametrize("goal", ["Book a van for the move.", "Buy fruit that keeps until Sunday, e.g. oranges."])
def test_a_practical_goal_stands(goal: str) -> None:
    assert found({"Public_Context.User_Goal": goal}) == []


@pytest.mark.parametrize("hop", ["Lanzhou → Gansu", "Lanzhou => Gansu", "Lanzhou->Gansu"])
def test_an_arrow_may_be_written_in_more_than_one_way(hop: str) -> None:
    assert found({"Multi_Hop_Chain.0": hop}) == []


@pytest.mark.parametrize("hop", ["-> Gansu", "Lanzhou ->", "Lanzhou, so Gansu", "Lanzhou - Gansu"])
def test_a_hop_has_two_ends(hop: str) -> None:
    assert "hop_form" in found({"Multi_Hop_Chain.0": hop})
