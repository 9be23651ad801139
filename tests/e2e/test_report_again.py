"""A report that is built again after more was run: what it counts, what compares, and what MLflow is told."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Shared
from tests.e2e.running import GOOD, Run, ccfw, own_options
from tests.fakes.provider import FakeProvider

pytestmark = pytest.mark.long
LIMIT = 10
TRACES = 3


@dataclass(frozen=True)
class Again:
    """Alpha's job; then Beta's, its judge and simulated user at another address; then reports of Alpha."""

    first: Run
    traced: dict[str, int]
    """Rows of MLflow's tables after the first job."""
    other: Run
    again: Run
    """Alpha's line again, over a workspace that has grown."""
    traced_again: dict[str, int]
    alone: Run
    """``stage=report`` without a limit, by another judge than any that was asked."""


def tables(folder: Path) -> dict[str, int]:
    with closing(sqlite3.connect(folder / "mlflow.db")) as connection:
        names = ("runs", "trace_info", "assessments")
        return {name: connection.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in names}


@pytest.fixture(scope="module")
def again(shared: Shared) -> Again:
    def make(folder: Path) -> Again:
        def run(conf: Path, *more: str, tracking: str = "none") -> Run:
            options = (f"--config-dir={conf.relative_to(folder)}", "report.shown=0", f"tracking={tracking}")
            where = () if tracking == "none" else ("tracking.uri=sqlite:///mlflow.db",)
            done = ccfw(folder, *options, *where, *more)
            assert done.code == 0, done.err
            return done

        cast = ("model@simulator=referee", "judge=referee_judge", f"limit={LIMIT}")
        alpha = ("model=alpha", *cast, f"report.traces={TRACES}")
        with FakeProvider(GOOD) as here, FakeProvider(GOOD) as there:
            (folder / "one").mkdir()
            (folder / "two").mkdir()
            one = own_options(folder / "one", here.base_url, ("alpha", "referee"))
            two = own_options(folder / "two", there.base_url, ("beta", "referee"))
            first = run(one, *alpha, tracking="mlflow")
            traced = tables(folder)
            other = run(two, "model=beta", *cast)
            repeated = run(one, *alpha, "stage=report", tracking="mlflow")
            alone = run(one, "stage=report", "model=gpt5mini", "report.page=true")
        return Again(first, traced, other, repeated, tables(folder), alone)

    return shared("report_again", make)


def rows(run: Run, name: str) -> list[dict[str, Any]]:
    path = run.folder / str(run.closings["report"]["out"]) / name
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def text(run: Run, name: str) -> str:
    return (run.folder / str(run.closings["report"]["out"]) / name).read_text("utf-8")


def test_the_same_judge_at_another_address_compares_and_that_is_said(again: Again) -> None:
    own = [row["assistant"] for row in rows(again.other, "tables/leaderboard_english.csv") if not row["section"]]
    assert sorted(own) == ["Alpha", "Beta"]
    for name in ("summary.md", "table.md"):
        assert "The judge openai/referee was reached at several addresses (http://127.0.0.1:" in text(again.other, name)
    assert "several addresses" not in text(again.first, "summary.md")


def test_what_nobody_asked_for_is_neither_broken_nor_missing(again: Again) -> None:
    for row in rows(again.alone, "table.csv"):
        assert [row[name] for name in ("episodes", "judged", "broken", "not_run")] == [str(LIMIT), str(LIMIT), "0", "0"]
    ranked = [row for row in rows(again.alone, "tables/leaderboard_english.csv") if not row["section"]]
    assert {row["planned"] for row in ranked} == {str(LIMIT)}
    assert f"2 assistants, {LIMIT} seeds, " in text(again.alone, "summary.md")


def test_mlflow_holds_one_run_and_one_trace_a_dialogue_however_often_the_report_is_rebuilt(again: Again) -> None:
    assert again.again.closings["report"]["out"] != again.first.closings["report"]["out"]
    assert again.traced == {"runs": 1, "trace_info": TRACES, "assessments": 6 * TRACES}
    assert again.traced_again == again.traced


def test_bounds_are_logged_as_the_table_has_them(again: Again) -> None:
    [row] = [row for row in rows(again.again, "table.csv") if row["model"] == "alpha"]
    with closing(sqlite3.connect(again.first.folder / "mlflow.db")) as connection:
        logged = dict(connection.execute("SELECT key, value FROM latest_metrics"))
    names = [f"{column}{end}" for column in ("3h", "tdq", "clean") for end in ("", "_lo", "_hi")]
    assert [logged[name] for name in names] == pytest.approx([float(row[name]) for name in names], abs=1e-6)


def test_the_run_has_the_files_of_the_newest_report(again: Again) -> None:
    with closing(sqlite3.connect(again.first.folder / "mlflow.db")) as connection:
        [(place,)] = connection.execute("SELECT artifact_uri FROM runs").fetchall()
        fingerprints = connection.execute("SELECT value FROM tags WHERE key = 'fingerprint'").fetchall()
    assert fingerprints == [(Path(str(again.again.closings["report"]["out"])).name,)]
    logged = Path(place.removeprefix("file://")) / "tables" / "leaderboard_english.csv"
    assert "Beta" in logged.read_text("utf-8")
