"""How far a seed has come on its way to what is written for it: its replies so far, and what was found about each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ccfw.authoring.histories import Fault, Reader, Step
from ccfw.checks.issue import Issue
from ccfw.records import Failure, FailureKind

D = TypeVar("D")
_AGAIN = 1000
"""Keeps the tries of one reply apart in the ledger …"""
_ATTEMPT = 1_000_000
"""… and the attempts at one seed."""


@dataclass
class Course(Generic[D]):
    """How far a seed has come."""

    attempt: int
    steps: list[Step] = field(default_factory=list)
    kind: FailureKind = FailureKind.INCONSISTENT
    """Of what was last wrong with a reply of the generator."""
    draft: D | None = None
    """The last reply of the generator that could be read."""

    def add(self, number: int, by: Reader, issues: Iterable[Issue]) -> bool:
        """Keep what was found about a reply, and return whether it was nothing."""
        step = Step(number=number, by=by, faults=tuple(map(Fault.of, issues)))
        self.steps.append(step)
        return not step.faults

    def faults(self, *by: Reader) -> list[str]:
        """Return what was found so far, each thing once."""
        found = (fault.line for step in self.steps if step.by in by for fault in step.faults)
        return list(dict.fromkeys(found))

    def replicate(self, number: int) -> int:
        """Return what tells this try of a reply from all others of the seed."""
        return self.attempt * _ATTEMPT + (number - 1) * _AGAIN

    def given_up(self, what: str, tries: int) -> Failure:
        """Return the failure of something that no try came through."""
        names = ", ".join(dict.fromkeys(fault.check for fault in self.steps[-1].faults))
        return Failure(kind=self.kind, detail=f"no {what} passed in {tries} tries; the last failed: {names}")

    def told(self, failure: Failure | None) -> dict[str, Any]:
        """Return the fields that every record of what was written has, the id aside."""
        return {
            "tries": sum(step.by == "generator" for step in self.steps),
            "history": tuple(self.steps),
            "failure": failure,
            "attempt": self.attempt,
        }


def next_attempts(given_up: Iterable[tuple[str, int, Failure | None]]) -> dict[str, int]:
    """Return which attempt is next for each item that was given up: its id, that attempt, and why.

    The ledger would repeat the replies of that attempt, so the next one asks anew; after a provider's failure the same
    attempt goes on where it stopped.
    """
    return {
        name: attempt + (failure.kind is not FailureKind.INFRASTRUCTURE)
        for name, attempt, failure in given_up
        if failure is not None
    }
