"""Measure the program against its bars: ``python -m benchmarks`` writes ``docs/benchmarks.md``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

from benchmarks.machine import facts
from benchmarks.page import Measure, Section, page_text, printed
from benchmarks.sides import INTERPRETER

NAMES = ("start", "engine", "ledger", "resume", "corpus", "bootstrap", "kills", "chaos", "budgets", "kb", "retrieval")
"""The measurements in the page's order; each is a module with a function ``measure``."""
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def measured(name: str, *, quick: bool) -> Section:
    """Make one measurement and print it."""
    started = time.perf_counter()
    measure: Measure = importlib.import_module(f"benchmarks.{name}").measure
    section = measure(quick)
    print(printed(name, section), flush=True)
    print(f"benchmarks: {name} took {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return section


def main() -> None:
    """Make the measurements asked for; write the page when that is all of them at their full size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"print these only: {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="the smallest sizes, which show that it runs; print only")
    parser.add_argument("--peers", metavar="PYTHON", help=f"interpreter of peers that are not here (${INTERPRETER})")
    options = parser.parse_args()
    if options.peers:
        os.environ[INTERPRETER] = options.peers
    if unknown := [name for name in options.names if name not in NAMES]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(NAMES)}")
    where = list(facts())
    sections = {name: measured(name, quick=options.quick) for name in options.names or NAMES}
    if not options.names and not options.quick:
        PAGE.write_text(page_text(sections, where), "utf-8")


if __name__ == "__main__":
    main()
