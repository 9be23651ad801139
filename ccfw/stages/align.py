"""Stage *align*: one judge, or one panel, against people (section 5.2, Appendices K.2 and M, Tables 3, 12, 13).

Reads   human ratings (``ratings``), and the judge's scores: of a file (``align.scores``), or the judgements that
        *evaluate* stored under the same settings. No model is called.
Writes  ``align/<fingerprint>/``: ``agreement.md``, ``agreement.csv``, ``agreement.json``; an MLflow run under that of
        the ratings.
Method  a panel's score is made of its members' stored scores; an item that one of them lacks is missing and counted.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccfw.align.alignment import ALL, Baseline, alignment, panel
from ccfw.report.agreement_judge import Aligned, baseline_metrics, completeness, metrics, page, rows
from ccfw.settings import Settings
from ccfw.stages.context import Context, StageResult
from ccfw.stages.rated import Study, baseline_of, check_files, study_of_judge, terms_of
from ccfw.store import fingerprint, write_atomically

if TYPE_CHECKING:
    from ccfw.tracking import Tracked

log = logging.getLogger(__name__)

NAME = "align"
VERSION = 2
"""Raised when the same ratings and scores give other figures."""


def run(context: Context) -> StageResult:
    """Hold the job's judge against people, write what came of it, and log it."""
    settings = context.settings
    study = study_of_judge(context)
    aligned = _aligned(settings, study)
    content = _parts(settings, study)
    output = context.output(NAME, fingerprint(content))
    whole = aligned.alignment.consensus[ALL]
    result = StageResult(NAME, output.folder, done=whole.items)
    if not whole.items:
        result.failed, result.reason = whole.missing, "no score of any rated item"
    for line in completeness(aligned):
        log.warning("stage=%s judge=%s: %s", NAME, settings.judge.name, line)
    with output:
        written = _write(output.folder, aligned, settings.bootstrap.level)
        output.write_manifest(context.manifest(output, result, content, missing=aligned.missing))
    _track(settings, study, aligned, fingerprint(content), [*written, output.manifest])
    return result


def plan(context: Context) -> tuple[int, int]:
    """Return the calls that the stage would make: none. Raises ``RequestError`` for files that cannot be read."""
    check_files(context)
    return 0, 0


def _aligned(settings: Settings, study: Study) -> Aligned:
    judge, terms = settings.judge, terms_of(settings)
    columns = {each.name: study.column(each) for each in study.judges}
    costs = [each.cost for each in study.judges]
    known = [cost for cost in costs if cost is not None]
    labels = [each.label for each in study.judges]
    return Aligned(
        name=judge.name,
        label=" + ".join(labels),
        members=tuple(columns),
        aggregation=judge.aggregation,
        cost=sum(known) if len(known) == len(costs) else None,
        missing={name: dict(column.missing) for name, column in columns.items()},
        people=study.people,
        baseline=baseline_of(study, terms),
        alignment=alignment(
            study.people, panel([column.scores for column in columns.values()], judge.aggregation), terms
        ),
    )


def _parts(settings: Settings, study: Study) -> dict[str, Any]:
    return {
        "study": study.digest,
        "judge": settings.judge.name,
        "aggregation": settings.judge.aggregation,
        "costs": [each.cost for each in study.judges],
        "bootstrap": settings.bootstrap.model_dump(mode="json"),
        "seed": settings.seed,
        "version": VERSION,
    }


def _write(folder: Path, aligned: Aligned, level: float) -> list[Path]:
    found = aligned.alignment
    content = {
        "judge": aligned.name,
        "label": aligned.label,
        "members": aligned.members,
        "aggregation": aligned.aggregation,
        "cost_usd": aligned.cost,
        "missing": aligned.missing,
        "metrics": metrics(aligned),
        "association": {f"{kind}/{name}": each._asdict() for (kind, name), each in found.association.items()},
        "reliability": {
            f"{kind}/{name}": each._asdict() for (kind, name), each in aligned.baseline.reliability.items()
        },
    }
    texts = {
        "agreement.md": page(aligned, level),
        "agreement.csv": rows(aligned),
        "agreement.json": json.dumps(content, indent=2, ensure_ascii=False) + "\n",
    }
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return [folder / name for name in texts]


def ratings_run(settings: Settings, study: Study, baseline: Baseline) -> Tracked:
    """Return the MLflow run of the ratings themselves, which those of judges stand under."""
    from ccfw.tracking import Tracked

    terms = settings.bootstrap
    shared = {
        "ratings": settings.ratings.name,
        "bootstrap": f"{terms.name} {terms.resamples} {terms.level} seed {settings.seed}",
    }
    return Tracked(
        name=f"{NAME} {settings.ratings.name}",
        fingerprint=fingerprint({"humans": study.humans.digest, **shared, "version": VERSION}),
        tags={"stage": NAME, **shared},
        params={"path": str(settings.ratings.path), "metrics": ",".join(study.people.metrics), **shared},
        metrics=baseline_metrics(study.people, baseline),
    )


def _track(settings: Settings, study: Study, aligned: Aligned, own: str, files: Sequence[Path]) -> None:
    if settings.tracking.name == "none":
        return
    from ccfw.tracking import Tracked, track_nested

    parent = ratings_run(settings, study, aligned.baseline)
    cost = "unknown" if aligned.cost is None else f"{aligned.cost:.6f}"
    tags = {"stage": NAME, "judge": aligned.name, "members": ",".join(aligned.members), "cost_usd": cost}
    params = {"judge": aligned.name, "label": aligned.label, "aggregation": aligned.aggregation}
    run = Tracked(
        name=aligned.name,
        fingerprint=own,
        tags=tags | {"items": str(aligned.alignment.consensus[ALL].items)},
        params=params | {key: parent.params[key] for key in ("ratings", "bootstrap")},
        metrics=metrics(aligned),
        files=files,
    )
    track_nested(settings, parent, run)
