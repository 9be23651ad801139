"""What others than the generator say of a blueprint: the auditor's verdict and the translator's texts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ccfw.blueprints import Native
from ccfw.checks.issue import Issue
from ccfw.parsing import json_object
from ccfw.records import Failure, FailureKind

DIMENSIONS = ("Plausible", "Fair_Answerable", "Challenging", "Structured")
"""What a blueprint is audited for (Appendix E.2, *Flags*)."""


def _form(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


_DIMENSION = _form({"reason": {"type": "string"}, "passes": {"type": "boolean"}})
AUDIT_SCHEMA = _form(dict.fromkeys(DIMENSIONS, _DIMENSION))
TRANSLATION_SCHEMA = _form({"message": {"type": "string"}, "summary": {"type": "string"}})
BACK_SCHEMA = _form({"english": {"type": "string"}})


def read_audit(text: str) -> tuple[Issue, ...] | Failure:
    """Return the dimensions that fail, each with its reason; raise ``Refusal`` when the text is no JSON object."""
    verdict = json_object(text)
    if set(verdict) != set(DIMENSIONS):
        return Failure(kind=FailureKind.INCOMPLETE, detail=f"keys must be exactly {', '.join(DIMENSIONS)}")
    failing = []
    for name in DIMENSIONS:
        flag = verdict[name]
        if not isinstance(flag, dict) or set(flag) != {"reason", "passes"} or type(flag["passes"]) is not bool:
            return Failure(kind=FailureKind.INCOMPLETE, detail=f"{name} must hold reason and passes, true or false")
        reason = flag["reason"].strip() if isinstance(flag["reason"], str) else ""
        if not flag["passes"] and not reason:
            return Failure(kind=FailureKind.INCONSISTENT, detail=f"{name} fails without a reason")
        if not flag["passes"]:
            failing.append(Issue(f"audit_{name.lower()}", "", "", f"{name.replace('_', ' ').lower()}: {reason}"))
    return tuple(failing)


def read_translation(text: str) -> Native | Failure:
    """Return the translated texts; raise ``Refusal`` when the text is no JSON object."""
    found = _texts(text, ("message", "summary"))
    return found if isinstance(found, Failure) else Native(found["message"], found["summary"])


def read_english(text: str) -> str | Failure:
    """Return the message that was put back into English; raise ``Refusal`` when the text is no JSON object."""
    found = _texts(text, ("english",))
    return found if isinstance(found, Failure) else found["english"]


def _texts(text: str, keys: tuple[str, ...]) -> dict[str, str] | Failure:
    reply = json_object(text)
    if set(reply) != set(keys) or not all(isinstance(value, str) and value.strip() for value in reply.values()):
        return Failure(kind=FailureKind.INCOMPLETE, detail=f"keys must be exactly {', '.join(keys)}, each with a text")
    return {key: value.strip() for key, value in reply.items()}
