"""Reading what a build goes by: the rules that ship, and a user's lists of titles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ccfw.errors import RequestError
from ccfw.knowledge.lists import titles
from ccfw.knowledge.regions import Lists, Rules
from ccfw.knowledge.rendering import Markup
from ccfw.records import Region
from ccfw.universe.reading import yaml_record

RULES = ("rules.yaml", "markup.yaml")
"""Files of ``data/kb``."""


def read_rules(folder: Path) -> tuple[Rules, Markup]:
    """Read the rules; raise ``StoreError`` with file and fault."""
    return yaml_record(folder / RULES[0], Rules), yaml_record(folder / RULES[1], Markup)


def read_lists(
    regions: Mapping[Region, Iterable[str]],
    tags: Mapping[str, Iterable[str]],
    identities: Mapping[str, Iterable[str]],
    rules: Rules,
) -> Lists:
    """Read lists of titles; raise ``RequestError`` with every file that cannot be read and every unknown name."""
    problems: list[str] = []
    known = {f"{region}/{code}": (region, code) for region, codes in rules.identities.items() for code in codes}
    problems += [
        f"kb.build.lists.identities: no identity {name}; there are {', '.join(known)}"
        for name in identities
        if name not in known
    ]
    problems += [
        f"kb.build.lists.tags: no tag {name}; there are {', '.join(rules.tags)}"
        for name in tags
        if name not in rules.tags
    ]
    found = Lists(
        {region: _titles(paths, problems) for region, paths in regions.items()},
        {tag: _titles(paths, problems) for tag, paths in tags.items()},
        {known[name]: _titles(paths, problems) for name, paths in identities.items() if name in known},
    )
    if problems:
        raise RequestError(problems)
    return found


def _titles(paths: Iterable[str], problems: list[str]) -> frozenset[str]:
    found: set[str] = set()
    for path in paths:
        try:
            found |= titles(Path(path).read_text("utf-8-sig"))
        except OSError as error:
            problems.append(f"kb.build.lists: {path}: {error.strerror}")
        except ValueError as error:
            problems.append(f"kb.build.lists: {path}: not a list of titles: {error}")
    return frozenset(found)
