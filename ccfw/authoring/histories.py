"""How something came to be written: its replies in order, what was wrong with each, and how it ended. Pure records."""

from __future__ import annotations

from typing import Literal

from ccfw.checks.issue import Issue
from ccfw.records import Failure, Record

_LONGEST = 300

Reader = Literal["generator", "auditor", "translator", "read_back"]
"""Who showed what was wrong; ``read_back`` is a translation put back into English."""


class Fault(Record):
    """Something wrong with a reply, under the name of the check that saw it."""

    check: str
    where: str
    found: str
    says: str

    @classmethod
    def of(cls, issue: Issue) -> Fault:
        """Return what a check found."""
        return cls(check=issue.check, where=issue.where, found=issue.found[:_LONGEST], says=issue.says[:_LONGEST])

    @property
    def line(self) -> str:
        """The fault as its author is told of it."""
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.found!r}; wanted: {self.says}" if self.found else f"{place}{self.says}"


class Step(Record):
    """One reply and what was wrong with it."""

    number: int
    """Which try of its author it was, from 1."""
    by: Reader
    faults: tuple[Fault, ...]


class WrittenRecord(Record):
    """What came of a seed in a stage that has something written; each stage adds what it writes."""

    seed_id: str
    tries: int
    """Replies of the generator."""
    history: tuple[Step, ...]
    failure: Failure | None
    """Why there is nothing; ``None`` where there is."""
    attempt: int
    """How often the seed was given up before."""
