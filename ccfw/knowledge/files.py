"""Reading the knowledge that ships: passages and taboos of ``data/knowledge``, every file checked whole."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ccfw.errors import StoreError
from ccfw.knowledge.records import Passage, Taboo
from ccfw.universe.reading import yaml_files, yaml_list


@lru_cache(maxsize=4)
def read_passages(folder: Path) -> tuple[Passage, ...]:
    """Read the passages under a folder; raise ``StoreError`` for what does not fit or stands twice."""
    found = [each for path in yaml_files(folder) for each in yaml_list(path, Passage)]
    _unique([each.passage_id for each in found], folder)
    return tuple(found)


@lru_cache(maxsize=4)
def read_taboos(folder: Path) -> tuple[Taboo, ...]:
    """Read the taboos under a folder; raise ``StoreError`` for what does not fit or stands twice."""
    found = [each for path in yaml_files(folder) for each in yaml_list(path, Taboo)]
    _unique([each.taboo_id for each in found], folder)
    return tuple(found)


def _unique(ids: list[str], folder: Path) -> None:
    twice = sorted({each for each in ids if ids.count(each) > 1})
    if twice:
        raise StoreError(f"{folder}: stand twice: {', '.join(twice)}")
