"""Who may see what (Table 1), as types: a request to a role is built from that role's view and nothing else.

======================  ============  =====================  ==================  ==================
role                    public        private                shard               oracle
======================  ============  =====================  ==================  ==================
assistant (eval)        chat history  –                      –                   –
assistant (gold)        chat history  demographics           target user goal    criteria & taboos
simulator               + scenario    own identity & style   goal & directives   –
judge                   transcript    demographics           goals by turn       rubrics & taboos
======================  ============  =====================  ==================  ==================

Where the paper's prose says more than its Table 1, the table holds: the simulator sees no success
condition, and the gold teacher sees criteria and taboos but no tripwire.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from ccfw.records import Episode, LanguageMode, Message, Metric, Persona, Scenario, Shard, Turn
from ccfw.styles import directive, speech_guidance
from ccfw.universe.seed_id import episode_id

REGION_NAMES = {
    "SG": "Singapore",
    "MY": "Malaysia",
    "ID": "Indonesia",
    "TH": "Thailand",
    "VN": "Vietnam",
    "PH": "the Philippines",
    "CN": "China",
    "JP": "Japan",
    "KR": "South Korea",
    "BN": "Brunei",
}


@dataclass(frozen=True)
class AssistantView:
    """The chat, and nothing else."""

    history: tuple[Message, ...]


@dataclass(frozen=True)
class GoldView:
    """The chat with what Table 1 grants the gold teacher."""

    history: tuple[Message, ...]
    persona_summary: str
    target_user_goal: str
    success_criteria: tuple[str, ...]
    failure_criteria: tuple[str, ...]
    cultural_taboos: tuple[str, ...]


@dataclass(frozen=True)
class Intent:
    """What the user wants in one shard and how it goes about it."""

    shard_id: int
    phase_label: str
    goal: str
    signifiers: tuple[str, ...]
    guidance: str


@dataclass(frozen=True)
class SimulatorView:
    """The user's own situation and intent; the next intent is where an advancing message goes."""

    history: tuple[Message, ...]
    persona_summary: str
    scenario_summary: str
    background: str
    style: str
    """Register of the shard, as its author set it."""
    directive: str
    """How to write this one message, so that users do not share one voice."""
    speech: str
    language: str
    region: str
    intent: Intent
    next_intent: Intent | None


@dataclass(frozen=True)
class JudgeView:
    """What one metric's judge may read: the fields that Appendix L names for that metric."""

    metric: Metric
    fields: dict[str, Any]
    tripwires: tuple[str, ...]
    """The exact texts that a harmlessness verdict may name; empty for the other metrics."""
    taboos: tuple[str, ...]


METRIC_FIELDS: dict[Metric, frozenset[str]] = {
    Metric.HARMLESS: frozenset(
        {"persona_summary", "cultural_context", "safety_tripwires", "cultural_taboos", "conversation"}
    ),
    Metric.HELPFUL: frozenset(
        {
            "persona_summary",
            "user_goals",
            "success_criteria",
            "shards_attempted",
            "shards_total",
            "shards_cleared",
            "termination_reason",
            "conversation",
        }
    ),
    Metric.HONEST: frozenset({"persona_summary", "conversation"}),
    Metric.NATURALNESS: frozenset({"conversation"}),
    Metric.PLAUSIBILITY: frozenset({"persona_summary", "instantiated_summary", "conversation"}),
    Metric.TYPICALITY: frozenset({"persona_summary", "instantiated_summary", "conversation"}),
}


def persona_summary(persona: Persona) -> str:
    """Describe a persona in one line; the identity is a community, not a degree of observance."""
    identity = persona.identity.replace("_", " ")
    return (
        f"{persona.gender}, age {persona.age_cohort}, {REGION_NAMES[persona.region]}, {identity} community "
        "(a typical, moderate member: belonging says nothing about strictness)"
    )


def assistant_view(history: tuple[Message, ...]) -> AssistantView:
    """Build the view of the assistant under test."""
    return AssistantView(history)


def gold_view(scenario: Scenario, shard: Shard, history: tuple[Message, ...]) -> GoldView:
    """Build the view of the gold teacher in one shard."""
    oracle = scenario.blueprint.evaluator_oracle_context
    return GoldView(
        history=history,
        persona_summary=persona_summary(scenario.seed.persona),
        target_user_goal=shard.user_instruction.current_surface_goal,
        success_criteria=oracle.success_criteria,
        failure_criteria=oracle.failure_criteria,
        cultural_taboos=oracle.cultural_taboos,
    )


def _intent(shard: Shard) -> Intent:
    instruction = shard.user_instruction
    return Intent(
        shard_id=shard.shard_id,
        phase_label=shard.phase_label,
        goal=instruction.current_surface_goal,
        signifiers=instruction.required_signifier_usage,
        guidance=instruction.prompt_guidance,
    )


def simulator_view(
    scenario: Scenario, shard: Shard, following: Shard | None, history: tuple[Message, ...], language: LanguageMode
) -> SimulatorView:
    """Build the view of the simulated user in one shard."""
    blueprint = scenario.blueprint
    persona = scenario.seed.persona
    return SimulatorView(
        history=history,
        persona_summary=persona_summary(persona),
        scenario_summary=blueprint.scenario_instantiation.instantiated_summary.global_english,
        background=blueprint.user_private_context.background,
        style=shard.user_instruction.linguistic_directive.for_mode(language),
        directive=directive(episode_id(scenario.seed.seed_id, language), len(history) // 2).text,
        speech=speech_guidance(persona.region),
        language=persona.native_language if language is LanguageMode.NATIVE else "English",
        region=REGION_NAMES[persona.region],
        intent=_intent(shard),
        next_intent=_intent(following) if following else None,
    )


_QUOTED = json.JSONEncoder(ensure_ascii=False).encode


def one_line(text: str) -> str:
    """Write a text as a JSON string that no reader takes for more than one line: Unicode's line breaks escaped too."""
    line = _QUOTED(text)
    return line.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@lru_cache(maxsize=1024)
def conversation(turns: tuple[Turn, ...]) -> str:
    """Frame a transcript as data: one JSON string a line, between fences that its own text cannot close.

    The nonce is the transcript's hash: the same transcript gives the same prompt, and no text can hold its
    own hash. Kept for the six judges of an episode.
    """
    lines = []
    for number, turn in enumerate(turns, 1):
        lines.append(f"U{number}: {one_line(turn.user)}")
        lines.append(f"A{number}: {one_line(turn.assistant)}")
    body = "\n".join(lines)
    nonce = hashlib.sha256(body.encode()).hexdigest()[:12]
    return f"<<<TRANSCRIPT {nonce}\n{body}\nTRANSCRIPT {nonce}>>>"


def judge_view(scenario: Scenario, episode: Episode, metric: Metric) -> JudgeView:
    """Build the view of one metric's judge."""
    oracle = scenario.blueprint.evaluator_oracle_context
    attempted = {outcome.shard_id for outcome in episode.shard_outcomes}
    everything = {
        "persona_summary": persona_summary(scenario.seed.persona),
        "cultural_context": oracle.cultural_context,
        "safety_tripwires": oracle.safety_tripwires,
        "cultural_taboos": oracle.cultural_taboos,
        "success_criteria": oracle.success_criteria,
        "user_goals": tuple(
            shard.user_instruction.current_surface_goal
            for shard in scenario.interaction_sequence
            if shard.shard_id in attempted
        ),
        "shards_attempted": len(attempted),
        "shards_total": episode.shards_total,
        "shards_cleared": episode.shards_cleared,
        "termination_reason": episode.termination_reason.value,
        "instantiated_summary": scenario.blueprint.scenario_instantiation.instantiated_summary.global_english,
        "conversation": conversation(episode.turns),
    }
    named = metric is Metric.HARMLESS
    return JudgeView(
        metric=metric,
        fields={key: value for key, value in everything.items() if key in METRIC_FIELDS[metric]},
        tripwires=oracle.safety_tripwires if named else (),
        taboos=oracle.cultural_taboos if named else (),
    )


def view_fields(view: GoldView | SimulatorView) -> dict[str, Any]:
    """Return a view's fields for its prompt, the history left out."""
    return {key: value for key, value in asdict(view).items() if key != "history"}


def chat_lines(history: tuple[Message, ...]) -> str:
    """Write a chat from the user's side, one JSON string a line, so that no text can pose as a line of its own."""
    side = {"user": "YOU", "assistant": "AI", "system": "SYSTEM"}
    return "\n".join(f"{side[m.role]}: {one_line(m.content)}" for m in history)
