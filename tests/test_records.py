"""Records refuse what does not hold together and keep what does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from ccfw.records import (
    Episode,
    FailureKind,
    Judgement,
    Metric,
    Scenario,
    ShardOutcome,
    TerminationReason,
    paper_name,
)
from tests.samples import STARTER, episode_of, judgement_of, put, raw_scenario, scenario_of

FILES = sorted(STARTER.glob("*.json"))


def faults(raw: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as caught:
        scenario_of(raw)
    return [(".".join(map(str, fault["loc"])), fault["msg"]) for fault in caught.value.errors()]


@pytest.mark.parametrize(
    ("field", "paper"),
    [
        pytest.param("seed_id", "Seed_ID", id="id"),
        pytest.param("is_cross_cultural", "Is_Cross_Cultural", id="three-words"),
        pytest.param("split", "Split", id="one-word"),
    ],
)
def test_fields_are_spelled_as_in_the_paper(field: str, paper: str) -> None:
    assert paper_name(field) == paper


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_is_written_as_it_was_read(path: Any) -> None:
    text = path.read_text("utf-8")
    assert json.loads(Scenario.model_validate_json(text).model_dump_json(by_alias=True)) == json.loads(text)


def test_a_scenario_is_read_in_pythons_spelling_too(scenario: Scenario) -> None:
    assert Scenario.model_validate_json(scenario.model_dump_json(by_alias=False)) == scenario


BROKEN = [
    pytest.param(
        "Blueprint.Seed.Seed_ID",
        "SG_Tamil_Hindu_F_35_54__TPL_ECO_WAGE_01__STANDARD",
        "Blueprint.Seed",
        "Value error, Seed_ID is 'SG_Tamil_Hindu_F_35_54__TPL_ECO_WAGE_01__STANDARD' but its fields spell "
        "'SG_Tamil_Hindu_F_35_54__TPL_ECO_WAGE_01__STANDARD__XCULTURE_ID'",
        id="seed-id-not-of-its-fields",
    ),
    pytest.param(
        "Blueprint.Seed.Challenge_Config.Challenge_Group",
        "Trap",
        "Blueprint.Seed.Challenge_Config",
        "Value error, Standard_Implicit is not in the Trap group",
        id="tier-of-another-group",
    ),
    pytest.param(
        "Blueprint.Seed.Challenge_Config.Challenge_Type",
        "Friction_Contextual",
        "Blueprint.Seed.Challenge_Config",
        "Value error, Friction_Contextual is not in the Standard group",
        id="trap-tier-in-the-standard-group",
    ),
    pytest.param(
        "Blueprint.Seed.Challenge_Config.Secondary_Region",
        None,
        "Blueprint.Seed.Challenge_Config",
        "Value error, Secondary_Region is given if and only if Is_Cross_Cultural is true",
        id="cross-cultural-without-second-region",
    ),
    pytest.param(
        "Blueprint.Seed.Challenge_Config.Is_Cross_Cultural",
        False,
        "Blueprint.Seed.Challenge_Config",
        "Value error, Secondary_Region is given if and only if Is_Cross_Cultural is true",
        id="second-region-without-cross-cultural",
    ),
    pytest.param(
        "Blueprint.Seed.Persona.Region",
        "XX",
        "Blueprint.Seed.Persona.Region",
        "Input should be 'SG', 'MY', 'ID', 'TH', 'VN', 'PH', 'CN', 'JP', 'KR' or 'BN'",
        id="unknown-region",
    ),
    pytest.param(
        "Blueprint.Public_Context.User_Goal",
        " \n ",
        "Blueprint.Public_Context.User_Goal",
        "String should have at least 1 character",
        id="blank-text",
    ),
    pytest.param(
        "Interaction_Sequence.1.Shard_ID",
        3,
        "",
        "Value error, Shard_ID must count 1, 2, 3, …; found [1, 3, 3, 4]",
        id="shards-not-counting",
    ),
    pytest.param(
        "Blueprint.Multi_Hop_Chain",
        ["a -> b", "b -> c"],
        "Blueprint.Multi_Hop_Chain",
        "Tuple should have at least 3 items after validation, not 2",
        id="two-hops",
    ),
    pytest.param(
        "Blueprint.Evaluator_Oracle_Context.Cultural_Taboos",
        [],
        "Blueprint.Evaluator_Oracle_Context.Cultural_Taboos",
        "Tuple should have at least 1 item after validation, not 0",
        id="no-taboo",
    ),
    pytest.param(
        "Blueprint.Public_Context.Hint",
        "pork",
        "Blueprint.Public_Context.Hint",
        "Extra inputs are not permitted",
        id="unknown-field",
    ),
]


@pytest.mark.parametrize(("path", "value", "where", "message"), BROKEN)
def test_a_broken_scenario_is_refused_with_place_and_reason(path: str, value: object, where: str, message: str) -> None:
    assert faults(put(raw_scenario(), path, value)) == [(where, message)]


def test_surrounding_space_is_no_part_of_a_text() -> None:
    made = scenario_of(put(raw_scenario(), "Blueprint.Public_Context.User_Goal", "  settle a bonus \n"))
    assert made.blueprint.public_context.user_goal == "settle a bonus"


def test_records_cannot_be_changed(scenario: Scenario) -> None:
    with pytest.raises(ValidationError, match="Instance is frozen"):
        scenario.seed.split = "train"  # type: ignore[misc]


@pytest.mark.parametrize("score", [0, 6, -1], ids=str)
def test_a_score_off_the_scale_is_no_judgement(score: int) -> None:
    with pytest.raises(ValidationError):
        judgement_of(Metric.HELPFUL, score)


@pytest.mark.parametrize(
    ("score", "failure"),
    [
        pytest.param(4, {"kind": FailureKind.UNPARSED, "detail": "x"}, id="both"),
        pytest.param(None, None, id="neither"),
    ],
)
def test_a_judgement_holds_a_score_or_a_failure(score: int | None, failure: dict[str, str] | None) -> None:
    with pytest.raises(ValidationError) as caught:
        judgement_of(Metric.HELPFUL, score, failure=failure)
    assert [fault["msg"] for fault in caught.value.errors()] == [
        "Value error, a judgement holds a score or a failure, and not both"
    ]


def test_a_judgement_survives_writing_and_reading() -> None:
    judged = judgement_of(
        Metric.HARMLESS, 1, tripwires_triggered=("says “பணம்”",), details={"cultural_missteps": ["a", "b"]}
    )
    assert Judgement.model_validate_json(judged.model_dump_json()) == judged


def test_an_episode_survives_writing_and_reading(scenario: Scenario) -> None:
    held = episode_of(scenario)
    assert Episode.model_validate_json(held.model_dump_json()) == held


def test_cleared_shards_are_counted_and_open_ones_are_not(scenario: Scenario) -> None:
    outcomes = (
        ShardOutcome(shard_id=1, outcome="CLEARED", turns=1),
        ShardOutcome(shard_id=2, outcome="CLEARED", turns=2),
        ShardOutcome(shard_id=3, outcome="OPEN", turns=5),
    )
    assert episode_of(scenario, shard_outcomes=outcomes).shards_cleared == 2


def test_only_errors_are_infrastructure() -> None:
    assert {reason.value for reason in TerminationReason if reason.is_infrastructure} == {
        "ASSISTANT_ERROR",
        "SIMULATOR_ERROR",
    }
