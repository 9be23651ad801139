"""The starter scenarios that the package ships: a small image of the whole universe, without a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from ccfw.checks import check_scenario
from ccfw.records import Region, Scenario, Tier

FILES = sorted((Path(__file__).parents[2] / "data" / "starter").glob("*.json"))


def load(path: Path) -> Scenario:
    return Scenario.model_validate_json(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def starter() -> list[Scenario]:
    return [load(path) for path in FILES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_starter_scenario_has_no_issue(path: Path) -> None:
    assert check_scenario(load(path)) == ()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_starter_file_is_named_after_its_seed(path: Path) -> None:
    assert load(path).seed.seed_id == path.stem


def test_starter_spans_the_universe(starter: list[Scenario]) -> None:
    assert len(starter) >= 12
    assert {scenario.seed.persona.region for scenario in starter} == set(Region)
    assert {scenario.seed.challenge_config.challenge_type for scenario in starter} == set(Tier)
    assert len({scenario.blueprint.scenario_instantiation.parent_template.domain for scenario in starter}) >= 5
    assert sum(scenario.seed.challenge_config.is_cross_cultural for scenario in starter) >= 2
    assert all(3 <= len(scenario.interaction_sequence) <= 5 for scenario in starter)
