"""What MLflow holds after runs, and that a tracker in trouble costs a line and nothing else."""

from __future__ import annotations

import csv
import json
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.e2e.conftest import Shared
from tests.e2e.running import GOOD, Run, ccfw, environment, files_under, own_options, read_lines
from tests.fakes.provider import FakeProvider

CANARY = "sk-canary-5b1e90f7aa3d4c26"
COLUMNS = ("3h", "helpful", "honest", "harmless", "tdq", "naturalness", "plausibility", "typicality", "clean")
LANGUAGES = ("global_english", "native_language")
NAMES = ("English", "native language")


@dataclass(frozen=True)
class Logged:
    """One MLflow run as its database holds it."""

    name: str
    status: str
    artifacts: Path
    params: dict[str, str]
    tags: dict[str, str]
    metrics: dict[str, float]


def logged(database: Path) -> list[Logged]:
    """Read every run of a database, without MLflow."""
    with closing(sqlite3.connect(database)) as connection:
        runs = connection.execute("SELECT run_uuid, name, status, artifact_uri FROM runs ORDER BY name").fetchall()

        def pairs(table: str, run: str) -> dict[str, str]:
            return dict(connection.execute(f"SELECT key, value FROM {table} WHERE run_uuid = ?", (run,)))

        return [
            Logged(
                name,
                status,
                Path(unquote(urlsplit(uri).path)),
                pairs("params", run),
                pairs("tags", run),
                {key: float(value) for key, value in pairs("latest_metrics", run).items()},
            )
            for run, name, status, uri in runs
        ]


@dataclass(frozen=True)
class Tracked:
    """The same job: with a database that cannot be, with a fresh one, and with that one again."""

    folder: Path
    blocked: Run
    first: Run
    runs: list[Logged]
    second: Run
    runs_again: list[Logged]


@pytest.fixture(scope="module")
def tracked(shared: Shared) -> Tracked:
    def make(folder: Path) -> Tracked:
        (folder / "blocked").write_text("a file where a folder should be", "utf-8")
        database = folder / "db" / "mlflow.db"
        with FakeProvider(GOOD) as provider:
            conf = own_options(folder, provider.base_url, ("keyed",), key="SCRIPTED_KEY")
            cast = (
                f"--config-dir={conf}",
                "model=keyed",
                "model@simulator=keyed",
                "judge=keyed_judge",
                "language=both",
            )

            def run(uri: str) -> Run:
                arguments = (*cast, "limit=2", "report.shown=0", f"tracking.uri=sqlite:///{uri}")
                return ccfw(folder, *arguments, provider=provider, env={"SCRIPTED_KEY": CANARY})

            blocked, first = run("blocked/mlflow.db"), run("db/mlflow.db")
            runs = logged(database)
            second = run("db/mlflow.db")
        return Tracked(folder, blocked, first, runs, second, logged(database))

    return shared("tracked", make)


def table(tracked: Tracked) -> dict[str, dict[str, str]]:
    path = tracked.folder / tracked.first.closings["report"]["out"] / "table.csv"
    return {row["language"]: row for row in csv.DictReader(path.read_text("utf-8").splitlines())}


def test_a_row_of_the_table_is_one_finished_run(tracked: Tracked) -> None:
    assert tracked.first.code == 0
    names = [(run.name, run.status) for run in tracked.runs]
    assert names == [(f"keyed {language} keyed_judge", "FINISHED") for language in NAMES]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("column", COLUMNS)
def test_means_are_logged_as_the_table_has_them_and_no_bounds_of_two_dialogues(
    tracked: Tracked, language: str, column: str
) -> None:
    run, row = tracked.runs[LANGUAGES.index(language)], table(tracked)[language]
    assert run.metrics[column] == pytest.approx(float(row[column]), abs=1e-6)
    for name in (f"{column}_lo", f"{column}_hi"):
        assert (row[name], name in run.metrics) == ("", False)


@pytest.mark.parametrize("language", LANGUAGES)
def test_counts_are_logged_beside_the_means(tracked: Tracked, language: str) -> None:
    metrics = tracked.runs[LANGUAGES.index(language)].metrics
    assert [metrics[name] for name in ("episodes", "judged", "not_judged", "broken", "not_run")] == [2, 2, 0, 0, 0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_parameters_tell_model_judge_language_and_seed(tracked: Tracked, language: str) -> None:
    assert tracked.runs[LANGUAGES.index(language)].params == {
        "aggregation": "mean",
        "bootstrap": "percentile 1000 0.95",
        "dataset": "starter",
        "judge": "keyed_judge",
        "judge_members": "keyed",
        "language": language,
        "limit": "2",
        "mode": "eval",
        "model": "keyed",
        "prompt": "v1 auto",
        "provider_model": "openai/keyed",
        "seed": "0",
        "simulator": "keyed",
        "trap": "all",
        "turn_caps": "5 25",
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_artifacts_are_the_reports_own_files(tracked: Tracked, language: str) -> None:
    artifacts = tracked.runs[LANGUAGES.index(language)].artifacts
    report = tracked.folder / tracked.first.closings["report"]["out"]
    names = {path.relative_to(artifacts).as_posix() for path in files_under(artifacts)}
    written = {path.relative_to(report).as_posix() for path in files_under(report)} - {".lock"}
    assert names == written
    assert {"table.csv", "table.md", "chart.png", "chart.svg", "manifest.json", "transcripts/01.txt"} <= names
    assert (artifacts / "table.csv").read_bytes() == (report / "table.csv").read_bytes()


def test_the_page_and_every_table_and_figure_are_artifacts_in_their_own_folders(tracked: Tracked) -> None:
    names = {path.relative_to(tracked.runs[0].artifacts).as_posix() for path in files_under(tracked.runs[0].artifacts)}
    assert {"index.html", "summary.md", "tables/leaderboard.csv", "tables/leaderboard.tex"} <= names
    assert {"figures/metrics.svg", "figures/metrics.png", "figures/metrics.csv"} <= names


@pytest.mark.parametrize("language", LANGUAGES)
def test_prompts_are_told_by_their_hashes(tracked: Tracked, language: str) -> None:
    tags, manifest = tracked.runs[LANGUAGES.index(language)].tags, evaluated(tracked)
    assert tags["prompts.judge.keyed"] == manifest["fingerprint_of"]["prompts"]
    assert tags["prompts.simulator"] == manifest["fingerprint_of"]["episodes"]["simulator_prompts"]
    assert "prompts.gold" not in tags


def evaluated(tracked: Tracked) -> dict[str, Any]:
    path = tracked.folder / tracked.first.closings["evaluate"]["out"] / "manifest.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def asked(tracked: Tracked, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(tracked.folder / "db" / "mlflow.db")) as connection:
        return connection.execute(query).fetchall()


def test_the_scenarios_are_a_dataset_known_by_their_hash(tracked: Tracked) -> None:
    digest = evaluated(tracked)["fingerprint_of"]["episodes"]["dataset"]
    assert asked(tracked, "SELECT name, digest FROM datasets") == [("starter", digest)]
    assert asked(tracked, "SELECT COUNT(*) FROM inputs WHERE source_type = 'DATASET'") == [(2,)]


def test_dialogues_are_traces_of_their_run_with_every_judgement(tracked: Tracked) -> None:
    """Two scenarios in two languages, six judgements each; a span for the dialogue and one for each turn."""
    held = tracked.folder / tracked.first.closings["simulate"]["out"] / "records.jsonl"
    episodes = {each["episode_id"]: each for each in read_lines(held)}
    traces = dict(asked(tracked, "SELECT trace_name, request_id FROM trace_info"))
    assert set(traces) == set(episodes)
    spans = asked(tracked, "SELECT trace_id, COUNT(*) FROM spans GROUP BY trace_id")
    assert dict(spans) == {traces[key]: 1 + len(each["turns"]) for key, each in episodes.items()}
    runs = dict(asked(tracked, "SELECT request_id, value FROM trace_request_metadata WHERE key = 'mlflow.sourceRun'"))
    assert len(set(runs.values())) == 2
    judged = tracked.folder / tracked.first.closings["evaluate"]["out"] / "records.jsonl"
    wanted = {(traces[j["episode_id"]], j["metric"], json.dumps(j["score"]), j["judge"]) for j in read_lines(judged)}
    assert set(asked(tracked, "SELECT trace_id, name, value, source_id FROM assessments")) == wanted
    assert len(wanted) == 24


def test_a_second_run_logs_nothing_twice(tracked: Tracked) -> None:
    assert (tracked.second.code, tracked.second.requests) == (0, ())
    assert tracked.runs_again == tracked.runs


def test_the_cost_logged_is_what_the_results_cost_whoever_paid(tracked: Tracked) -> None:
    paid = float(tracked.blocked.closings["pipeline"]["cost"])
    assert paid > 0
    assert [run.metrics["job_cost_usd"] for run in tracked.runs] == pytest.approx([paid, paid], abs=1e-4)


def test_a_database_that_cannot_be_costs_one_warning_line_and_not_the_job(tracked: Tracked) -> None:
    out = tracked.blocked.closings["report"]["out"]
    assert tracked.blocked.code == 0
    assert tracked.blocked.closings["pipeline"]["status"] == "ok"
    assert tracked.blocked.err[len("00:00:00 ") :] == (
        "WARNING MLflow at sqlite:///blocked/mlflow.db did not take the results ([Errno 17] File exists: 'blocked'); "
        f"they stay in {out}\n"
    )


def test_tracking_says_nothing_on_stderr_when_all_is_well(tracked: Tracked) -> None:
    assert (tracked.first.err, tracked.second.err) == ("", "")


def test_the_key_is_in_no_file_of_workspace_run_folders_database_or_artifacts(tracked: Tracked) -> None:
    assert [path for path in files_under(tracked.folder) if CANARY.encode() in path.read_bytes()] == []


# ---- the same results again, each time in a folder of their own


@pytest.fixture
def report(tracked: Tracked, tmp_path: Path) -> Callable[..., list[str]]:
    """Return the command of a report over a copy of the results, into a database."""

    def command(uri: str, *more: str) -> list[str]:
        for name in ("workspace", "my conf"):
            shutil.copytree(tracked.folder / name, tmp_path / name, dirs_exist_ok=True)
        cast = ("--config-dir=my conf", "model=keyed", "model@simulator=keyed", "judge=keyed_judge", "language=both")
        quiet = ("report.shown=0", "report.page=false")
        return [*cast, "limit=2", "stage=report", *quiet, f"tracking.uri=sqlite:///{uri}", *more]

    return command


def warned_once(run: Run, uri: str) -> None:
    assert run.code == 0, run.err
    assert run.closings["report"]["status"] == "ok"
    assert len(run.err.splitlines()) == 1, run.err
    where = uri if "://" in uri else f"sqlite:///{uri}"
    assert run.err[len("00:00:00 ") :].startswith(f"WARNING MLflow at {where} did not take the results (")
    assert run.err.endswith(f"); they stay in {run.closings['report']['out']}\n")


def test_a_file_that_is_no_database_costs_one_warning_line(report: Callable[..., list[str]], tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("This is not a database, however long it goes on. " * 100, "utf-8")
    warned_once(ccfw(tmp_path, *report("text.db")), "text.db")


def seconds(line: list[str], folder: Path, uri: str) -> float:
    """Return how long a run took that MLflow costs a warning."""
    begun = time.monotonic()
    warned_once(ccfw(folder, *line), uri)
    return time.monotonic() - begun


@pytest.mark.long
def test_a_tracker_that_cannot_be_reached_holds_nobody_up(report: Callable[..., list[str]], tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        mute, refused = f"http://127.0.0.1:{silent.getsockname()[1]}", "http://127.0.0.1:1"
        for uri in (refused, mute, "folder.db"):
            line = report("" if "://" in uri else uri, *[f"tracking.uri={uri}"] * ("://" in uri))
            assert seconds(line, tmp_path, uri) < 30


@pytest.mark.long
def test_a_locked_database_costs_one_warning_line(
    tracked: Tracked, report: Callable[..., list[str]], tmp_path: Path
) -> None:
    shutil.copy(tracked.folder / "db" / "mlflow.db", tmp_path / "locked.db")
    with closing(sqlite3.connect(tmp_path / "locked.db", isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        run = ccfw(tmp_path, *report("locked.db", "bootstrap.resamples=99"))
    warned_once(run, "locked.db")


@pytest.mark.long
def test_four_processes_at_once_share_a_fresh_database(report: Callable[..., list[str]], tmp_path: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "ccfw", *report("mlflow.db", f"bootstrap.resamples={100 + number}")],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    said = [process.communicate(timeout=300) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0, 0]
    assert not [err for _, err in said if "did not take the results" in err or "Traceback" in err]
    runs = [(run.name, run.status, run.params["bootstrap"]) for run in logged(tmp_path / "mlflow.db")]
    assert sorted(runs) == sorted(
        (f"keyed {language} keyed_judge", "FINISHED", f"percentile {100 + number} 0.95")
        for language in NAMES
        for number in range(4)
    )
