"""The starter scenarios that the package ships: a small image of the whole universe, without a fault."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import yaml

from ccfw.checks import check_scenario
from ccfw.checks.blueprint import CHECKS, TRANSLATED, Supplied, check, niche_terms, taboo_grounding
from ccfw.knowledge.files import read_passages, read_taboos
from ccfw.records import Scenario, Tier
from ccfw.resources import resource
from ccfw.stages.desk import Desk, shipped_passages
from ccfw.universe.reading import read_universe
from ccfw.universe.records import Universe

FOLDER = resource("data") / "starter"
FILES = sorted(FOLDER.glob("*.json"))


def load(path: Path) -> Scenario:
    return Scenario.model_validate_json(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def starter() -> list[Scenario]:
    return [load(path) for path in FILES]


@pytest.fixture(scope="module")
def universe() -> Universe:
    return read_universe(resource("data") / "universe")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_starter_scenario_has_no_issue(path: Path) -> None:
    assert check_scenario(load(path)) == ()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_starter_file_is_named_after_its_seed(path: Path) -> None:
    assert load(path).seed.seed_id == path.stem


def test_every_identity_has_one_scenario(starter: list[Scenario], universe: Universe) -> None:
    identities = [(each.region, identity.code) for each in universe.regions for identity in each.identities]
    personas = [scenario.seed.persona for scenario in starter]
    assert sorted((persona.region, persona.identity) for persona in personas) == sorted(identities)


def test_tiers_ages_and_genders_are_balanced(starter: list[Scenario]) -> None:
    tiers = Counter(scenario.seed.challenge_config.challenge_type for scenario in starter)
    assert tiers == {Tier.STANDARD: 29, Tier.CONTEXTUAL: 15, Tier.NORMATIVE: 14}
    assert Counter(scenario.seed.persona.gender for scenario in starter) == {"Female": 29, "Male": 29}
    assert Counter(scenario.seed.persona.age_cohort for scenario in starter) == {"18-34": 20, "35-54": 19, "55+": 19}


def test_all_of_daily_life_is_covered(starter: list[Scenario], universe: Universe) -> None:
    templates = [scenario.blueprint.scenario_instantiation.parent_template for scenario in starter]
    assert {template.subdomain for template in templates} == {s.name for d in universe.domains for s in d.subdomains}
    assert len({template.template_id for template in templates}) == 58
    challenges = [scenario.seed.challenge_config for scenario in starter]
    assert sum(challenge.is_cross_cultural for challenge in challenges) == 13
    assert sum(challenge.taboo_grounded for challenge in challenges) == 12
    assert {len(scenario.interaction_sequence) for scenario in starter} == {3, 4, 5}


def test_no_two_scenarios_open_alike(starter: list[Scenario]) -> None:
    openings = Counter(
        " ".join(scenario.blueprint.public_context.initial_user_message.global_english.lower().split()[:3])
        for scenario in starter
    )
    assert [words for words, times in openings.items() if times > 1] == []


def test_each_scenario_rests_on_what_the_knowledge_says_of_its_regions(starter: list[Scenario]) -> None:
    knowledge = resource("data") / "knowledge"
    passages = {each.passage_id: each.region for each in read_passages(knowledge / "passages")}
    taboos = {each.taboo_id: each for each in read_taboos(knowledge / "taboos")}
    sources = yaml.safe_load((FOLDER / "sources.yaml").read_text("utf-8"))
    assert list(sources) == [scenario.seed.seed_id for scenario in starter]
    for scenario in starter:
        challenge, named = scenario.seed.challenge_config, sources[scenario.seed.seed_id]
        regions = {scenario.seed.persona.region, challenge.secondary_region}
        entries = [taboos[name] for name in named.get("taboos", [])]
        cited = [*(passages[name] for name in named.get("passages", [])), *(entry.region for entry in entries)]
        assert cited
        assert set(cited) <= regions
        supplied = [Supplied(each.taboo_id, f"{each.action}. {each.detailed_explanation}") for each in entries]
        ids = [each.taboo_id for each in supplied]
        assert list(taboo_grounding(scenario.blueprint, ids, supplied)) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_starter_blueprint_would_pass_its_own_stage(path: Path) -> None:
    assert check(load(path).blueprint, (*CHECKS, *TRANSLATED)) == ()


def test_no_starter_message_needs_two_niche_terms(starter: list[Scenario], universe: Universe) -> None:
    desk = Desk(universe, None, shipped_passages())
    known = {each.seed.seed_id: desk.brief(each.seed).niche_terms for each in starter}
    assert min(map(len, known.values())) > 50
    issues = [issue for each in starter for issue in niche_terms(each.blueprint, known[each.seed.seed_id])]
    assert issues == []
