"""What comes of a seed in stage *blueprints*: a blueprint, or why there is none, with all that was found on the way."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from ccfw.checks.issue import Issue
from ccfw.records import Blueprint, Failure, Record, Seed, Template

_LONGEST = 300

Reader = Literal["generator", "auditor", "translator", "read_back"]
"""Who showed what was wrong; ``read_back`` is the translation put back into English."""


class Fault(Record):
    """Something wrong with a reply, under the name of the check that saw it."""

    check: str
    where: str
    found: str
    says: str

    @classmethod
    def of(cls, issue: Issue) -> Fault:
        """Return what a check found."""
        return cls(check=issue.check, where=issue.where, found=issue.found[:_LONGEST], says=issue.says)

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


class Evidence(Record):
    """Ids of what the generator was shown, and of what its blueprint says it rests on."""

    passages: tuple[str, ...]
    taboos: tuple[str, ...]
    niche_terms: tuple[str, ...]
    rests_on: tuple[str, ...]
    """Taboos, of a taboo-grounded seed."""


class BlueprintRecord(Record):
    """A seed's blueprint that passed every check and the audit, or the reason why there is none."""

    seed_id: str
    seed: Seed
    template: Template
    blueprint: Blueprint | None
    complexity: int | None
    """Of the reasoning, from 1 to 5, by the generator's own estimate."""
    evidence: Evidence
    openers: tuple[str, str]
    tries: int
    """Replies of the generator."""
    history: tuple[Step, ...]
    failure: Failure | None
    attempt: int
    """How often the seed was given up before."""

    @model_validator(mode="after")
    def _blueprint_or_failure(self) -> BlueprintRecord:
        if (self.blueprint is None) == (self.failure is None):
            raise ValueError("a record holds a blueprint or a failure, and not both")
        return self
