"""Runs of the whole pipeline, ended at random moments and started again until they are done."""

from __future__ import annotations

import itertools
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks.page import Bar, Section
from tests.e2e.killing import LIMITS, UNDER_WAY, Field, Toll, drawn, results
from tests.e2e.running import GOOD, ccfw, scripted
from tests.fakes.provider import FakeProvider

KILLS, OTHERS, IN_A_ROW = 200, 60, 8
"""``kill -9``, other signals, and how often one workspace's run is ended before it may finish."""
LATENCY_S = 0.02
ABOUT = (
    "`python -m ccfw limit=3` (simulate, evaluate, report) as a user starts it, against a provider that answers a "
    "request always alike after {latency:.0f} ms, at most 4 calls in flight. Each run is ended at a random moment, "
    "four in five between two of its requests and the rest anywhere from its start to its report, and started again "
    "in the same workspace, which {row} runs are ended in before one may finish. A call is lost if the ledger held "
    "its reply when a run was ended and a later run asked for it again. Tables and records are compared with those of "
    "an undisturbed run: tables byte by byte, records as sets."
)


def ways(kills: int, others: int, rng: Random) -> Iterator[signal.Signals]:
    """Return how the runs are ended, in random order."""
    how = [signal.SIGKILL] * kills + [(signal.SIGTERM, signal.SIGINT)[i % 2] for i in range(others)]
    rng.shuffle(how)
    return iter(how)


def ended(kills: int, others: int, folder: Path) -> Toll:
    """End so many runs."""
    rng, toll = Random(11), Toll()  # noqa: S311 moments, not secrets
    with FakeProvider(GOOD, latency=LATENCY_S) as provider:
        arguments = scripted(provider, "limit=3", *LIMITS)
        (folder / "undisturbed").mkdir()
        undisturbed = ccfw(folder / "undisturbed", *arguments, provider=provider)
        assert undisturbed.code == 0, undisturbed.err
        whole, total = results(folder / "undisturbed"), len(undisturbed.requests)
        how = ways(kills, others, rng)
        for number in itertools.count():
            place = folder / str(number)
            place.mkdir()
            field = Field(place, provider, arguments, whole, toll, total)
            for each in itertools.islice(how, IN_A_ROW):
                while not field.end(drawn(rng, field.left, each)):
                    pass  # it was quicker
            field.finish()
            if toll.ended.total() >= kills + others:
                return toll
    raise AssertionError("unreachable")


def measure(quick: bool) -> Section:
    """End runs."""
    with tempfile.TemporaryDirectory() as folder:
        return _section(ended(*((4, 2) if quick else (KILLS, OTHERS)), Path(folder)))


def _section(toll: Toll) -> Section:
    kills = toll.ended["SIGKILL"]
    rows = (
        *((f"Runs ended by {name}", str(times)) for name, times in sorted(toll.ended.items())),
        ("Runs that got to their end", str(toll.finished)),
        ("Calls", f"{toll.calls:,}"),
        ("Calls repeated", f"{toll.repeated:,}"),
        ("Calls begun and not kept when a run was ended, at most", str(toll.most_under_way)),
    )
    bars = (
        Bar("Runs ended by `kill -9`", f"≥ {KILLS}", str(kills), kills >= KILLS),
        Bar("Paid replies lost", "0", str(toll.lost), toll.lost == 0),
        Bar("Records that stand twice", "0", str(toll.doubled), toll.doubled == 0),
        Bar("Finished runs whose tables or records differ", "0", str(toll.differing), toll.differing == 0),
        Bar(
            "Calls repeated after a run was ended, at most",
            f"those in flight (≤ {UNDER_WAY})",
            str(toll.most_under_way),
            toll.most_under_way <= UNDER_WAY,
        ),
        Bar("Runs that SIGINT or SIGTERM ended with a traceback", "0", str(len(toll.tracebacks)), not toll.tracebacks),
    )
    about = ABOUT.format(latency=LATENCY_S * 1e3, row=IN_A_ROW)
    return Section("Killed", about, ("What", "Measured"), rows, bars)
