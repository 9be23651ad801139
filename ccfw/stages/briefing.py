"""What the prompts of generator, auditor and translator are rendered from: to each its own view of a brief."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ccfw.authoring.blueprints import Filling
from ccfw.authoring.openers import opener_pair
from ccfw.knowledge.shown import context_lines
from ccfw.records import Blueprint
from ccfw.stages.desk import NOTHING, Brief
from ccfw.views import REGION_NAMES, persona_summary


def generator_fields(brief: Brief, faults: Sequence[str]) -> dict[str, Any]:
    """Return what the generator's prompt is rendered from."""
    persona, evidence = brief.seed.persona, brief.evidence
    second = brief.seed.challenge_config.secondary_region
    taboos = [(each.taboo_id, context_lines(replace(NOTHING, taboos=(each,)))) for each in evidence.taboos]
    return {
        "seed": brief.seed.model_dump(mode="json", by_alias=True),
        "identity": brief.identity,
        "gender": persona.gender.lower(),
        "age": persona.age_cohort,
        "region": REGION_NAMES[persona.region],
        "second_region": REGION_NAMES[second] if second else None,
        "language": persona.native_language,
        "template": brief.template,
        "subdomain": brief.subdomain,
        "passages": list(context_lines(replace(evidence, taboos=()))),
        "dimensions": brief.sketch.potential_cultural_dimensions,
        "hops": brief.sketch.multi_hop_potential,
        "slots": list(brief.sketch.slot_definitions),
        "openers": opener_pair(brief.seed.seed_id),
        "taboos": [f"{name}: {' '.join(map(str.strip, lines))}" for name, lines in taboos],
        "faults": faults,
    }


def audit_fields(brief: Brief, filling: Filling) -> dict[str, Any]:
    """Return what the auditor's prompt is rendered from."""
    challenge = brief.seed.challenge_config
    second = challenge.secondary_region
    shown = {
        "Challenge_Config": challenge.model_dump(mode="json", by_alias=True),
        "Parent_Template": brief.template.model_dump(mode="json", by_alias=True),
        **filling.content,
    }
    return {
        "persona": persona_summary(brief.seed.persona),
        "language": brief.seed.persona.native_language,
        "subdomain": f"{brief.template.subdomain}: {brief.subdomain}",
        "blueprint": shown,
        "tier": challenge.challenge_type.value,
        "second_region": REGION_NAMES[second] if second else None,
        "grounded": challenge.taboo_grounded,
    }


def translation_fields(brief: Brief, blueprint: Blueprint, faults: Sequence[str]) -> dict[str, Any]:
    """Return what the translator's prompt is rendered from: nothing of what only the evaluator knows."""
    return {
        "persona": persona_summary(brief.seed.persona),
        "language": brief.seed.persona.native_language,
        "style": blueprint.linguistic_instruction.native_language,
        "speech": brief.identity.speech,
        "message": blueprint.public_context.initial_user_message.global_english,
        "summary": blueprint.scenario_instantiation.instantiated_summary.global_english,
        "faults": faults,
    }
