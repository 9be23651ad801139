"""Stage *report*: scores → tables, intervals, figure, transcripts, MLflow runs (section 5, Tables 4 and 17).

Reads   the judgements of *evaluate* under the same settings, and those of every other assistant in the same
        dataset that differ in nothing but the assistant.
Writes  ``report/<fingerprint>/``: ``table.md``, ``table.csv``, ``audit.md``, ``chart.png``, ``chart.svg``,
        ``transcripts/*.txt``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccfw import attacks
from ccfw.attacks import AttackOutcome
from ccfw.checks.leakage import said_hidden
from ccfw.errors import RequestError
from ccfw.records import Episode, Judgement, LanguageMode, Metric
from ccfw.report.audit import audit
from ccfw.report.audit import markdown as markdown_audit
from ccfw.report.tables import Row, build_row, comma_separated, markdown, plain, sorted_rows
from ccfw.report.transcripts import transcript
from ccfw.scoring import combine, episode_scores
from ccfw.seed_id import episode_id
from ccfw.stages import attack, evaluate, simulate
from ccfw.stages.context import Context, StageResult
from ccfw.store import Output, digest, fingerprint, read_records, write_atomically

NAME = "report"


@dataclass(frozen=True)
class Judged:
    """One assistant's stored judgements under the job's judge: a folder for each member."""

    model: str
    label: str
    episodes: Output
    members: tuple[Output, ...]


def run(context: Context) -> StageResult:
    """Build the tables and log the job's own rows."""
    settings = context.settings
    found = judged_models(context)
    mine = fingerprint(simulate.parts(context))
    if mine not in found:
        raise RequestError(
            [
                f"stage={settings.stage.name}: no judgements of model={settings.model.name} by "
                f"judge={settings.judge.name} with these settings in "
                f"{Path(settings.workspace) / settings.dataset.name}; judge first "
                "with stage=evaluate and otherwise the same line"
            ]
        )
    own_rows = _rows(context, found[mine])
    others = [row for key, judged in found.items() if key != mine for row in _rows(context, judged)]
    rows = sorted_rows([*own_rows, *others])
    content = _parts(context, rows)
    output = context.output(NAME, fingerprint(content))
    result = StageResult(NAME, output.folder, done=len(rows))
    own = found[mine]
    with output:
        written = _write(context, output.folder, rows, own)
        manifest = context.manifest(output, result, content, models=sorted(judged.model for judged in found.values()))
        output.write_manifest(manifest)
    _show(context, output.folder, rows)
    _track(
        context, [row for row in rows if row.model == settings.model.name], content, [*written, output.manifest], own
    )
    return result


def plan(_context: Context) -> tuple[int, int]:
    """Return the calls that the stage would make: none."""
    return 0, 0


def judged_models(context: Context) -> dict[str, Judged]:
    """Find every assistant that was judged as the job asks, by the fingerprint of its episodes."""
    root = Path(context.settings.workspace) / context.settings.dataset.name
    wanted = [
        evaluate.comparable(evaluate.parts(context, member)) for member in context.settings.judge.members.values()
    ]
    folders: dict[str, dict[str, Output]] = {}
    about: dict[str, tuple[str, str]] = {}
    for path in sorted((root / evaluate.NAME).glob("*/manifest.json")):
        output = Output(path.parent)
        manifest = output.read_manifest()
        if manifest.get("comparable") in wanted:
            episodes = fingerprint(manifest["fingerprint_of"]["episodes"])
            folders.setdefault(episodes, {})[manifest["comparable"]] = output
            about[episodes] = (manifest["model"], manifest["label"])
    return {
        episodes: Judged(
            *about[episodes], Output(root / simulate.NAME / episodes), tuple(members[key] for key in wanted)
        )
        for episodes, members in folders.items()
        if all(key in members for key in wanted)
    }


def _rows(context: Context, judged: Judged) -> list[Row]:
    settings = context.settings
    members = [episode_scores(read_records(output.records, Judgement)) for output in judged.members]
    scores = combine(members, settings.judge.aggregation)
    held = {e.episode_id for e in read_records(judged.episodes.records, Episode)}
    rows = []
    for language in settings.language.modes:
        wanted = sorted(episode_id(s.seed.seed_id, language) for s in context.selection)
        if not held.intersection(wanted):
            continue
        rows.append(
            build_row(
                model=judged.model,
                label=judged.label,
                language=LanguageMode(language),
                judge=settings.judge.name,
                scores=[scores[key] for key in wanted if key in scores],
                episodes=len(wanted),
                held=len(held.intersection(wanted)),
                seed=settings.seed,
                resamples=settings.bootstrap.resamples,
                level=settings.bootstrap.level,
            )
        )
    return rows


def _parts(context: Context, rows: list[Row]) -> dict[str, Any]:
    settings = context.settings
    return {
        "judge": settings.judge.name,
        "aggregation": settings.judge.aggregation,
        "bootstrap": settings.bootstrap.model_dump(),
        "rows": digest([comma_separated(rows)]),
        "language": settings.language.name,
        "trap": settings.trap.name,
        "dataset": context.dataset.digest,
    }


def _write(context: Context, folder: Path, rows: list[Row], own: Judged) -> list[Path]:
    from ccfw.report.figures import bar_chart

    level = context.settings.bootstrap.level
    write_atomically(folder / "table.md", markdown(rows, level, small_judge(context)))
    write_atomically(folder / "table.csv", comma_separated(rows))
    charts = bar_chart(rows, level, folder)
    write_atomically(folder / "audit.md", _audit_page(context, own))
    written = [folder / "table.md", folder / "table.csv", folder / "audit.md", *charts]
    return [*written, *_transcripts(context, folder, own)]


def _audit_page(context: Context, own: Judged) -> str:
    """Write what says how far the job's own numbers can be trusted, in each language apart."""
    scenarios = context.dataset.by_seed()
    planned = {episode_id(scenario.seed.seed_id, language) for scenario, language in context.planned}
    held = [e for e in read_records(own.episodes.records, Episode) if e.episode_id in planned]
    audits = {}
    for language in context.settings.language.modes:
        episodes = [episode for episode in held if episode.language_mode is language]
        written = [(scenarios[e.seed.seed_id], turn.user) for e in episodes for turn in e.turns[1:]]
        readable = language is LanguageMode.ENGLISH  # what is hidden is written in English
        leaks = sum(bool(said_hidden(scenario, text)) for scenario, text in written) if readable else None
        audits[f"{own.label}, {language.value}"] = audit(episodes, leaks)
    manifests = [output.read_manifest() for output in own.members]
    stops = {manifest["member"]: manifest["stopped"] for manifest in manifests if manifest.get("stopped")}
    return markdown_audit(audits, stops, _attack_rates(context))


def _attack_rates(context: Context) -> list[tuple[str, str]]:
    """Return the success rates of the attacks that were tried on the job's judge, as far as they were."""
    rates = []
    for name, member in context.settings.judge.members.items():
        output = context.output(attack.NAME, fingerprint(attack.parts(context, member)))
        outcomes = list(read_records(output.records, AttackOutcome))
        if outcomes:
            rate = attacks.rate(outcomes)
            rates.append((name, f"{rate.rose} of {rate.scored} scores rose, {rate.unscored} pairs unscored"))
    return rates


def _transcripts(context: Context, folder: Path, own: Judged) -> list[Path]:
    planned = [episode_id(scenario.seed.seed_id, language) for scenario, language in context.planned]
    first = planned[: context.settings.report.transcripts]
    episodes = {e.episode_id: e for e in read_records(own.episodes.records, Episode) if e.episode_id in first}
    judgements: dict[str, list[Judgement]] = {}
    for output in own.members:
        for judgement in read_records(output.records, Judgement):
            judgements.setdefault(judgement.episode_id, []).append(judgement)
    paths = []
    for number, key in enumerate(first, 1):
        if key in episodes:
            ordered = sorted(judgements.get(key, []), key=lambda j: (list(Metric).index(j.metric), j.judge))
            path = folder / "transcripts" / f"{number:02d}.txt"
            write_atomically(path, transcript(episodes[key], ordered))
            paths.append(path)
    return paths


def small_judge(context: Context) -> bool:
    """Whether a member of the judge is too small for its scores to mean anything."""
    return any(member.size == "small" for member in context.settings.judge.members.values())


def _show(context: Context, folder: Path, rows: list[Row]) -> None:
    shown = context.settings.report.shown
    for path in sorted((folder / "transcripts").glob("*.txt"))[:shown]:
        print(path.read_text("utf-8"))
    if shown:
        print(plain(rows, small_judge(context)))
        print(f"\nall of it: {folder}  (table.md, chart.png, audit.md, transcripts/)")


def _track(context: Context, rows: list[Row], content: Mapping[str, Any], files: list[Path], own: Judged) -> None:
    settings = context.settings
    if settings.tracking.name == "none":
        return
    from ccfw.tracking import track_rows

    track_rows(settings, rows, fingerprint(content), files, cost=_cost([own.episodes, *own.members]))
    if settings.report.shown:
        program = os.path.relpath(Path(sys.executable).parent / "mlflow")
        print(f"compare runs: {program} ui --backend-store-uri {settings.tracking.uri}")


def _cost(outputs: list[Output]) -> str:
    """Return what the runs that made the episodes and judgements paid for them, as far as it is known."""
    paid = [output.read_manifest().get("paid") for output in outputs]
    if any(part is None or part["unpriced_calls"] for part in paid):
        return "unknown"
    return f"{sum(part['usd'] for part in paid if part):.4f}"
