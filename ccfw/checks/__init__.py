"""Deterministic validators of scenarios (paper G.2, G.3 and Appendix H): pure, no disk, no network.

A count that ``ccfw.records`` already refuses (2–3 success conditions, 3–5 hops, an empty taboo list) has no
check here: such a scenario cannot be built.
"""

from __future__ import annotations

from ccfw.checks import (
    coherence,
    conditions,
    criteria,
    disclosure,
    leakage,
    message,
    native,
    oracle,
    plan,
    template,
    wording,
)
from ccfw.checks.issue import Check, Issue
from ccfw.records import Scenario

__all__ = ["CHECKS", "Issue", "check_scenario"]

CHECKS: tuple[Check, ...] = (
    *template.CHECKS,
    *message.CHECKS,
    *native.CHECKS,
    *leakage.CHECKS,
    *oracle.CHECKS,
    *criteria.CHECKS,
    *plan.CHECKS,
    *disclosure.CHECKS,
    *wording.CHECKS,
    *conditions.CHECKS,
    *coherence.CHECKS,
)
"""Every check, in the order in which issues are listed."""


def check_scenario(scenario: Scenario) -> tuple[Issue, ...]:
    """Return every fault of a scenario; empty for a good one."""
    return tuple(Issue(check.__name__, *finding) for check in CHECKS for finding in check(scenario))
