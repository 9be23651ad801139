"""Judges' scores as stage evaluate stored them: no model is called, regions come from the scenarios."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.align.files import table
from tests.e2e.running import Run, ccfw, own_options, read_lines
from tests.fakes.provider import FakeProvider, FakeRequest
from tests.fakes.scripts import play_judge, roles

JUDGES = ("one", "three", "two")


def sometimes_mute(request: FakeRequest) -> str:
    """Judge, but for model two's harmlessness, which is no JSON."""
    mute = request.model == "two" and request.schema_name == "judge_harmless"
    return "no idea" if mute else play_judge(request)


@dataclass(frozen=True)
class Judged:
    """A workspace with episodes by one model and judgements by three, and ratings of half of them."""

    folder: Path
    aligned: dict[str, Run]
    panel: Run
    scores: dict[str, dict[tuple[str, str], int | None]]
    humans: dict[tuple[str, str, str], int]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder = tmp_path_factory.mktemp("judged")
    with FakeProvider(roles(judge=sometimes_mute)) as provider:
        conf = own_options(folder, provider.base_url, JUDGES)
        quiet = ("limit=4", "tracking=none", "report.shown=0")
        cast = (f"--config-dir={conf}", "model=one", "model@simulator=one", *quiet)
        assert ccfw(folder, *cast, "stage=simulate", provider=provider).code == 0
        scores: dict[str, dict[tuple[str, str], int | None]] = {}
        for name in JUDGES:
            run = ccfw(folder, *cast, "stage=evaluate", f"judge={name}_judge", provider=provider)
            scores[name] = {(row["episode_id"], row["metric"]): row["score"] for row in run.records("evaluate")}
        episodes = sorted({episode for episode, _ in scores["one"]})
        humans = {
            (episode, metric, rater): 1 + (number + len(metric) + len(rater)) % 5
            for number, episode in enumerate(episodes[:2])
            for metric in ("helpful", "harmless")
            for rater in ("ann", "bob_b")
        }
        rows = [(episode, rater, metric, score) for (episode, metric, rater), score in humans.items()]
        (folder / "r.csv").write_text(table("item rater metric score", rows), "utf-8")
        files = ("ratings.path=r.csv", "bootstrap.resamples=50")
        names = (*(f"{name}_judge" for name in JUDGES), "trio_one_judge_three_judge_two_judge")
        aligned = {
            name: ccfw(folder, *cast, *files, "stage=align", f"judge={name}", provider=provider) for name in names
        }
        panel = ccfw(folder, *cast, *files, "stage=panel", "panel.folds=2", "panel.published=false", provider=provider)
    return Judged(folder, aligned, panel, scores, humans)


def content(judged: Judged, judge: str) -> dict[str, Any]:
    out = judged.folder / judged.aligned[judge].closings["align"]["out"]
    loaded: dict[str, Any] = json.loads((out / "agreement.json").read_text("utf-8"))
    return loaded


def expected(judged: Judged, *members: str) -> list[float]:
    """Return judge minus consensus of every item that all members scored."""
    apart = []
    for key in dict.fromkeys((episode, metric) for episode, metric, _ in judged.humans):
        people = [score for (episode, metric, _), score in judged.humans.items() if (episode, metric) == key]
        scores = [judged.scores[member][key] for member in members]
        if None not in scores:
            apart.append(fmean(score or 0 for score in scores) - fmean(people))
    return apart


@pytest.mark.parametrize(
    ("judge", "members"),
    [("one_judge", ("one",)), ("two_judge", ("two",)), ("trio_one_judge_three_judge_two_judge", JUDGES)],
)
def test_figures_are_those_of_the_stored_judgements(judged: Judged, judge: str, members: tuple[str, ...]) -> None:
    run, apart = judged.aligned[judge], expected(judged, *members)
    assert (run.code, run.requests) == (0, ())
    metrics = content(judged, judge)["metrics"]
    assert metrics["mae"] == pytest.approx(fmean(map(abs, apart)))
    assert metrics["bias"] == pytest.approx(fmean(apart))
    assert metrics["items"] == len(apart)


def test_a_judgement_that_could_not_be_read_is_missing_with_its_reason(judged: Judged) -> None:
    assert content(judged, "two_judge")["missing"] == {"two": {"unparsed": 2}}
    warned = judged.aligned["two_judge"].err[len("00:00:00 ") :]
    assert warned == "WARNING stage=align judge=two_judge: no score of two: unparsed 2\n"


def test_regions_are_those_of_the_scenarios(judged: Judged) -> None:
    episodes = {episode for episode, _, _ in judged.humans}
    named = {key.split("/")[1] for key in content(judged, "one_judge")["association"] if key.startswith("region/")}
    assert named == {episode[:2] for episode in episodes}


def test_what_judging_cost_is_the_judges_cost(judged: Judged) -> None:
    out = [path.parent for path in judged.folder.glob("workspace/starter/evaluate/*/manifest.json")]
    costs = {}
    for path in out:
        manifest = json.loads((path / "manifest.json").read_text("utf-8"))
        costs[manifest["member"]] = manifest["paid"]["usd"] / len(read_lines(path / "records.jsonl"))
    assert content(judged, "one_judge")["cost_usd"] == pytest.approx(costs["one"])
    assert content(judged, "trio_one_judge_three_judge_two_judge")["cost_usd"] == pytest.approx(sum(costs.values()))


def test_the_panel_takes_every_judge_of_the_workspace_and_infers_over_what_nobody_rated(judged: Judged) -> None:
    assert (judged.panel.code, judged.panel.requests) == (0, ())
    out = judged.folder / judged.panel.closings["panel"]["out"]
    rows = list(csv.DictReader((out / "panels.csv").read_text("utf-8").splitlines()))
    whole = {row["name"]: row for row in rows if row["partition"] == "all"}
    assert set(whole) == {*JUDGES, "one+three+two"}
    for name, row in whole.items():
        assert float(row["mae"]) == pytest.approx(fmean(map(abs, expected(judged, *name.split("+")))), abs=1e-6)
    assert "## Mean human rating over all judged items" in (out / "panel.md").read_text("utf-8")


def test_the_same_judge_of_other_episodes_is_not_taken(judged: Judged) -> None:
    conf = judged.folder / "my conf"
    cast = (f"--config-dir={conf}", "model=two", "model@simulator=one", "limit=4", "tracking=none", "report.shown=0")
    run = ccfw(judged.folder, *cast, "stage=panel", "ratings.path=r.csv")
    assert run.code == 2
    assert run.err == (
        "ccfw: stage=panel: no judgements of model=two with these settings in workspace/starter; judge first with "
        "stage=evaluate, or give a file of scores: ratings@align.scores=…\n"
    )
