"""A knowledge base of any size without a model: random passages on disk, and an embedder that draws vectors."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ccfw.frames import ColumnType, write_table
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.records import Passage
from ccfw.knowledge.vectors import unit
from ccfw.records import Region

DIMENSION = 384
REGIONS = tuple(sorted(map(str, Region)))
_TYPES: dict[str, ColumnType] = {
    **dict.fromkeys(Passage.model_fields, "text"),
    **dict.fromkeys(("tags", "identities"), "texts"),
    "niche_terms": "terms",
}
_IN_FILE = 5_000


class Drawn:
    """Unit vectors drawn from a seed, whatever the texts."""

    name = "drawn"

    def __init__(self) -> None:
        self._draw = np.random.default_rng(0)

    def passages(self, texts: Sequence[str]) -> Floats:
        """Draw a vector a text."""
        return unit(self._draw.standard_normal((len(texts), DIMENSION), dtype=np.float32))

    def queries(self, texts: Sequence[str], instruction: str) -> Floats:  # noqa: ARG002 nothing is read
        """Draw a vector a text."""
        return self.passages(texts)


def write_passages(folder: Path, count: int) -> None:
    """Write passages of about a hundred random words as a build leaves them, a tenth of each region."""
    draw = random.Random(0)  # noqa: S311 no secret
    words = ["".join(draw.choices("aeioubdgklmnprst", k=draw.randint(2, 9))) for _ in range(4_000)]
    for start in range(0, count, _IN_FILE):
        rows = [_row(number, draw, words) for number in range(start, min(count, start + _IN_FILE))]
        columns = {name: [row[name] for row in rows] for name in _TYPES}
        write_table(folder / f"{start // _IN_FILE:06d}.parquet", columns, _TYPES)


def _row(number: int, draw: random.Random, words: Sequence[str]) -> dict[str, Any]:
    terms = [{"term": word, "native": None} for word in draw.choices(words, k=3)]
    return {
        "passage_id": f"drawn_{number}",
        "region": REGIONS[number % len(REGIONS)],
        "title": f"Title {number // 3}",
        "tags": ["drawn"],
        "identities": [],
        "niche_terms": terms,
        "text": " ".join(draw.choices(words, k=100)),
        "check": None,
        "source": f"drawn:{number}",
        "revision": None,
        "licence": "CC0-1.0",
        "language": "en",
    }
