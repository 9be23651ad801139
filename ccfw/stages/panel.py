"""Stage *panel*: all judges whose scores are there, and all panels of them, against people (Tables 3, 11, 12, 13).

Reads   what *align* reads, of every judge at once: all in the file of scores, or all that *evaluate* stored for the
        job's dialogues under the same rubric. No model is called.
Writes  ``panel/<fingerprint>/``: ``panel.md``; Tables 3, 11, 12 and 13 as Markdown, CSV and LaTeX; ``panels.csv``,
        every judge and panel in every group; a scatter and heat maps as PNG and SVG; an MLflow run under that of the
        ratings.
Method  ``ccfw.align.panel_study``: intervals, ranks, the choice of the best on items that did not choose it, what
        each judge adds, cascades, means of ratings that nobody gave. The paper's own rows stand beside, marked as
        published.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ccfw.align.panel_records import Entrant, PanelStudy, Spec, Unrated
from ccfw.align.panel_study import panel_study
from ccfw.align.published import Published
from ccfw.humans.study import clusters_of, scores_of, unrated_keys
from ccfw.report.agreement_panel import choice, every_row, metrics, page, tables
from ccfw.resources import resource
from ccfw.settings import Settings
from ccfw.stages.align import ratings_run
from ccfw.stages.context import Context, StageResult
from ccfw.stages.rated import Judge, Study, baseline_of, check_files, study_of_all, terms_of
from ccfw.store import fingerprint, write_atomically
from ccfw.universe.reading import yaml_record

log = logging.getLogger(__name__)

NAME = "panel"
VERSION = 2
"""Raised when the same ratings and scores give other figures."""


def run(context: Context) -> StageResult:
    """Study every judge and panel, write what came of it, and log it."""
    settings = context.settings
    study = study_of_all(context)
    found = _studied(settings, study)
    content = _parts(settings, study)
    output = context.output(NAME, fingerprint(content))
    empty = [each for each in found.judges if not each.whole.items]
    result = StageResult(
        NAME, output.folder, done=len(found.judges) - len(empty) + len(found.panels), failed=len(empty)
    )
    if empty:
        result.reason = f"no score of any rated item by {', '.join(each.name for each in empty)}"
    for entrant in found.entrants:
        if entrant.missing:
            reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(entrant.missing.items()))
            log.warning("stage=%s: no score of %s: %s", NAME, entrant.name, reasons)
    with output:
        written = _write(output.folder, found, settings)
        output.write_manifest(context.manifest(output, result, content))
    _track(settings, study, found, fingerprint(content), [*written, output.manifest])
    return result


def plan(context: Context) -> tuple[int, int]:
    """Return the calls that the stage would make: none. Raises ``RequestError`` for files that cannot be read."""
    check_files(context)
    return 0, 0


@lru_cache(maxsize=1)
def published() -> Published:
    """Return the figures that the paper publishes."""
    return yaml_record(resource("data") / "published" / "tables_11_13.yaml", Published)


def _studied(settings: Settings, study: Study) -> PanelStudy:
    terms, how = terms_of(settings), settings.panel
    columns = [study.column(judge) for judge in study.judges]
    entrants = [
        Entrant(judge.name, _label(judge), judge.cost, column.missing)
        for judge, column in zip(study.judges, columns, strict=True)
    ]
    return panel_study(
        study.people,
        baseline_of(study, terms),
        entrants,
        [column.scores for column in columns],
        _unrated(study),
        Spec(how.size, how.aggregation, how.folds, how.repeats, how.tolerance),
        terms,
    )


def _label(judge: Judge) -> str:
    return published().table_11.label(judge.name) if judge.label == judge.name else judge.label


def _unrated(study: Study) -> Unrated | None:
    sources = list(dict.fromkeys(judge.scores for judge in study.judges))
    keys = unrated_keys(study.people, sources)
    if not keys:
        return None
    names, by_source = [judge.name for judge in study.judges], [source.scores for source in sources]
    rows = [{name: score for scores in by_source for name, score in scores.get(key, {}).items()} for key in keys]
    return Unrated(tuple(metric for _, metric in keys), scores_of(rows, names), clusters_of(keys, *sources))


def _parts(settings: Settings, study: Study) -> dict[str, Any]:
    return {
        "study": study.digest,
        "costs": {judge.name: judge.cost for judge in study.judges},
        "panel": settings.panel.model_dump(mode="json"),
        "bootstrap": settings.bootstrap.model_dump(mode="json"),
        "published": fingerprint(published().model_dump(mode="json")),
        "seed": settings.seed,
        "version": VERSION,
    }


def _write(folder: Path, study: PanelStudy, settings: Settings) -> list[Path]:
    from ccfw.report.agreement_figures import draw

    beside = published() if settings.panel.published else None
    made, chosen = tables(study, beside, settings.panel.best), choice(study)
    source = beside.source if beside else ""
    texts = {
        "panel.md": page(study, [*made, *chosen], settings.bootstrap.level, source),
        "panels.csv": every_row(study),
    }
    for table in made:
        texts |= {
            f"{table.name}.md": table.markdown(),
            f"{table.name}.csv": table.csv(),
            f"{table.name}.tex": table.latex(),
        }
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return [*(folder / name for name in texts), *draw(study, folder)]


def _track(settings: Settings, study: Study, found: PanelStudy, own: str, files: Sequence[Path]) -> None:
    if settings.tracking.name == "none":
        return
    from ccfw.tracking import Tracked, track_nested

    spec = {key: str(value) for key, value in settings.panel.model_dump(mode="json").items()}
    best = {f"best_{kind}": each[0].name for kind, each in (("judge", found.judges), ("panel", found.panels)) if each}
    run = Tracked(
        name=f"panel {settings.ratings.name}",
        fingerprint=own,
        tags={"stage": NAME, "ratings": settings.ratings.name} | best,
        params=spec | {"judges": ",".join(judge.name for judge in study.judges)},
        metrics=metrics(found),
        files=files,
    )
    track_nested(settings, ratings_run(settings, study, found.baseline), run)
