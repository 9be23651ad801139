"""Shards from replies: the form, what is attached, and each check with a reply that it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ccfw.authoring.blueprints import Filling, Native
from ccfw.authoring.blueprints import assemble as blueprint_of
from ccfw.authoring.shard_records import ShardRecord
from ccfw.authoring.shards import Script, assemble, read_script, schema
from ccfw.checks.issue import Issue
from ccfw.checks.shards import CHECKS, check
from ccfw.records import Scenario
from tests.samples import STARTER
from tests.universe.replies import GOOD, NATIVE, SEED, SUMMARY, TEMPLATE, text
from tests.universe.shard_replies import GOOD_SHARDS, SCRIPT, SHARD_FAULTS, spoilt_shards

OTHERS = ["Hosting_Visitors_and_Sightseeing", "Markets_and_Street_Food"]
FORM = schema(OTHERS)
BLUEPRINT = blueprint_of(Filling(GOOD), SEED, TEMPLATE, Native(NATIVE, SUMMARY), "auditor")


def script(changes: dict[str, Any] | None = None) -> Script:
    found = read_script(text(spoilt_shards(changes or {})), FORM)
    assert isinstance(found, Script)
    return found


def issues(changes: dict[str, Any]) -> tuple[Issue, ...]:
    found = read_script(text(spoilt_shards(changes)), FORM)
    return found if isinstance(found, tuple) else check(assemble(found, BLUEPRINT))


def test_good_shards_have_no_fault_and_are_numbered() -> None:
    made = assemble(script(), BLUEPRINT)
    assert check(made) == ()
    assert [shard.shard_id for shard in made.interaction_sequence] == [1, 2, 3]
    assert made.blueprint == BLUEPRINT
    assert made.interaction_sequence[1].phase_label == "What the cook said"


def test_every_check_has_a_fault_of_its_own() -> None:
    assert {each.__name__ for each in CHECKS} == set(SHARD_FAULTS) - {"schema"}


@pytest.mark.parametrize("name", SHARD_FAULTS)
def test_spoilt_shards_are_refused_by_their_check(name: str) -> None:
    assert name in [issue.check for issue in issues(SHARD_FAULTS[name])]


@pytest.mark.parametrize("path", sorted(STARTER.glob("*.json")), ids=lambda path: path.stem)
def test_the_shards_that_ship_have_no_fault(path: Any) -> None:
    assert check(Scenario.model_validate_json(path.read_text("utf-8"))) == ()


def test_what_the_host_knows_is_never_asked_for() -> None:
    asked = json.dumps(FORM)
    for key in ("Shard_ID", "Seed_ID", "Blueprint", "Persona", "Validation"):
        assert f'"{key}"' not in asked


@pytest.mark.parametrize(
    ("changes", "where", "was", "says"),
    [
        pytest.param({f"{SCRIPT}": []}, "Simulation_Script.Interaction_Sequence", "0 items", "3–5 items", id="none"),
        pytest.param(
            {f"{SCRIPT}.0.Transition_Guide.Success_Exit_Conditions": ["Says yes"]},
            "Simulation_Script.Interaction_Sequence[0].Transition_Guide.Success_Exit_Conditions",
            "1 items",
            "2–3 items",
            id="one-success",
        ),
        pytest.param(
            {f"{SCRIPT}.1.User_Instruction.Required_Signifier_Usage": list("abcde")},
            "Simulation_Script.Interaction_Sequence[1].User_Instruction.Required_Signifier_Usage",
            "5 items",
            "2–4 items",
            id="five-cues",
        ),
        pytest.param(
            {"Secondary_Subdomains": ["Food_Gifts"]},
            "Secondary_Subdomains[0]",
            "Food_Gifts",
            "one of Hosting_Visitors_and_Sightseeing, Markets_and_Street_Food",
            id="not-in-the-catalogue",
        ),
        pytest.param(
            {f"{SCRIPT}.2.Phase_Label": " "},
            "Simulation_Script.Interaction_Sequence[2].Phase_Label",
            " ",
            "a text that is not empty",
            id="blank",
        ),
    ],
)
def test_what_breaks_the_form_is_named(changes: dict[str, Any], where: str, was: str, says: str) -> None:
    assert issues(changes) == (Issue("schema", where, was, says),)


def test_a_subdomain_that_is_named_twice_counts_once() -> None:
    assert script({"Secondary_Subdomains": [OTHERS[1], OTHERS[0], OTHERS[1]]}).secondary_subdomains == (
        OTHERS[1],
        OTHERS[0],
    )


def test_a_record_holds_a_scenario_or_a_failure() -> None:
    made = ShardRecord(
        seed_id=SEED.seed_id,
        tries=1,
        history=(),
        failure=None,
        attempt=0,
        scenario=assemble(Script(GOOD_SHARDS), BLUEPRINT),
        secondary_subdomains=(),
    )
    with pytest.raises(ValueError, match="a scenario or a failure"):
        ShardRecord.model_validate(made.model_dump() | {"scenario": None})
