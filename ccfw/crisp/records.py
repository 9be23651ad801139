"""The vocabulary of paper 2: norms, situations, verdicts, responses, preferences. Frozen records, nothing but data."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from ccfw.authoring.histories import Step
from ccfw.records import Failure, Record, Region, Text

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Split = Literal["train", "validation", "test"]
Flag = Literal[0, 1]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


class NormType(StrEnum):
    """The kinds of the norms that ship; norms of other sources keep the kinds of their source."""

    DINING_ETIQUETTE = "dining_etiquette"
    GIFTS_AND_MONEY = "gifts_and_money"
    HOSPITALITY = "hospitality"
    HIERARCHY_AND_ADDRESS = "hierarchy_and_address"
    WORKPLACE = "workplace"
    FAMILY_AND_KINSHIP = "family_and_kinship"
    RELIGION_AND_RITUAL = "religion_and_ritual"
    PUBLIC_BEHAVIOR = "public_behavior"
    COMMUNICATION = "communication"
    DRESS_AND_BODY = "dress_and_body"
    LIFE_CYCLE = "life_cycle"
    NEIGHBOURS = "neighbours"


class Reason(StrEnum):
    """Why something is not there: what every stage counts its losses by."""

    BAD_ROW = "bad_row"
    """A row of a source without question, answer or rule."""
    NO_RULE = "no_rule"
    """The answer states no rule by itself, and no model was to make one of it."""
    SAME_QUESTION = "same_question"
    SAME_NORM = "same_norm"
    OTHER_CULTURE = "other_culture"
    """Of a culture that was not asked for."""
    NO_NORM = "no_norm"
    """No try at the norm came through the checks; the next three likewise."""
    NO_CHRONOTOPE = "no_chronotope"
    NO_SCENARIO = "no_scenario"
    NO_TRIPLET = "no_triplet"
    NO_ANSWER = "no_answer"
    """The situated reasoner gave none that could be read."""
    NO_VERDICT = "no_verdict"
    NO_ADVICE = "no_advice"
    """None that could be read and gave nothing away."""
    NO_PLAN = "no_plan"
    NO_REVISION = "no_revision"
    REVISIONS_SPENT = "revisions_spent"
    RERUNS_SPENT = "reruns_spent"
    NOT_SCORED = "not_scored"
    """A judge gave no score that could be read; of a triplet: no answer that a rewrite could start from."""
    INFRASTRUCTURE = "infrastructure"


class Loss(Record):
    """Why something is not there, with what was seen."""

    reason: Reason
    detail: str


class Norm(Record):
    """One rule of conduct of one culture, in one sentence."""

    norm_id: Text
    norm: Text
    culture: Text
    """Name in English."""
    norm_type: Slug
    source: Text
    """``starter``, ``culturalbench``, ``fork``, ``normad``, or as a file of one's own says."""
    licence: Text
    origin: Text
    """Where in the source it stands."""
    region: Region | None = None
    """Of the ten of paper 1, where the culture is one of them."""


class ShippedNorm(Record):
    """A norm as a file of ``data/crisp/norms`` holds it."""

    norm_id: Text
    norm_type: NormType
    norm: Text
    verify_with: Text
    """What kind of source can confirm it."""


class CultureNorms(Record):
    """A file of ``data/crisp/norms``."""

    culture: Text
    region: Region | None
    source: Literal["paper", "ccfw"]
    """Whether the paper prints the culture's name, or we chose it."""
    norms: tuple[ShippedNorm, ...]


class Chronotope(Record):
    """A time–space–social configuration that makes a norm matter (Table 8)."""

    time: Text
    place: Text
    social_space: Text
    occasion: Text
    relationship_context: Text
    privacy_or_formality_level: Text
    norm_activation_condition: Text
    potential_tension: Text
    difference_from_previous: Text


class Triplet(Record):
    """Three answers to one question that differ in the decisive action alone (Table 25)."""

    appropriate: Text
    generic: Text
    opposite: Text


class Draft(Record):
    """What a reader is asked, and the answer that is kept from it."""

    scenario: Text
    question: Text
    hidden_expected_answer: Text


class ShippedSituation(Draft):
    """A situation as a file of ``data/crisp/situations`` holds it."""

    situation_id: Text
    norm_id: Text
    chronotope: Chronotope
    triplet: Triplet


class CultureSituations(Record):
    """A file of ``data/crisp/situations``."""

    culture: Text
    situations: tuple[ShippedSituation, ...]


class Situation(Record):
    """A norm put into a situation: the unit of the test bed."""

    situation_id: Text
    norm: Norm
    chronotope: Chronotope
    draft: Draft
    split: Split = "test"
    triplet: Triplet | None = None


class InferredNorm(Record):
    """A norm that the situated reasoner takes to be at work, with what in the scenario says so."""

    norm: Text
    evidence: Text


class Answer(Record):
    """The situated reasoner's reply (Table 11)."""

    action: Text
    reason: Text
    inferred_norms: tuple[InferredNorm, ...]


class Verdict(Record):
    """The five dimensions of the norm-grounded verifier (Table 10), each 0 or 1."""

    A: Flag
    """The action is appropriate."""
    E: Flag
    """Cues of the scenario support the judgement."""
    N: Flag
    """The inferred norm is the target norm."""
    R: Flag
    """The reasoning supports the action."""
    L: Flag
    """Scenario or question give the norm away."""

    @property
    def line(self) -> str:
        """As ``A1 E0 N1 R1 L0``."""
        return " ".join(f"{name}{value}" for name, value in self.model_dump().items())


class Reasons(Record):
    """Why the verifier gave each value."""

    A: str
    E: str
    N: str
    R: str
    L: str


class Decision(StrEnum):
    """What the routing controller does next (Table 2)."""

    KEEP = "keep"
    RERUN_ANSWER = "rerun_answer"
    REVISE_QUESTION = "revise_question"


class Round(Record):
    """One answer to one version of a question, and what followed from it."""

    version: int
    """Of the question, from 1."""
    run: int
    """Of the answer to that version, from 1."""
    draft: Draft
    answer: Answer
    verdict: Verdict
    """As the verifier gave it."""
    reasons: Reasons
    leaks: tuple[str, ...]
    """What the deterministic checks found; anything makes ``L`` count as 1."""
    decision: Decision
    guidance: str
    """The advisor's to the next answer, or the planner's to the reviser; empty where nothing follows."""


class NormRecord(Record):
    """What came of one row of a source."""

    row_id: str
    source: str
    norm: Norm | None
    loss: Loss | None
    tries: int
    history: tuple[Step, ...]
    failure: Failure | None
    attempt: int


class Slot(Record):
    """One of the situations that a norm was to have."""

    number: int
    situation: Situation | None
    loss: Loss | None
    chronotope_tries: int
    scenario_tries: int
    likeness: float | None
    """Greatest cosine with an accepted chronotope of the norm; ``None`` where nothing was compared."""
    history: tuple[Step, ...]


class ScenarioRecord(Record):
    """The situations of one norm."""

    norm_id: str
    slots: tuple[Slot, ...]
    failure: Failure | None
    attempt: int


class RefineRecord(Record):
    """A situation's way through the refinement loop."""

    situation_id: str
    situation: Situation | None
    """As it was kept; ``None`` where it was not."""
    norm_id: str
    culture: str
    rounds: tuple[Round, ...]
    loss: Loss | None
    failure: Failure | None
    attempt: int


class ResponseRecord(Record):
    """One policy's answer to one question, or why it cannot be read."""

    response_id: str
    """``<situation>::<policy>::<number>``."""
    situation_id: str
    norm_id: str
    culture: str
    policy: str
    number: int
    answer: str
    reasoning: str
    failure: Failure | None

    @model_validator(mode="after")
    def _answer_or_failure(self) -> ResponseRecord:
        if bool(self.answer) == (self.failure is not None):
            raise ValueError("a response holds an answer or a failure, and not both")
        return self


class Scale(StrEnum):
    """What a response is judged for."""

    OUTCOME = "outcome"
    """1–5: would the proposed action turn out well (Tables 18 and 19)."""
    NORM_MATCH = "norm_match"
    """0–2: does the reasoning recover the norm (Table 26)."""


BOUNDS: dict[Scale, tuple[int, int]] = {Scale.OUTCOME: (1, 5), Scale.NORM_MATCH: (0, 2)}
"""Least and greatest score."""


class ResponseScore(Record):
    """One judge's score of one response, or why there is none."""

    score_id: str
    """``<response>::<scale>``."""
    response_id: str
    situation_id: str
    norm_id: str
    policy: str
    judge: str
    scale: Scale
    score: int | None
    failure: Failure | None
    evidence: str
    reason: str

    @model_validator(mode="after")
    def _score_or_failure(self) -> ResponseScore:
        low, high = BOUNDS[self.scale]
        if (self.score is None) == (self.failure is None):
            raise ValueError("a score is a number or a failure, and not both")
        if self.score is not None and not low <= self.score <= high:
            raise ValueError(f"{self.scale} lies between {low} and {high}")
        return self


class TripletRecord(Record):
    """A situation's triplet, made or shipped, or why there is none."""

    situation_id: str
    mode: Literal["shipped", "full", "rewrite"]
    triplet: Triplet | None
    loss: Loss | None
    tries: int
    history: tuple[Step, ...]
    failure: Failure | None
    attempt: int


class PairKind(StrEnum):
    """Where a preference comes from."""

    GAP = "gap"
    """Two answers whose outcome scores differ enough."""
    APPROPRIATE_GENERIC = "appropriate_generic"
    APPROPRIATE_OPPOSITE = "appropriate_opposite"
    GENERIC_OPPOSITE = "generic_opposite"


class Preference(Record):
    """A pair for a reward model: which of two answers to one question is the better."""

    pair_id: str
    situation_id: str
    norm_id: str
    culture: str
    split: Split
    kind: PairKind
    scenario: str
    question: str
    chosen: str
    rejected: str
    chosen_from: str
    """The response, or the role in the triplet."""
    rejected_from: str
    gap: Annotated[float, Field(gt=0)] | None
    """Difference of the outcome scores; ``None`` for triplets."""
