"""Stage *report*: scores → tables, intervals, figure, transcripts, MLflow runs (section 5, Tables 4 and 17).

Reads   the judgements of *evaluate* under the same settings, and those of every other assistant in the same
        dataset that differ in nothing but the assistant.
Writes  ``report/<fingerprint>/``: ``table.md``, ``table.csv``, ``audit.md``, ``chart.png``, ``chart.svg``,
        ``transcripts/*.txt``; ``prompts.csv`` and ``prompt_costs.csv`` when the same episodes were judged under
        several styles of prompts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccfw import attacks
from ccfw.checks.leakage import said_hidden
from ccfw.errors import RequestError
from ccfw.records import Episode, Judgement, LanguageMode, Metric
from ccfw.report.audit import Tally
from ccfw.report.audit import markdown as markdown_audit
from ccfw.report.tables import Row, build_row, comma_separated, markdown, plain, sorted_rows
from ccfw.report.transcripts import transcript
from ccfw.report.wordings import Agreement, Wording, agreements, agreements_csv, costs_csv
from ccfw.report.wordings import markdown as markdown_wordings
from ccfw.scoring import combine, episode_scores
from ccfw.seed_id import episode_id
from ccfw.selection import random_order
from ccfw.stages import attack, evaluate, simulate
from ccfw.stages.compared import wordings
from ccfw.stages.context import Context, StageResult
from ccfw.stages.judged import Folder, folders, paid
from ccfw.store import Output, digest, done_ids, fingerprint, read_records, write_atomically

NAME = "report"
_LOOKED_AT = 1000
"""Dialogues that are searched for what is hidden, which takes long: half a millisecond a message."""


@dataclass(frozen=True)
class Judged:
    """One assistant's stored judgements under the job's judge: a folder for each member."""

    model: str
    label: str
    episodes: Output
    members: tuple[Folder, ...]


def run(context: Context) -> StageResult:
    """Build the tables and log the job's own rows."""
    settings = context.settings
    root = Path(settings.workspace) / settings.dataset.name
    evaluated = list(folders(root))
    found = judged_models(context, evaluated)
    mine = fingerprint(simulate.parts(context))
    if mine not in found:
        raise RequestError(
            [
                f"stage={settings.stage.name}: no judgements of model={settings.model.name} by "
                f"judge={settings.judge.name} with these settings in {root}; judge first "
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
        compared = wordings(context, evaluated)
        written = [*_write(context, output.folder, rows, own, compared), *_prompts(context, output.folder, compared)]
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


def _unless_interrupted(context: Context) -> None:
    """Raise ``StoppedError`` once somebody asked to stop; a budget that is spent is no reason not to report."""
    if context.stop.interrupted:
        context.stop.check()


def judged_models(context: Context, evaluated: Sequence[Folder]) -> dict[str, Judged]:
    """Return every assistant that was judged as the job asks, by the fingerprint of its episodes."""
    wanted = [
        evaluate.comparable(evaluate.parts(context, member)) for member in context.settings.judge.members.values()
    ]
    members: dict[str, dict[str, Folder]] = {}
    for folder in evaluated:
        if folder.manifest.comparable in wanted:
            episodes = fingerprint(folder.manifest.fingerprint_of.episodes)
            members.setdefault(episodes, {})[folder.manifest.comparable] = folder
    return {
        episodes: Judged(
            model=found[wanted[-1]].manifest.model,
            label=found[wanted[-1]].manifest.label,
            episodes=context.output(simulate.NAME, episodes),
            members=tuple(found[key] for key in wanted),
        )
        for episodes, found in members.items()
        if all(key in found for key in wanted)
    }


def _rows(context: Context, judged: Judged) -> list[Row]:
    settings = context.settings
    members = [episode_scores(read_records(folder.output.records, Judgement)) for folder in judged.members]
    scores = combine(members, settings.judge.aggregation)
    held = done_ids(judged.episodes.records)
    rows = []
    for language in settings.language.modes:
        _unless_interrupted(context)
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
        "mode": settings.mode.name.value,
        "dataset": context.dataset.digest,
    }


def _write(context: Context, folder: Path, rows: list[Row], own: Judged, compared: Sequence[Wording]) -> list[Path]:
    from ccfw.report.figures import bar_chart

    level = context.settings.bootstrap.level
    write_atomically(folder / "table.md", markdown(rows, level, small_judge(context)))
    write_atomically(folder / "table.csv", comma_separated(rows))
    charts = bar_chart(rows, level, folder)
    write_atomically(folder / "audit.md", _audit_page(context, own, compared))
    written = [folder / "table.md", folder / "table.csv", folder / "audit.md", *charts]
    return [*written, *_transcripts(context, folder, own)]


def _audit_page(context: Context, own: Judged, compared: Sequence[Wording]) -> str:
    """Write what says how far the job's own numbers can be trusted, in each language apart."""
    planned = {episode_id(scenario.seed.seed_id, language) for scenario, language in context.planned}
    tallies = {language: Tally() for language in context.settings.language.modes}
    for episode in read_records(own.episodes.records, Episode, planned):
        _unless_interrupted(context)
        tallies[episode.language_mode].add(episode)
    audits = {
        f"{own.label}, {language.value}": tally.audit(*_leaks(context, own, language))
        for language, tally in tallies.items()
    }
    manifests = [folder.manifest for folder in own.members]
    stops = {manifest.member: manifest.stopped.model_dump() for manifest in manifests if manifest.stopped}
    prompts = markdown_wordings(compared, _agreements(context, compared), context.settings.bootstrap.level)
    return markdown_audit(audits, stops, _attack_rates(context), prompts)


def _leaks(context: Context, own: Judged, language: LanguageMode) -> tuple[int | None, int]:
    """Return how many user messages say something hidden, of how many: all, or those of a sample of the dialogues."""
    if language is not LanguageMode.ENGLISH:  # what is hidden is written in English
        return None, 0
    planned = {episode_id(scenario.seed.seed_id, language) for scenario in context.selection}
    held = planned & done_ids(own.episodes.records)
    sample = frozenset(random_order(held, context.settings.seed)[:_LOOKED_AT])
    scenarios = context.dataset.by_seed()
    said = [
        bool(said_hidden(scenarios[episode.seed.seed_id], turn.user))
        for episode in read_records(own.episodes.records, Episode, sample)
        for turn in episode.turns[1:]
    ]
    return sum(said), len(said)


def _agreements(context: Context, compared: Sequence[Wording]) -> list[Agreement]:
    terms = context.settings.bootstrap
    return agreements(compared, seed=context.settings.seed, resamples=terms.resamples, level=terms.level)


def _prompts(context: Context, folder: Path, compared: Sequence[Wording]) -> list[Path]:
    """Write the comparison of prompts as CSV, if there is one."""
    if not compared:
        return []
    write_atomically(folder / "prompts.csv", agreements_csv(_agreements(context, compared)))
    write_atomically(folder / "prompt_costs.csv", costs_csv(compared))
    return [folder / "prompts.csv", folder / "prompt_costs.csv"]


def _attack_rates(context: Context) -> list[tuple[str, str]]:
    """Return the success rates of the attacks that were tried on the job's judge, as far as they were.

    A judge of several members has one of its own, over the attacks that all of them met.
    """
    judge, members = context.settings.judge, attack.member_outcomes(context)
    rates = [(name, attacks.rate(outcomes)) for name, outcomes in members.items() if outcomes]
    if len(members) > 1 and len(rates) == len(members):
        panel = attacks.panel_outcomes(list(members.values()), judge.aggregation)
        rates.insert(0, (f"{judge.name}, the {judge.aggregation} of its members", attacks.rate(panel)))
    level = context.settings.bootstrap.level
    return [(name, _rate_text(rate, level)) for name, rate in rates]


def _rate_text(rate: attacks.Rate, level: float) -> str:
    """Write a success rate with its interval; by kind and language it stands in the stage's own tables."""
    bounds = rate.interval(level)
    share = "" if rate.share is None or bounds is None else f" ({rate.share:.1%}, {bounds[0]:.1%} to {bounds[1]:.1%})"
    return f"{rate.rose} of {rate.scored} scores rose{share}, {rate.unscored} pairs unscored"


def _transcripts(context: Context, folder: Path, own: Judged) -> list[Path]:
    planned = [episode_id(scenario.seed.seed_id, language) for scenario, language in context.planned]
    first = planned[: context.settings.report.transcripts]
    episodes = {e.episode_id: e for e in read_records(own.episodes.records, Episode, first)}
    wanted = {f"{key}::{metric.value}" for key in first for metric in Metric}
    judgements: dict[str, list[Judgement]] = {}
    for member in own.members:
        for judgement in read_records(member.output.records, Judgement, wanted):
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

    track_rows(
        settings,
        rows,
        fingerprint(content),
        files,
        cost=_cost(own),
    )
    if settings.report.shown:
        program = os.path.relpath(Path(sys.executable).parent / "mlflow")
        print(f"compare runs: {program} ui --backend-store-uri {settings.tracking.uri}")


def _cost(own: Judged) -> str:
    """Return what the runs that made the episodes and judgements paid for them, as far as it is known."""
    parts = [paid(own.episodes), *(folder.manifest.paid for folder in own.members)]
    known = [part for part in parts if part and not part.unpriced_calls]
    return f"{sum(part.usd for part in known):.4f}" if len(known) == len(parts) else "unknown"
