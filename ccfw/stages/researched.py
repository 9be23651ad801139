"""What the stages of paper 2 left in a workspace, for the report: each output known by its manifest."""

from __future__ import annotations

import csv
import json
import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ccfw.report.research import TABLES, Shelf
from ccfw.stages.crisp import ROOT

log = logging.getLogger(__name__)
_MOST_BYTES = 1 << 26
"""Of one CSV: what is larger is no table that a page can show."""


def shelves(workspace: Path) -> list[Shelf]:
    """Return every output that has a table, the latest last; what cannot be read is named and left out."""
    return [shelf for _, shelf in sorted(_found(workspace), key=lambda each: (each[0], each[1].name))]


def _found(workspace: Path) -> Iterator[tuple[str, Shelf]]:
    for stage, names in sorted(TABLES.items()):
        for path in sorted((workspace / ROOT / stage).glob("*/manifest.json")):
            try:
                manifest: dict[str, Any] = json.loads(path.read_bytes())
                shelf = _shelf(stage, path, manifest, names)
            except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                log.warning("%s: left out of the report: %s", path, str(error) or type(error).__name__)
                continue
            if shelf.tables:
                yield str(manifest.get("ended", "")), shelf


def _shelf(stage: str, path: Path, manifest: dict[str, Any], names: tuple[str, ...]) -> Shelf:
    settings, content = manifest["settings"], manifest["fingerprint_of"]
    members = settings["judge"]["members"].values()
    return Shelf(
        stage=stage,
        name=path.parent.name,
        dataset=str(settings["dataset"]["name"]),
        judge=str(settings["judge"]["name"]),
        small_judge=any(member["size"] == "small" for member in members),
        content=dict(content),
        settings=settings,
        tables={name: found for name in names if (found := _rows(path.with_name(f"{name}.csv")))},
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"{path.name} has more than {_MOST_BYTES} bytes")
    found = csv.DictReader(path.read_text("utf-8").splitlines())
    return [{str(name): _value(cell) for name, cell in row.items()} for row in found]


def _value(cell: Any) -> Any:
    """Return a cell as a number where it is one, ``None`` where it is empty."""
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return cell or None
    return value if math.isfinite(value) else None
