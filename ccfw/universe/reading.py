"""Reading the universe from ``data/universe``; every file is checked whole when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from ccfw.errors import StoreError
from ccfw.records import Persona, Region
from ccfw.universe.records import CultureWords, Domain, Domains, LibraryTemplate, Personas, RegionIdentities, Universe

M = TypeVar("M", bound=BaseModel)


@lru_cache(maxsize=4)
def read_universe(folder: Path) -> Universe:
    """Read a universe; raise ``StoreError`` with file and reason for what does not fit."""
    domains = yaml_record(folder / "domains.yaml", Domains).domains
    crossed = yaml_record(folder / "personas.yaml", Personas)
    listed = [yaml_record(path, RegionIdentities) for path in yaml_files(folder / "identities")]
    found = {each.region: each for each in listed}
    regions = tuple(found[region] for region in Region if region in found)
    return Universe(
        regions=regions,
        domains=domains,
        personas=tuple(_personas(regions, crossed)),
        templates=_templates(folder / "templates", domains),
        secondary={region: each.secondary for region, each in crossed.regions.items()},
        culture_words=yaml_record(folder / "culture_words.yaml", CultureWords).all,
    )


def _personas(regions: Sequence[RegionIdentities], crossed: Personas) -> list[Persona]:
    return [
        Persona.model_validate(
            {
                "region": each.region,
                "identity": identity.code,
                "gender": gender,
                "age_cohort": age,
                "native_language": identity.native_language,
            }
        )
        for each in regions
        for identity in each.identities
        for gender in crossed.genders
        for age in crossed.ages
    ]


def _templates(folder: Path, domains: Sequence[Domain]) -> tuple[LibraryTemplate, ...]:
    found = [template for path in yaml_files(folder) for template in yaml_list(path, LibraryTemplate)]
    order = {
        (domain.code, subdomain.code): (i, j)
        for i, domain in enumerate(domains)
        for j, subdomain in enumerate(domain.subdomains)
    }
    unknown = [t.template_id for t in found if (t.domain_code, t.subdomain_code) not in order]
    if unknown:
        raise StoreError(f"{folder}: of no subdomain: {', '.join(unknown)}")
    return tuple(sorted(found, key=lambda t: (*order[t.domain_code, t.subdomain_code], t.template_id)))


def yaml_files(folder: Path) -> list[Path]:
    """Return the YAML files of a folder in the order of their names."""
    return sorted(folder.glob("*.yaml"))


def yaml_record(path: Path, kind: type[M]) -> M:
    """Read one record; raise ``StoreError`` with file and every fault."""
    return _fitted(_parsed(path), kind, path)


def yaml_list(path: Path, kind: type[M]) -> list[M]:
    """Read a list of records; raise ``StoreError`` with file, entry and every fault of the first that does not fit."""
    content = _parsed(path)
    if not isinstance(content, list):
        raise StoreError(f"{path}: not a list")
    return [_fitted(each, kind, f"{path}: entry {number}") for number, each in enumerate(content, 1)]


def _parsed(path: Path) -> Any:
    try:
        return yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 both are safe
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise StoreError(f"{path}: not YAML: {' '.join(str(error).split())}") from None


def _fitted(content: Any, kind: type[M], where: object) -> M:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise StoreError(f"{where}: {faults}") from None
