"""What comes of a seed in stage *blueprints*: a blueprint, or why there is none, with all that was found on the way."""

from __future__ import annotations

from pydantic import model_validator

from ccfw.authoring.histories import WrittenRecord
from ccfw.records import Blueprint, Record, Seed, Template


class Evidence(Record):
    """Ids of what the generator was shown, and of what its blueprint says it rests on."""

    passages: tuple[str, ...]
    taboos: tuple[str, ...]
    niche_terms: tuple[str, ...]
    rests_on: tuple[str, ...]
    """Taboos, of a taboo-grounded seed."""


class BlueprintRecord(WrittenRecord):
    """A seed's blueprint that passed every check and the audit, or the reason why there is none."""

    seed: Seed
    template: Template
    blueprint: Blueprint | None
    complexity: int | None
    """Of the reasoning, from 1 to 5, by the generator's own estimate."""
    evidence: Evidence
    openers: tuple[str, str]

    @model_validator(mode="after")
    def _blueprint_or_failure(self) -> BlueprintRecord:
        if (self.blueprint is None) == (self.failure is None):
            raise ValueError("a record holds a blueprint or a failure, and not both")
        return self
