"""How far a seed has come on its way to a blueprint: its replies so far, and what was found about each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ccfw.blueprint_records import BlueprintRecord, Evidence, Fault, Reader, Step
from ccfw.blueprints import Filling
from ccfw.checks.issue import Issue
from ccfw.openers import opener_pair
from ccfw.records import Blueprint, Failure, FailureKind
from ccfw.stages.desk import Brief

_AGAIN = 1000
"""Keeps the tries of one reply apart in the ledger …"""
_ATTEMPT = 1_000_000
"""… and the attempts at one seed."""


@dataclass
class Course:
    """How far a seed has come."""

    brief: Brief
    attempt: int
    steps: list[Step] = field(default_factory=list)
    kind: FailureKind = FailureKind.INCONSISTENT
    """Of what was last wrong with a reply of the generator."""
    filling: Filling | None = None

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

    def record(self, blueprint: Blueprint | None, failure: Failure | None) -> BlueprintRecord:
        """Return what came of the seed."""
        brief, evidence = self.brief, self.brief.evidence
        first, second = opener_pair(brief.seed.seed_id)
        return BlueprintRecord(
            seed_id=brief.seed.seed_id,
            seed=brief.seed,
            template=brief.template,
            blueprint=blueprint,
            complexity=self.filling.complexity if self.filling and blueprint else None,
            evidence=Evidence(
                passages=tuple(found.passage.passage_id for found in evidence.passages),
                taboos=tuple(taboo.taboo_id for taboo in evidence.taboos),
                niche_terms=tuple(term.term for term in evidence.niche_terms),
                rests_on=self.filling.rests_on if self.filling and blueprint else (),
            ),
            openers=(first.name, second.name),
            tries=sum(step.by == "generator" for step in self.steps),
            history=tuple(self.steps),
            failure=failure,
            attempt=self.attempt,
        )
