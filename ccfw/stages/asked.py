"""What a run of stage *simulate* was asked for, as its manifest keeps the settings."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, ValidationError

from ccfw.errors import StoreError
from ccfw.records import LanguageMode, Tier
from ccfw.selection import Criteria, Outline, choose
from ccfw.store import Output
from ccfw.universe.seed_id import episode_id


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Trap(_Read):
    tiers: tuple[Tier, ...] = ()


class _Languages(_Read):
    modes: tuple[LanguageMode, ...]


class _Simulator(_Read):
    label: str


class Asked(_Read):
    """What the line of a run chose its dialogues by, as its manifest keeps the settings."""

    trap: _Trap
    language: _Languages
    simulator: _Simulator
    seed: int
    limit: int | None = None
    region: tuple[str, ...] | None = None
    identity: tuple[str, ...] | None = None
    domain: tuple[str, ...] | None = None
    subdomain: tuple[str, ...] | None = None
    age: tuple[str, ...] | None = None
    gender: tuple[str, ...] | None = None
    split: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None

    def dialogues(self, outlines: Sequence[Outline]) -> set[str]:
        """Return the dialogues of a dataset that the line asks for."""
        criteria = Criteria(
            tiers=self.trap.tiers,
            regions=self.region or (),
            identities=self.identity or (),
            domains=self.domain or (),
            subdomains=self.subdomain or (),
            ages=self.age or (),
            genders=self.gender or (),
            splits=self.split or (),
            ids=self.ids or (),
        )
        chosen = choose(outlines, criteria, self.limit, self.seed)
        return {episode_id(each.seed.seed_id, language) for each in chosen for language in self.language.modes}


def asked_of(episodes: Output) -> Asked | None:
    """Return what the last run that wrote some episodes was asked for; ``None`` where nothing says so."""
    try:
        return Asked.model_validate(episodes.read_manifest().get("settings"))
    except (ValidationError, StoreError):
        return None
