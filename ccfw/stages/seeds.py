"""Stage *seeds*: every persona with every template (section 3.3).

Reads   the universe in ``data/universe``.
Writes  ``seeds/<fingerprint>/seeds.parquet``, one seed a row, and ``composition.md``, the counts of Table 2's layout.
Method  ``ccfw.universe.seeds``; the same ``seed=`` gives the same file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ccfw.errors import RequestError
from ccfw.frames import write_parquet
from ccfw.records import Region
from ccfw.resources import resource
from ccfw.settings import Settings
from ccfw.stages.context import Context, StageResult
from ccfw.store import Output, digest, fingerprint, write_atomically
from ccfw.universe.reading import read_universe
from ccfw.universe.records import Universe
from ccfw.universe.seeds import TIERS, Allocation, Shares, allocate, names

NAME = "seeds"
VERSION = 1
"""Raised when the same settings give other seeds."""
_CATEGORIES = (
    *("template_id", "domain", "subdomain", "region", "identity", "gender", "age_cohort", "native_language"),
    *("challenge_type", "secondary_region", "split"),
)


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the seeds; its hash names the output folder."""
    universe = read_universe(resource("data") / "universe")
    return {
        "personas": digest(persona.model_dump_json() for persona in universe.personas),
        "templates": digest(template.model_dump_json() for template in universe.templates),
        "secondary": {str(region): list(others) for region, others in universe.secondary.items()},
        "shares": context.settings.seeds.model_dump(mode="json"),
        "seed": context.settings.seed,
        "version": VERSION,
    }


def run(context: Context) -> StageResult:
    """Allocate the seeds and write them, unless the same are there; raise ``RequestError`` for a selection of them."""
    _whole(context.settings)
    content = parts(context)
    output = Output(Path(context.settings.workspace) / "universe" / NAME / fingerprint(content), context.stop)
    result = StageResult(NAME, output.folder)
    universe = read_universe(resource("data") / "universe")
    count = len(universe.personas) * len(universe.templates)
    with output:
        if (output.folder / "seeds.parquet").exists() and output.read_manifest():
            result.skipped = count
            return result
        _write(output, universe, _allocated(universe, context))
        result.done = count
        output.write_manifest(context.manifest(output, result, content))
    return result


def plan(context: Context) -> tuple[int, int]:
    """Return the calls of the stage: none."""
    _whole(context.settings)
    return 0, 0


def _whole(settings: Settings) -> None:
    """Refuse a selection: shares are exact over all seeds, and what reads them selects."""
    keys = ("region", "identity", "domain", "subdomain", "age", "gender", "split", "ids", "limit")
    given = [key for key in keys if getattr(settings, key)]
    if given:
        raise RequestError([f"{key}: stage={NAME} makes every seed; the stages that read them select" for key in given])


def _allocated(universe: Universe, context: Context) -> Allocation:
    shares = context.settings.seeds
    cross = {tier: getattr(shares.cross_cultural, tier.value) for tier in TIERS}
    try:
        return allocate(universe, Shares(shares.test, shares.taboo_grounded, cross), context.settings.seed)
    except ValueError as error:
        raise RequestError([f"stage={NAME}: {error}"]) from None


def _write(output: Output, universe: Universe, allocation: Allocation) -> None:
    columns = table(universe, allocation)
    write_parquet(output.folder / "seeds.parquet", columns, _CATEGORIES)
    write_atomically(output.folder / "composition.md", composition(columns))


def table(universe: Universe, allocation: Allocation) -> dict[str, Any]:
    """Return the seeds as columns."""
    domains = {domain.code: domain for domain in universe.domains}
    subdomains = {(d.code, s.code): s.name for d in universe.domains for s in d.subdomains}
    people, templates = universe.personas, universe.templates

    def of_persona(field: str) -> Any:
        return np.array([str(getattr(person, field)) for person in people], dtype=object)[allocation.persona]

    def of_template(values: list[str]) -> Any:
        return np.array(values, dtype=object)[allocation.template]

    regions = np.array([None, *(str(region) for region in Region)], dtype=object)
    return {
        "seed_id": names(universe, allocation),
        "template_id": of_template([t.template_id for t in templates]),
        "domain": of_template([domains[t.domain_code].name for t in templates]),
        "subdomain": of_template([subdomains[t.domain_code, t.subdomain_code] for t in templates]),
        **{
            field: of_persona(field)
            for field in ("region", "identity", "gender", "age_cohort", "native_language")
        },
        "challenge_type": np.array([str(tier) for tier in TIERS], dtype=object)[allocation.tier],
        "is_cross_cultural": allocation.secondary >= 0,
        "secondary_region": regions[allocation.secondary + 1],
        "taboo_grounded": allocation.taboo_grounded,
        "split": np.where(allocation.test, "test", "train"),
    }  # fmt: skip


def composition(columns: dict[str, Any]) -> str:
    """Write the counts by split and by region in the layout of Table 2."""
    tiers = [str(tier) for tier in TIERS]
    head = "| Partition | N | Standard | CTX | NORM | Cross-cultural | Taboo-grounded |"
    rows = [head, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for label, chosen in _partitions(columns):
        counts = [int((columns["challenge_type"][chosen] == tier).sum()) for tier in tiers]
        flags = [int(columns[flag][chosen].sum()) for flag in ("is_cross_cultural", "taboo_grounded")]
        rows.append(f"| {label} | " + " | ".join(f"{n:,}" for n in (int(chosen.sum()), *counts, *flags)) + " |")
    return "\n".join(rows) + "\n"


def _partitions(columns: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for field, values in (("split", ("test", "train")), ("region", tuple(map(str, Region)))):
        for value in values:
            yield value, columns[field] == value
    for domain in dict.fromkeys(columns["domain"]):
        yield domain, columns["domain"] == domain
    yield "all", np.ones(len(columns["domain"]), dtype=bool)
