"""What shards must be (paper G.3): those checks of scenarios that look at them, the blueprint being good already."""

from __future__ import annotations

from ccfw.checks import coherence, conditions, criteria, disclosure, leakage, plan, wording
from ccfw.checks.issue import Check, Issue
from ccfw.records import Scenario

CHECKS: tuple[Check, ...] = (
    *leakage.CHECKS,
    *plan.CHECKS,
    *disclosure.CHECKS,
    *wording.CHECKS,
    *conditions.CHECKS,
    criteria.item_words,
    coherence.grandchildren,
    coherence.institutions,
)


def check(scenario: Scenario) -> tuple[Issue, ...]:
    """Return every fault of a scenario's shards; empty for good ones."""
    return tuple(Issue(each.__name__, *finding) for each in CHECKS for finding in each(scenario))
