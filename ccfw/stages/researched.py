"""What the stages of paper 2 left in a workspace, for the report: each output known by its manifest, pages to read."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from ccfw.report.research import filed
from ccfw.report.research.shelves import Shelf
from ccfw.report.research.tables import TABLES
from ccfw.stages.crisp import ROOT
from ccfw.stages.crisp_reader import PAGE
from ccfw.stages.curves import rows

log = logging.getLogger(__name__)
_WHOLE = "report.md"
"""Beside the manifest of a request as a whole; one model's replies are an output without it, and have no table."""


class Reader(NamedTuple):
    """A page of an output on which its situations can be read."""

    text: str
    """What it is called: the stage and the beginning of the output's name."""
    name: str
    """Of the output."""
    path: Path

    def place(self, folder: Path) -> str:
        """Return its address relative to a folder."""
        return quote(os.path.relpath(self.path, folder).replace(os.sep, "/"))


def readers(workspace: Path) -> Iterator[Reader]:
    """Yield every page of situations in a workspace."""
    for path in sorted((workspace / ROOT).glob(f"*/*/{PAGE}")):
        stage, name = path.parent.parent.name, path.parent.name
        yield Reader(f"situations of {stage}, {name[:8]}", name, path)


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
            elif path.with_name(_WHOLE).is_file():
                log.warning("%s: left out of the report: none of its tables is one that the report reads", path)


def _shelf(stage: str, path: Path, manifest: dict[str, Any], names: tuple[str, ...]) -> Shelf:
    settings, content = manifest["settings"], manifest["fingerprint_of"]
    members = settings["judge"]["members"].values()
    dataset, judge = filed.sources(stage, settings)
    replies = filed.files(stage, settings)
    found = {name: read for name in replies or names if (read := rows(path.with_name(f"{name}.csv")))}
    return Shelf(
        stage=stage,
        name=path.parent.name,
        dataset=dataset,
        judge=judge,
        small_judge=bool(judge) and any(member["size"] == "small" for member in members),
        content=dict(content),
        settings=settings,
        tables=filed.as_models(found, replies) if replies else found,
    )
