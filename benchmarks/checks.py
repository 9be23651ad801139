"""Precision and recall of the checks on texts labelled by hand: ``python -m benchmarks.checks``.

Writes ``docs/checks.md``: turns of the simulated user here, validators of blueprints and shards in ``scenario_checks``,
leaks in other words in ``leaks``. It takes two minutes, nearly all of them for the embedding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import leaks, scenario_checks
from benchmarks import tally as counting
from benchmarks.tally import Tally
from ccfw.checks.turns import RULES, check_turn, severity
from ccfw.knowledge.embedders import open_embedder
from ccfw.knowledge.shipped import SHIPPED_WITH
from ccfw.records import Message

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "tests" / "checks" / "labelled_turns.jsonl"
PAGE = ROOT / "docs" / "checks.md"
CHECKS = tuple(rule.__name__ for rule in RULES)

_PAGE = """\
# How well the checks find what they look for

Made by `python -m benchmarks.checks` from texts written and labelled by hand. *Labelled* counts the texts that have the
fault, *found* those that the check reports; precision is the share of found ones that are right, recall the share of
labelled ones that are found.

## Turns of the simulated user

From `tests/checks/labelled_turns.jsonl`: {turns} turns in {languages} languages, {good} of them without a fault. A turn
under `retry` is sent back to the simulator, one under `record` is only counted.

### The whole corpus

The rules were written with most of these turns in sight, so these figures say that nothing known is missed, not how
the rules do on new text.

{whole}

### The unseen part

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
    return counting.tally(CHECKS, ((turn.expected, found(turn)) for turn in turns))


def markdown(counts: dict[str, Tally]) -> str:
    """Return a table of the checks that have a turn."""
    return counting.markdown(counts, ("Check", "Severity"), severity)


def page(turns: list[Labelled]) -> str:
    """Return the head of the page and its part about turns."""
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
    """Measure and write the page."""
    messages = leaks.corpus()
    parts = (
        page(corpus()),
        scenario_checks.part(scenario_checks.corpus()),
        leaks.words_part(messages),
        leaks.vectors_part(messages, open_embedder(SHIPPED_WITH)),
    )
    PAGE.write_text("\n".join(parts), "utf-8")


if __name__ == "__main__":
    main()
