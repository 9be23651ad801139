"""What each role of stage *blueprints* is shown: its own view, and sections only where they apply."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ccfw.authoring.blueprints import Filling, assemble
from ccfw.knowledge.files import read_taboos
from ccfw.knowledge.records import Taboo
from ccfw.prompts import PromptSet
from ccfw.records import Message, Seed
from ccfw.resources import resource
from ccfw.stages.briefing import audit_fields, generator_fields, translation_fields
from ccfw.stages.desk import NOTHING, Brief, Desk, shipped_passages
from ccfw.universe.reading import read_universe
from tests.universe.replies import CHALLENGE, GOOD, SEED, TABOO, TEMPLATE

BORDER, RECORD = "## This one crosses a border", "## This one rests on a taboo"


@pytest.fixture(scope="module")
def desk() -> Desk:
    return Desk(read_universe(resource("data") / "universe"), None, shipped_passages())


@pytest.fixture(scope="module")
def taboo() -> Taboo:
    found = read_taboos(resource("data") / "knowledge" / "taboos")
    return next(each for each in found if each.taboo_id == TABOO)


@pytest.fixture(scope="module")
def prompts() -> PromptSet:
    return PromptSet(resource("prompts"), "v1/paper")


def plain(brief: Brief) -> Brief:
    """The same seed at home and without a taboo."""
    challenge = CHALLENGE.model_copy(
        update={"is_cross_cultural": False, "secondary_region": None, "taboo_grounded": False}
    )
    return replace(brief, seed=Seed.model_construct(**dict(SEED) | {"challenge_config": challenge}))


def asked(prompts: PromptSet, brief: Brief, *faults: str) -> list[Message]:
    return list(prompts.render("blueprint", generator_fields(brief, faults)))


def test_the_users_part_comes_in_the_papers_order(desk: Desk, taboo: Taboo, prompts: PromptSet) -> None:
    brief = replace(desk.brief(SEED), evidence=replace(NOTHING, taboos=(taboo,)))
    _, user = asked(prompts, brief, "Here: 'x'; wanted: y")
    heads = [line for line in user.content.splitlines() if line.startswith("## ")]
    assert heads == [
        "## Seed",
        "## Language",
        "## Subdomain",
        "## Sketch",
        "## What is asked for",
        "## How the message opens",
        "## Taboos on record",
        "## What earlier versions got wrong",
    ]
    assert TEMPLATE.template_text in user.content
    assert "- asks around: " in user.content
    assert "- has tried already: " in user.content
    assert "SG_001: Taboo [SG] food_and_drink: Treating" in user.content
    assert user.content.endswith("- Here: 'x'; wanted: y")


def test_sections_on_borders_and_taboos_are_there_only_where_they_apply(
    desk: Desk, taboo: Taboo, prompts: PromptSet
) -> None:
    brief = desk.brief(SEED)
    both = "\n".join(m.content for m in asked(prompts, replace(brief, evidence=replace(NOTHING, taboos=(taboo,)))))
    neither = "\n".join(m.content for m in asked(prompts, plain(brief)))
    assert BORDER in both
    assert RECORD in both
    assert '"Rests_On"' in both
    for absent in (BORDER, RECORD, "Rests_On", "## Taboos on record", "## Evidence", "got wrong"):
        assert absent not in neither


def test_a_seed_that_rests_on_a_taboo_and_has_none_is_unfounded(desk: Desk, taboo: Taboo) -> None:
    brief = desk.brief(SEED)
    assert brief.unfounded
    assert not plain(brief).unfounded
    assert not replace(brief, evidence=replace(NOTHING, taboos=(taboo,))).unfounded


def test_plain_english_is_no_niche_term(desk: Desk) -> None:
    terms = desk.brief(SEED).niche_terms
    assert "ang bao" in terms
    assert "qian" in terms
    assert "sungkai" not in terms  # of Brunei, which the seed does not touch
    everything = {term.term for passage in desk.passages for term in passage.niche_terms}
    assert "Father" in everything
    assert not any("Father" in found for found in desk._terms.values())


def test_the_auditor_sees_the_whole_and_the_translator_nothing_hidden(desk: Desk, prompts: PromptSet) -> None:
    brief, filling = desk.brief(SEED), Filling(GOOD)
    audit = "\n".join(m.content for m in prompts.render("blueprint_audit", audit_fields(brief, filling)))
    made = assemble(filling, SEED, TEMPLATE, None, "auditor")
    fields = translation_fields(brief, made, ["too long"])
    told = "\n".join(m.content for m in prompts.render("translate", fields))
    oracle = GOOD["Evaluator_Oracle_Context"]
    for hidden in (*oracle["Safety_Tripwires"], *oracle["Cultural_Taboos"], *oracle["Success_Criteria"]):
        assert hidden in audit
        assert hidden not in told
    assert "Without China there would be nothing to ask" in audit
    assert "shows no sign of knowing the taboo" in audit
    assert "- too long" in told
