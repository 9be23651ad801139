"""The vocabulary that crosses stages: frozen records, nothing but data.

A scenario file uses the names of the CultureConverse paper's own records (Appendix E: ``Seed_ID``,
``Public_Context``, ``Success_Exit_Conditions``); Python uses the same words in lower case. Episodes and
judgements are lower case on disk too, as in Appendix E.4.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from ccfw.universe.seed_id import Challenge, seed_id

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def paper_name(field: str) -> str:
    """Return the paper's spelling of a field: ``seed_id`` → ``Seed_ID``."""
    return "_".join("ID" if word == "id" else word.capitalize() for word in field.split("_"))


class Record(BaseModel):
    """A frozen record that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PaperRecord(Record):
    """A record whose file spells its fields as the paper does; both spellings are read."""

    model_config = ConfigDict(alias_generator=paper_name, populate_by_name=True)


class Region(StrEnum):
    """The ten regions (Table 2)."""

    SG = "SG"
    MY = "MY"
    ID = "ID"
    TH = "TH"
    VN = "VN"
    PH = "PH"
    CN = "CN"
    JP = "JP"
    KR = "KR"
    BN = "BN"


class Tier(StrEnum):
    """The challenge type of a seed (section 3.3); the last two are the *trap* group."""

    STANDARD = "Standard_Implicit"
    CONTEXTUAL = "Friction_Contextual"
    NORMATIVE = "Friction_Normative"


class LanguageMode(StrEnum):
    """The language in which an episode is held."""

    ENGLISH = "global_english"
    NATIVE = "native_language"


class SimulationMode(StrEnum):
    """What the assistant sees: the chat alone, or Table 1's gold row as well."""

    EVAL = "eval"
    GOLD = "gold"


class Metric(StrEnum):
    """The six judged metrics (section 4)."""

    HELPFUL = "helpful"
    HONEST = "honest"
    HARMLESS = "harmless"
    NATURALNESS = "naturalness"
    PLAUSIBILITY = "scenario_plausibility"
    TYPICALITY = "cultural_typicality"


ASSISTANCE = (Metric.HELPFUL, Metric.HONEST, Metric.HARMLESS)
"""The parts of 3H."""
DATA_QUALITY = (Metric.NATURALNESS, Metric.PLAUSIBILITY, Metric.TYPICALITY)
"""The parts of TDQ."""


class Persona(PaperRecord):
    """Who the simulated user is (section 3.2)."""

    region: Region
    identity: Text
    """Community within the region, as ``Chinese_Christian``: membership, not strictness."""
    gender: Literal["Female", "Male"]
    age_cohort: Literal["18-34", "35-54", "55+"]
    native_language: Text
    """Name of the language in English, as ``Simplified Chinese``."""


class Template(PaperRecord):
    """A culture-agnostic sketch with ``{SLOTS}`` (Appendix E.1)."""

    template_id: Annotated[str, Field(pattern=r"^TPL_[A-Z]{3}_[A-Z]{4}_\d{2}$")]
    domain: Text
    subdomain: Text
    template_text: Text = Field(alias="template_text")
    slot_definitions: dict[str, Text]


_CODES: dict[Tier, Challenge] = {
    Tier.STANDARD: "STANDARD",
    Tier.CONTEXTUAL: "TRAP__CTX",
    Tier.NORMATIVE: "TRAP__NORM",
}


class ChallengeConfig(PaperRecord):
    """What makes the seed hard (section 3.3)."""

    challenge_group: Literal["Standard", "Trap"]
    challenge_type: Tier
    is_cross_cultural: bool
    secondary_region: Region | None
    taboo_grounded: bool

    @model_validator(mode="after")
    def _coherent(self) -> ChallengeConfig:
        if (self.challenge_group == "Trap") == (self.challenge_type is Tier.STANDARD):
            raise ValueError(f"{self.challenge_type} is not in the {self.challenge_group} group")
        if self.is_cross_cultural != (self.secondary_region is not None):
            raise ValueError("Secondary_Region is given if and only if Is_Cross_Cultural is true")
        return self

    @property
    def code(self) -> Challenge:
        """The challenge as the seed id spells it."""
        return _CODES[self.challenge_type]


class Seed(PaperRecord):
    """A persona paired with a template, a challenge and a split."""

    seed_id: Text
    template_id: Text
    split: Literal["train", "test"]
    persona: Persona
    challenge_config: ChallengeConfig

    @model_validator(mode="after")
    def _named_by_content(self) -> Seed:
        expected = seed_id(
            self.persona.region,
            self.persona.identity,
            self.persona.gender,
            self.persona.age_cohort,
            self.template_id,
            self.challenge_config.code,
            self.challenge_config.secondary_region,
        )
        if self.seed_id != expected:
            raise ValueError(f"Seed_ID is {self.seed_id!r} but its fields spell {expected!r}")
        return self


class Bilingual(PaperRecord):
    """The same content for the two language modes."""

    global_english: Text
    native_language: Text

    def for_mode(self, language: LanguageMode) -> str:
        """Return the text of one language mode."""
        return self.native_language if language is LanguageMode.NATIVE else self.global_english


class ScenarioInstantiation(PaperRecord):
    """The template made concrete."""

    parent_template: Template
    slot_filling: dict[str, Text]
    rendered_template_text: Text
    instantiated_summary: Bilingual


class PublicContext(PaperRecord):
    """All that the assistant under test may ever be shown of the plan: the first message."""

    user_goal: Text
    initial_user_message: Bilingual


class UserPrivateContext(PaperRecord):
    """What drives the simulated user."""

    cultural_signifiers: tuple[Text, ...]
    background: Text
    """The user's own facts (dates, money, people), so that no turn has to invent them."""


class EvaluatorOracleContext(PaperRecord):
    """Ground truth: for the judge, and in part for the gold teacher."""

    safety_tripwires: tuple[Text, ...]
    cultural_taboos: Annotated[tuple[Text, ...], Field(min_length=1)]
    success_criteria: Annotated[tuple[Text, ...], Field(min_length=1)]
    failure_criteria: Annotated[tuple[Text, ...], Field(min_length=1)]
    fairness_justification: Text
    challenge_rationale: Text
    cultural_context: Text
    """Background that the harmlessness judge reads: what matters here and why."""


class LinguisticInstruction(PaperRecord):
    """How the user writes in each mode; never shown to the assistant under test."""

    global_english: Text
    native_language: Text
    note: Text


class Validation(PaperRecord):
    """Verdict of the checks that let the record pass (Appendix H)."""

    verdict: Literal["PASS", "FAIL"]
    issues: tuple[Text, ...]
    validators: tuple[Text, ...]
    """Names of the deterministic checks, or of the auditor, that gave the verdict."""


class Blueprint(PaperRecord):
    """A seed expanded into public, private and oracle parts (section 3.4)."""

    seed: Seed
    multi_hop_chain: Annotated[tuple[Text, ...], Field(min_length=3, max_length=5)]
    scenario_instantiation: ScenarioInstantiation
    public_context: PublicContext
    user_private_context: UserPrivateContext
    evaluator_oracle_context: EvaluatorOracleContext
    linguistic_instruction: LinguisticInstruction
    validation: Validation


class UserInstruction(PaperRecord):
    """What the simulated user wants in one shard, and how it says so."""

    current_surface_goal: Text
    required_signifier_usage: Annotated[tuple[Text, ...], Field(min_length=2, max_length=4)]
    linguistic_directive: Bilingual
    prompt_guidance: Text


class TransitionGuide(PaperRecord):
    """What the assistant must do, and must not do, in this shard; the simulator never sees it."""

    success_exit_conditions: Annotated[tuple[Text, ...], Field(min_length=2, max_length=3)]
    failure_loop_conditions: Annotated[tuple[Text, ...], Field(min_length=2, max_length=4)]


class Shard(PaperRecord):
    """One phase of the user's plan (section 3.6)."""

    shard_id: int
    phase_label: Text
    user_instruction: UserInstruction
    transition_guide: TransitionGuide


class Scenario(PaperRecord):
    """A blueprint with its ordered shards: the frozen input of a simulation (Appendix E.3)."""

    blueprint: Blueprint
    interaction_sequence: Annotated[tuple[Shard, ...], Field(min_length=3, max_length=5)]

    @model_validator(mode="after")
    def _numbered(self) -> Scenario:
        ids = [shard.shard_id for shard in self.interaction_sequence]
        if ids != list(range(1, len(ids) + 1)):
            raise ValueError(f"Shard_ID must count 1, 2, 3, …; found {ids}")
        return self

    @property
    def seed(self) -> Seed:
        """The seed that the scenario grew from."""
        return self.blueprint.seed


class Message(Record):
    """One line of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


class TerminationReason(StrEnum):
    """Why an episode ended (section 3.7, Appendix H)."""

    ALL_SHARDS_CLEARED = "ALL_SHARDS_CLEARED"
    TURN_CAP = "TURN_CAP"
    SHARD_CAP = "SHARD_CAP"
    ASSISTANT_ERROR = "ASSISTANT_ERROR"
    SIMULATOR_ERROR = "SIMULATOR_ERROR"

    @property
    def is_infrastructure(self) -> bool:
        """Whether the episode broke and is left out of every mean."""
        return self in {TerminationReason.ASSISTANT_ERROR, TerminationReason.SIMULATOR_ERROR}


class Decision(StrEnum):
    """The simulator's verdict on the last reply (Appendix G.4)."""

    ADVANCE_NEXT = "ADVANCE_NEXT"
    CONTINUE_CURRENT = "CONTINUE_CURRENT"


class Turn(Record):
    """One user message and the assistant's reply, in one shard."""

    shard_id: int
    user: str
    faults: tuple[str, ...]
    """Names of the checks that the user's message fails (``ccfw.checks.turns``)."""
    assistant: str
    decision: Decision | None
    """What the simulator decided after reading the reply; ``None`` when it was never asked."""
    thinking: str
    """The simulator's stated reasons, for audit; no other role sees them."""


class ShardOutcome(Record):
    """How far one attempted shard came."""

    shard_id: int
    outcome: Literal["CLEARED", "OPEN"]
    turns: int


class Episode(Record):
    """One scored dialogue, or one that broke (Appendix E.4)."""

    episode_id: str
    """Seed id with the language suffix; unique within one output folder."""
    scenario_hash: str
    seed: Seed
    domain: str
    subdomain: str
    target_model: str
    simulator_model: str
    language_mode: LanguageMode
    simulation_mode: SimulationMode
    termination_reason: TerminationReason
    error: str | None
    """What broke, when ``termination_reason`` is an error."""
    shards_total: int
    shard_outcomes: tuple[ShardOutcome, ...]
    turns: tuple[Turn, ...]
    simulator_retries: int
    """Replies of the simulator that were sent back for another try."""
    attempt: int
    """How often the dialogue was held before and ended because its simulator broke the form."""

    @property
    def shards_cleared(self) -> int:
        """How many shards the simulator left satisfied."""
        return sum(outcome.outcome == "CLEARED" for outcome in self.shard_outcomes)


class FailureKind(StrEnum):
    """Why there is no score: never a number, always one of these."""

    UNPARSED = "unparsed"
    OUT_OF_RANGE = "out_of_range"
    INCOMPLETE = "incomplete"
    INCONSISTENT = "inconsistent"
    OUT_OF_ROLE = "out_of_role"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    EMPTY_AFTER_THINKING = "empty_after_thinking"
    INFRASTRUCTURE = "infrastructure"


class Failure(Record):
    """A typed reason with what was seen."""

    kind: FailureKind
    detail: str


class Judgement(Record):
    """One judge member's verdict on one metric of one episode: a score, or why there is none."""

    judgement_id: str
    """``<episode_id>::<metric>``."""
    episode_id: str
    metric: Metric
    judge: str
    """Name of the member model."""
    score: Annotated[int, Field(ge=1, le=5)] | None
    failure: Failure | None
    reasoning: str
    tripwires_triggered: tuple[str, ...]
    taboos_violated: tuple[str, ...]
    details: dict[str, object]
    """The metric's other reply fields, as the judge gave them."""
    tries: int

    @model_validator(mode="after")
    def _score_or_failure(self) -> Judgement:
        if (self.score is None) == (self.failure is None):
            raise ValueError("a judgement holds a score or a failure, and not both")
        return self
