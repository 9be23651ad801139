"""Stage *report* over a workspace in which the same episodes were judged under several prompts."""

from __future__ import annotations

import csv
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ccfw.records import Metric
from ccfw.store import fingerprint
from tests.e2e.conftest import Shared
from tests.e2e.running import Run, ccfw, cost_of, read_lines, scripted
from tests.fakes.faults import Script
from tests.fakes.filling import fill
from tests.fakes.provider import FakeProvider, FakeReply, FakeRequest
from tests.fakes.scripts import TYPICALITY_LABELS, roles

pytestmark = pytest.mark.long
EPISODES = 2
PROMPTS = ("paper", "shared_prefix", "joint")
HELPFUL = {"paper": 3, "shared_prefix": 4, "joint": 5}
"""What the judge gives for helpfulness under each style; all else gets 3."""


def style_of(request: FakeRequest) -> str:
    if request.schema_name == "judge_joint":
        return "joint"
    return "shared_prefix" if "\n# Rubric\n" in request.said("user")[-1] else "paper"


def judge_by_style(request: FakeRequest) -> str:
    """Score by the style of the prompt; a joint reply says one thing and scores another in its typicality."""
    style, verdict = style_of(request), fill(request.schema or {}, Random(0))
    if style != "joint":
        return json.dumps(scored(verdict, HELPFUL[style]))
    parts = {name: scored(part, HELPFUL[style]) for name, part in verdict.items()}
    parts["cultural_typicality"] |= {"cultural_typicality": TYPICALITY_LABELS[1]}
    return json.dumps(parts)


def scored(verdict: dict[str, Any], helpful: int) -> dict[str, Any]:
    given = {name: helpful if name == "helpful_score" else 3 for name in verdict if name.endswith("_score")}
    label = {"cultural_typicality": TYPICALITY_LABELS[3]} if "cultural_typicality" in verdict else {}
    return verdict | given | label


SCRIPT: Script = roles(judge=judge_by_style)


@dataclass(frozen=True)
class Styles:
    """The pipeline under each style in one workspace, then reports over copies of it in which something is missing."""

    runs: dict[str, Run]
    damaged: Run
    """With folders whose manifests are none."""
    left_out: tuple[str, ...]
    poorer: Run
    """Without the ledger, with another answer in a dialogue of paper and a broken record of shared prefix."""


DAMAGED = {
    "0_no_json": b"{not JSON",
    "1_no_object": b"[]",
    "2_no_text": b"\xff\xfe",
    "3_deep": b"[" * 200_000,
    "4_of_something_else": b'{"comparable": 7, "name": "somebody else\'s"}',
    "5_empty": b"",
}


def damage(folder: Path, own: str) -> list[str]:
    """Put folders beside one of evaluate's whose manifests are no manifests, and return their names."""
    foreign = json.loads((folder / own / "manifest.json").read_text("utf-8")) | {"model": ["a", "b"]}
    contents = DAMAGED | {"6_foreign": json.dumps(foreign).encode()}
    for name, content in contents.items():
        path = folder / Path(own).parent / name / "manifest.json"
        path.parent.mkdir()
        path.write_bytes(content)
    return list(contents)


def part_from_the_others(workspace: Path, evaluated: str) -> Path:
    """Give a style dialogues of its own, as if its simulator's prompt were another; return their records."""
    path = workspace / evaluated / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    episodes = manifest["fingerprint_of"]["episodes"]
    shared = (workspace / evaluated).parent.parent / "simulate"
    own = shared / fingerprint(episodes | {"simulator_prompts": "another"})
    shutil.copytree(shared / fingerprint(episodes), own)
    episodes["simulator_prompts"] = "another"
    path.write_text(json.dumps(manifest), "utf-8")
    return own / "records.jsonl"


def change_an_answer(records: Path) -> None:
    first, *others = read_lines(records)
    first["turns"][0]["assistant"] = "something else"
    lines = [json.dumps(each, separators=(",", ":")) + "\n" for each in [first, *others]]  # as the program writes them
    records.write_text("".join(lines), "utf-8")


@pytest.fixture(scope="module")
def styles(shared: Shared) -> Styles:
    def make(folder: Path) -> Styles:
        with FakeProvider(SCRIPT) as provider:
            line = scripted(provider, f"limit={EPISODES}")
            runs = {style: ccfw(folder, *line, f"prompt={style}", provider=provider) for style in PROMPTS}
            evaluated = Path(runs["joint"].closings["evaluate"]["out"]).parent
            left_out = damage(shutil.copytree(folder, folder / "damaged"), runs["joint"].closings["evaluate"]["out"])
            stale = folder / "damaged" / runs["joint"].closings["report"]["out"] / "transcripts" / "99.txt"
            stale.write_text("of another report", "utf-8")
            damaged = ccfw(folder / "damaged", "stage=report", *line, "prompt=joint", provider=provider)
            poor = shutil.copytree(folder, folder / "poor", ignore=shutil.ignore_patterns("ledger.sqlite*", "damaged"))
            broken = poor / runs["shared_prefix"].closings["evaluate"]["out"] / "records.jsonl"
            broken.write_text(broken.read_text("utf-8") + "{}\n", "utf-8")
            change_an_answer(part_from_the_others(poor, runs["paper"].closings["evaluate"]["out"]))
            poorer = ccfw(poor, "stage=report", *line, "prompt=joint", provider=provider)
        return Styles(runs, damaged, tuple(str(evaluated / name / "manifest.json") for name in left_out), poorer)

    return shared("styles", make)


def table(run: Run, name: str) -> list[dict[str, str]]:
    text = (run.folder / run.closings["report"]["out"] / name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def pair(run: Run, first: str, second: str) -> dict[str, dict[str, str]]:
    rows = [row for row in table(run, "prompts.csv") if (row["first"], row["second"]) == (first, second)]
    return {row["metric"]: row for row in rows}


def numbers(row: dict[str, str], *names: str) -> list[float | None]:
    return [float(row[name]) if row[name] else None for name in names]


def test_every_style_is_asked_about_the_same_dialogues_which_are_held_once(styles: Styles) -> None:
    assert [run.code for run in styles.runs.values()] == [0, 0, 0]
    calls = [run.closings["simulate"]["calls"] for run in styles.runs.values()]
    assert (calls[0] > 0, calls[1:]) == (True, [0, 0])


def test_one_style_alone_has_nothing_to_be_compared_with(styles: Styles) -> None:
    first = styles.runs["paper"]
    page = (first.folder / first.closings["report"]["out"] / "audit.md").read_text("utf-8")
    assert "- nothing to compare: judge the same episodes once more with another prompt=…\n" in page


def test_each_two_styles_are_compared_the_jobs_own_first(styles: Styles) -> None:
    rows = table(styles.runs["joint"], "prompts.csv")
    assert list(dict.fromkeys((row["judge"], row["first"], row["second"]) for row in rows)) == [
        ("scripted", "v1/joint", "v1/paper"),
        ("scripted", "v1/joint", "v1/shared_prefix"),
        ("scripted", "v1/paper", "v1/shared_prefix"),
    ]
    assert [row["metric"] for row in rows] == [*(metric.value for metric in Metric), "all"] * 3


def test_scores_that_differ_and_scores_that_are_missing_are_told_apart(styles: Styles) -> None:
    """Joint gives helpfulness 5 against 3 and no typicality: in all an episode differs by -2 / 5."""
    found = pair(styles.runs["joint"], "v1/joint", "v1/paper")
    asked = ("both_scored", "equal", "within_1", "mean_distance", "difference", "no_score_first", "no_score_second")
    assert numbers(found["helpful"], *asked) == [2, 0, 0, 2, -2, 0, 0]
    assert numbers(found["honest"], *asked) == [2, 1, 1, 0, 0, 0, 0]
    assert numbers(found["cultural_typicality"], *asked) == [0, None, None, None, None, 1, 0]
    assert numbers(found["all"], *asked) == pytest.approx([10, 0.8, 0.8, 0.4, -0.4, 1 / 6, 0], abs=1e-6)


def test_a_difference_of_one_is_within_one(styles: Styles) -> None:
    """Shared prefix gives helpfulness 4 against 3: in all an episode differs by 1 / 6."""
    found = pair(styles.runs["joint"], "v1/paper", "v1/shared_prefix")
    asked = ("both_scored", "equal", "within_1", "mean_distance", "difference")
    assert numbers(found["helpful"], *asked) == [2, 0, 1, 1, 1]
    assert numbers(found["all"], *asked) == pytest.approx([12, 5 / 6, 1, 1 / 6, 1 / 6], abs=1e-6)


def test_costs_are_those_of_the_calls_that_the_provider_saw(styles: Styles) -> None:
    """Joint is one call an episode and one more for the typicality that could not be read."""
    found = {row["prompts"]: row for row in table(styles.runs["joint"], "prompt_costs.csv")}
    assert {style: numbers(row, "episodes", "calls") for style, row in found.items()} == {
        "v1/joint": [EPISODES, 2 * EPISODES],
        "v1/paper": [EPISODES, 6 * EPISODES],
        "v1/shared_prefix": [EPISODES, 6 * EPISODES],
    }
    for style, run in styles.runs.items():
        asked = run.asked("judge")
        usage = [FakeReply(str(SCRIPT(request))).completion(request)["usage"] for request in asked]
        tokens = [sum(each[name] for each in usage) for name in ("prompt_tokens", "completion_tokens")]
        row = found[f"v1/{style}"]
        assert numbers(row, "prompt_tokens", "reply_tokens") == tokens
        assert numbers(row, "usd_per_episode") == pytest.approx([cost_of(asked, SCRIPT) / EPISODES])
        assert row["cached_tokens"] == ""


def test_the_page_shows_the_same_comparison(styles: Styles) -> None:
    run = styles.runs["joint"]
    page = (run.folder / run.closings["report"]["out"] / "audit.md").read_text("utf-8")
    assert (
        "| scripted | v1/joint | v1/paper | helpful | 2 | 0 | 0 | 2.00 | -2.00 | 0 | 0 |\n"
        "| scripted | v1/joint | v1/paper | honest | 2 | 100 | 100 | 0.00 | +0.00 | 0 | 0 |\n"
    ) in page
    assert "| scripted | v1/joint | v1/paper | cultural typicality | 0 | – | – | – | – | 100 | 0 |\n" in page
    costs = r"^\| scripted \| v1/joint \| 2 \| 2\.0 \| \d+ \| unknown \| \d+ \| 0\.\d{6} \|$"
    assert re.search(costs, page, re.MULTILINE)


# ---- what is no manifest


def test_a_damaged_or_foreign_manifest_is_left_out_with_a_line_and_changes_no_table(styles: Styles) -> None:
    run, before = styles.damaged, styles.runs["joint"]
    assert (run.code, run.closings["report"]["status"]) == (0, "ok")
    assert run.closings["report"]["out"] == before.closings["report"]["out"]
    lines = [line.split(" ", 1)[1] for line in run.err.splitlines()]
    told = [line.split(": ", 1) for line in lines]
    assert [file for file, _ in told] == [f"WARNING {path}" for path in styles.left_out]
    reasons = dict(zip([*DAMAGED, "6_foreign"], (why for _, why in told), strict=True))
    assert all(why.startswith("left out, not a manifest of stage=evaluate: ") for why in reasons.values())
    assert reasons["1_no_object"].endswith(": Input should be an object")
    assert reasons["4_of_something_else"].endswith(": model Field required")
    assert reasons["6_foreign"].endswith(": model Input should be a valid string")


def test_a_report_keeps_no_file_that_it_did_not_write(styles: Styles) -> None:
    transcripts = styles.damaged.folder / styles.damaged.closings["report"]["out"] / "transcripts"
    assert [path.name for path in sorted(transcripts.iterdir())] == [f"{n + 1:02d}.txt" for n in range(EPISODES)]


# ---- what is not there any more


def test_without_the_ledger_costs_are_unknown_and_scores_are_not(styles: Styles) -> None:
    assert styles.poorer.code == 0
    costs = [list(row.values()) for row in table(styles.poorer, "prompt_costs.csv")]
    assert costs == [["scripted", "v1/joint", "2", *[""] * 6], ["scripted", "v1/paper", "1", *[""] * 6]]
    assert not (styles.poorer.folder / "workspace" / "ledger.sqlite").exists()


def test_a_dialogue_in_which_something_else_was_said_is_not_compared(styles: Styles) -> None:
    found = pair(styles.poorer, "v1/joint", "v1/paper")
    assert numbers(found["helpful"], "judged", "both_scored", "difference") == [1, 1, -2]
    assert numbers(found["all"], "judged", "both_scored", "difference") == pytest.approx([6, 5, -0.4])


def test_a_style_whose_records_cannot_be_read_is_left_out_with_a_line(styles: Styles) -> None:
    records = f"{styles.runs['shared_prefix'].closings['evaluate']['out']}/records.jsonl"
    [line] = styles.poorer.err.splitlines()
    told = line.split(" ", 1)[1]
    assert told.startswith(
        f"WARNING left out of the comparison of prompts: {records}:{6 * EPISODES + 1}: not a Judgement record: "
    )
    assert {row["second"] for row in table(styles.poorer, "prompts.csv")} == {"v1/paper"}
