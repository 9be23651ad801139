"""End runs at chosen moments, and reckon what that cost."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.e2e.running import Run, ccfw, environment, files_under, read_lines
from tests.fakes.provider import FakeProvider

IN_FLIGHT = 4
LIMITS = (f"model.max_in_flight={IN_FLIGHT}",)
UNDER_WAY = 2 * IN_FLIGHT
"""Calls that a run with ``LIMITS`` has begun and not kept, at most."""
_PATIENCE_S = 120.0


@dataclass(frozen=True)
class Moment:
    """When a run is ended, and how."""

    how: signal.Signals
    requests: int
    """So many requests into the run."""
    seconds: float
    """After the last of them, or after the start where it is none."""


def drawn(rng: Random, left: int, how: signal.Signals = signal.SIGKILL) -> Moment:
    """Draw a moment: mostly between two requests of those that are left, else anywhere in the run."""
    if left and rng.random() < 0.8:
        return Moment(how, rng.randint(1, max(1, left // 2)), rng.uniform(0, 0.03))
    return Moment(how, 0, rng.uniform(0.2, 2.5))


@contextlib.contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start ``python -m ccfw`` in a folder; what is still running in the end is killed."""
    with subprocess.Popen(
        [sys.executable, "-m", "ccfw", *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def asked(provider: FakeProvider, process: subprocess.Popen[str], requests: int) -> bool:
    """Wait until the provider has seen so many requests; whether it did before the process ended."""
    end = time.monotonic() + _PATIENCE_S
    while process.poll() is None:
        assert time.monotonic() < end, "the run neither asks nor ends"
        with contextlib.suppress(TimeoutError):
            provider.wait_until(lambda log: len(log.requests) >= requests, 0.05)
            return True
    return False


def kept_in_ledger(folder: Path) -> int:
    """Return how many replies the ledger under a folder holds."""
    path = folder / "workspace" / "ledger.sqlite"
    if not path.exists():
        return 0
    with contextlib.closing(sqlite3.connect(path)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM calls").fetchone()[0])
        except sqlite3.OperationalError:  # ended before the table was made
            return 0


def results(folder: Path) -> dict[str, bytes | list[str]]:
    """Return what a finished run leaves, by path: record files as sorted lines, the report's texts as they are."""
    found: dict[str, bytes | list[str]] = {}
    for path in files_under(folder / "workspace"):
        name = str(path.relative_to(folder))
        if path.name == "records.jsonl":
            found[name] = sorted(path.read_text("utf-8").splitlines())
        elif "/report/" in name and path.suffix in (".md", ".csv", ".txt"):
            found[name] = path.read_bytes()
    return found


def doubled(folder: Path) -> int:
    """Return how many records stand twice."""
    twice = 0
    for path in files_under(folder / "workspace"):
        if path.name == "records.jsonl":
            ids = Counter(next(iter(record.values())) for record in read_lines(path))
            twice += ids.total() - len(ids)
    return twice


@dataclass
class Toll:
    """What ended runs came to."""

    ended: Counter[str] = field(default_factory=Counter)
    """Runs by how they were ended."""
    codes: Counter[tuple[str, int]] = field(default_factory=Counter)
    tracebacks: list[str] = field(default_factory=list)
    finished: int = 0
    """Times that a run got to its end."""
    calls: int = 0
    lost: int = 0
    """Kept replies that were asked for again."""
    repeated: int = 0
    most_under_way: int = 0
    """Calls begun and not kept when a run was ended, at most."""
    doubled: int = 0
    differing: int = 0
    """Finished runs whose tables or records are not those of an undisturbed one."""


@dataclass
class Field:
    """One folder in which runs are ended again and again."""

    folder: Path
    provider: FakeProvider
    arguments: tuple[str, ...]
    undisturbed: dict[str, bytes | list[str]]
    toll: Toll
    total: int
    """Requests of an undisturbed run."""
    _begun: set[str] = field(default_factory=set)
    _open: int = 0
    """Calls begun by ended runs and not kept."""

    @property
    def left(self) -> int:
        """Requests that are left to make."""
        return self.total - len(self._begun) + self._open

    def end(self, moment: Moment) -> bool:
        """Start a run and end it at a moment; whether it was ended before it got to its end."""
        self.provider.clear()
        with started(self.folder, *self.arguments) as process:
            if asked(self.provider, process, moment.requests):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(moment.seconds)
                process.send_signal(moment.how)
            _, err = process.communicate(timeout=_PATIENCE_S)
        self._reckon()
        if process.returncode == 0:
            self._compare()
            return False
        self.toll.ended[moment.how.name] += 1
        self.toll.codes[moment.how.name, process.returncode] += 1
        if "Traceback" in err:
            self.toll.tracebacks.append(err)
        return True

    def finish(self) -> Run:
        """Run to the end."""
        run = ccfw(self.folder, *self.arguments, provider=self.provider)
        assert run.code == 0, run.err
        self._reckon()
        self._compare()
        return run

    def _reckon(self) -> None:
        self.provider.wait_until(lambda log: log.in_flight == 0)
        digests = [request.digest for request in self.provider.requests]
        again = sum(digest in self._begun for digest in digests)
        self._begun.update(digests)
        self.toll.calls += len(digests)
        self.toll.repeated += again + len(digests) - len(set(digests))
        self.toll.lost += max(0, again - self._open)
        self._open = len(self._begun) - kept_in_ledger(self.folder)
        self.toll.most_under_way = max(self.toll.most_under_way, self._open)

    def _compare(self) -> None:
        self.toll.finished += 1
        self.toll.differing += results(self.folder) != self.undisturbed
        self.toll.doubled += doubled(self.folder)
