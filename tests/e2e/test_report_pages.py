"""Stage *report* over several assistants, judges, modes and data: what compares and what stands apart."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import Shared
from tests.e2e.running import GOOD, Run, ccfw, files_under, own_options
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
            moved = ccfw(shutil.copytree(folder, folder / "moved"), *same, "stage=report", "dataset=starter")
        return Workspace(full, alone, moved)

    return shared("report_pages", make)


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
