"""Precision and recall of the turn checks on the labelled turns: ``python -m benchmarks.checks``.

Prints a Markdown table for each part of the corpus and writes the page to ``docs/checks.md``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ccfw.checks.turns import RULES, check_turn, severity
from ccfw.records import Message

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "tests" / "checks" / "labelled_turns.jsonl"
PAGE = ROOT / "docs" / "checks.md"
CHECKS = tuple(rule.__name__ for rule in RULES)

_PAGE = """\
# How well the turn checks find what they look for

Made by `python -m benchmarks.checks` from `tests/checks/labelled_turns.jsonl`: {turns} turns in {languages} languages,
written and labelled by hand, {good} of them without a fault. *Labelled* counts the turns that have the fault, *found*
those that the check reports; precision is the share of found ones that are right, recall the share of labelled ones
that are found. A turn under `retry` is sent back to the simulator, one under `record` is only counted.

## The whole corpus

The rules were written with most of these turns in sight, so these figures say that nothing known is missed, not how
the rules do on new text.

{whole}

## The unseen part

The {unseen_turns} turns marked `unseen` were written after the rules, and none was widened for them; checks without a
turn there are left out. Whoever changes a rule to fit them unmarks them and writes new ones. They are few and from
one hand, so read the figures as a direction: rules of wording seldom send back a good turn, but they let a good part
of the role flips through, which only a reader of meaning would find.

{unseen}
"""


class Labelled(NamedTuple):
    """One turn of the corpus."""

    id: str
    language: str
    history: tuple[Message, ...]
    message: str
    goals: tuple[str, ...]
    shard: int
    expected: frozenset[str]
    unseen: bool


class Tally(NamedTuple):
    """How one check did."""

    right: int
    """Labelled and found."""
    found: int
    labelled: int

    @property
    def precision(self) -> float | None:
        """Share of the found ones that are right; ``None`` when none was found."""
        return self.right / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """Share of the labelled ones that were found; ``None`` when none is labelled."""
        return self.right / self.labelled if self.labelled else None


def labelled(row: dict[str, Any]) -> Labelled:
    """Read one row of the corpus."""
    history = tuple(Message(role=role, content=content) for role, content in row["history"])
    return Labelled(
        row["id"],
        row["language"],
        history,
        row["message"],
        tuple(row["goals"]),
        row["shard"],
        frozenset(row["expected"]),
        row["unseen"],
    )


def corpus() -> list[Labelled]:
    """Return every labelled turn."""
    return [labelled(json.loads(line)) for line in CORPUS.read_text("utf-8").splitlines()]


def found(turn: Labelled) -> frozenset[str]:
    """Return the names of the checks that report a turn."""
    issues = check_turn(turn.message, turn.history, goals=turn.goals, shard=turn.shard, language=turn.language)
    return frozenset(issue.check for issue in issues)


def tallies(turns: Iterable[Labelled]) -> dict[str, Tally]:
    """Count every check over some turns."""
    right, reported, wanted = Counter[str](), Counter[str](), Counter[str]()
    for turn in turns:
        names = found(turn)
        right.update(names & turn.expected)
        reported.update(names)
        wanted.update(turn.expected)
    return {check: Tally(right[check], reported[check], wanted[check]) for check in CHECKS}


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def markdown(counts: dict[str, Tally]) -> str:
    """Return a table of the checks that have a turn."""
    rows = [
        f"| {check} | {severity(check)} | {tally.labelled} | {tally.found} "
        f"| {_share(tally.precision)} | {_share(tally.recall)} |"
        for check, tally in counts.items()
        if tally.labelled or tally.found
    ]
    head = ["| Check | Severity | Labelled | Found | Precision | Recall |", "|---|---|---:|---:|---:|---:|"]
    return "\n".join(head + rows)


def page(turns: list[Labelled]) -> str:
    """Return the page about a corpus."""
    unseen = [turn for turn in turns if turn.unseen]
    return _PAGE.format(
        turns=len(turns),
        languages=len({turn.language for turn in turns}),
        good=sum(not turn.expected for turn in turns),
        whole=markdown(tallies(turns)),
        unseen_turns=len(unseen),
        unseen=markdown(tallies(unseen)),
    )


def main() -> None:
    """Measure, print and write."""
    turns = corpus()
    text = page(turns)
    print(markdown(tallies(turns)))
    print()
    print(markdown(tallies(turn for turn in turns if turn.unseen)))
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
