"""Clients that are held against each other, each a process of its own that waits until it is asked for a round."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.clock import Spent, Times
from benchmarks.peers import PEERS

ROOT = Path(__file__).parent.parent
INTERPRETER = "CCFW_BENCH_PEERS"
"""The environment variable that names the interpreter of the peers that are not in this environment."""


class Round(NamedTuple):
    """What a side is asked for."""

    base: str
    at_once: int
    calls: int


class Side:
    """A client in its process."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self.process = subprocess.Popen(  # noqa: S603 our own, and the interpreter that the caller names
            list(map(str, command)), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def make(self, asked: Round) -> Spent:
        """Have a round made, and return what it took by the side's own clock."""
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps(asked._asdict()), file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("{"):  # libraries print what they like beside it
                return Spent(**json.loads(line))
        raise RuntimeError(f"{self.process.args!r} ended with {self.process.wait()}")


def own(transport: str, most: int) -> tuple[str, ...]:
    """Return the command of our own side."""
    return sys.executable, "-m", "benchmarks.own", transport, str(most)


def peer(name: str, requests: Path) -> tuple[str, ...] | None:
    """Return the command of a peer, by whichever interpreter has it; ``None`` when none has."""
    needs = f"import importlib.util as u, sys; sys.exit(u.find_spec({PEERS[name].needs!r}) is None)"
    for interpreter in (sys.executable, os.environ.get(INTERPRETER)):
        if interpreter and subprocess.run([interpreter, "-c", needs], check=False).returncode == 0:  # noqa: S603
            return interpreter, str(ROOT / "benchmarks" / "peers.py"), name, str(requests)
    return None


@contextlib.contextmanager
def started(command: Sequence[str | Path]) -> Iterator[Side]:
    """Run a side until the context closes."""
    side = Side(command)
    with side.process:
        try:
            yield side
        finally:
            side.process.terminate()


@contextlib.contextmanager
def serving(module: str, argument: str) -> Iterator[str]:
    """Run a provider in a process of its own, and give the root URL that it prints."""
    command = [sys.executable, "-m", module, argument]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8") as process:  # noqa: S603 our own
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class Cell(NamedTuple):
    """Where the sides are measured."""

    latency: float
    at_once: int
    many: int
    """Calls in a round of a fast side."""
    few: int
    """Calls in a round of a slow one."""
    rounds: int

    @property
    def ideal(self) -> float | None:
        """Calls a second of a client that takes no time; ``None`` where the provider takes none either."""
        return self.at_once / self.latency if self.latency else None

    def asked(self, root: str, fast: bool) -> Round:
        """Return a round here."""
        return Round(f"{root}/lat/{self.latency * 1e3:g}/v1", self.at_once, self.many if fast else self.few)


class Found(NamedTuple):
    """What one side came to in a cell."""

    calls: int
    times: Times

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds a call."""
        return self.times.cpu / self.calls * 1e3

    @property
    def rate(self) -> float:
        """Calls a second."""
        return self.calls / self.times.wall

    def costlier(self, than: Found) -> float:
        """Return the median over the rounds of this side's CPU a call by the other's."""
        pairs = zip(self.times.runs, than.times.runs, strict=False)
        return median((mine.cpu / self.calls) / (its.cpu / than.calls) for mine, its in pairs)


def measured(cell: Cell, root: str, sides: dict[str, Side], fast: set[str], once: set[str]) -> dict[str, Found]:
    """Measure every side in turn, after one unmeasured round each; those of ``once`` are slow and have one round."""
    asked = {name: cell.asked(root, name in fast) for name in sides}
    for name, side in sides.items():
        side.make(asked[name]._replace(calls=min(asked[name].calls, cell.at_once)))
    runs: dict[str, list[Spent]] = {name: [] for name in sides}
    for number in range(cell.rounds):
        for name in list(sides)[:: 1 if number % 2 == 0 else -1]:
            if number == 0 or name not in once:
                runs[name].append(sides[name].make(asked[name]))
    return {name: Found(asked[name].calls, Times(tuple(each))) for name, each in runs.items()}
