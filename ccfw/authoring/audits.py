"""The auditor's verdict on a draft: four dimensions, each passed or failed with a reason. Pure."""

from __future__ import annotations

from ccfw.checks.issue import Issue
from ccfw.forms import MOST_CHARACTERS, TEXT, an_object
from ccfw.parsing import json_object
from ccfw.records import Failure, FailureKind
from ccfw.terminal import printable

DIMENSIONS = ("Plausible", "Fair_Answerable", "Challenging", "Structured")
"""What blueprints and shards are audited for (sections 3.4 and 3.6, Appendix E, *Flags*)."""
AUDIT_SCHEMA = an_object(dict.fromkeys(DIMENSIONS, an_object({"reason": TEXT, "passes": {"type": "boolean"}})))
AUDIT_CHECKS = tuple(f"audit_{name.lower()}" for name in DIMENSIONS)
"""The dimensions under the names by which failing ones are counted."""


def read_audit(text: str) -> tuple[Issue, ...] | Failure:
    """Return the dimensions that fail, each with its reason; raise ``Refusal`` when the text is no JSON object."""
    verdict = json_object(text)
    if set(verdict) != set(DIMENSIONS):
        return Failure(kind=FailureKind.INCOMPLETE, detail=f"keys must be exactly {', '.join(DIMENSIONS)}")
    failing = []
    for name, check in zip(DIMENSIONS, AUDIT_CHECKS, strict=True):
        flag = verdict[name]
        if not isinstance(flag, dict) or set(flag) != {"reason", "passes"} or type(flag["passes"]) is not bool:
            return Failure(kind=FailureKind.INCOMPLETE, detail=f"{name} must hold reason and passes, true or false")
        reason = printable(flag["reason"].strip())[:MOST_CHARACTERS] if isinstance(flag["reason"], str) else ""
        if not flag["passes"] and not reason:
            return Failure(kind=FailureKind.INCONSISTENT, detail=f"{name} fails without a reason")
        if not flag["passes"]:
            failing.append(Issue(check, "", "", f"{name.replace('_', ' ').lower()}: {reason}"))
    return tuple(failing)
