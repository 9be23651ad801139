"""The command line itself: flags, pipes, signals, and a system that refuses to write."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import GOOD, ccfw, environment, scripted
from tests.fakes.provider import FakeProvider


def case(name: str, arguments: list[str], *lines: str) -> Any:
    return pytest.param(arguments, lines, id=name)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        case(
            "configs-of-ones-own",
            ["--config-name=mine", "--config-path", "/somewhere"],
            "--config-path=/somewhere: ccfw starts from its own options; add yours with --config-dir=…",
            "--config-name=mine: ccfw starts from its own options; add yours with --config-dir=…",
        ),
        case(
            "unknown-flags",
            ["--dry-run", "-x", "limit=1"],
            "--dry-run: no such flag; python -m ccfw --hydra-help lists them",
            "-x: no such flag; python -m ccfw --hydra-help lists them",
        ),
        case("pickled-run", ["--experimental-rerun=a"], "--experimental-rerun: a run is repeated by its command line"),
        case("two-modes", ["--run", "-m", "limit=1"], "--run, --multirun: one of them at a time"),
        case("resolve-alone", ["--resolve"], "--resolve: goes with --cfg"),
        case(
            "cfg-of-nothing",
            ["--cfg", "all_of_it"],
            "argument --cfg/-c: invalid choice: 'all_of_it' (choose from 'job', 'hydra', 'all')",
        ),
    ],
)
def test_a_flag_that_cannot_be_meant_is_refused_in_a_line(
    tmp_path: Path, arguments: list[str], lines: tuple[str, ...]
) -> None:
    run = ccfw(tmp_path, *arguments)
    assert run.err == "".join(f"ccfw: {line}\n" for line in lines)
    assert (run.code, run.out, list(tmp_path.iterdir())) == (2, "", [])


@pytest.mark.parametrize(
    "arguments",
    [["-m", "limit=1,2", "dry_run=true"], ["limit=1,2", "-m", "dry_run=true"], ["limit=1,2", "dry_run=true", "-m"]],
)
def test_flags_may_stand_anywhere(tmp_path: Path, arguments: list[str]) -> None:
    run = ccfw(tmp_path, "model=scripted", *arguments)
    assert (run.code, run.err) == (0, "")
    assert run.out.splitlines()[-1] == "ccfw sweep jobs=2 ok=2 partial=0 failed=0 refused=0 not_run=0"


@pytest.mark.parametrize("arguments", [["stage=foo", "limit=-1"], ["limit=2", "dry_run=true"]], ids=["refused", "job"])
def test_a_process_that_was_forked_is_like_one_that_was_not(tmp_path: Path, arguments: list[str]) -> None:
    """Most tests run the program in forked ones."""
    fresh, forked = (ccfw(tmp_path, "model=scripted", *arguments, fresh=each) for each in (True, False))
    assert (forked.code, forked.out, forked.err) == (fresh.code, fresh.out, fresh.err)


# ---- a reader that goes away


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ccfw", *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    "arguments",
    [["dry_run=true"], ["-m", "limit=1,2", "dry_run=true"], ["--help"], ["--cfg", "job"], ["--info", "plugins"]],
    ids=["job", "sweep", "help", "cfg", "info"],
)
def test_a_reader_that_goes_away_ends_it_without_a_word(tmp_path: Path, arguments: list[str]) -> None:
    process = started(tmp_path, "model=scripted", *arguments)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=60) in (141, -signal.SIGPIPE), err) == (True, "")


# ---- an end that is asked for


@pytest.mark.long
def test_a_sweep_is_ended_while_it_composes_its_jobs(tmp_path: Path) -> None:
    process = started(tmp_path, "model=scripted", "-m", "judge=glob(*)", "dry_run=true")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in err) == (1, False)
    assert re.fullmatch(r"ccfw sweep jobs=176 ok=\d+ .* not_run=1\d\d", out.splitlines()[-1])


def test_a_job_is_ended_while_it_reports_and_keeps_what_it_has(tmp_path: Path) -> None:
    with FakeProvider(GOOD) as provider:
        process = started(tmp_path, *scripted(provider, "limit=1"))
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert [line.split()[1:3] for line in said] == [["stage=simulate", "status=ok"], ["stage=evaluate", "status=ok"]]
    assert (process.returncode, out) == (1, "")
    assert err[len("00:00:00 ") :] == "WARNING stopped (SIGTERM); the same line goes on\n"
    assert len(list(tmp_path.glob("workspace/starter/*/*/manifest.json"))) == 2


# ---- a system that refuses


def test_a_run_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "multirun").write_text("a file where a folder should be", "utf-8")
    run = ccfw(tmp_path, "dry_run=true")
    assert re.fullmatch(
        r"ccfw: could not write the run's own folder: multirun/single/\S+_pipeline_[0-9a-f]{6}: Not a directory\n",
        run.err,
    )
    assert (run.code, run.out) == (1, "")


def test_a_workspace_that_cannot_be_is_named_with_the_stage(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where a folder should be", "utf-8")
    run = ccfw(tmp_path, "model=scripted", "workspace=taken", "tracking=none")
    assert run.err == "ccfw: stage=simulate could not read or write: taken: File exists\n"
    assert (run.code, run.out) == (1, "")
