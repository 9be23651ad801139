"""What comes of a blueprint in stage *shards*: a frozen scenario, or why there is none, with its history."""

from __future__ import annotations

from pydantic import model_validator

from ccfw.authoring.histories import WrittenRecord
from ccfw.records import Scenario


class ShardRecord(WrittenRecord):
    """A seed's scenario, whose shards passed every check and the audit, or the reason why there is none."""

    scenario: Scenario | None
    secondary_subdomains: tuple[str, ...]
    """Other fields of life that it touches, as the catalogue names them."""

    @model_validator(mode="after")
    def _scenario_or_failure(self) -> ShardRecord:
        if (self.scenario is None) == (self.failure is None):
            raise ValueError("a record holds a scenario or a failure, and not both")
        return self
