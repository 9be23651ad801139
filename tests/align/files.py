"""Files of ratings for tests, and settings that read them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ccfw.humans.reading import read_ratings
from ccfw.humans.records import Ratings
from ccfw.settings.align import RatingsConfig
from tests.samples import ROOT


def config(option: str, path: Path | str, **changes: Any) -> RatingsConfig:
    """Return an option of ``conf/ratings`` with a path and changes; ``columns`` and ``scale`` are merged."""
    content = yaml.safe_load((ROOT / "conf" / "ratings" / f"{option}.yaml").read_text("utf-8"))
    for key in ("columns", "scale"):
        changes[key] = content[key] | changes.get(key, {})
    return RatingsConfig.model_validate(content | {"path": str(path)} | changes)


def read(option: str, path: Path, **changes: Any) -> Ratings:
    return read_ratings(config(option, path, **changes), "ratings")


def flat(ratings: Ratings) -> dict[tuple[str, str, str], str]:
    """Return every score by item, metric and rater."""
    return {
        (item, metric, rater): str(score)
        for (item, metric), by in ratings.scores.items()
        for rater, score in by.items()
    }


def table(head: str, rows: Iterable[Sequence[object]]) -> str:
    """Return CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head.split(), *rows])
    return text.getvalue()


def long_csv(path: Path, scores: Mapping[tuple[str, str, str], object], rater: str = "rater") -> Path:
    """Write scores by item, metric and rater as a long table."""
    rows = [(item, who, metric, score) for (item, metric, who), score in scores.items()]
    path.write_text(table(f"item {rater} metric score", rows), "utf-8")
    return path
