"""Who may see what of a situation, as types: a request to a role is built from that role's view and nothing else.

======================  =======  ====  =====================  ==============  =================================
role                    culture  norm  scenario and question  hidden answer   besides
======================  =======  ====  =====================  ==============  =================================
policy under test       yes      –     yes                    –               –
situated reasoner       yes      –     yes                    –               the advisor's guidance, checked
norm-grounded verifier  yes      yes   yes                    yes             chronotope, answer
advisor                 yes      yes   yes                    yes             answer, verdict, diagnosis
planner                 yes      yes   yes                    yes             chronotope, answer, verdict, diagnosis
reviser                 yes      yes   yes                    yes             chronotope, plan
outcome judge           yes      yes   yes                    –               answer
Norm Match judge        yes      yes   yes                    –               answer, reasoning
======================  =======  ====  =====================  ==============  =================================

The outcome judge reads no reasoning, so that a well-explained wrong act gains nothing by it; the paper's judges see no
hidden answer either (Tables 19 and 26).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ccfw.crisp.records import Answer, Draft, Norm, Reasons, ResponseRecord, Situation, Verdict
from ccfw.views import one_line


@dataclass(frozen=True)
class PolicyView:
    """The question as a policy is asked it (Table 20)."""

    culture: str
    scenario: str
    question: str


@dataclass(frozen=True)
class ReasonerView:
    """The question as the situated reasoner is asked it (Table 11), with what the advisor said of earlier answers."""

    culture: str
    scenario: str
    question: str
    guidance: str


@dataclass(frozen=True)
class VerifierView:
    """An answer with everything that it is held against (Table 12)."""

    norm: str
    culture: str
    norm_type: str
    chronotope: dict[str, str]
    scenario: str
    question: str
    hidden_expected_answer: str
    answer: str


@dataclass(frozen=True)
class AdvisorView:
    """What the response advisor reads (Table 13)."""

    diagnosis: str
    norm: str
    culture: str
    scenario: str
    question: str
    hidden_expected_answer: str
    answer: str
    verdict: str


@dataclass(frozen=True)
class PlannerView:
    """What the revision planner reads (Table 14)."""

    diagnosis: str
    norm: str
    culture: str
    norm_type: str
    chronotope: dict[str, str]
    scenario: str
    question: str
    hidden_expected_answer: str
    answer: str
    verdict: str
    leaks: tuple[str, ...]


@dataclass(frozen=True)
class ReviserView:
    """What the question reviser reads (Table 15)."""

    norm: str
    culture: str
    norm_type: str
    chronotope: dict[str, str]
    scenario: str
    question: str
    hidden_expected_answer: str
    diagnosis: str
    revision_goal: str
    revision_guidance: str


@dataclass(frozen=True)
class OutcomeView:
    """What the outcome judge reads (Table 19)."""

    culture: str
    norm: str
    scenario: str
    question: str
    answer: str


@dataclass(frozen=True)
class NormMatchView:
    """What the Norm Match judge reads (Table 26)."""

    culture: str
    norm: str
    scenario: str
    question: str
    reasoning: str
    answer: str


View = PolicyView | ReasonerView | VerifierView | AdvisorView | PlannerView | ReviserView | OutcomeView | NormMatchView


def fields_of(view: View) -> dict[str, Any]:
    """Return a view's fields for its prompt."""
    return asdict(view)


def framed(name: str, text: str) -> str:
    """Frame a text as data: one JSON string between fences that it cannot close, since it cannot hold its own hash."""
    line = one_line(text)
    nonce = hashlib.sha256(line.encode()).hexdigest()[:12]
    return f"<<<{name} {nonce}\n{line}\n{name} {nonce}>>>"


def policy_view(situation: Situation) -> PolicyView:
    """Build the view of a policy under test."""
    draft = situation.draft
    return PolicyView(situation.norm.culture, draft.scenario, draft.question)


def reasoner_view(culture: str, draft: Draft, guidance: str) -> ReasonerView:
    """Build the view of the situated reasoner."""
    return ReasonerView(culture, draft.scenario, draft.question, guidance)


def told(answer: Answer) -> str:
    """Write the reasoner's answer as the roles after it read it: framed, since it is a model's text."""
    return framed("ANSWER", answer.model_dump_json())


def judged(verdict: Verdict, reasons: Reasons) -> str:
    """Write a verdict with its reasons, a line for each dimension."""
    values, said = verdict.model_dump(), reasons.model_dump()
    return "\n".join(f"{name} = {values[name]}: {one_line(said[name])}" for name in values)


def verifier_view(situation: Situation, draft: Draft, answer: Answer) -> VerifierView:
    """Build the view of the norm-grounded verifier."""
    norm = situation.norm
    return VerifierView(norm.norm, norm.culture, norm.norm_type, configuration(situation), *_texts(draft), told(answer))


def advisor_view(
    norm: Norm, draft: Draft, answer: Answer, verdict: Verdict, reasons: Reasons, diagnosis: str
) -> AdvisorView:
    """Build the view of the response advisor."""
    texts = _texts(draft)
    return AdvisorView(diagnosis, norm.norm, norm.culture, *texts, told(answer), judged(verdict, reasons))


def planner_view(
    situation: Situation,
    draft: Draft,
    answer: Answer,
    verdict: Verdict,
    reasons: Reasons,
    leaks: tuple[str, ...],
    diagnosis: str,
) -> PlannerView:
    """Build the view of the revision planner."""
    norm, where = situation.norm, configuration(situation)
    return PlannerView(
        diagnosis,
        norm.norm,
        norm.culture,
        norm.norm_type,
        where,
        *_texts(draft),
        told(answer),
        judged(verdict, reasons),
        leaks,
    )


def reviser_view(situation: Situation, draft: Draft, plan: Mapping[str, str]) -> ReviserView:
    """Build the view of the question reviser."""
    norm = situation.norm
    return ReviserView(norm.norm, norm.culture, norm.norm_type, configuration(situation), *_texts(draft), **plan)


def outcome_view(situation: Situation, response: ResponseRecord) -> OutcomeView:
    """Build the view of the outcome judge."""
    draft, norm = situation.draft, situation.norm
    answer = framed("ANSWER", response.answer)
    return OutcomeView(norm.culture, norm.norm, draft.scenario, draft.question, answer)


def norm_match_view(situation: Situation, response: ResponseRecord) -> NormMatchView:
    """Build the view of the Norm Match judge."""
    draft, norm = situation.draft, situation.norm
    answer, reasoning = framed("ANSWER", response.answer), framed("REASONING", response.reasoning)
    return NormMatchView(norm.culture, norm.norm, draft.scenario, draft.question, reasoning, answer)


def configuration(situation: Situation) -> dict[str, str]:
    """Return a chronotope's fields, without what compares it with others."""
    return situation.chronotope.model_dump(exclude={"difference_from_previous"})


def _texts(draft: Draft) -> tuple[str, str, str]:
    return draft.scenario, draft.question, draft.hidden_expected_answer
