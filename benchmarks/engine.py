"""What a judgement costs beside the bare provider library, and how many are made a second."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import bare
from benchmarks.clock import Times, Variant, interleaved
from benchmarks.judging import Played, Work, bare_arguments, played, work
from benchmarks.page import Bar, Section
from ccfw.llm.ledger import Ledger
from ccfw.llm.litellm_client import LitellmClient, close
from ccfw.llm.types import ChatClient

RATIO, CPU_MS, RATE = 1.10, 0.6, 1000
WHERE, COSTS = ("Latency", "At once", "Calls a round"), ("ccfw, CPU ms a call", "litellm, CPU ms a call", "Ratio")
HEAD = (*WHERE, *COSTS, "ccfw, calls/s", "litellm, calls/s")
ABOUT = (
    "The evaluate path (views, prompts, ledger, retries, parsing, records) through litellm, beside nothing but "
    "`litellm.acompletion` with the same messages and bounds, in one process and event loop; the provider is the "
    "tests' fake in a process of its own. {rounds} rounds a cell after an unmeasured one, both sides in turn; CPU is "
    "the whole process's, litellm's logging after the calls included. The ratio is the median of the rounds' ratios. "
    "The last line is ccfw without litellm: replies come at once from memory, all else is as above."
)


class Cell(NamedTuple):
    """Where both sides are measured."""

    latency: float
    at_once: int
    calls: int
    """In each round."""
    rounds: int


FULL = (Cell(0.0, 1, 60, 5), Cell(0.05, 1, 60, 5), Cell(0.0, 100, 200, 5), Cell(0.05, 100, 200, 5))
QUICK = (Cell(0.0, 1, 6, 1), Cell(0.05, 6, 6, 1))


class Found(NamedTuple):
    """What a cell came to."""

    cell: Cell
    ours: Times
    bare: Times

    @property
    def ratio(self) -> float:
        """Our CPU time by litellm's."""
        return self.ours.costlier(self.bare)

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds of ours a call."""
        return self.ours.cpu / self.cell.calls * 1e3

    @property
    def rate(self) -> float:
        """Calls of ours a second."""
        return self.cell.calls / self.ours.wall

    def row(self) -> tuple[str, ...]:
        """Write the cell as a row of the table."""
        cell = self.cell
        where = (f"{cell.latency * 1e3:.0f} ms", str(cell.at_once), str(cell.calls))
        its_cpu, its_rate = self.bare.cpu / cell.calls * 1e3, cell.calls / self.bare.wall
        costs = f"{self.cpu_ms:.2f}", f"{its_cpu:.2f}", f"{self.ratio:.2f}"
        return *where, *costs, f"{self.rate:.0f}", f"{its_rate:.0f}"


class Sides(NamedTuple):
    """What both sides of a cell need."""

    runner: asyncio.Runner
    made: Work
    seen: Played
    folder: Path

    @contextlib.contextmanager
    def ours(self, name: str, transport: ChatClient, cell: Cell) -> Iterator[Variant]:
        """Give our side; each round has a new folder and an empty ledger, opened before it is timed."""
        with contextlib.ExitStack() as stack:
            folders = {number: self.folder / f"{name}_{number}" for number in range(-1, cell.rounds)}
            ledgers = {number: stack.enter_context(Ledger(path / "l.sqlite")) for number, path in folders.items()}

            def judge(number: int) -> None:
                calls, at_once = cell.calls, cell.at_once
                self.made.judge(self.runner, ledgers[number], folders[number], transport, calls=calls, at_once=at_once)
                self.runner.run(bare.settled())

            judge(-1)
            yield judge

    def found(self, cell: Cell, base: str) -> Found:
        """Measure both sides in turn, after one unmeasured round of each."""
        model = self.made.settings.model.model_copy(update={"api_base": base})
        transport, name = LitellmClient(model, base), f"{cell.latency}_{cell.at_once}"
        sent = [bare_arguments(model, request) for request in self.seen.requests[: cell.calls]]

        def theirs(_: int) -> None:
            self.runner.run(bare.calls(sent, cell.at_once))
            self.runner.run(bare.settled())

        theirs(-1)
        with self.ours(name, transport, cell) as ours:
            times = interleaved(cell.rounds, {"ours": ours, "bare": theirs})
        return Found(cell, times["ours"], times["bare"])

    def own(self, cell: Cell) -> Found:
        """Measure everything of ours but the transport."""
        with self.ours("own", self.seen, cell) as ours:
            times = interleaved(cell.rounds, {"own": ours})["own"]
        return Found(cell, times, times)


def measure(quick: bool) -> Section:
    """Measure every cell."""
    cells = QUICK if quick else FULL
    made = work(max(cell.calls for cell in cells))
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        sides = Sides(runner, made, played(made, runner, Path(folder)), Path(folder))
        found = []
        for cell in cells:
            with bare.provider(cell.latency) as base:
                found.append(sides.found(cell, base))
        own = sides.own(cells[-1])
        runner.run(close())
    return _section(found, own)


def _section(found: list[Found], own: Found) -> Section:
    alone = ("no litellm", *own.row()[1:4], "–", "–", own.row()[6], "–")
    worst, last = max(found, key=lambda each: each.ratio), found[-1]
    where = f"{last.cell.at_once} at once, {last.cell.latency * 1e3:.0f} ms"
    ratios = ", ".join(f"{each.ratio:.2f}" for each in found)
    cpu = f"{last.cpu_ms:.2f} ms, of which {own.cpu_ms:.2f} ms without litellm"
    bars = (
        Bar("CPU by bare litellm's, every cell", f"≤ {RATIO:.2f}", ratios, worst.ratio <= RATIO),
        Bar(f"CPU of a call ({where})", f"≤ {CPU_MS} ms, the sending included", cpu, last.cpu_ms <= CPU_MS),
        Bar(f"Throughput ({where})", f"≥ {RATE:,}/s", f"{last.rate:.0f}/s", last.rate >= RATE),
    )
    about = ABOUT.format(rounds=last.cell.rounds)
    return Section("The engine", about, HEAD, (*(each.row() for each in found), alone), bars)
