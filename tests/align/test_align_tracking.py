"""Sweeps of align in MLflow: nested, complete, logged once; and results that outlive a tracker in trouble."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.align.test_align_stage import FILES, write
from tests.e2e.running import Run, ccfw, environment
from tests.e2e.test_tracking import Logged, logged

SWEEP = ("-m", "stage=align", "judge=glob([gpt5mini,grok420,qwen36flash,trio_gpt5mini_grok420_qwen36flash])", *FILES)
NAMES = ["gpt5mini", "grok420", "qwen36flash", "trio_gpt5mini_grok420_qwen36flash"]


def sweep(folder: Path, *more: str) -> Run:
    return ccfw(folder, *SWEEP, *more)


def runs(folder: Path) -> dict[str, Logged]:
    found = logged(folder / "mlflow.db")
    assert len({run.name for run in found}) == len(found)
    return {run.name: run for run in found}


def ids(folder: Path) -> dict[str, str]:
    with closing(sqlite3.connect(folder / "mlflow.db")) as connection:
        return dict(connection.execute("SELECT name, run_uuid FROM runs"))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("swept")
    write(folder)
    run = sweep(folder)
    assert run.code == 0, run.err
    assert run.out.splitlines()[-1] == "ccfw sweep jobs=4 ok=4 partial=0 failed=0 refused=0 not_run=0"
    return folder


def test_each_job_is_a_finished_run_under_that_of_the_ratings(swept: Path) -> None:
    found, parent = runs(swept), ids(swept)["align long"]
    assert sorted(found) == ["align long", *NAMES]
    assert {run.status for run in found.values()} == {"FINISHED"}
    assert [found[name].tags["mlflow.parentRunId"] for name in NAMES] == [parent] * 4
    assert "mlflow.parentRunId" not in found["align long"].tags


def test_a_run_holds_figures_with_bounds_overall_and_by_metric(swept: Path) -> None:
    metrics = runs(swept)["gpt5mini"].metrics
    assert metrics["mae"] == pytest.approx((2 / 3 + 1.5) / 3)
    assert metrics["within_one"] == pytest.approx(2 / 3)
    assert metrics["bias"] == pytest.approx((-2 / 3 + 1.5) / 3)
    assert (metrics["items"], metrics["items_missing"]) == (3, 1)
    for name in ("mae", "within_one", "bias"):
        assert f"metric/honest/{name}" in metrics
        assert f"metric/honest/{name}_lo" not in metrics  # one dialogue
        for prefix in ("", "metric/helpful/"):
            assert metrics[f"{prefix}{name}_lo"] <= metrics[f"{prefix}{name}"] <= metrics[f"{prefix}{name}_hi"]


def test_a_run_is_tagged_with_members_cost_and_items(swept: Path) -> None:
    tags = runs(swept)["trio_gpt5mini_grok420_qwen36flash"].tags
    assert {key: tags[key] for key in ("stage", "judge", "members", "cost_usd", "items")} == {
        "stage": "align",
        "judge": "trio_gpt5mini_grok420_qwen36flash",
        "members": "gpt5mini,grok420,qwen36flash",
        "cost_usd": "unknown",
        "items": "3",
    }


def test_the_run_of_the_ratings_holds_the_human_baseline(swept: Path) -> None:
    metrics = runs(swept)["align long"].metrics
    assert metrics["pairs/mae"] == pytest.approx(7 / 6)
    assert (metrics["items"], metrics["raters"]) == (4, 3)
    assert not [name for name in metrics if "bias" in name]


def test_artifacts_are_the_jobs_own_files(swept: Path) -> None:
    artifacts = runs(swept)["grok420"].artifacts
    assert {path.name for path in artifacts.iterdir()} == {
        "agreement.csv",
        "agreement.json",
        "agreement.md",
        "manifest.json",
    }


def test_the_same_sweep_again_logs_nothing_twice(swept: Path) -> None:
    before = logged(swept / "mlflow.db")
    assert sweep(swept).code == 0
    assert logged(swept / "mlflow.db") == before


def test_a_panel_stands_under_the_same_ratings(swept: Path) -> None:
    run = ccfw(swept, "stage=panel", *FILES, "panel.folds=2")
    assert run.code == 0, run.err
    found = runs(swept)["panel long"]
    assert found.tags["mlflow.parentRunId"] == ids(swept)["align long"]
    assert found.tags["best_judge"] == "gpt5mini"
    assert {"table_11.tex", "panel.md", "scatter.png", "mae_by_metric.svg"} <= {
        path.name for path in found.artifacts.iterdir()
    }


@pytest.mark.long
def test_two_sweeps_at_once_on_a_fresh_database_log_every_job_once(tmp_path: Path) -> None:
    write(tmp_path)
    command = [sys.executable, "-m", "ccfw", *SWEEP]
    both = [
        subprocess.Popen(
            command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    ended = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], ended
    assert not [line for _, err in ended for line in err.splitlines() if "MLflow" in line]
    assert sorted(runs(tmp_path)) == ["align long", *NAMES]


@pytest.mark.long
def test_a_locked_database_fails_no_job_and_the_same_sweep_logs_what_is_missing(tmp_path: Path) -> None:
    write(tmp_path)
    assert ccfw(tmp_path, "stage=align", "judge=gpt5mini", *FILES).code == 0
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        run = sweep(tmp_path)
        connection.rollback()
    assert run.code == 0, run.err
    assert run.out.splitlines()[-1] == "ccfw sweep jobs=4 ok=4 partial=0 failed=0 refused=0 not_run=0"
    warned = [line for line in run.err.splitlines() if "MLflow" in line]
    assert len(warned) == 2  # the third and fourth job do not wait for it again
    assert warned[1].endswith("; it is asked no more: the same line again logs what is missing")
    assert len(list((tmp_path / "workspace/starter/align").glob("*/agreement.json"))) == 4
    assert sorted(runs(tmp_path)) == ["align long", "gpt5mini"]
    assert sweep(tmp_path).code == 0
    assert sorted(runs(tmp_path)) == ["align long", *NAMES]


def test_a_tracker_that_is_down_fails_no_job(tmp_path: Path) -> None:
    write(tmp_path)
    run = sweep(tmp_path, "tracking.uri=http://127.0.0.1:9")
    assert run.code == 0
    assert len([line for line in run.err.splitlines() if "MLflow at http://127.0.0.1:9 did not take" in line]) == 2
    assert len(list((tmp_path / "workspace/starter/align").glob("*/agreement.json"))) == 4
