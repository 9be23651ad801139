"""How long the paper's whole corpus takes to be gone on with: until the first new call, and to the table."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.clock import Times, interleaved
from benchmarks.page import Bar, Section
from benchmarks.synthetic import overrides
from ccfw.records import Metric
from ccfw.store import done_ids
from tests.fakes.provider import FakeProvider
from tests.fakes.scripts import SCRIPTS
from tests.fakes.wire import FakeReply, FakeRequest

SCENARIOS = 144_453
"""Each in two languages: one dialogue more than the paper has."""
CALL_S, CALL_MB, TABLE_S, IDS_S = 20, 2000, 60, 0.6
ROOT = Path(__file__).parent.parent
HEAD = ("Until", "Seconds", "CPU seconds", "Most memory so far, MB")
ABOUT = (
    "One run of `python -m ccfw stage=pipeline` over {scenarios:,} scenarios in two languages, on a workspace in which "
    "all but one of {dialogues:,} dialogues are held and judged: {episodes:.1f} GB of episodes, {judgements:.1f} GB of "
    "{judged:,} judgements, {inputs:.1f} GB of scenarios, all synthetic. Seconds are from the start of the process, by "
    "the clock of the provider, which is the tests' fake; memory is the process's peak. Another process has read the "
    "scenarios before, as the run that held the dialogues would have."
)


class Seen(NamedTuple):
    """A moment of the run."""

    seconds: float
    cpu: float
    """CPU seconds of the process by then."""
    peak_mb: float


@dataclass
class Watch:
    """Notes when the first call of each role comes in, and what the caller's memory was by then."""

    started: float = field(default_factory=time.monotonic)
    caller: int = 0
    seen: dict[str, Seen] = field(default_factory=dict)

    def play(self, request: FakeRequest) -> FakeReply | str:
        """Answer as the roles ask, after a note."""
        self.note("judged" if str(request.schema_name).startswith("judge") else "called")
        answer = SCRIPTS["roles"](request)
        assert isinstance(answer, FakeReply | str)
        return answer

    def note(self, what: str) -> None:
        """Note a moment, the first time."""
        if what not in self.seen:
            self.seen[what] = Seen(time.monotonic() - self.started, *used(self.caller))


def used(process: int) -> tuple[float, float]:
    """Return a process's CPU seconds and peak memory in MB; not numbers where the system does not say."""
    folder = Path(f"/proc/{process}")
    if not folder.exists():
        return float("nan"), float("nan")
    ticks = (folder / "stat").read_text("utf-8").rpartition(")")[2].split()[11:13]
    peak = re.search(r"VmHWM:\s+(\d+) kB", (folder / "status").read_text("utf-8"))
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), int(peak[1]) / 1e3 if peak else float("nan")


def resumed(folder: Path, scenarios: int) -> dict[str, Seen]:
    """Make a workspace and go on with it; return when what was reached."""
    watch = Watch()
    with FakeProvider(watch.play) as provider:
        python = [sys.executable, "-m"]
        _ended([*python, "benchmarks.synthetic", str(folder), str(scenarios), provider.base_url])
        run = [*python, "ccfw", "stage=pipeline", *overrides(folder, provider.base_url), f"hydra.run.dir={folder}/run"]
        watch.started = time.monotonic()
        with subprocess.Popen(run, cwd=ROOT, stdout=subprocess.DEVNULL) as process:  # noqa: S603 our own
            watch.caller = process.pid
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
        watch.seen["table"] = Seen(time.monotonic() - watch.started, cpu, usage.ru_maxrss / 1e3)
    if process.returncode or list(watch.seen) != ["called", "judged", "table"]:
        raise RuntimeError(f"{run} ended with {process.returncode} after {list(watch.seen)}")
    return watch.seen


def _ended(command: Sequence[str]) -> None:
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603 our own


def _gb(folder: Path, pattern: str) -> float:
    return sum(path.stat().st_size for path in folder.glob(pattern)) / 1e9


def _took(moment: Seen) -> str:
    return f"{moment.seconds:.1f} s ({moment.cpu:.1f} s of CPU)"


def ids_found(folder: Path, rounds: int) -> Times:
    """Time the search for the ids of the episodes, which the page cache holds by now."""
    (path,) = folder.glob("workspace/*/simulate/*/records.jsonl")
    return interleaved(rounds, {"ids": lambda _: done_ids(path)})["ids"]


def measure(quick: bool) -> Section:
    """Measure one resumption."""
    scenarios = 24 if quick else SCENARIOS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seen = resumed(folder, scenarios)
        ids = ids_found(folder, 1 if quick else 5)
        about = ABOUT.format(
            scenarios=scenarios,
            dialogues=2 * scenarios,
            judged=(2 * scenarios - 1) * len(Metric),
            episodes=_gb(folder, "workspace/*/simulate/*/records.jsonl"),
            judgements=_gb(folder, "workspace/*/evaluate/*/records.jsonl"),
            inputs=_gb(folder, "*.jsonl"),
        )
    called, judged, table = (seen[what] for what in ("called", "judged", "table"))
    rows = tuple(
        (what, f"{moment.seconds:.1f}", f"{moment.cpu:.1f}", f"{moment.peak_mb:,.0f}")
        for what, moment in (
            ("the first new call", called),
            ("the first new call to the judge", judged),
            ("the table", table),
        )
    )
    what = f"Going on with {2 * scenarios - 1:,} dialogues"
    bars = (
        Bar(f"{what}: first call", f"≤ {CALL_S} s", _took(called), called.seconds <= CALL_S),
        Bar(f"{what}: first call", f"≤ {CALL_MB:,} MB", f"{called.peak_mb:,.0f} MB", called.peak_mb <= CALL_MB),
        Bar(f"{what}: table", f"≤ {TABLE_S} s", _took(table), table.seconds <= TABLE_S),
        Bar(
            f"Done ids of {2 * scenarios:,} episodes",
            f"≤ {IDS_S} s",
            f"{ids.wall:.2f} s ({ids.cpu:.2f} s of CPU)",
            ids.wall <= IDS_S,
        ),
    )
    return Section("The whole corpus", about, HEAD, rows, bars)
