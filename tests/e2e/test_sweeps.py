"""Sweeps whose jobs fail: which go on, what the table says, what MLflow holds of it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import Shared
from tests.e2e.running import GOOD, Run, ccfw, closing, environment, scripted
from tests.e2e.test_tracking import Logged, logged
from tests.fakes import faults
from tests.fakes.provider import FakeProvider, FakeReply, FakeRequest, Fault

CANARY = "sk-canary-71c0de9b24fa4e58"
REFUSED = "HTTP 401: Incorrect API key provided: ."
TAMIL, HUI = "identity=Tamil_Hindu", "identity=Hui_Muslim"
SAID = "thr for a helper"
"""What the Tamil Hindu user opens with, and nobody else."""
NO_EPISODES = (
    "stage=evaluate: no episodes of model=scripted simulator=scripted language=english mode=eval with these settings "
    "under workspace/starter/simulate/<hash>; hold them first with stage=simulate and otherwise the same line"
)


def refusing(request: FakeRequest) -> FakeReply | Fault | str:
    return faults.UNAUTHORIZED if SAID in "".join(request.said("user")) else GOOD(request)


def lines(text: str) -> list[str]:
    return [re.sub(r"simulate/[0-9a-f]{16}", "simulate/<hash>", line) for line in text.splitlines()]


def table(run: Run) -> list[list[str]]:
    """Return the rows of the table that ends a sweep, and the line below it."""
    said = lines(run.out)
    start = next(number for number, line in enumerate(said) if line.startswith("job  "))
    return [re.split(r"  +", line) for line in said[start:]]


def closings(run: Run) -> list[tuple[str, str]]:
    found = [closing(line) for line in run.out.splitlines() if line.startswith("ccfw stage=")]
    return [(each["stage"], each["status"]) for each in found]


@dataclass(frozen=True)
class Swept:
    """A sweep over two stages and two users, one of whom the provider refuses."""

    goes_on: Run
    stops: Run
    runs: list[Logged]
    database: bytes


@pytest.fixture(scope="module")
def swept(shared: Shared) -> Swept:
    def make(folder: Path) -> Swept:
        with FakeProvider(refusing) as provider:
            served = ("model=scripted", f"model.api_base={provider.base_url}", "report.shown=0")
            base = (*served, "region=[SG,CN]", f"model.label={CANARY}")
            arguments = (*base, "-m", "stage=evaluate,simulate", "identity=Tamil_Hindu,Hui_Muslim")

            def run(name: str, *more: str) -> Run:
                (folder / name).mkdir()
                env = {"SCRIPTED_KEY": CANARY}
                return ccfw(folder / name, *arguments, *more, provider=provider, env=env)

            goes_on, stops = run("a"), run("b", "tracking=none", "on_job_failure=stop")
        database = folder / "a" / "mlflow.db"
        return Swept(goes_on, stops, logged(database), database.read_bytes())

    return shared("swept", make)


def test_a_table_says_what_came_of_every_job_and_why(swept: Swept) -> None:
    calls = sum(request.status == 200 for request in swept.goes_on.requests)
    cost = next(row[4] for row in table(swept.goes_on) if row[0] == "3")
    assert table(swept.goes_on) == [
        ["job", "overrides", "status", "calls", "cost", "reason"],
        ["0", f"stage=evaluate {TAMIL}", "refused", "0", "0.0000", NO_EPISODES],
        ["1", f"stage=evaluate {HUI}", "refused", "0", "0.0000", NO_EPISODES],
        ["2", f"stage=simulate {TAMIL}", "failed", "0", "0.0000", f"simulate: 1 of 1 failed ({REFUSED})"],
        ["3", f"stage=simulate {HUI}", "ok", str(calls), cost],
        ["ccfw sweep jobs=4 ok=1 partial=0 failed=1 refused=2 not_run=0"],
    ]
    assert float(cost) > 0


def test_jobs_after_a_failed_one_go_on_and_the_worst_code_is_the_sweeps(swept: Swept) -> None:
    assert closings(swept.goes_on) == [("simulate", "failed"), ("simulate", "ok")]
    assert swept.goes_on.code == 2


def test_on_job_failure_stop_ends_the_sweep_at_the_first_failure(swept: Swept) -> None:
    assert table(swept.stops)[1:] == [
        ["0", f"stage=evaluate {TAMIL}", "refused", "0", "0.0000", NO_EPISODES],
        ["1", f"stage=evaluate {HUI}", "not run", "-", "-"],
        ["2", f"stage=simulate {TAMIL}", "not run", "-", "-"],
        ["3", f"stage=simulate {HUI}", "not run", "-", "-"],
        ["ccfw sweep jobs=4 ok=0 partial=0 failed=0 refused=1 not_run=3"],
    ]
    assert (swept.stops.code, swept.stops.requests) == (2, ())


def test_each_job_is_told_on_stderr_before_it_begins_and_its_reason_when_it_is_refused(swept: Swept) -> None:
    told = [re.sub(r"api_base=\S+", "api_base=…", line) for line in lines(swept.goes_on.err)]
    shared = "model=scripted model.api_base=… report.shown=0 region=[SG,CN] model.label=<SCRIPTED_KEY>"
    begun = f"INFO job {{}}, of 4: {shared} {{}}"
    assert [line.removeprefix(line[:9] if line[2] == ":" else "") for line in told if "WARNING" not in line] == [
        begun.format(0, f"stage=evaluate {TAMIL}"),
        f"ccfw: {NO_EPISODES}",
        begun.format(1, f"stage=evaluate {HUI}"),
        f"ccfw: {NO_EPISODES}",
        begun.format(2, f"stage=simulate {TAMIL}"),
        begun.format(3, f"stage=simulate {HUI}"),
    ]


def test_a_job_that_failed_has_a_run_of_its_own_with_its_reason(swept: Swept) -> None:
    (run,) = swept.runs
    assert (run.name, run.status) == ("scripted english scripted simulate", "FAILED")
    assert run.tags["reason"] == f"simulate: 1 of 1 failed ({REFUSED})"
    assert run.tags["overrides"].endswith(f"model.label=<SCRIPTED_KEY> stage=simulate {TAMIL}")
    assert (run.params["model"], run.params["judge"], run.params["seed"]) == ("scripted", "scripted", "0")


def test_a_failed_jobs_run_holds_no_secret(swept: Swept) -> None:
    assert CANARY.encode() not in swept.database


def test_a_partial_job_keeps_its_run_with_a_tag_that_says_so(tmp_path: Path) -> None:
    with FakeProvider(refusing) as provider:
        arguments = ("model=scripted", f"model.api_base={provider.base_url}", "report.shown=0")
        run = ccfw(tmp_path, *arguments, "identity=[Tamil_Hindu,Hui_Muslim]", "region=[SG,CN]", provider=provider)
    (held,) = logged(tmp_path / "mlflow.db")
    assert (run.code, run.closings["pipeline"]["status"]) == (1, "partial")
    assert (held.status, held.tags["status"], held.tags["reason"]) == (
        "FINISHED",
        "partial",
        f"simulate: 1 of 2 failed ({REFUSED})",
    )


def test_a_tracker_in_trouble_costs_a_failed_job_one_warning(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be", "utf-8")
    with FakeProvider(refusing) as provider:
        arguments = scripted(
            provider, "stage=simulate", TAMIL, "region=SG", "tracking=mlflow", "tracking.uri=sqlite:///blocked/db"
        )
        run = ccfw(tmp_path, *arguments, provider=provider)
    assert run.code == 1
    assert run.err.splitlines()[-1][len("00:00:00 ") :] == (
        "WARNING MLflow at sqlite:///blocked/db did not take the failure ([Errno 17] File exists: 'blocked')"
    )


@pytest.mark.parametrize(
    "how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)], ids=lambda how: how.name
)
def test_an_interruption_ends_the_sweep_with_its_table(tmp_path: Path, how: signal.Signals) -> None:
    with FakeProvider(GOOD, latency=0.5) as provider:
        arguments = scripted(provider, "-m", "stage=simulate", "limit=1,2")
        process = subprocess.Popen(
            [sys.executable, "-m", "ccfw", *arguments],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        provider.wait_until(lambda log: log.in_flight > 0, timeout=60)
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
    rows = table(Run(tmp_path, process.returncode, out, err, ()))
    assert [(row[1], row[2], row[-1]) for row in rows[1:3]] == [
        ("limit=1", "partial", "interrupted"),
        ("limit=2", "not run", "-"),
    ]
    assert rows[3] == ["ccfw sweep jobs=2 ok=0 partial=1 failed=0 refused=0 not_run=1"]
    assert (process.returncode, "Traceback" in err) == (1, False)
    assert len(list(tmp_path.glob("workspace/starter/simulate/*/manifest.json"))) == 1
