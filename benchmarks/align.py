"""Judges held against people at the paper's size: 176 jobs with intervals in MLflow, as a user runs them."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchmarks.page import Bar, Section
from benchmarks.ratings import DIALOGUES, JUDGES, RATERS, overrides, write

LIMIT = 60.0
_FAILED = re.compile(r" (failed|refused|partial|not run) ")
_SHOWN = 3
"""Jobs that did not end ok of which the reasons are printed."""
_COUNTED = re.compile(r"^ccfw sweep jobs=(\d+) ok=(\d+) ", re.MULTILINE)


class Ran(NamedTuple):
    """One or more commands at once."""

    wall: float
    cpu: float
    """Of all of them."""
    jobs: int
    """That ended ok."""
    runs: int
    """Finished MLflow runs in the database afterwards."""
    twice: int
    """Names that more than one of them bears."""


def measure(quick: bool) -> Section:
    """Measure the sweep on a fresh database, again, twice at once, with the database locked, and the panel stage."""
    dialogues, judges = (60, "glob([gpt5mini,grok420])") if quick else (DIALOGUES, "glob(*)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, dialogues)
        sweep = ("-m", "stage=align", f"judge={judges}", *overrides(folder))
        ran = {
            "The sweep, fresh database": _ran(folder / "a", sweep),
            "The same again": _ran(folder / "a", sweep),
            "Two sweeps at once, fresh database": _ran(folder / "b", sweep, sweep),
            "Database locked throughout": _locked(folder / "c", sweep),
            "`stage=panel`": _ran(folder / "a", ("stage=panel", *overrides(folder))),
        }
    single, again, both, locked, _ = ran.values()
    jobs = single.jobs
    bars = (
        Bar(f"{jobs} jobs with intervals, logged", f"≤ {LIMIT:.0f} s", _seconds(single), single.wall <= LIMIT),
        Bar("Runs logged", f"{jobs} and that of the ratings", str(single.runs), single.runs == jobs + 1),
        Bar("The same again", "no run more", str(again.runs - single.runs), again.runs == single.runs),
        Bar(
            "Two sweeps at once",
            "every job ok, every run once",
            f"{both.jobs} ok, {both.runs} runs, {both.twice} twice",
            (both.jobs, both.runs, both.twice) == (2 * jobs, jobs + 1, 0),
        ),
        Bar("Database locked", "every job ok", f"{locked.jobs} ok", locked.jobs == jobs),
    )
    return Section(
        "Judges against people",
        f"{dialogues:,} made-up dialogues in six metrics by {RATERS} people, ten regions, {len(JUDGES)} judges' scores "
        "in a file; every job is composed by Hydra, gets intervals overall, by metric and by region (1,000 resamples) "
        "and is a run of its own in MLflow on SQLite. CPU seconds are of all processes.",
        ("What", "Seconds", "CPU seconds", "Jobs ok", "Runs afterwards"),
        tuple(
            (what, f"{each.wall:.1f}", f"{each.cpu:.1f}", str(each.jobs), str(each.runs)) for what, each in ran.items()
        ),
        bars,
    )


def _seconds(ran: Ran) -> str:
    return f"{ran.wall:.1f} s ({ran.cpu:.1f} s of CPU)"


def _locked(folder: Path, arguments: tuple[str, ...]) -> Ran:
    """Run with a database that another process is writing from the beginning to the end."""
    _ran(folder, ("stage=align", f"judge={JUDGES[0]}", *arguments[3:]))
    with closing(sqlite3.connect(folder / "mlflow.db")) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        ran = _ran(folder, arguments, count=False)
        connection.rollback()
    return ran._replace(runs=_runs(folder)[0])


def _ran(folder: Path, *commands: tuple[str, ...], count: bool = True) -> Ran:
    folder.mkdir(exist_ok=True)
    before, started = os.times(), time.perf_counter()
    running = [
        subprocess.Popen(  # noqa: S603 our own
            [sys.executable, "-m", "ccfw", *command],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        for command in commands
    ]
    said = [process.communicate()[0] for process in running]
    wall, after = time.perf_counter() - started, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    for line in [line for text in said for line in text.splitlines() if _FAILED.search(line)][:_SHOWN]:
        print(f"benchmarks: {line}", file=sys.stderr)
    runs, twice = _runs(folder) if count else (0, 0)
    return Ran(wall, cpu, sum(map(_ok, said)), runs, twice)


def _ok(said: str) -> int:
    found = _COUNTED.search(said)
    return int(found[2]) if found else said.count(" status=ok ")


def _runs(folder: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(folder / "mlflow.db")) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM runs WHERE status = 'FINISHED'")]
    return len(names), len(names) - len(set(names))
