"""One blueprint's way to its shards, and what the prompts of generator and auditor are rendered from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from ccfw.authoring.blueprint_records import BlueprintRecord
from ccfw.authoring.shard_records import ShardRecord
from ccfw.authoring.shards import Script, assemble, read_script, schema
from ccfw.checks import shards as checks
from ccfw.records import Blueprint, Failure, Scenario
from ccfw.stages.course import Course
from ccfw.stages.drafting import Assignment, Drafting
from ccfw.universe.records import Identity, Universe
from ccfw.views import REGION_NAMES, persona_summary


@dataclass(frozen=True)
class ShardAuthor:
    """Who drafts, the universe, and the blueprints by seed."""

    drafting: Drafting
    universe: Universe
    blueprints: Mapping[str, BlueprintRecord]

    async def write(self, seed_id: str, attempt: int) -> ShardRecord:
        """Bring one seed's blueprint to its shards; what no try could mend is a typed failure with its history."""
        blueprint, course = self.blueprints[seed_id].blueprint, Course[Script](attempt)
        assert blueprint is not None  # the stage has looked at each
        failure = await self.drafting.draft(course, self._assignment(blueprint))
        return _record(blueprint, course, failure)

    def _assignment(self, blueprint: Blueprint) -> Assignment[Script]:
        own = blueprint.scenario_instantiation.parent_template.subdomain
        form = schema([name for names in self._catalogue.values() for name in names if name != own])
        identity = self.universe.identity(blueprint.seed.persona.region, blueprint.seed.persona.identity)
        return Assignment(
            form,
            partial(read_script, form=form),
            partial(generator_fields, blueprint, identity, self._catalogue),
            lambda script: checks.check(assemble(script, blueprint)),
            lambda script: audit_fields(assemble(script, blueprint)),
        )

    @cached_property
    def _catalogue(self) -> dict[str, list[str]]:
        """Subdomains by domain."""
        found: dict[str, list[str]] = {}
        for template in map(self.universe.template, self.universe.templates):
            names = found.setdefault(template.domain, [])
            if template.subdomain not in names:
                names.append(template.subdomain)
        return found


def generator_fields(
    blueprint: Blueprint, identity: Identity, catalogue: Mapping[str, Sequence[str]], faults: Sequence[str]
) -> dict[str, Any]:
    """Return what the generator's prompt is rendered from."""
    seed, challenge = blueprint.seed, blueprint.seed.challenge_config
    return {
        "persona": persona_summary(seed.persona),
        "age": seed.persona.age_cohort,
        "language": seed.persona.native_language,
        "identity": identity,
        "blueprint": shown(blueprint),
        "tier": challenge.challenge_type.value,
        "region": REGION_NAMES[seed.persona.region],
        "second_region": REGION_NAMES[challenge.secondary_region] if challenge.secondary_region else None,
        "grounded": challenge.taboo_grounded,
        "catalogue": catalogue,
        "subdomain": blueprint.scenario_instantiation.parent_template.subdomain,
        "faults": faults,
    }


def audit_fields(scenario: Scenario) -> dict[str, Any]:
    """Return what the auditor's prompt is rendered from."""
    seed, challenge = scenario.seed, scenario.seed.challenge_config
    sequence = scenario.model_dump(mode="json", by_alias=True)["Interaction_Sequence"]
    return {
        "persona": persona_summary(seed.persona),
        "language": seed.persona.native_language,
        "blueprint": shown(scenario.blueprint),
        "shards": sequence,
        "tier": challenge.challenge_type.value,
        "grounded": challenge.taboo_grounded,
    }


def shown(blueprint: Blueprint) -> dict[str, Any]:
    """Return a blueprint as generator and auditor of shards read it, without what neither needs."""
    content = blueprint.model_dump(mode="json", by_alias=True)
    del content["Validation"], content["Linguistic_Instruction"]["Note"]
    made = content["Scenario_Instantiation"]
    del made["Parent_Template"], made["Slot_Filling"]
    return content


def _record(blueprint: Blueprint, course: Course[Script], failure: Failure | None) -> ShardRecord:
    script = course.draft if failure is None else None
    return ShardRecord(
        seed_id=blueprint.seed.seed_id,
        scenario=assemble(script, blueprint) if script else None,
        secondary_subdomains=script.secondary_subdomains if script else (),
        **course.told(failure),
    )
