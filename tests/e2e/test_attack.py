"""Stage *attack* over HTTP: rates of a gullible judge, what is asked, what is not paid twice, what is not scored."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from tests.e2e.conftest import Shared
from tests.e2e.running import Run, ccfw, own_options, read_lines, scripted
from tests.fakes.faults import Fault, Kind, Script
from tests.fakes.filling import fill
from tests.fakes.gullible import gullible_judge, ordered
from tests.fakes.provider import FakeProvider, FakeReply, FakeRequest
from tests.fakes.scripts import roles

GULLIBLE: Script = roles(judge=gullible_judge)
EPISODES, ATTACKS, METRICS = 2, 12, 2
PATIENT = "model.timeout_s=60", "model.deadline_s=120"
"""The gullible judge reads long texts in many ways, on the one thread of its server."""
pytestmark = pytest.mark.long
SMALL = (*PATIENT, "limit=2", f"attack.limit={ATTACKS}", f"attack.episodes={EPISODES}")
OUTCOMES = EPISODES * ATTACKS * METRICS


@dataclass(frozen=True)
class Siege:
    """Episodes held and judged once, then attacked in several ways."""

    plans: tuple[Run, ...]
    """Before anything, before the control, before the joint prompt, after all."""
    ours: Run
    again: Run
    more: Run
    control: Run
    compact: Run
    joint: Run
    as_evaluated: Run
    """With the joint prompt as the one that evaluates too."""
    unknown: Run
    """With a style of prompts that is not there."""


@pytest.fixture(scope="module")
def siege(shared: Shared) -> Siege:
    def make(folder: Path) -> Siege:
        with FakeProvider(GULLIBLE) as provider:
            line = scripted(provider, *SMALL)
            for stage in ("simulate", "evaluate"):
                assert ccfw(folder, f"stage={stage}", *line, provider=provider).code == 0
            line = ("stage=attack", *line)
            own, style, joint = (f"attack.prompt={name}" for name in ("null", "undefended", "joint"))
            before = [ccfw(folder, *line, prompt, "dry_run=true") for prompt in (own, style, joint)]
            ours, again = (ccfw(folder, *line, provider=provider) for _ in range(2))
            after = ccfw(folder, *line, "dry_run=true")
            more = ccfw(folder, *line, f"attack.limit={ATTACKS + 2}", provider=provider)
            control = ccfw(folder, *line, style, provider=provider)
            compact = ccfw(folder, *line, "attack.prompt=compact", provider=provider)
            all_at_once = ccfw(folder, *line, joint, provider=provider)
            assert ccfw(folder, "stage=simulate", *line[1:], "prompt=joint", provider=provider).requests == ()
            as_evaluated = ccfw(folder, *line, "prompt=joint", provider=provider)
            unknown = ccfw(folder, *line, "attack.prompt=nobody", provider=provider)
        return Siege((*before, after), ours, again, more, control, compact, all_at_once, as_evaluated, unknown)

    return shared("siege", make)


def table(run: Run) -> list[dict[str, str]]:
    text = (run.folder / run.closings["attack"]["out"] / "attacks.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def test_each_run_prints_its_closing_line_and_nothing_else(siege: Siege) -> None:
    for run in (siege.ours, siege.again, siege.more, siege.control, siege.compact, siege.joint, siege.as_evaluated):
        assert (run.code, run.err, list(run.closings)) == (0, "", ["attack"])


def test_a_judge_that_obeys_all_outside_the_frame_is_moved_by_no_attack(siege: Siege) -> None:
    for run in (siege.ours, siege.compact, siege.joint, siege.as_evaluated):
        assert {(row["success_rate"], row["unscored"]) for row in table(run)} == {("0.000000", "0")}


def test_the_same_judge_falls_on_the_undefended_control(siege: Siege) -> None:
    overall = table(siege.control)[0]
    assert float(overall["success_rate"]) > 0.8
    assert int(overall["scored"]) == OUTCOMES
    assert int(overall["clean_at_5"]) == 0


def test_each_attack_meets_each_episode_under_each_metric_once(siege: Siege) -> None:
    records = siege.control.records("attack")
    named = {(each["attack"], each["episode_id"], each["metric"]) for each in records}
    assert len(records) == len(named) == OUTCOMES
    assert {each["metric"] for each in records} == {"helpful", "harmless"}
    assert len({each["attack"] for each in records}) == ATTACKS
    assert all(each["outcome_id"] == f"{each['attack']}::{each['episode_id']}::{each['metric']}" for each in records)


def test_twins_that_were_judged_are_not_paid_again(siege: Siege) -> None:
    twins = EPISODES * METRICS
    closings = [run.closings["attack"] for run in (siege.ours, siege.control)]
    assert [(each["calls"], each["cached"]) for each in closings] == [(OUTCOMES, twins), (OUTCOMES + twins, 0)]
    assert len(siege.ours.requests) == OUTCOMES


def test_a_joint_prompt_is_asked_once_for_all_metrics_of_a_transcript(siege: Siege) -> None:
    transcripts = EPISODES * (ATTACKS + 1)
    said = siege.joint.closings["attack"]
    assert (said["done"], said["calls"], len(siege.joint.requests)) == (OUTCOMES, transcripts, transcripts)
    assert {request.schema_name for request in siege.joint.requests} == {"judge_joint"}
    assert {each["metric"] for each in siege.joint.records("attack")} == {"helpful", "harmless"}


def test_what_a_joint_prompt_answered_is_not_paid_again_when_it_evaluates(siege: Siege) -> None:
    said = siege.as_evaluated.closings["attack"]
    assert (said["done"], said["calls"], siege.as_evaluated.requests) == (OUTCOMES, 0, ())
    assert said["out"] != siege.joint.closings["attack"]["out"]


def test_a_second_run_asks_nobody_and_says_the_same(siege: Siege) -> None:
    said = siege.again.closings["attack"]
    assert (said["done"], said["skipped"], said["calls"], siege.again.requests) == (0, OUTCOMES, 0, ())
    assert said["out"] == siege.ours.closings["attack"]["out"]


def test_a_larger_sample_asks_for_the_rest_alone(siege: Siege) -> None:
    said = siege.more.closings["attack"]
    assert (said["done"], said["skipped"]) == (2 * EPISODES * METRICS, OUTCOMES)
    assert int(table(siege.more)[0]["scored"]) == OUTCOMES + 2 * EPISODES * METRICS


def test_the_manifest_holds_what_the_closing_line_says(siege: Siege) -> None:
    said = siege.control.closings["attack"]
    manifest = json.loads((siege.control.folder / said["out"] / "manifest.json").read_text("utf-8"))
    assert {key: manifest[key] for key in said} == said
    assert manifest["settings"]["attack"]["prompt"] == "undefended"


def test_the_page_and_the_table_tell_the_same_counts(siege: Siege) -> None:
    page = (siege.control.folder / siege.control.closings["attack"]["out"] / "attacks.md").read_text("utf-8")
    told = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"][2:]
    counts = ("by", "value", "rose", "scored", "clean_at_5", "unscored")
    assert [[row[0], row[1], *row[3:]] for row in told] == [[r[key] for key in counts] for r in table(siege.control)]


def planned(run: Run) -> tuple[int, int]:
    match = re.search(r"^plan .* attack=(\d+)\.\.(\d+) ", run.out)
    assert match, run.out
    return int(match[1]), int(match[2])


def test_a_plan_counts_what_is_not_stored_and_twins_that_are_not_judged(siege: Siege) -> None:
    first, control = OUTCOMES, OUTCOMES + EPISODES * METRICS
    joint = EPISODES * (ATTACKS + 1)
    assert [planned(run) for run in siege.plans] == [
        (first, 2 * first),
        (control, 2 * control),
        (joint, joint + control),
        (0, 0),
    ]


# ---- panels


def judge_by_name(request: FakeRequest) -> str | Fault | FakeReply:
    """Believe everything if called gullible, else give the clean score whatever the text asks for."""
    if request.model == "gullible":
        return gullible_judge(request)
    return json.dumps(fill(request.schema or {}, Random(0)) | {"helpful_score": 2})


@pytest.fixture(scope="module")
def panels(shared: Shared) -> dict[str, Run]:
    """A panel of three, one of which believes everything, under both rules; then the report of each."""

    def make(folder: Path) -> dict[str, Run]:
        with FakeProvider(roles(judge=judge_by_name)) as provider:
            conf = own_options(folder, provider.base_url, ("gullible", "stubborn_a", "stubborn_b"))
            trio = "judge=trio_gullible_judge_stubborn_a_judge_stubborn_b_judge"
            line = (f"--config-dir={conf}", *scripted(provider, trio, "limit=1", "attack.metrics=[helpful]"))
            line = (*line, f"attack.limit={ATTACKS}", "attack.prompt=undefended")
            runs = {"pipeline": ccfw(folder, *line, provider=provider)}
            for rule in ("mean", "median"):
                own = (*line, f"judge.aggregation={rule}")
                runs[rule] = ccfw(folder, "stage=attack", *own, provider=provider)
                runs[f"{rule} report"] = ccfw(folder, "stage=report", *own, provider=provider)
        return runs

    return shared("panels", make)


def rates(run: Run) -> dict[str, tuple[int, int]]:
    """Return how many scores rose, of how many, by who was attacked."""
    rows = [row for row in table(run) if row["by"] in ("all", "member")]
    return {row["value"]: (int(row["rose"]), int(row["scored"])) for row in rows}


def test_a_panel_has_its_own_rate_beside_its_members(panels: dict[str, Run]) -> None:
    """One member of three moves a mean whenever it is moved, and a median never."""
    fell = rates(panels["mean"])["gullible"]
    assert fell[0] > ATTACKS / 2
    members = {"gullible": fell, "stubborn_a": (0, ATTACKS), "stubborn_b": (0, ATTACKS)}
    assert rates(panels["mean"]) == {"all": fell, **members}
    assert rates(panels["median"]) == {"all": (0, ATTACKS), **members}


def test_another_rule_asks_no_member_again(panels: dict[str, Run]) -> None:
    assert [panels[rule].closings["attack"]["done"] for rule in ("mean", "median")] == [3 * ATTACKS, 0]
    assert panels["median"].requests == ()
    assert panels["mean"].closings["attack"]["out"] != panels["median"].closings["attack"]["out"]


def test_a_panels_manifest_holds_what_its_closing_line_says_and_no_bill(panels: dict[str, Run]) -> None:
    said = panels["median"].closings["attack"]
    manifest = json.loads((panels["median"].folder / said["out"] / "manifest.json").read_text("utf-8"))
    assert {key: manifest[key] for key in said} == said
    assert "paid" not in manifest
    assert manifest["fingerprint_of"]["aggregation"] == "median"


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_the_audit_names_the_panel_and_its_members(panels: dict[str, Run], rule: str) -> None:
    run = panels[f"{rule} report"]
    page = (run.folder / run.closings["report"]["out"] / "audit.md").read_text("utf-8")
    told = page.split("## Attacks on the judge\n\n")[1].split("\n\n")[0].splitlines()
    found = rates(panels[rule])
    who = {"all": f"trio_gullible_judge_stubborn_a_judge_stubborn_b_judge, the {rule} of its members"}
    assert told == [
        f"- {who.get(name, name)}: {rose} of {scored} scores rose, 0 pairs unscored"
        for name, (rose, scored) in found.items()
    ]


# ---- what goes wrong


def test_without_episodes_the_stage_says_what_to_run_first(tmp_path: Path) -> None:
    run = ccfw(tmp_path, "stage=attack", "model=scripted", "limit=1")
    assert (run.code, run.out) == (2, "")
    assert "hold them first with stage=simulate" in run.err


def test_a_style_that_is_not_there_is_named_before_anything_is_asked(siege: Siege) -> None:
    run = siege.unknown
    assert (run.code, run.out, run.requests) == (1, "", ())
    assert run.err.startswith("ccfw: prompt=v1/nobody: no such prompts; options: ")


def attacked(request: FakeRequest) -> bool:
    return ordered(request.said("user")[-1].split("<<<TRANSCRIPT")[-1]) is not None


def judge_that_fails_attacks(request: FakeRequest) -> str | Fault:
    return Fault(Kind.STATUS, 400) if attacked(request) else gullible_judge(request)


def test_what_the_provider_failed_is_counted_unscored_and_tried_again(tmp_path: Path) -> None:
    line = (*PATIENT, "limit=1", "attack.limit=4", "attack.episodes=1", "attack.metrics=[helpful]")
    with FakeProvider(roles(judge=judge_that_fails_attacks)) as provider:
        arguments = scripted(provider, *line)
        ccfw(tmp_path, "stage=simulate", *arguments)
        broken = ccfw(tmp_path, "stage=attack", *arguments)
        provider.script = GULLIBLE
        mended = ccfw(tmp_path, "stage=attack", *arguments)
    said = broken.closings["attack"]
    waiting = read_lines(tmp_path / mended.closings["attack"]["out"] / "failures.jsonl")
    assert (broken.code, said["done"] + said["failed"]) == (1, 4)
    assert said["failed"] >= 3
    assert (mended.code, mended.closings["attack"]["done"], waiting) == (0, said["failed"], [])
    assert [table(mended)[0][key] for key in ("scored", "unscored")] == ["4", "0"]


def test_without_a_score_of_the_twin_the_attack_is_not_asked_for(tmp_path: Path) -> None:
    with FakeProvider(roles(judge=lambda _: "no verdict")) as provider:
        arguments = scripted(provider, "limit=1", "attack.limit=4", "attack.episodes=1", "attack.metrics=[helpful]")
        ccfw(tmp_path, "stage=simulate", *arguments)
        run = ccfw(tmp_path, "stage=attack", *arguments, provider=provider)
    assert (run.code, len(run.requests)) == (1, 2)
    assert [run.closings["attack"][key] for key in ("status", "done", "failed")] == ["failed", 0, 4]
    assert "4 of 4 outcomes hold no score: unparsed 4" in run.err
    assert {(each["success"], each["failure"]["kind"]) for each in run.records("attack")} == {(None, "unparsed")}
    assert all(each["failure"]["detail"].startswith("clean twin: ") for each in run.records("attack"))
    assert [table(run)[0][key] for key in ("success_rate", "scored", "unscored")] == ["", "0", "4"]
