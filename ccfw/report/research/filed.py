"""Outputs that rest on the user's own files: which file it was, and replies of a file as tables of models. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from ccfw.report.research.shelves import Row, inside

_KEYS = {"reward": "pairs", "supervisor": "pairs", "best_of_n": "candidates"}
"""Settings that name a file instead of what was judged."""
_TRIPLETS = "triplets"
_CULSHIELD, _FOREST = "culshield", "cultureforest_"
_LEVELS = ("easy", "medium", "hard")
TABLES = (_CULSHIELD, *(f"{_FOREST}{level}" for level in _LEVELS))
"""CSV files of *external* where replies were in files."""


def sources(stage: str, settings: Mapping[str, Any]) -> tuple[str, str]:
    """Return the data and the judge that stand behind an output; the judge is empty where none of the job's does."""
    dataset, judge = str(settings["dataset"]["name"]), str(settings["judge"]["name"])
    place = inside(settings, stage, _KEYS.get(stage, ""))
    if place == _TRIPLETS:
        return f"triplets of {dataset}", ""
    if place:
        return f"file {PurePath(str(place)).name}", ""
    return dataset, "" if files(stage, settings) else judge


def files(stage: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the files whose replies *external* scored, by CSV; none where models were asked."""
    places = {name: inside(settings, stage, name) for name in TABLES} if stage == "external" else {}
    return {name: PurePath(str(place)).name for name, place in places.items() if place}


def as_models(tables: Mapping[str, Sequence[Row]], names: Mapping[str, str]) -> dict[str, list[Row]]:
    """Return what the replies of files came to over all countries, in the tables of models, each file as a model."""
    found = {"models_culshield": list(_whole(tables, names, _CULSHIELD))}
    found["models_cultureforest"] = [
        {"level": level, **row} for level in _LEVELS for row in _whole(tables, names, f"{_FOREST}{level}")
    ]
    return {name: rows for name, rows in found.items() if rows}


def _whole(tables: Mapping[str, Sequence[Row]], names: Mapping[str, str], csv: str) -> Iterator[Row]:
    for row in tables.get(csv, ())[:1]:  # the first is over all countries
        yield {"model": f"file {names[csv]}", **row}
