"""What a measurement hands back, and how it is written down."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_WIDTH = 116


class Bar(NamedTuple):
    """A bar, what was measured against it, and whether it is met."""

    what: str
    bar: str
    measured: str
    met: bool


class Section(NamedTuple):
    """One measurement, written down."""

    title: str
    about: str
    """How it was measured."""
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bars: tuple[Bar, ...]


Measure = Callable[[bool], Section]
"""A measurement; ``True`` asks for its smallest size."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, figures: bool = False) -> str:
    """Return a Markdown table, the columns after the first to the right when they hold figures."""
    rule = ["---", *["---:" if figures else "---"] * (len(head) - 1)]
    lines = [head, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _bars(named: Iterable[tuple[str, Bar]]) -> str:
    rows = [
        (bar.what, bar.bar, bar.measured, "met" if bar.met else "**not met**", f"`python -m benchmarks {name}`")
        for name, bar in named
    ]
    return table(("What", "Bar", "Measured", "Verdict", "Command"), rows)


def section_text(name: str, section: Section) -> str:
    """Return a measurement's part of the page."""
    about = textwrap.fill(f"Made by `python -m benchmarks {name}`. {section.about}", _WIDTH, break_on_hyphens=False)
    return f"## {section.title}\n\n{about}\n\n{table(section.head, section.rows, figures=True)}\n"


def page_text(sections: dict[str, Section], facts: Iterable[tuple[str, str]]) -> str:
    """Return the whole page: the machine, every bar, every measurement."""
    bars = [(name, bar) for name, section in sections.items() for bar in section.bars]
    about = (
        f"Made by `python -m benchmarks`. {sum(bar.met for _, bar in bars)} of {len(bars)} bars are met. Read the "
        "ratios: both sides of each ran in turn, in the same process or freshly started, and it is the median over the "
        "rounds. Absolute figures move with whatever else the machine was doing."
    )
    parts = [
        "# How fast it is\n",
        textwrap.fill(about, _WIDTH, break_on_hyphens=False) + "\n",
        "## The machine\n",
        table(("What", "Found"), facts) + "\n",
        "## The bars\n",
        _bars(bars) + "\n",
        *(section_text(name, section) for name, section in sections.items()),
    ]
    return "\n".join(parts)


def printed(name: str, section: Section) -> str:
    """Return one measurement with its bars, for the terminal."""
    text = section_text(name, section)
    return f"{text}\n{_bars((name, bar) for bar in section.bars)}\n" if section.bars else text
