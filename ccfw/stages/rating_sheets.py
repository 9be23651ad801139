"""Sheets on which people rate what policies answered, beside the scores of stage *responses* (docs/crisp.md)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from ccfw.crisp.rating import Rated, blind, drawn, filled, key, sheet
from ccfw.crisp.records import Scale
from ccfw.resources import resource
from ccfw.settings import Settings
from ccfw.store import write_atomically

log = logging.getLogger(__name__)
FOLDER = "rating"
KEY = "key.csv"


def write(folder: Path, answers: Sequence[Rated], settings: Settings) -> None:
    """Write a sheet for each rater and scale, the guidelines, and the key, under an output folder.

    A sheet that somebody has begun to fill in is never written over; that it no longer holds the answers of the job is
    said.
    """
    terms = settings.crisp.rating
    rated = drawn(answers, terms.items, settings.seed)
    if not terms.raters or not rated:
        return
    items = frozenset(blind(each.response.response_id, settings.seed) for each in rated)
    for scale in Scale:
        guidelines = resource("data") / "crisp" / "rating" / f"{scale.value}.md"
        write_atomically(folder / FOLDER / f"{scale.value}.md", guidelines.read_text("utf-8"))
        for rater in terms.raters:
            path = folder / FOLDER / scale.value / f"{rater}.csv"
            if _may_write(path, items):
                write_atomically(path, sheet(rated, rater, scale, settings.seed))
    write_atomically(folder / FOLDER / KEY, key(rated, settings.seed))


def _may_write(path: Path, items: frozenset[str]) -> bool:
    if not path.exists():
        return True
    there = filled(path.read_text("utf-8", errors="replace"))
    if there.begun and there.items != items:
        log.warning("%s: is being filled in and is left as it is, though the job's answers are others by now", path)
    return not there.begun
