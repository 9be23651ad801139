"""What may share a table, in what the rest differs, and what runs were asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ccfw.records import Metric, SimulationMode
from ccfw.report.tables import SMALL_JUDGE
from ccfw.stages.comparable import alike, differs
from ccfw.stages.gathered import Gathered, Judged, legible
from ccfw.stages.judged import Folder, Manifest
from ccfw.store import Output
from ccfw.universe.seed_id import episode_id
from tests.report.boards import BOTH, outline
from tests.report.boards import alike as seeds_alike
from tests.samples import judgement_of

HERE, THERE = "http://127.0.0.1:8000/v1", "http://127.0.0.1:8001/v1"


def model(name: str = "referee", **changes: Any) -> dict[str, Any]:
    return {"provider_model": f"openai/{name}", "api_base": HERE, "size": "large", "max_output_tokens": 900} | changes


def content(**changes: Any) -> dict[str, Any]:
    """Return what decided judgements; ``episodes`` adds to the episodes' part."""
    episodes = {"dataset": "d", "mode": "eval", "model": model("amber"), "simulator": model(), "seed": 0}
    found = {"episodes": episodes, "member": model(), "prompts": "p", "rubric": "r", "judging": {}, "seed": 0}
    return found | changes | {"episodes": episodes | changes.get("episodes", {})}


def folder(found: dict[str, Any], member: str = "referee") -> Folder:
    manifest = {
        "model": "amber",
        "label": "Amber",
        "member": member,
        "fingerprint_of": found,
        "settings": {"prompt": {"version": "v1", "large": "paper", "small": "compact"}},
    }
    return Folder(Output(Path("nowhere")), Manifest.model_validate(manifest))


def gathered(*contents: dict[str, Any]) -> Gathered:
    runs = {
        f"e{number}": Judged("amber", "Amber", Output(Path("nowhere")), (folder(each),), "mean")
        for number, each in enumerate(contents)
    }
    return Gathered("referee", "mean", runs, {}, (), None)


def test_only_the_assistant_and_an_address_may_differ_within_a_table() -> None:
    same = alike(content())
    assert alike(content(episodes={"model": model("birch")})) == same
    assert alike(content(member=model(api_base=THERE), episodes={"simulator": model(api_base=None)})) == same
    others = [
        content(member=model("judge")),
        content(member=model(max_output_tokens=100)),
        content(prompts="q"),
        content(episodes={"simulator": model("user")}),
        content(episodes={"dataset": "other"}),
        content(episodes={"mode": "gold"}),
    ]
    assert len({same, *map(alike, others)}) == 1 + len(others)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"member": model("judge")}, "another judge (referee)"),
        ({"member": model(max_output_tokens=100)}, "other settings of the judge (referee: max_output_tokens)"),
        ({"episodes": {"simulator": model("user")}}, "another simulated user (openai/user)"),
        (
            {"episodes": {"simulator": model(size="small", api_base=THERE)}},
            "other settings of the simulated user (openai/referee: size)",
        ),
        ({"member": model(api_base=THERE), "prompts": "q"}, "other prompts of the judge"),
        ({"member": model(api_base=THERE)}, f"the same once more, the judge reached at {THERE}"),
        ({"episodes": {"dataset": "x", "mode": "gold"}}, "gold mode, other data"),
    ],
)
def test_a_break_names_what_differs_and_nothing_that_is_the_same(changes: dict[str, Any], text: str) -> None:
    assert differs(folder(content(**changes)), [content()]) == text


def test_a_model_reached_at_several_addresses_is_said() -> None:
    found = gathered(content(), content(member=model(api_base=THERE), episodes={"simulator": model(api_base=None)}))
    taken = "that it is the same model at all of them is taken on trust."
    assert found.cautions[1:] == (
        f"The judge openai/referee was reached at several addresses ({HERE}, {THERE}): {taken}",
        f"The simulated user openai/referee was reached at several addresses ({HERE}, its provider's own): {taken}",
    )
    elsewhere = gathered(content(), content(episodes={"model": model("birch", api_base=THERE)}))
    assert not [each for each in elsewhere.cautions if "was reached at" in each]


def test_a_small_judge_is_said_of_the_judge_that_is_shown() -> None:
    assert gathered(content(member=model(size="small"))).cautions == (SMALL_JUDGE,)
    assert gathered(content()).mode is SimulationMode.EVAL


# ---- what runs were asked for

SEEDS = [outline(40, identity="Tamil_Hindu"), *seeds_alike(5)]
IDS = [[episode_id(each.seed.seed_id, language) for language in BOTH] for each in SEEDS]


def run(folder: Path, held: list[str], broken: list[str], settings: object) -> Judged:
    """Return a run with some dialogues and what its manifest says; ``None``: none was written."""
    for name, ids in (("records", held), ("failures", broken)):
        (folder / f"{name}.jsonl").write_text("".join(f'{{"episode_id":"{each}"}}\n' for each in ids), "utf-8")
    if settings is not None:
        (folder / "manifest.json").write_text(json.dumps({"settings": settings}), "utf-8")
    return Judged("amber", "Amber", Output(folder), (), "mean")


def settings(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "trap": {"name": "all", "tiers": ["Standard_Implicit"]},
        "language": {"name": "english", "modes": ["global_english"]},
        "simulator": {"label": "Referee"},
        "seed": 0,
        "limit": None,
        "identity": None,
    }
    return fields | changes


def test_what_a_run_was_asked_for_is_what_its_line_chose_and_all_that_it_met(tmp_path: Path) -> None:
    judged = run(tmp_path, [IDS[1][1]], [IDS[2][1], IDS[1][1]], settings(identity=["Tamil_Hindu"]))
    assert judged.broken == {IDS[2][1]}
    assert gathered(content()).asked(judged, SEEDS) == {IDS[0][0], IDS[1][1], IDS[2][1]}


def test_a_limit_counts(tmp_path: Path) -> None:
    judged = run(tmp_path, [], [], settings(limit=3, language={"name": "both", "modes": [*BOTH]}))
    asked = gathered(content()).asked(judged, SEEDS)
    assert len(asked) == 6
    assert len({each.rpartition("__")[0] for each in asked}) == 3


@pytest.mark.parametrize("said", [None, {}, [], settings(limit="many")])
def test_without_a_word_of_it_only_what_was_met_counts(tmp_path: Path, said: object) -> None:
    assert gathered(content()).asked(run(tmp_path, [IDS[0][0]], [IDS[1][0]], said), SEEDS) == {IDS[0][0], IDS[1][0]}


def test_a_manifest_that_is_none_stops_nothing(tmp_path: Path) -> None:
    judged = run(tmp_path, [IDS[0][0]], [], None)
    (tmp_path / "manifest.json").write_text("{no", "utf-8")
    assert gathered(content()).asked(judged, SEEDS) == {IDS[0][0]}


# ---- what can be shown


def judged(root: Path, held: list[str], scored: dict[str, int], **changes: Any) -> Judged:
    """Return a run of which some dialogues are there, and some have a score of helpfulness."""
    found = folder(content(**changes))
    for name in ("simulate", "evaluate"):
        (root / name).mkdir(parents=True)
    lines = "".join(judgement_of(Metric.HELPFUL, s, episode_id=e).model_dump_json() + "\n" for e, s in scored.items())
    (root / "evaluate" / "records.jsonl").write_text(lines, "utf-8")
    (root / "simulate" / "records.jsonl").write_text("".join(f'{{"episode_id":"{each}"}}\n' for each in held), "utf-8")
    members = (Folder(Output(root / "evaluate"), found.manifest),)
    return Judged("amber", "Amber", Output(root / "simulate"), members, "mean")


def test_a_run_with_a_damaged_judgement_is_named_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good, bad = judged(tmp_path / "good", ["a"], {"a": 3}), judged(tmp_path / "bad", ["a"], {"a": 3})
    records = bad.members[0].output.records
    records.write_text(records.read_text("utf-8").replace('"score":3', '"score":9'), "utf-8")
    assert legible([bad, good]) == [good]
    reason = "not a Judgement record: score: Input should be less than or equal to 5"
    assert caplog.messages == [f"left out: Amber, judged by referee: {records}:1: {reason}"]


@pytest.mark.parametrize("stage", ["simulate", "evaluate"])
def test_a_folder_in_the_place_of_records_is_named_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, stage: str
) -> None:
    run = judged(tmp_path, ["a"], {"a": 3})
    records = tmp_path / stage / "records.jsonl"
    records.unlink()
    records.mkdir()
    assert legible([run]) == []
    assert caplog.messages == [f"left out: Amber, judged by referee: {records}: Is a directory"]


def test_a_run_whose_dialogues_are_gone_is_named_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = judged(tmp_path, [], {"a": 3, "b": 4})
    run.episodes.records.unlink()
    assert legible([run]) == []
    assert caplog.messages == [
        f"left out: Amber, judged by referee: {run.episodes.records}: the dialogues are not there"
    ]


def test_scores_of_dialogues_that_are_not_there_count_nowhere_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = judged(tmp_path, ["b", "d"], {"a": 3, "b": 4, "c": 5})
    assert legible([run]) == [run]
    assert (run.scores.episodes, run.scores.metrics[:, 0].tolist()) == (("b",), [4.0])
    assert caplog.messages == [
        f"{run.episodes.records}: 2 of the dialogues that were judged are not there; their scores are left out"
    ]


def test_what_nobody_judged_yet_is_shown(tmp_path: Path) -> None:
    run = judged(tmp_path, ["a"], {})
    assert legible([run]) == [run]


# ---- several settings of one model


def setting(name: str, mode: str = "eval", **changes: Any) -> Judged:
    """Return a run of one setting of Amber; ``name`` is its folder's."""
    found = folder(content(episodes={"mode": mode, "model": model("amber", **changes)}))
    return Judged("amber", "Amber", Output(Path(name)), (found,), "mean")


HIGH: dict[str, Any] = {"extra_body": {"reasoning_effort": "high"}}
LOW: dict[str, Any] = {"extra_body": {"reasoning_effort": "low"}}


def test_a_setting_has_one_name_in_both_modes_whatever_its_folders_are_called() -> None:
    found = {"1": setting("a", **LOW), "2": setting("b", **HIGH)}
    other = {"3": setting("c", "gold", **HIGH), "4": setting("d", "gold", **LOW)}
    both = Gathered("referee", "mean", found, other, (), None)
    assert [both.name(run) for run in (*found.values(), *other.values())] == [
        *("Amber (1)", "Amber (2)"),
        *("Amber (2)", "Amber (1)"),
    ]
    kinds = [both.kind(run) for run in (*found.values(), *other.values())]
    assert (kinds[:2], len({*kinds})) == (kinds[:1:-1], 2)
    assert [run.episodes.folder.name for run in both.ordered(reversed(found.values()))] == ["a", "b"]


def test_it_is_said_which_setting_a_number_is() -> None:
    both = Gathered("referee", "mean", {"1": setting("a", **LOW), "2": setting("b", **HIGH)}, {}, (), None)
    assert both.cautions == (
        "Several assistants are called Amber: Amber (1) has extra_body {reasoning_effort: low}; Amber (2) "
        "has extra_body {reasoning_effort: high}.",
    )


def test_two_models_of_one_label_are_told_apart() -> None:
    two = {"1": setting("a"), "2": setting("b", provider_model="openai/other")}
    found = Gathered("referee", "mean", two, {}, (), None)
    assert found.cautions == (
        "Several assistants are called Amber: Amber (1) has provider_model openai/amber; Amber (2) has "
        "provider_model openai/other.",
    )


def test_one_setting_whose_user_was_reached_at_two_addresses_is_two_runs() -> None:
    runs = {}
    for key, where in (("1", HERE), ("2", THERE)):
        found = folder(content(episodes={"model": model("amber"), "simulator": model(api_base=where)}))
        runs[key] = Judged("amber", "Amber", Output(Path(key)), (found,), "mean")
    both = Gathered("referee", "mean", runs, {}, (), None)
    assert [both.name(run) for run in runs.values()] == ["Amber (1)", "Amber (2)"]
    told = f"Amber (1) has api_base of the simulated user {HERE}; Amber (2) has api_base of the simulated user {THERE}."
    assert both.cautions[0] == f"Several assistants are called Amber: {told}"


def test_a_mode_at_another_address_is_the_same_assistant() -> None:
    blind = setting("a")
    gold = Judged("amber", "Amber", Output(Path("b")), (folder(GOLD_ELSEWHERE),), "mean")
    both = Gathered("referee", "mean", {"1": blind}, {"2": gold}, (), None)
    assert (both.kind(blind), both.name(gold), both.cautions) == (both.kind(gold), "Amber", ())


GOLD_ELSEWHERE = content(episodes={"mode": "gold", "model": model("amber"), "simulator": model(api_base=THERE)})


def test_without_a_run_the_job_has_none_of_its_own() -> None:
    first, second = setting("a", **LOW), setting("b", **HIGH)
    both = Gathered("referee", "mean", {"1": first, "2": second}, {"3": first}, (), "1")
    left = both.without([first])
    assert left is not None
    assert (dict(left.found), dict(left.counterpart), left.own, left.lead) == ({"2": second}, {}, None, second)
    assert left.name(second) == "Amber"
    assert both.without([first, second]) is None
