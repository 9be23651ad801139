"""Measure the program against its bars: ``python -m benchmarks`` writes ``docs/benchmarks.md``.

All of it takes the better part of an hour. What a measurement came to is kept in ``docs/benchmarks.json``, so that one
can be made anew without the others; the page says when each was made, and how busy the machine was.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import facts
from benchmarks.page import Bar, Measure, Section, page_text, printed
from benchmarks.sides import INTERPRETER

NAMES = (
    *("start", "engine", "ledger", "resume", "corpus", "bootstrap", "stats", "kills", "chaos", "budgets", "scenarios"),
    *("align", "report", "kb", "retrieval", "xquad"),
)
"""The measurements in the page's order; each is a module with a function ``measure``."""
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
KEPT = PAGE.with_suffix(".json")


def measured(name: str, *, quick: bool) -> Section:
    """Make one measurement and print it."""
    started = time.perf_counter()
    measure: Measure = importlib.import_module(f"benchmarks.{name}").measure
    section = measure(quick)
    print(printed(name, section), flush=True)
    print(f"benchmarks: {name} took {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return section


def main() -> None:
    """Make the measurements asked for, and write the page from what each last came to at its full size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"make these only: {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="the smallest sizes, which show that it runs; print only")
    parser.add_argument("--peers", metavar="PYTHON", help=f"interpreter of peers that are not here (${INTERPRETER})")
    options = parser.parse_args()
    if options.peers:
        os.environ[INTERPRETER] = options.peers
    if unknown := [name for name in options.names if name not in NAMES]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(NAMES)}")
    where = list(facts())
    for name in options.names or NAMES:
        load = os.getloadavg()[0]
        section = measured(name, quick=options.quick)
        if not options.quick:
            keep(name, section, f"{time.strftime('%Y-%m-%d')}, load {load:.1f} before")
    if not options.quick:
        PAGE.write_text(page_text(kept(), where), "utf-8")


def keep(name: str, section: Section, when: str) -> None:
    """Keep what a measurement came to in place of what it came to before."""
    content = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    about = f"{section.about} Measured on {when}."
    content[name] = section._asdict() | {"about": about, "bars": [bar._asdict() for bar in section.bars]}
    KEPT.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


def kept() -> dict[str, Section]:
    """Return what each measurement last came to, in the page's order."""
    content = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    return {name: _section(content[name]) for name in NAMES if name in content}


def _section(fields: dict[str, Any]) -> Section:
    return Section(
        fields["title"],
        fields["about"],
        tuple(fields["head"]),
        tuple(tuple(row) for row in fields["rows"]),
        tuple(Bar(**bar) for bar in fields["bars"]),
    )


if __name__ == "__main__":
    main()
