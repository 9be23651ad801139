"""A scenario as a page for a reader: who asks, how it begins and goes on, and what the user does not say. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ccfw.paragraphs import filled
from ccfw.records import Scenario, Shard
from ccfw.views import REGION_NAMES, persona_summary

_INDENT = "  "


def scenario_page(scenario: Scenario, width: int) -> str:
    """Write a scenario in lines of at most ``width`` columns, headings apart."""
    blueprint = scenario.blueprint
    public, private, oracle = (
        blueprint.public_context,
        blueprint.user_private_context,
        blueprint.evaluator_oracle_context,
    )
    message = public.initial_user_message
    language = blueprint.seed.persona.native_language
    messages = [message.global_english]
    if message.native_language != message.global_english:
        messages.append(f"{language}: {message.native_language}")
    parts = [
        [blueprint.seed.seed_id, *_who(scenario, width)],
        _block("First message", messages, width),
        _block("The user's own facts", [private.background], width),
        *(_phase(shard, width) for shard in scenario.interaction_sequence),
        _block("Hidden from user and assistant", [oracle.cultural_context], width),
        _listed("Taboos", oracle.cultural_taboos, width),
        _listed("Tripwires", oracle.safety_tripwires, width),
        _listed("It succeeds if the assistant", oracle.success_criteria, width),
        _listed("It fails if the assistant", oracle.failure_criteria, width),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _who(scenario: Scenario, width: int) -> Iterator[str]:
    seed, template = scenario.seed, scenario.blueprint.scenario_instantiation.parent_template
    challenge = seed.challenge_config
    second = f", with {REGION_NAMES[challenge.secondary_region]}" if challenge.secondary_region else ""
    for text in (
        persona_summary(seed.persona),
        f"Tier: {challenge.challenge_type.value}; split: {seed.split}",
        f"Place: {REGION_NAMES[seed.persona.region]}{second}; {template.domain} / {template.subdomain}",
    ):
        yield filled(text, width, _INDENT)


def _phase(shard: Shard, width: int) -> list[str]:
    wanted = shard.user_instruction
    guide = shard.transition_guide
    return [
        f"{_INDENT}Phase {shard.shard_id}: {shard.phase_label}",
        filled(f"Goal: {wanted.current_surface_goal}", width, 2 * _INDENT),
        *_listed(f"{_INDENT}Cues", wanted.required_signifier_usage, width),
        *_listed(f"{_INDENT}It ends when the assistant", guide.success_exit_conditions, width),
    ]


def _block(head: str, texts: Sequence[str], width: int) -> list[str]:
    return [f"{_INDENT}{head}", *(filled(text, width, 2 * _INDENT) for text in texts)]


def _listed(head: str, texts: Sequence[str], width: int) -> list[str]:
    if not texts:
        return []
    deep = _INDENT * (2 + head.startswith(_INDENT))
    items = (filled(text, width, deep + _INDENT) for text in texts)
    return [f"{_INDENT}{head}", *(f"{deep}- {item.removeprefix(deep + _INDENT)}" for item in items)]
