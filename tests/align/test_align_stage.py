"""Stage align as a user runs it: files in, figures out."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.align.files import long_csv, table
from tests.e2e.running import Run, ccfw

HUMANS = {
    ("d1", "helpful", "ann"): 4,
    ("d1", "helpful", "bo"): 4,
    ("d1", "helpful", "cy"): 3,
    ("d2", "helpful", "ann"): 2,
    ("d2", "helpful", "bo"): 5,
    ("d1", "honest", "ann"): 1,
    ("d1", "honest", "cy"): 3,
    ("d2", "honest", "ann"): 5,
    ("d2", "honest", "bo"): 5,
}
"""Consensus: d1 11/3, d2 7/2 helpful; d1 2, d2 5 honest."""
SCORES = {
    ("d1", "helpful", "gpt5mini"): 3,
    ("d2", "helpful", "gpt5mini"): 5,
    ("d1", "honest", "gpt5mini"): 2,
    ("d2", "honest", "gpt5mini"): "",
    ("d1", "helpful", "grok420"): 1,
    ("d2", "helpful", "grok420"): 5,
    ("d1", "honest", "grok420"): 2,
    ("d2", "honest", "grok420"): 4,
    ("d1", "helpful", "qwen36flash"): 4,
    ("d2", "helpful", "qwen36flash"): 2,
    ("d1", "honest", "qwen36flash"): 1,
    ("d2", "honest", "qwen36flash"): 3,
    ("d9", "honest", "qwen36flash"): 3,
}
FILES = (
    "ratings.path=r.csv",
    "ratings@align.scores=long",
    "align.scores.path=s.csv",
    "align.scores.columns.rater=judge",
    "bootstrap.resamples=50",
)


def write(folder: Path) -> None:
    long_csv(folder / "r.csv", HUMANS)
    long_csv(folder / "s.csv", SCORES, "judge")


def align(folder: Path, *more: str) -> Run:
    return ccfw(folder, "stage=align", *FILES, "tracking=none", *more)


def rows(run: Run) -> dict[tuple[str, str], dict[str, str]]:
    """Return the rows of agreement.csv by comparison and group."""
    path = run.folder / run.closings["align"]["out"] / "agreement.csv"
    found = csv.DictReader(path.read_text("utf-8").splitlines())
    return {(row["comparison"], f"{row['partition']}/{row['group']}"): row for row in found}


def figures(row: dict[str, str]) -> list[float]:
    return [float(row[name]) for name in ("within_one", "mae", "bias", "items", "missing")]


def content(run: Run) -> dict[str, Any]:
    path = run.folder / run.closings["align"]["out"] / "agreement.json"
    loaded: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return loaded


def test_a_judge_against_people(tmp_path: Path) -> None:
    write(tmp_path)
    run = align(tmp_path, "judge=gpt5mini")
    assert run.code == 0
    assert run.err[len("00:00:00 ") :] == "WARNING stage=align judge=gpt5mini: no score of gpt5mini: no score given 1\n"
    assert run.closings["align"] | {"out": ""} == {
        "stage": "align",
        "status": "ok",
        "done": 3,
        "failed": 0,
        "skipped": 0,
        "calls": 0,
        "cached": 0,
        "cost": "0.0000",
        "out": "",
    }
    found = rows(run)
    # 3 − 11/3, 5 − 7/2, 2 − 2
    whole = [2 / 3, (2 / 3 + 1.5) / 3, (-2 / 3 + 1.5) / 3, 3, 1]
    assert figures(found["judge_consensus", "all/all"]) == pytest.approx(whole, abs=1e-6)
    assert figures(found["judge_consensus", "metric/honest"]) == [1, 0, 0, 1, 1]
    # |4 − 4|, |4 − 3|, |4 − 3|, |2 − 5|, |1 − 3|, |5 − 5|
    assert figures(found["human_pairs", "all/all"])[:2] == pytest.approx([4 / 6, 7 / 6], abs=1e-6)
    assert content(run)["missing"] == {"gpt5mini": {"no score given": 1}}


def test_a_trio_is_the_mean_of_its_members_and_lacks_what_one_of_them_lacks(tmp_path: Path) -> None:
    write(tmp_path)
    run = align(tmp_path, "judge=trio_gpt5mini_grok420_qwen36flash")
    # 8/3 − 11/3, 4 − 7/2, 5/3 − 2: the first is exactly one away
    expected = [1, (1 + 0.5 + 1 / 3) / 3, (-1 + 0.5 - 1 / 3) / 3, 3, 1]
    assert figures(rows(run)["judge_consensus", "all/all"]) == pytest.approx(expected, abs=1e-6)
    assert content(run)["members"] == ["gpt5mini", "grok420", "qwen36flash"]


def test_a_judges_cost_is_that_of_its_members_or_unknown(tmp_path: Path) -> None:
    write(tmp_path)
    trio = "judge=trio_gpt5mini_grok420_qwen36flash"
    some = align(tmp_path, trio, "+align.costs={gpt5mini: 0.5, grok420: 0.25}")
    every = align(tmp_path, trio, "+align.costs={gpt5mini: 0.5, grok420: 0.25, qwen36flash: 1}")
    assert [content(run)["cost_usd"] for run in (some, every)] == [None, 1.75]


def test_the_same_line_again_gives_the_same_bytes_in_the_same_folder(tmp_path: Path) -> None:
    write(tmp_path)
    out = [align(tmp_path, "judge=grok420").closings["align"]["out"] for _ in range(1)]
    before = {path.name: path.read_bytes() for path in (tmp_path / out[0]).glob("agreement.*")}
    assert align(tmp_path, "judge=grok420").closings["align"]["out"] == out[0]
    assert {path.name: path.read_bytes() for path in (tmp_path / out[0]).glob("agreement.*")} == before
    assert set(before) == {"agreement.md", "agreement.csv", "agreement.json"}


@pytest.mark.long
def test_other_ratings_scores_rules_and_seeds_have_folders_of_their_own(tmp_path: Path) -> None:
    write(tmp_path)
    trio = "judge=trio_gpt5mini_grok420_qwen36flash"
    lines = [
        (trio,),
        (trio, "judge.aggregation=median"),
        (trio, "seed=1"),
        (trio, "bootstrap.resamples=51"),
        ("judge=grok420",),
    ]
    out = {align(tmp_path, *line).closings["align"]["out"] for line in lines}
    long_csv(tmp_path / "r.csv", HUMANS | {("d1", "helpful", "ann"): 5})
    out.add(align(tmp_path, trio).closings["align"]["out"])
    assert len(out) == len(lines) + 1


def test_a_dry_run_plans_no_call_and_writes_nothing(tmp_path: Path) -> None:
    long_csv(tmp_path / "r.csv", HUMANS)
    run = ccfw(tmp_path, "stage=align", "judge=gpt5mini", "ratings.path=r.csv", "dry_run=true")
    assert (run.code, run.err) == (0, "")
    assert run.out.endswith("align=0..0 calls=0..0\n")
    assert not (tmp_path / "workspace").exists()


def test_regions_metrics_and_people_may_be_named_as_they_please(tmp_path: Path) -> None:
    name = "[x](javascript:1)|**_`<b>\u202e$"
    people = [("d1", "ann", name, 4, name), ("d2", "ann", name, 2, "SG"), ("d1", "bo", name, 4, name)]
    (tmp_path / "r.csv").write_text(table("item rater metric score region", people), "utf-8")
    long_csv(tmp_path / "s.csv", {("d1", name, "gpt5mini"): 4, ("d2", name, "gpt5mini"): 4}, "judge")
    run = align(tmp_path, "judge=gpt5mini", "ratings.columns.region=region")
    assert (run.code, run.err) == (0, "")
    page = (tmp_path / run.closings["align"]["out"] / "agreement.md").read_text("utf-8")
    assert r"| [x\](javascript:1)\|\*\*\_\`\<b\>⟨U+202E⟩\$ |" in page
    assert name not in page
    named = {"metric/x_javascript_1___b/mae", "region/x_javascript_1___b/mae", "region/SG/mae"}
    assert named <= set(content(run)["metrics"])


def test_two_names_that_mlflow_would_take_for_one_stay_two(tmp_path: Path) -> None:
    long_csv(tmp_path / "r.csv", {("d", metric, "ann"): 3 for metric in ("a b", "a+b", "帮助", "诚实")})
    long_csv(tmp_path / "s.csv", {("d", metric, "gpt5mini"): 3 for metric in ("a b", "a+b", "帮助", "诚实")}, "judge")
    metrics = content(align(tmp_path, "judge=gpt5mini"))["metrics"]
    assert sorted(key for key in metrics if key.endswith("/mae") and key.startswith("metric/")) == [
        "metric/a_b/mae",
        "metric/a_b_2/mae",
        "metric/group/mae",
        "metric/group_2/mae",
    ]
