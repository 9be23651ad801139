"""What generator and auditor of stage *shards* are shown, and in which cases."""

from __future__ import annotations

from typing import Any

import pytest

from ccfw.authoring.blueprints import Filling, Native, assemble
from ccfw.authoring.shards import Script
from ccfw.authoring.shards import assemble as scenario_of
from ccfw.prompts import PromptSet
from ccfw.records import Blueprint, Region, Tier
from ccfw.resources import resource
from ccfw.stages.shard_author import audit_fields, generator_fields
from ccfw.universe.reading import read_universe
from tests.universe.replies import CHALLENGE, GOOD, NATIVE, SEED, SUMMARY, TEMPLATE
from tests.universe.shard_replies import GOOD_SHARDS

BLUEPRINT = assemble(Filling(GOOD), SEED, TEMPLATE, Native(NATIVE, SUMMARY), "auditor")
CATALOGUE = {"1_FOOD": ["Food_Gifts_and_Treating", "Markets"], "2_HOME": ["Neighbours"]}
GROUNDED = "This scenario rests on a taboo that the user does not know"
STYLES = ["paper", "compact", "joint", "shared_prefix"]


def changed(age: str = "18-34", **challenge: Any) -> Blueprint:
    """The same blueprint of another seed, whose name is not looked at."""
    persona = SEED.persona.model_copy(update={"age_cohort": age})
    update = {"persona": persona, "challenge_config": CHALLENGE.model_copy(update=challenge)}
    return BLUEPRINT.model_copy(update={"seed": SEED.model_copy(update=update)})


def asked(blueprint: Blueprint, *faults: str, style: str = "paper") -> tuple[str, str]:
    identity = read_universe(resource("data") / "universe").identity(Region.SG, "Chinese_Secular")
    fields = generator_fields(blueprint, identity, CATALOGUE, faults)
    system, user = PromptSet(resource("prompts"), f"v1/{style}").render("shards", fields)
    return system.content, user.content


def audited(blueprint: Blueprint) -> str:
    scenario = scenario_of(Script(GOOD_SHARDS), blueprint)
    return "\n".join(
        message.content
        for message in PromptSet(resource("prompts"), "v1/paper").render("shards_audit", audit_fields(scenario))
    )


def test_the_users_part_comes_in_the_papers_order() -> None:
    _, user = asked(BLUEPRINT, "Here: 'x'; wanted: y")
    heads = [line for line in user.splitlines() if line.startswith("## ")]
    assert heads == [
        "## Persona",
        "## Catalogue",
        "## Blueprint",
        "## What is asked for",
        "## What earlier versions got wrong",
    ]
    assert "- 1_FOOD: Food_Gifts_and_Treating, Markets" in user
    assert "This scenario's own subdomain is Food_Gifts_and_Treating." in user
    assert user.endswith("- Here: 'x'; wanted: y")
    assert "What earlier versions got wrong" not in asked(BLUEPRINT)[1]


def test_the_generator_sees_the_oracle_and_not_what_no_author_needs() -> None:
    _, user = asked(BLUEPRINT)
    for hidden in (*GOOD["Evaluator_Oracle_Context"]["Safety_Tripwires"], *GOOD["Multi_Hop_Chain"][:1]):
        assert hidden.split(" -> ")[0] in user
    assert '"Validation"' not in user
    assert "Slot_Definitions" not in user


@pytest.mark.parametrize(
    ("tier", "says"),
    [
        (Tier.STANDARD, "There is no trap here"),
        (Tier.CONTEXTUAL, "The trap is the situation"),
        (Tier.NORMATIVE, "The trap is a norm"),
    ],
    ids=str,
)
def test_each_tier_has_its_rule(tier: Tier, says: str) -> None:
    rules = ("There is no trap here", "The trap is the situation", "The trap is a norm")
    system, _ = asked(changed(challenge_type=tier))
    assert [rule for rule in rules if rule in system] == [says]


@pytest.mark.parametrize(
    ("age", "says"), [("18-34", "first posts"), ("35-54", "ageing parents"), ("55+", "the elder who is asked")]
)
def test_each_age_has_its_rule(age: str, says: str) -> None:
    system, _ = asked(changed(age))
    assert [rule for rule in ("first posts", "ageing parents", "the elder who is asked") if rule in system] == [says]


def test_taboos_and_borders_are_told_only_where_they_apply() -> None:
    both, _ = asked(BLUEPRINT)
    neither, _ = asked(changed(taboo_grounded=False, is_cross_cultural=False, secondary_region=None))
    assert GROUNDED in both
    assert "at home in Singapore and deals with China" in both
    assert GROUNDED not in neither
    assert "deals with" not in neither
    assert "shows no sign of knowing the taboo" in audited(BLUEPRINT)
    assert "shows no sign of knowing the taboo" not in audited(changed(taboo_grounded=False))


def test_the_auditor_sees_every_shard_by_its_number() -> None:
    seen = audited(BLUEPRINT)
    for number, shard in enumerate(GOOD_SHARDS["Simulation_Script"]["Interaction_Sequence"], 1):
        assert f'"Shard_ID": {number}, "Phase_Label": "{shard["Phase_Label"]}"' in seen


@pytest.mark.parametrize("style", STYLES)
def test_every_style_asks_in_the_same_words(style: str) -> None:
    assert asked(BLUEPRINT, style=style) == asked(BLUEPRINT)
