"""New templates: what is read of a reply, what is sent back, and the stage through the door."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from ccfw.authoring.templates import as_yaml_entry, read_templates, schema
from ccfw.knowledge.likeness import Likeness, library_likeness, spoken
from ccfw.records import Failure, FailureKind
from ccfw.resources import resource
from ccfw.universe.reading import read_universe, yaml_list
from ccfw.universe.records import LibraryTemplate
from tests.e2e.running import Run, ccfw, scripted
from tests.fakes.faults import UNAUTHORIZED
from tests.fakes.provider import FakeProvider
from tests.fakes.scripts import roles
from tests.fakes.wire import FakeRequest

IDS = ("TPL_CUL_DINE_11", "TPL_CUL_DINE_12")
WORDS = frozenset({"temple"})


def entry(
    text: str = "The user needs to choose {DISH} for {GUESTS}. {DEADLINE} is close.", **changes: Any
) -> dict[str, Any]:
    names = ("DISH", "GUESTS", "DEADLINE")
    return {
        "template_text": text,
        "slots": [{"name": name, "definition": f"what {name.lower()} it is"} for name in names],
        "potential_cultural_dimensions": ["who eats first", "what is avoided"],
        "multi_hop_potential": "Find who comes; find what they avoid; choose.",
        "applicable_trap_types": ["Friction_Contextual"],
        **changes,
    }


OTHER = entry("The user needs help with a broken {DISH} before {GUESTS} arrive. Shops close at {DEADLINE}.")


def read(*entries: dict[str, Any], existing: tuple[str, ...] = ()) -> tuple[LibraryTemplate, ...] | Failure:
    def repeated(texts: Sequence[str]) -> list[str | None]:
        known = [*existing, *texts]
        return [text if text in known[: len(existing) + at] else None for at, text in enumerate(texts)]

    return read_templates(json.dumps({"templates": entries}), IDS, repeated, WORDS)


def test_a_reply_that_keeps_the_rules_becomes_templates() -> None:
    found = read(entry(), OTHER)
    assert isinstance(found, tuple)
    assert [template.template_id for template in found] == list(IDS)
    assert found[0].slot_definitions == {
        "DISH": "what dish it is",
        "GUESTS": "what guests it is",
        "DEADLINE": "what deadline it is",
    }
    assert found[0].challenge_compatibility.trap_compatible


@pytest.mark.parametrize(
    ("entries", "kind", "detail"),
    [
        pytest.param((entry(),), FailureKind.INCOMPLETE, "1 templates instead of 2", id="too-few"),
        pytest.param(
            (entry("The user needs {DISH} at the temple for {GUESTS}. {DEADLINE} is close."), OTHER),
            FailureKind.INCONSISTENT,
            "template 1: culture-specific word: temple",
            id="culture",
        ),
        pytest.param(
            (entry(), entry()),
            FailureKind.INCONSISTENT,
            "template 2: the same situation as 'The user needs to choose {DISH} for {GUESTS}. {DEADLINE} is close.'",
            id="twice",
        ),
        pytest.param(
            (entry(slots=[{"name": "DISH", "definition": "a dish"}]), OTHER),
            FailureKind.INCONSISTENT,
            "template 1: slot DEADLINE is used and not defined; template 1: slot GUESTS is used and not defined",
            id="undefined",
        ),
        pytest.param(
            (entry(applicable_trap_types=["Trap"]), OTHER),
            FailureKind.INCONSISTENT,
            "template 1: challenge_compatibility.applicable_trap_types.0: Input should be 'Standard_Implicit', "
            "'Friction_Contextual' or 'Friction_Normative'",
            id="unknown-trap",
        ),
        pytest.param(
            (entry(slots="none"), OTHER),
            FailureKind.INCONSISTENT,
            "template 1: slot_definitions: Dictionary should have at least 1 item after validation, not 0",
            id="wrong-type",
        ),
    ],
)
def test_what_is_wrong_with_a_reply_is_said(
    entries: tuple[dict[str, Any], ...], kind: FailureKind, detail: str
) -> None:
    found = read(*entries)
    assert isinstance(found, Failure)
    assert (found.kind, found.detail) == (kind, detail)


def test_a_situation_that_the_library_has_is_not_taken_again() -> None:
    found = read(entry(), OTHER, existing=(OTHER["template_text"],))
    assert isinstance(found, Failure)
    assert found.detail == f"template 2: the same situation as {OTHER['template_text']!r}"


@pytest.fixture(scope="module")
def likeness() -> Likeness:
    return library_likeness(
        [template.template_text for template in read_universe(resource("data") / "universe").templates]
    )


def test_no_two_templates_of_the_library_tell_of_one_situation(likeness: Likeness) -> None:
    assert likeness.pairs() == []


def test_a_situation_in_other_words_is_still_the_same(likeness: Likeness) -> None:
    """Each rewording has a fifth of its words in common with what it rewords."""
    reworded = [
        "The user needs to agree with {FAMILY_B} on who pays what for {WEDDING}. About {SUM} will be spent, and {ITEM} "
        "is traditionally the duty of one side, though it is disputed.",
        "The user needs to gather contributions for {COWORKER}, who is in hospital with {ILLNESS}, and send a gift "
        "from {DEPARTMENT}. The ward takes no flowers. People disagree about {PRESENT} and whether {BOSS} should "
        "visit.",
        "The user needs a mechanic for {ENGINE} on a Sunday. {SPARE_PART} must come from {TOWN} by bus.",
        "The user needs {ENGINE} repaired on a Sunday by some mechanic, with {SPARE_PART} sent from {TOWN} by bus.",
    ]
    first, second, third, fourth = likeness.repeated(reworded)
    assert (first or "").startswith(
        "The user needs to divide the costs of {WEDDING} between {SIDE_ONE} and {SIDE_TWO}."
    )
    assert (second or "").startswith("The user needs to collect money for {COLLEAGUE}, in hospital for {TREATMENT},")
    assert third is None
    assert fourth == reworded[2]


def test_slots_are_compared_as_words() -> None:
    assert spoken("The user needs to feed {HOUSE_GUESTS}.") == "to feed house guests."


def test_the_schema_asks_for_so_many() -> None:
    templates = schema(7)["properties"]["templates"]
    assert (templates["minItems"], templates["maxItems"]) == (7, 7)


def test_what_is_written_is_read_by_the_library_whatever_its_words(tmp_path: Path) -> None:
    strange = entry('The user needs "{DISH}": a #list & {GUESTS}. - {DEADLINE} !!python/object is close.')
    found = read(strange, OTHER)
    assert isinstance(found, tuple)
    path = tmp_path / "t.yaml"
    path.write_text("".join(map(as_yaml_entry, found)), "utf-8")
    assert yaml_list(path, LibraryTemplate) == list(found)


# ---- through the door


ROOF = entry("The user needs a quote to mend {DISH} over a stall where {GUESTS} queue. Rain starts by {DEADLINE}.")
FORM = entry("The user needs two signatures on {DISH}, and {GUESTS} disagree about it. It closes {DEADLINE}.")


def sketches(request: FakeRequest) -> str:
    """Write two sketches; the first of a first reply breaks a rule."""
    first = ROOF
    if "An earlier reply was not accepted" not in request.said("user")[-1]:
        first = entry("Somebody wants {DISH} for {GUESTS}. {DEADLINE} is close.")
    return json.dumps({"templates": [first, FORM]})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    folder = tmp_path_factory.mktemp("templates")
    with FakeProvider(roles(other=sketches)) as provider:
        line = (*scripted(provider), "stage=templates", "subdomain=Communal_Dining_Etiquette", "templates.count=2")
        return ccfw(folder, *line, provider=provider), ccfw(folder, *line, provider=provider)


def test_new_templates_are_numbered_after_the_librarys_and_checked_like_them(made: tuple[Run, Run]) -> None:
    run = made[0]
    assert (run.code, run.closings["templates"]["status"], run.closings["templates"]["calls"]) == (0, "ok", 2)
    out = run.folder / run.closings["templates"]["out"]
    found = yaml.safe_load((out / "templates.yaml").read_text("utf-8"))
    assert [each["Template_ID"] for each in found] == ["TPL_CUL_DINE_11", "TPL_CUL_DINE_12"]


def test_the_generator_is_told_what_was_wrong_and_what_there_is(made: tuple[Run, Run]) -> None:
    first, second = made[0].requests
    library = read_universe(resource("data") / "universe").templates
    own = [template.template_text for template in library if template.template_id.startswith("TPL_CUL_DINE_")]
    assert all(text in first.said("user")[-1] for text in own)
    assert (
        "template 1: starts with ['Somebody', 'wants', '{DISH}'], not with 'The user needs'" in second.said("user")[-1]
    )


def test_the_same_line_again_asks_nobody(made: tuple[Run, Run]) -> None:
    assert (made[1].code, made[1].requests, made[1].closings["templates"]["skipped"]) == (0, (), 1)


def test_names_that_the_universe_lacks_are_refused(tmp_path: Path) -> None:
    run = ccfw(tmp_path, "stage=templates", "subdomain=Dinner", "dry_run=true")
    assert run.code == 2
    assert run.err.startswith("ccfw: subdomain=Dinner: no such subdomain; options: Communal_Dining_Etiquette, ")


def test_what_was_given_up_is_asked_for_anew_by_the_same_line(tmp_path: Path) -> None:
    replies = iter(["no templates", "none either", json.dumps({"templates": [ROOF, FORM]})])
    with FakeProvider(roles(other=lambda _: next(replies))) as provider:
        more = ("subdomain=Communal_Dining_Etiquette", "templates.count=2", "templates.tries=1")
        runs = [ccfw(tmp_path, *scripted(provider, "stage=templates", *more), provider=provider) for _ in range(4)]
    closings = [run.closings["templates"] for run in runs]
    assert [(each["failed"], each["done"], each["calls"], each["cached"]) for each in closings] == [
        (1, 0, 1, 0),
        (1, 0, 1, 0),
        (0, 1, 1, 0),
        (0, 0, 0, 0),
    ]
    (record,) = runs[3].records("templates")
    assert (record["attempt"], len(record["templates"])) == (2, 2)


def test_a_provider_that_failed_is_asked_the_same_again(tmp_path: Path) -> None:
    with FakeProvider(roles(other=lambda _: UNAUTHORIZED)) as provider:
        line = scripted(provider, "stage=templates", "subdomain=Communal_Dining_Etiquette")
        for _ in range(2):
            assert ccfw(tmp_path, *line, provider=provider).code == 1
    (path,) = tmp_path.glob("workspace/universe/templates/*/failures.jsonl")
    assert json.loads(path.read_text("utf-8"))["attempt"] == 0
