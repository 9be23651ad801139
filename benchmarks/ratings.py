"""Human ratings and judges' scores of the paper's size (section 5.2, Table 11), made up.

``python -m benchmarks.ratings FOLDER`` writes them.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ccfw.records import Metric, Region
from ccfw.stats.resampling import Array, Ints

DIALOGUES, RATERS = 1250, 3
JUDGES = (
    *("gpt5mini", "qwen36flash", "llama4maverick", "gemini3flash", "gemini25flashlite", "deepseek_v31"),
    *("gemini31flashlite", "deepseek_v32", "gpt54mini", "gpt54nano", "grok420"),
)
"""In the order of Table 11, which the made-up ones follow."""


def write(folder: Path, dialogues: int = DIALOGUES, judges: Sequence[str] = JUDGES, seed: int = 0) -> None:
    """Write ``humans.csv`` and ``scores.csv``: true qualities, seen by people and by judges of differing sharpness."""
    rng, metrics, regions = np.random.default_rng(seed), [metric.value for metric in Metric], [r.value for r in Region]
    quality = 3.4 + rng.normal(0, 0.6, (dialogues, 1)) + rng.normal(0, 0.5, (dialogues, len(metrics)))
    humans = _scores(quality[..., None] + rng.normal(0, 0.55, (dialogues, len(metrics), RATERS)))
    noise, strict = np.linspace(0.5, 1.1, len(judges)), np.linspace(0.0, -1.0, len(judges))
    judged = _scores(quality[..., None] + strict + rng.normal(0, 1, (*quality.shape, len(judges))) * noise)
    names = [f"dialogue_{number:05d}" for number in range(dialogues)]
    _write(
        folder / "humans.csv",
        ("item", "rater", "metric", "score", "region"),
        (
            (name, f"rater_{rater}", metric, humans[row, column, rater], regions[row % len(regions)])
            for row, name in enumerate(names)
            for column, metric in enumerate(metrics)
            for rater in range(RATERS)
        ),
    )
    _write(
        folder / "scores.csv",
        ("item", "judge", "metric", "score"),
        (
            (name, judge, metric, judged[row, column, place])
            for place, judge in enumerate(judges)
            for row, name in enumerate(names)
            for column, metric in enumerate(metrics)
        ),
    )


def overrides(folder: Path) -> tuple[str, ...]:
    """Return the arguments that have a job read what was written."""
    return (
        f"ratings.path={folder / 'humans.csv'}",
        "ratings.columns.region=region",
        "ratings@align.scores=long",
        f"align.scores.path={folder / 'scores.csv'}",
        "align.scores.columns.rater=judge",
    )


def _scores(values: Array) -> Ints:
    return np.clip(np.rint(values), 1, 5).astype(np.int64)


def _write(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


if __name__ == "__main__":
    write(Path(sys.argv[1]))
