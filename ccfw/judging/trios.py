"""Three-judge ensembles as options of the ``judge`` group, worked out from the judge files when asked for (Table 11).

Every three judges of one folder make ``trio_a_b_c``, names in alphabetical order: the paper's 11 files give
165, and a user's own folder gives its own, without mixing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import yaml
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

_GROUP = "judge"


def register(folders: Iterable[Path]) -> None:
    """Let Hydra find the trios of every ``judge`` folder given, and of no other."""
    _Search.folders = tuple(folders)
    for plugin in (TrioSource, _Search):
        Plugins.instance().register(plugin)


class TrioSource(ConfigSource):
    """The trios of one folder: Hydra's own store would copy all of them whenever it composes one job."""

    @staticmethod
    def scheme() -> str:
        """Return what a search path starts with that leads here."""
        return "trios"

    def load_config(self, config_path: str) -> ConfigResult:
        """Return one trio."""
        node = trios(Path(self.path))[_name(config_path)]
        return ConfigResult(self.provider, self.full_path(), OmegaConf.create(node), {"package": None})

    def is_group(self, config_path: str) -> bool:
        """Whether a path is the group that trios are options of."""
        return config_path.rstrip("/") == _GROUP

    def is_config(self, config_path: str) -> bool:
        """Whether a path is a trio of this folder."""
        return config_path.startswith(f"{_GROUP}/trio_") and _name(config_path) in trios(Path(self.path))

    def available(self) -> bool:
        """Whether the folder can be read; one without judges simply has no trios."""
        return True

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Return the names of all trios, where options of their group are asked for."""
        wanted = self.is_group(config_path) and results_filter in (None, ObjectType.CONFIG)
        return sorted(trios(Path(self.path))) if wanted else []


class _Search(SearchPathPlugin):
    folders: ClassVar[tuple[Path, ...]] = ()

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for folder in self.folders:
            search_path.append("ccfw.judging.trios", f"{TrioSource.scheme()}://{folder}")


def _name(config_path: str) -> str:
    return config_path.rpartition("/")[2].removesuffix(".yaml")


@lru_cache
def trios(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the trios of a folder of judge files, by name; a file that is no YAML mapping is left to Hydra."""
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
