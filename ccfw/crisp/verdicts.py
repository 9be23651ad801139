"""The replies of the refinement loop: forms and strict readers (Tables 11 to 15). Pure.

Each reader returns a value or a typed failure, or raises ``Refusal``; nothing is repaired.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ccfw.checks.issue import Issue
from ccfw.crisp.checks import check_draft, check_guidance
from ccfw.crisp.chronotopes import read_draft
from ccfw.crisp.records import Answer, Draft, Norm, Reasons, Verdict
from ccfw.forms import NO_OTHER_KEY, TEXT, a_list, an_object, read_form
from ccfw.records import Failure, FailureKind

T = TypeVar("T")
_MOST_NORMS = 6
_LONGEST_DETAIL = 600
ANSWER_FORM = an_object(
    {
        "action": TEXT,
        "reason": TEXT,
        "inferred_norms": a_list(an_object({"norm": TEXT, "evidence": TEXT}), 1, _MOST_NORMS),
    }
)
VERDICT_KEYS = {
    "action_correctness": "A",
    "norm_evidence_support": "E",
    "inferred_norm_match": "N",
    "reason_supports_action": "R",
    "norm_leakage": "L",
}
"""The verifier's keys and the paper's symbols (Table 12)."""
_FLAG = an_object({"reason": TEXT, "score": {"type": "integer", "minimum": 0, "maximum": 1}})
VERDICT_FORM = an_object(dict.fromkeys(VERDICT_KEYS, _FLAG))
ADVICE_FORM = an_object({"diagnosis": TEXT, "answer_guidance": TEXT})
PLAN_FORM = an_object({"diagnosis": TEXT, "revision_goal": TEXT, "revision_guidance": TEXT})


def failed(issues: tuple[Issue, ...], kind: FailureKind = FailureKind.INCOMPLETE) -> Failure:
    """Return what breaks a reply as one failure, which is also what the model is told on another try.

    Nothing of the reply is in it, not even a key that it made up: the next request would hold it outside any frame.
    """
    lines = (issue.says if issue.says == NO_OTHER_KEY else f"{issue.where}: wanted: {issue.says}" for issue in issues)
    return Failure(kind=kind, detail="; ".join(dict.fromkeys(lines))[:_LONGEST_DETAIL])


def _reading(form: dict[str, Any], of: Callable[[dict[str, Any]], T]) -> Callable[[str], T | Failure]:
    def read(text: str) -> T | Failure:
        content = read_form(text, form, lines=True)
        return failed(content) if isinstance(content, tuple) else of(content)

    return read


read_answer = _reading(ANSWER_FORM, Answer.model_validate)
"""Read the situated reasoner's answer."""


def _verdict(content: dict[str, Any]) -> tuple[Verdict, Reasons]:
    flags = {symbol: content[key] for key, symbol in VERDICT_KEYS.items()}
    return (
        Verdict.model_validate({symbol: flag["score"] for symbol, flag in flags.items()}),
        Reasons.model_validate({symbol: flag["reason"] for symbol, flag in flags.items()}),
    )


read_verdict = _reading(VERDICT_FORM, _verdict)
"""Read the verifier's five values with their reasons."""
read_plan = _reading(PLAN_FORM, dict[str, str])
"""Read the planner's guidance to the reviser."""


def advice_reader(norm: Norm, draft: Draft) -> Callable[[str], str | Failure]:
    """Return the reader of an advisor's guidance, which refuses what gives the norm or the hidden answer away."""

    def of(content: dict[str, Any]) -> str | Failure:
        guidance: str = content["answer_guidance"]
        issues = check_guidance(norm, draft, guidance)
        if issues:  # what it gave away must not go back into a prompt's failure text
            return Failure(kind=FailureKind.INCONSISTENT, detail="answer_guidance gives the norm or the answer away")
        return guidance

    return _reading(ADVICE_FORM, of)


def revision_reader(norm: Norm, before: Draft) -> Callable[[str], Draft | Failure]:
    """Return the reader of a revised scenario, held to the checks of a first one; it must change something."""

    def read(text: str) -> Draft | Failure:
        made = read_draft(text)
        if isinstance(made, tuple):
            return failed(made)
        if made == before:
            return Failure(kind=FailureKind.INCONSISTENT, detail="nothing was revised")
        issues = tuple(each for each in check_draft(norm, made) if each.check not in _LEFT_TO_ROUTING)
        return failed(issues, FailureKind.INCONSISTENT) if issues else made

    return read


_LEFT_TO_ROUTING = frozenset({"leak", "explained"})
"""Checks whose findings the controller routes, so that they count as a round and go to the planner."""
