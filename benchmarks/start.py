"""How long the program takes to start, and what it imports on the way."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.clock import Spent, Times
from benchmarks.page import Bar, Section

COMMANDS = {
    "python -c pass": ("-c", "pass"),
    "python -c 'import ccfw'": ("-c", "import ccfw"),
    "python -m ccfw --help": ("-m", "ccfw", "--help"),
    "python -m ccfw dry_run=true": ("-m", "ccfw", "dry_run=true"),
}
BARE, IMPORT, HELP, DRY_RUN = COMMANDS
HEAVY = ("litellm", "mlflow", "pandas", "scipy", "faiss")
LIMIT = 0.6


def measure(quick: bool) -> Section:
    """Time each command, freshly started, in turn."""
    rounds = 1 if quick else 5
    with tempfile.TemporaryDirectory() as folder:
        heavy = {name: _heavy(arguments, Path(folder)) for name, arguments in COMMANDS.items()}
        rows = [{name: _run(arguments, Path(folder)) for name, arguments in COMMANDS.items()} for _ in range(rounds)]
    times = {name: Times(tuple(row[name] for row in rows)) for name in COMMANDS}
    return Section(
        "Start",
        f"Each command in a fresh process and an empty folder, in turn, {rounds} rounds, medians; one more run under "
        f"`-X importtime` says which of {', '.join(HEAVY)} it imports.",
        ("Command", "Seconds", "CPU seconds", "Of bare Python", "Heavy imports"),
        tuple(_row(name, times[name], times[BARE], heavy[name]) for name in COMMANDS),
        tuple(_bars(times, heavy)),
    )


def _row(name: str, times: Times, bare: Times, heavy: Sequence[str]) -> tuple[str, ...]:
    return f"`{name}`", f"{times.wall:.2f}", f"{times.cpu:.2f}", f"{times.slower(bare):.0f} x", _listed(heavy)


def _bars(times: dict[str, Times], heavy: dict[str, list[str]]) -> list[Bar]:
    bars = []
    for name in (HELP, DRY_RUN):
        wall, cpu = times[name].wall, times[name].cpu
        bars.append(Bar(f"`{name}`", f"≤ {LIMIT} s", f"{wall:.2f} s ({cpu:.2f} s of CPU)", wall <= LIMIT))
        none_of = f"imports none of {', '.join(HEAVY)}"
        bars.append(Bar(f"`{name}`", none_of, _listed(heavy[name]), not heavy[name]))
    return bars


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _run(arguments: Sequence[str], folder: Path) -> Spent:
    before, started = os.times(), time.perf_counter()
    _python(arguments, folder)
    wall, after = time.perf_counter() - started, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(wall, cpu)


def _heavy(arguments: Sequence[str], folder: Path) -> list[str]:
    """Return which heavy packages a command imports; this run also fills the file cache."""
    told = _python(["-X", "importtime", *arguments], folder).splitlines()
    found = {line.rpartition("|")[2].strip().split(".")[0] for line in told if line.startswith("import time:")}
    return [name for name in HEAVY if name in found]


def _python(arguments: Sequence[str], folder: Path) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=True)  # noqa: S603 our own
    return done.stderr
