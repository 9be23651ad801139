"""Stage *report* over several assistants, judges, modes and data: what compares and what stands apart."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ccfw.store import fingerprint
from tests.e2e.conftest import Shared
from tests.e2e.running import GOOD, Run, ccfw, files_under, own_options, read_lines
from tests.fakes.provider import FakeProvider
from tests.samples import ROOT

pytestmark = pytest.mark.long
LIMIT = 2


@dataclass(frozen=True)
class Workspace:
    """Two assistants under one judge, one of them in gold mode as well, under another judge and on other data."""

    full: Run
    """The report of the second assistant's own line."""
    alone: Run
    """``stage=report`` with the options that nobody ran."""
    moved: Run
    """The same over scenarios that are not those that were judged."""
    damaged: Run
    """The second assistant's line where the other judge's first judgement is none, the first assistant's dialogues in
    gold mode are gone, its others are no dialogues, and a manifest says something odd."""
    settings: Run
    """The first assistant's line where another setting of it has the highest scores in both modes."""

    def out(self, run: Run) -> Path:
        return run.folder / str(run.closings["report"]["out"])


@pytest.fixture(scope="module")
def workspace(shared: Shared) -> Workspace:
    def make(folder: Path) -> Workspace:
        for name, text in (("data", ""), ("changed", " Please.")):
            (folder / name).mkdir()
            for path in sorted((ROOT / "data" / "starter").glob("*.json"))[:LIMIT]:
                content = json.loads(path.read_text("utf-8"))
                content["Blueprint"]["Public_Context"]["User_Goal"] += text
                (folder / name / path.name).write_text(json.dumps(content), "utf-8")
        with FakeProvider(GOOD) as provider:
            conf = own_options(folder, provider.base_url, ("alpha", "beta"))
            same = (f"--config-dir={conf}", "tracking=none", "language=both", "report.shown=0", "dataset=files")

            def run(model: str, *more: str, judge: str = "beta_judge") -> Run:
                cast = (f"model={model}", "model@simulator=beta", f"judge={judge}", "dataset.path=data")
                done = ccfw(folder, *same, *cast, *more, provider=provider)
                assert done.code == 0, done.err
                return done

            quick = "report.page=false"
            run("alpha", quick)
            run("alpha", quick, "mode=gold")
            run("alpha", quick, judge="alpha_judge")
            run("alpha", quick, "dataset.path=changed")
            full = run("beta")
            alone = ccfw(folder, *same, "stage=report", "dataset.path=data")
            again = (*same, "stage=report", "model@simulator=beta", "judge=beta_judge", "dataset.path=data")
            bad = shutil.copytree(folder, folder / "bad")
            damage(bad)
            damaged = ccfw(bad, *again, "model=beta")
            more = shutil.copytree(folder, folder / "more", ignore=shutil.ignore_patterns("bad", "report"))
            for mode in ("eval", "gold"):
                set_otherwise(more, mode)
            logged = ("tracking=mlflow", "tracking.uri=sqlite:///mlflow.db", "tracking.artifacts=mlflow")
            settings = ccfw(more, *again, "model=alpha", *logged)
            moved = ccfw(shutil.copytree(folder, folder / "moved"), *same, "stage=report", "dataset=starter")
        return Workspace(full, alone, moved, damaged, settings)

    return shared("report_pages", make)


def of(root: Path, model: str, member: str, mode: str) -> tuple[Path, dict[str, Any]]:
    """Return the folder of *evaluate* of an assistant on the data, and its manifest."""
    found = []
    for path in sorted((root / "workspace" / "files" / "evaluate").glob("*/manifest.json")):
        manifest = json.loads(path.read_text("utf-8"))
        if (manifest["model"], manifest["member"], manifest["fingerprint_of"]["episodes"]["mode"]) == (
            *(model, member),
            mode,
        ):
            found.append((path.parent, manifest))
    return min(found, key=lambda each: each[1]["settings"]["dataset"]["path"] != "data")


def held_at(root: Path, manifest: dict[str, Any]) -> Path:
    return root / "workspace" / "files" / "simulate" / fingerprint(manifest["fingerprint_of"]["episodes"])


def damage(root: Path) -> None:
    records = of(root, "alpha", "alpha", "eval")[0] / "records.jsonl"
    records.write_text("garbage\n" + records.read_text("utf-8"), "utf-8")
    (held_at(root, of(root, "alpha", "beta", "gold")[1]) / "records.jsonl").unlink()
    dialogues = held_at(root, of(root, "alpha", "beta", "eval")[1]) / "records.jsonl"
    dialogues.write_text(dialogues.read_text("utf-8").replace('"shards_total":', '"total_shards":'), "utf-8")
    odd = of(root, "alpha", "beta", "eval")[1]
    odd["fingerprint_of"]["episodes"]["mode"] = "weird"
    path = root / "workspace" / "files" / "evaluate" / "odd" / "manifest.json"
    path.parent.mkdir()
    path.write_text(json.dumps(odd), "utf-8")


def set_otherwise(root: Path, mode: str) -> None:
    """Put another setting of the first assistant beside its own, with nothing but fives."""
    folder, manifest = of(root, "alpha", "beta", mode)
    held = held_at(root, manifest)
    manifest["fingerprint_of"]["episodes"]["model"]["extra_body"] = {"reasoning_effort": "high"}
    shutil.copytree(held, held_at(root, manifest))
    judged = shutil.copytree(folder, folder.with_name(fingerprint(manifest["fingerprint_of"])))
    (judged / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    lines = [each | {"score": 5} for each in read_lines(judged / "records.jsonl")]
    text = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines)
    (judged / "records.jsonl").write_text(text, "utf-8")


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "tables" / name).read_text("utf-8").splitlines()))


def test_everything_is_there_in_every_form(workspace: Workspace) -> None:
    out = workspace.out(workspace.full)
    found: dict[str, dict[str, set[str]]] = {"tables": {}, "figures": {}}
    for path in files_under(out):
        if path.parent.name in found:
            found[path.parent.name].setdefault(path.stem, set()).add(path.suffix)
    assert len(found["tables"]) >= 20
    assert all(ends == {".csv", ".md", ".tex"} for ends in found["tables"].values())
    assert len(found["figures"]) >= 12
    assert all(ends == {".svg", ".png", ".csv"} for ends in found["figures"].values())
    assert {"index.html", "summary.md", "table.md", "table.csv", "audit.md"} <= {p.name for p in out.iterdir()}


def test_only_what_differs_in_nothing_but_the_assistant_compares(workspace: Workspace) -> None:
    found = [
        (row["section"].removeprefix("Not comparable with the rows above: "), row["assistant"])
        for row in rows(workspace.out(workspace.full), "leaderboard.csv")
        if row["source"] == "own"
    ]
    assert sorted(found[:2]) == [("", "Alpha"), ("", "Beta")]
    assert found[2:] == [("another judge (alpha)", "Alpha"), ("gold mode", "Alpha"), ("other data", "Alpha")]


def test_both_modes_of_an_assistant_are_matched(workspace: Workspace) -> None:
    found = [row for row in rows(workspace.out(workspace.full), "gold_against_eval.csv") if row["assistant"] == "Alpha"]
    assert [(row["language"], row["matched"]) for row in found] == [
        ("English", str(LIMIT)),
        ("native language", str(LIMIT)),
        ("both languages", str(2 * LIMIT)),
    ]


def test_asked_for_alone_it_shows_what_is_there_and_says_that_it_is_not_the_jobs_own(workspace: Workspace) -> None:
    run = workspace.alone
    assert run.code == 0
    assert run.err[len("00:00:00 ") :] == (
        "WARNING no judgements of model=smollm2 by judge=smollm2 with these settings in workspace/files: the report is "
        "of those by judge beta\n"
    )
    own = [row["assistant"] for row in rows(workspace.out(run), "leaderboard.csv") if not row["section"]]
    assert sorted(own) == ["Alpha", "Beta"]
    assert (workspace.out(run) / "index.html").stat().st_size > 10_000


def test_where_other_datasets_were_judged_they_are_named(workspace: Workspace) -> None:
    run = workspace.moved
    assert (run.code, run.out) == (2, "")
    assert run.err == (
        "ccfw: stage=report: no judgements of model=smollm2 by judge=smollm2 with these settings in workspace/starter; "
        "judge first with stage=evaluate and otherwise the same line (other datasets that were judged: files)\n"
    )


def test_the_summary_names_the_judge_and_no_folder_of_this_machine(workspace: Workspace) -> None:
    summary = (workspace.out(workspace.full) / "summary.md").read_text("utf-8")
    assert summary.startswith("## files, judged by beta_judge\n")
    assert str(workspace.full.folder) not in summary


# ---- what is damaged


def test_what_cannot_be_read_is_named_and_left_out_and_the_rest_is_reported(workspace: Workspace) -> None:
    run = workspace.damaged
    assert run.code == 0, run.err
    told = [line.split(" ", 1)[1] for line in run.err.splitlines()]
    gold = held_at(Path(), of(run.folder, "alpha", "beta", "gold")[1])
    other = of(run.folder, "alpha", "alpha", "eval")[0].relative_to(run.folder)
    [alpha] = [line for line in told if "not a Episode record" in line]
    blind = held_at(Path(), of(run.folder, "alpha", "beta", "eval")[1])
    assert alpha.startswith(f"WARNING left out: Alpha, judged by beta: {blind}/records.jsonl: ")
    assert alpha.endswith("shards_total: Field required; total_shards: Extra inputs are not permitted")
    told.remove(alpha)
    no_manifest = "left out, not a manifest of stage=evaluate: fingerprint_of.episodes mode: Input should be 'eval' or"
    no_record = "not a Judgement record: Invalid JSON: expected value at line 1 column 1"
    assert sorted(told) == [
        f"WARNING left out: Alpha, judged by alpha: {other}/records.jsonl:1: {no_record}",
        f"WARNING left out: Alpha, judged by beta: {gold}/records.jsonl: the dialogues are not there",
        f"WARNING workspace/files/evaluate/odd/manifest.json: {no_manifest} 'gold'",
    ]
    sections = [row["section"] for row in rows(workspace.out(run), "leaderboard.csv") if row["source"] == "own"]
    assert sections == ["", "Not comparable with the rows above: other data"]
    assert not (workspace.out(run) / "tables" / "gold_against_eval.csv").exists()


# ---- several settings of one model


def test_mlflow_gets_the_jobs_own_setting_and_not_the_one_with_the_highest_scores(workspace: Workspace) -> None:
    run = workspace.settings
    assert run.code == 0, run.err
    table = list(csv.DictReader((workspace.out(run) / "table.csv").read_text("utf-8").splitlines()))
    own = {row["language"]: row for row in table if row["label"] == "Alpha (1)"}
    assert {row["3h"] for row in table if row["label"] == "Alpha (2)"} == {"5.000000"}
    with closing(sqlite3.connect(run.folder / "mlflow.db")) as connection:
        logged = connection.execute(
            "SELECT p.value, m.value FROM latest_metrics m JOIN params p USING (run_uuid) "
            "WHERE m.key = '3h' AND p.key = 'language'"
        ).fetchall()
    assert dict(logged) == pytest.approx({language: float(row["3h"]) for language, row in own.items()}, abs=1e-6)
    assert len(logged) == 2
    assert all(mean < 5 for _, mean in logged)


def test_each_setting_is_matched_with_itself_in_the_other_mode(workspace: Workspace) -> None:
    found = rows(workspace.out(workspace.settings), "gold_against_eval.csv")
    five = {(row["eval_3h"], row["gold_3h"]) for row in found if row["assistant"] == "Alpha (2)"}
    assert five == {("5.000000", "5.000000")}
    assert {row["assistant"] for row in found if row["source"] == "own"} == {"Alpha (1)", "Alpha (2)"}


def test_the_summary_says_which_setting_is_which(workspace: Workspace) -> None:
    summary = (workspace.out(workspace.settings) / "summary.md").read_text("utf-8")
    assert (
        "Several assistants are called Alpha: Alpha (1) has extra_body {}; Alpha (2) has extra_body "
        "{reasoning_effort: high}." in summary
    )


def test_reports_of_two_assistants_share_no_folder_and_no_transcript(workspace: Workspace) -> None:
    beta, alpha = (workspace.out(run) for run in (workspace.full, workspace.settings))
    assert beta.name != alpha.name
    for out, model in ((alpha, "alpha"), (beta, "beta")):
        texts = [path.read_text("utf-8") for path in sorted((out / "transcripts").iterdir())]
        assert len(texts) == 3
        assert all(f"\nassistant {model}, user beta, " in text for text in texts)
