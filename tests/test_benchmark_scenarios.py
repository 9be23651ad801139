"""The measurement of scenarios from seeds: its author writes what passes, and its figures are as worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.author import Author, blueprint, shards
from benchmarks.scenarios import Looked, Ran, ids
from ccfw.authoring.blueprints import Filling, Native, assemble, read_filling, schema, validate
from ccfw.authoring.shards import Script, read_script
from ccfw.authoring.shards import assemble as scenario_of
from ccfw.authoring.shards import schema as shard_schema
from ccfw.checks.blueprint import TRANSLATED, check
from ccfw.checks.shards import check as check_shards
from ccfw.knowledge.files import read_taboos
from ccfw.prompts import PromptSet
from ccfw.resources import resource
from ccfw.stages.blueprint_author import _known
from ccfw.stages.briefing import generator_fields, translation_fields
from ccfw.stages.desk import NOTHING, Brief, Desk, shipped_passages
from ccfw.stages.shard_author import generator_fields as shard_fields
from ccfw.universe.reading import read_universe
from tests.universe.replies import SEED, TABOO
from tests.universe.shard_replies import GOOD_SHARDS

PROMPTS = PromptSet(resource("prompts"), "v1/paper")


@pytest.fixture(scope="module")
def brief() -> Brief:
    """A seed that crosses a border and rests on a taboo."""
    taboos = read_taboos(resource("data") / "knowledge" / "taboos")
    taboo = next(each for each in taboos if each.taboo_id == TABOO)
    desk = Desk(read_universe(resource("data") / "universe"), None, shipped_passages())
    return replace(desk.brief(SEED), evidence=replace(NOTHING, taboos=(taboo,)))


def test_what_the_author_writes_passes_every_check(brief: Brief) -> None:
    asked = PROMPTS.render("blueprint", generator_fields(brief, []))[-1].content
    form = schema(SEED, brief.template, [TABOO])
    filling = read_filling(json.dumps(blueprint(asked)), form)
    assert isinstance(filling, Filling)
    english = assemble(filling, SEED, brief.template, None, "auditor")
    assert validate(english, filling.rests_on, _known(brief)) == ()

    told = PROMPTS.render("translate", translation_fields(brief, english, []))[-1].content
    made = assemble(
        filling, SEED, brief.template, Native(**json.loads(Author("starter").writers["translate"](told))), "a"
    )
    assert check(made, TRANSLATED) == ()

    asked = PROMPTS.render("shards", shard_fields(made, brief.identity, {}, []))[-1].content
    script = read_script(json.dumps(shards(asked)), shard_schema(GOOD_SHARDS["Secondary_Subdomains"]))
    assert isinstance(script, Script)
    assert check_shards(scenario_of(script, made)) == ()


def test_no_two_requests_are_answered_alike(brief: Brief) -> None:
    asked = PROMPTS.render("blueprint", generator_fields(brief, []))[-1].content
    other = asked.replace('"Female"', '"Male"')
    messages = [blueprint(each)["Public_Context"]["Initial_User_Message"] for each in (asked, other)]
    assert messages[0] != messages[1]


def test_growth_is_the_slope_over_the_second_half_by_items() -> None:
    looks = [Looked(0, 10.0), Looked(100, 90.0), Looked(200, 100.0), Looked(300, 102.0), Looked(400, 104.0)]
    ran = Ran("shards", 200, calls=400, seconds=4.0, looks=looks)
    # 2 MB for 100 calls, two calls an item: 40 MB for 1,000
    assert ran.slope == pytest.approx(40.0)
    assert ran.rate == 50.0


def test_records_are_counted_as_often_as_they_stand_there(tmp_path: Path) -> None:
    folder = tmp_path / "workspace" / "universe" / "shards" / "0123"
    folder.mkdir(parents=True)
    (folder / "records.jsonl").write_text('{"seed_id":"a","tries":1}\n{"seed_id":"b","tries":1}\n{"seed_id":"a"}\n')
    assert list(ids(tmp_path, "shards")) == ["a", "b", "a"]
