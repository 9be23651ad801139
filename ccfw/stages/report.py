"""Stage *report*: scores → tables, intervals, figures, a page, MLflow runs (section 5, Tables 2, 4, 10, 14, 15 and 17).

Reads   the judgements of *evaluate* under the same settings, those of every other assistant that differ in nothing but
        the assistant, and all others in the workspace, which stand apart with the reason. Asked for alone, it shows
        what is there even when that is not the job's own.
Writes  ``report/<fingerprint>/``: ``index.html`` with everything in it; ``summary.md`` for a pull request; ``tables/``
        as CSV, Markdown and LaTeX; ``figures/`` as SVG, PNG and CSV; and of the job's own judge and languages
        ``table.md``, ``table.csv``, ``audit.md``, ``chart.png``, ``chart.svg``, ``transcripts/*.txt``; ``prompts.csv``
        and ``prompt_costs.csv`` when the same episodes were judged under several styles of prompts.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccfw.checks.leakage import said_hidden
from ccfw.errors import RequestError, StoreError
from ccfw.judging import attacks
from ccfw.records import Episode, Judgement, LanguageMode, Metric
from ccfw.report.audit import Tally
from ccfw.report.audit import markdown as markdown_audit
from ccfw.report.board import LANGUAGES
from ccfw.report.tables import Row, build_row, comma_separated, markdown, plain, sorted_rows
from ccfw.report.transcripts import transcript
from ccfw.report.wordings import Agreement, Wording, agreements, agreements_csv, costs_csv
from ccfw.report.wordings import markdown as markdown_wordings
from ccfw.selection import random_order
from ccfw.stages import attack, evaluate
from ccfw.stages.compared import wordings
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import track
from ccfw.stages.gathered import ALONE, Gathered, Judged, gathered, leave_out, unreadable
from ccfw.stages.judged import Folder, folders, paid
from ccfw.stages.reading import Reading
from ccfw.stages.report_page import Pages, Research
from ccfw.store import digest, done_ids, fingerprint, read_records, write_atomically
from ccfw.universe.seed_id import episode_id

NAME = "report"
log = logging.getLogger(__name__)
_PROMPTS = ("prompts.csv", "prompt_costs.csv")
_LOOKED_AT = 1000
"""Dialogues that are searched for what is hidden, which takes long: half a millisecond a message."""


def run(context: Context) -> StageResult:
    """Build the tables, the figures and the page, and log the job's own rows."""
    settings = context.settings
    root = Path(settings.workspace) / settings.dataset.name
    evaluated = list(folders(root))
    found = gathered(context, evaluated)
    if found is None:
        alone = Research.of(context)
        if not alone.tables or not settings.report.page:
            if settings.stage.name in ALONE and context.dataset.digest in _judged_data(evaluated):
                raise unreadable()
            raise RequestError([_nothing(context, root, evaluated)])
        return _research(context, alone)
    legible = _legible(context, found)
    if legible is None or (found.own and not legible.found.own and settings.stage.name not in ALONE):
        raise unreadable()
    found = legible.found
    if found.own is None:
        log.warning(
            "no judgements of model=%s by judge=%s with these settings in %s: the report is of those by judge %s",
            *(settings.model.name, settings.judge.name, root, found.judge),
        )
    of_runs = {key: _rows(context, found, judged) for key, judged in found.found.items()}
    rows = sorted_rows([row for own in of_runs.values() for row in own])
    pages = None
    if legible.reading is not None:
        pages = Pages.of(context, found, legible.reading, lambda: _unless_interrupted(context))
    content = _parts(context, found, rows, pages)
    output = context.output(NAME, fingerprint(content))
    result = StageResult(NAME, output.folder, done=len(rows))
    with output:
        compared = wordings(context, evaluated) if found.own else []
        written = [
            *_write(context, output.folder, rows, legible, compared),
            *_prompts(context, output.folder, compared),
            *(pages.write(output.folder) if pages is not None else []),
        ]
        _tidy(output.folder, written)
        models = sorted(judged.model for judged in found.found.values())
        output.write_manifest(context.manifest(output, result, content, models=models))
        _show(context, output.folder, rows, found, pages)
        if found.own:
            _track(context, output.folder, sorted_rows(of_runs[found.own]), content, [*written, output.manifest], found)
    return result


@dataclass(frozen=True)
class _Legible:
    """What compares and can be read as far as the report reads it."""

    found: Gathered
    reading: Reading | None
    """What the page's reader holds; ``None`` where no page is asked for."""
    tallies: Mapping[LanguageMode, Tally]
    """What the simulated user did in the dialogues of the one that is shown first, which are read whole."""


def _legible(context: Context, found: Gathered | None) -> _Legible | None:
    """Leave out the runs of whose dialogues some cannot be read, each named in a line; ``None`` when none is left."""
    while found is not None:
        reading, damaged = None, []
        if context.settings.report.page:
            reading = Reading.of(context, found).sample(context.settings.report.episodes)
            damaged = reading.damaged(whole=True)
        if not damaged:
            try:
                return _Legible(found, reading, _tallies(context, found.lead))
            except StoreError as error:
                leave_out(found.lead, error)
                damaged = [found.lead]
        found = found.without(damaged)
    return None


def _tallies(context: Context, own: Judged) -> dict[LanguageMode, Tally]:
    """Count what the simulated user did, in each language apart; raise ``StoreError`` for a dialogue that is none."""
    planned = {episode_id(scenario.seed.seed_id, language) for scenario, language in context.planned}
    tallies = {language: Tally() for language in context.settings.language.modes}
    for episode in read_records(own.episodes.records, Episode, planned):
        _unless_interrupted(context)
        if episode.episode_id != episode_id(episode.seed.seed_id, episode.language_mode):
            raise StoreError(f"{own.episodes.records}: {episode.episode_id} is not the dialogue that its id says")
        tallies[episode.language_mode].add(episode)
    return tallies


def _tidy(folder: Path, written: Sequence[Path]) -> None:
    """Remove what an earlier report of the same content left and this one did not write."""
    made = [path for part in ("tables", "figures", "transcripts") for path in sorted((folder / part).glob("*.*"))]
    made += [folder / name for name in _PROMPTS]
    for path in set(made) - set(written):
        path.unlink(missing_ok=True)


def _research(context: Context, found: Research) -> StageResult:
    """Report on what paper 2's stages left where no dialogue was judged."""
    content = {"research": found.digest}
    output = context.output(NAME, fingerprint(content))
    result = StageResult(NAME, output.folder, done=len(found.shelves))
    with output:
        written = found.write(output.folder)
        output.write_manifest(context.manifest(output, result, content))
    track(context, NAME, "", content, {}, [*written, output.manifest])
    if context.settings.report.shown:
        print(f"to look at: {output.folder / Pages.NAME}")
    return result


def plan(_context: Context) -> tuple[int, int]:
    """Return the calls that the stage would make: none."""
    return 0, 0


def _nothing(context: Context, root: Path, evaluated: Sequence[Folder]) -> str:
    settings = context.settings
    text = (
        f"stage={settings.stage.name}: no judgements of model={settings.model.name} by judge={settings.judge.name} "
        f"with these settings in {root}; judge first with stage=evaluate and otherwise the same line"
    )
    data = _judged_data(evaluated)
    if data and context.dataset.digest not in data:
        return f"{text} (what is judged there was held on other scenarios than the dataset has now)"
    others = sorted({path.parent.name for path in Path(settings.workspace).glob(f"*/{evaluate.NAME}")} - {root.name})
    return f"{text} (other datasets that were judged: {', '.join(others)})" if others else text


def _judged_data(evaluated: Sequence[Folder]) -> set[str]:
    """Return the hashes of the datasets that were judged."""
    return {str(folder.manifest.fingerprint_of.episodes.get("dataset")) for folder in evaluated}


def _unless_interrupted(context: Context) -> None:
    """Raise ``StoppedError`` once somebody asked to stop; a budget that is spent is no reason not to report."""
    if context.stop.interrupted:
        context.stop.check()


def _rows(context: Context, found: Gathered, judged: Judged) -> list[Row]:
    settings = context.settings
    scores = judged.scores
    known, held = frozenset(scores.episodes), judged.held
    asked = found.asked(judged, context.dataset.outlines)
    rows = []
    for language in settings.language.modes:
        _unless_interrupted(context)
        chosen = {episode_id(s.seed.seed_id, language) for s in context.selection}
        wanted = sorted(chosen & asked)
        if not held.intersection(wanted):
            continue
        rows.append(
            build_row(
                model=judged.model,
                label=found.name(judged),
                language=LanguageMode(language),
                judge=found.judge,
                values=scores.rows([key for key in wanted if key in known]).columns(),
                episodes=len(wanted),
                held=len(held.intersection(wanted)),
                broken=len(judged.broken.intersection(wanted)),
                seed=settings.seed,
                resamples=settings.bootstrap.resamples,
                level=settings.bootstrap.level,
            )
        )
    return rows


def _parts(context: Context, found: Gathered, rows: list[Row], pages: Pages | None) -> dict[str, Any]:
    settings = context.settings
    lead = found.lead
    return {
        "first": [lead.episodes.folder.name, *(member.output.folder.name for member in lead.members)],
        "report": settings.report.model_dump(mode="json", exclude={"shown", "traces"}),
        "cautions": list(found.cautions),
        "judge": found.judge,
        "aggregation": found.aggregation,
        "bootstrap": settings.bootstrap.model_dump(),
        "rows": digest([comma_separated(rows)]),
        "language": settings.language.name,
        "trap": settings.trap.name,
        "mode": settings.mode.name.value,
        "dataset": context.dataset.digest,
        "page": pages.digest if pages else None,
    }


def _write(
    context: Context, folder: Path, rows: list[Row], legible: _Legible, compared: Sequence[Wording]
) -> list[Path]:
    from ccfw.report.figures import bar_chart

    found = legible.found
    level = context.settings.bootstrap.level
    write_atomically(folder / "table.md", markdown(rows, level, found.cautions))
    write_atomically(folder / "table.csv", comma_separated(rows))
    charts = bar_chart(rows, level, folder)
    write_atomically(folder / "audit.md", _audit_page(context, legible, compared))
    written = [folder / "table.md", folder / "table.csv", folder / "audit.md", *charts]
    return [*written, *_transcripts(context, folder, found.lead)]


def _audit_page(context: Context, legible: _Legible, compared: Sequence[Wording]) -> str:
    """Write what says how far the job's own numbers can be trusted, in each language apart."""
    found = legible.found
    own = found.lead
    audits = {
        f"{found.name(own)}, {LANGUAGES[language]}": tally.audit(*_leaks(context, own, language))
        for language, tally in legible.tallies.items()
    }
    manifests = [folder.manifest for folder in own.members]
    stops = {manifest.member: manifest.stopped.model_dump() for manifest in manifests if manifest.stopped}
    prompts = markdown_wordings(compared, _agreements(context, compared), context.settings.bootstrap.level)
    return markdown_audit(audits, stops, _attack_rates(context) if found.own else [], prompts)


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
    agreed, cost = (folder / name for name in _PROMPTS)
    write_atomically(agreed, agreements_csv(_agreements(context, compared)))
    write_atomically(cost, costs_csv(compared))
    return [agreed, cost]


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
    found = _conversations(own, first)
    paths = []
    for number, key in enumerate(first, 1):
        if key in found:
            paths.append(folder / "transcripts" / f"{number:02d}.txt")
            write_atomically(paths[-1], transcript(*found[key]))
    return paths


def _conversations(own: Judged, keys: Sequence[str]) -> dict[str, tuple[Episode, list[Judgement]]]:
    """Return some dialogues with their judgements, in the order asked for; those that were never held are left out."""
    episodes = {episode.episode_id: episode for episode in read_records(own.episodes.records, Episode, set(keys))}
    wanted = {f"{key}::{metric.value}" for key in keys for metric in Metric}
    judgements: dict[str, list[Judgement]] = {}
    for member in own.members:
        for judgement in read_records(member.output.records, Judgement, wanted):
            judgements.setdefault(judgement.episode_id, []).append(judgement)
    order = {metric: place for place, metric in enumerate(Metric)}
    return {
        key: (episodes[key], sorted(judgements.get(key, []), key=lambda j: (order[j.metric], j.judge)))
        for key in keys
        if key in episodes
    }


def _show(context: Context, folder: Path, rows: list[Row], found: Gathered, pages: Pages | None) -> None:
    shown = context.settings.report.shown
    for path in sorted((folder / "transcripts").glob("*.txt"))[:shown]:
        print(path.read_text("utf-8"))
    if shown:
        print(plain(rows, found.cautions))
        print(f"\nall of it: {folder}  (table.md, chart.png, audit.md, transcripts/)")
        if pages is not None:
            print(f"to look at: {folder / pages.NAME}")


def _track(
    context: Context, folder: Path, rows: list[Row], content: Mapping[str, Any], files: list[Path], found: Gathered
) -> None:
    settings = context.settings
    if settings.tracking.name == "none":
        return
    from ccfw.tracking import Conversation, Reported, track_rows

    own = found.lead
    planned = [episode_id(s.seed.seed_id, language) for s, language in context.planned][: settings.report.traces]
    conversations = [Conversation(*each) for each in _conversations(own, planned).values()]
    prompts = own.members[0].manifest.fingerprint_of.episodes
    told = {f"judge.{folder.manifest.member}": folder.manifest.fingerprint_of.prompts for folder in own.members}
    told |= {role: prompts[f"{role}_prompts"] for role in ("simulator", "gold") if prompts.get(f"{role}_prompts")}
    subject = fingerprint(
        {"episodes": own.episodes.folder.name, "judged": [each.output.folder.name for each in own.members]}
    )
    reported = Reported(
        fingerprint(content), subject, folder, files, _cost(own), context.dataset.digest, told, conversations
    )
    track_rows(settings, rows, reported)
    if settings.report.shown:
        program = os.path.relpath(Path(sys.executable).parent / "mlflow")
        print(f"compare runs: {program} ui --backend-store-uri {settings.tracking.uri}")


def _cost(own: Judged) -> str:
    """Return what the runs that made the episodes and judgements paid for them, as far as it is known."""
    parts = [paid(own.episodes), *(folder.manifest.paid for folder in own.members)]
    known = [part for part in parts if part and not part.unpriced_calls]
    return f"{sum(part.usd for part in known):.4f}" if len(known) == len(parts) else "unknown"
