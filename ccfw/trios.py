"""Three-judge ensembles, registered as options of the ``judge`` group from the judge files themselves (Table 11).

Every three judges of one folder make ``trio_a_b_c``, names in alphabetical order: the paper's 11 files give
165, and a user's own folder gives its own, without mixing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def register(folders: Iterable[Path]) -> None:
    """Register the trios of every ``judge`` folder with Hydra."""
    from hydra.core.config_store import ConfigStore

    store = ConfigStore.instance()
    for folder in folders:
        for name, node in trios(folder).items():
            store.store(group="judge", name=name, node=node, provider="ccfw.trios")


def trios(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the trios of a folder of judge files, by name; a file that is no YAML mapping is left to Hydra."""
    import yaml

    judges: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.yaml")):
        try:
            content = yaml.safe_load(path.read_text("utf-8"))
        except (OSError, ValueError, yaml.YAMLError):
            continue
        if isinstance(content, dict) and isinstance(content.get("defaults"), list):
            judges[path.stem] = content
    return {f"trio_{'_'.join(names)}": _trio(names, judges) for names in itertools.combinations(judges, 3)}


def _trio(names: tuple[str, ...], judges: dict[str, dict[str, Any]]) -> dict[str, Any]:
    first = judges[names[0]]
    members = [entry for name in names for entry in judges[name]["defaults"] if isinstance(entry, dict)]
    return {
        "defaults": [*members, "_self_"],
        "name": f"trio_{'_'.join(names)}",
        "rubric": first.get("rubric"),
        "aggregation": "mean",
    }
