"""The seeds that a job asks for, out of the table that stage *seeds* wrote under the same settings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from ccfw.errors import RequestError
from ccfw.frames import read_table
from ccfw.records import ChallengeConfig, Persona, Region, Seed, Tier
from ccfw.selection import Criteria, Outline, choose, problems
from ccfw.stages import seeds
from ccfw.stages.context import Context
from ccfw.store import fingerprint

_COLUMNS = (
    *("seed_id", "template_id", "domain", "subdomain", "region", "identity", "gender", "age_cohort", "native_language"),
    *("challenge_type", "secondary_region", "taboo_grounded", "split"),
)


def chosen_seeds(context: Context, stage: str) -> tuple[Outline, ...]:
    """Return the job's seeds in the stratified order, at most ``limit`` of them, for a stage.

    Raises ``RequestError`` when the table is not there yet, or for what no seed is.
    """
    settings = context.settings
    path = Path(settings.workspace) / "universe" / seeds.NAME / fingerprint(seeds.parts(context)) / "seeds.parquet"
    if not path.exists():
        raise RequestError([f"stage={stage}: no seeds under these settings; make them first: stage=seeds"])
    return _chosen(path, path.stat().st_mtime_ns, context.criteria, settings.limit, settings.seed)


@lru_cache(maxsize=1)
def _chosen(path: Path, _: int, criteria: Criteria, limit: int | None, seed: int) -> tuple[Outline, ...]:
    """Choose out of a table, once for all stages of a job and for what is said of them beforehand."""
    outlines = list(_outlines(path))
    if found := problems(outlines, criteria):
        raise RequestError(each.replace("scenario", "seed") for each in found)
    chosen = choose(outlines, criteria, limit, seed)
    return tuple(each._replace(seed=_checked(each.seed)) for each in chosen)


def _outlines(path: Path) -> Iterator[Outline]:
    """Yield every seed of a table; a tenth of a million are not checked one by one before most of them are dropped."""
    persona, challenge = cache(_persona), cache(_challenge)
    columns = read_table(path, _COLUMNS)
    for name, template, domain, field, region, *who, tier, second, grounded, split in zip(
        *(columns[each] for each in _COLUMNS), strict=True
    ):
        seed = Seed.model_construct(
            seed_id=name,
            template_id=template,
            split=split,
            persona=persona(region, *who),
            challenge_config=challenge(tier, second, grounded),
        )
        yield Outline(seed, domain, field, 0)


def _persona(region: str, identity: str, gender: str, age: str, language: str) -> Persona:
    return Persona.model_validate(
        {"region": region, "identity": identity, "gender": gender, "age_cohort": age, "native_language": language}
    )


def _challenge(tier: str, second: str | None, grounded: bool) -> ChallengeConfig:
    return ChallengeConfig(
        challenge_group="Standard" if tier == Tier.STANDARD else "Trap",
        challenge_type=Tier(tier),
        is_cross_cultural=second is not None,
        secondary_region=Region(second) if second else None,
        taboo_grounded=grounded,
    )


def _checked(seed: Seed) -> Seed:
    return Seed.model_validate(seed.model_dump())
