"""Stage *norms*: norms of several sources become one list (paper 2, section on norm collection, Tables 1, 6 and 7).

Reads   the norms that ship (``starter``), CulturalBench, FORK and NormAd as published, and files of one's own.
Writes  ``crisp/norms/<fingerprint>/records.jsonl``, what came of each distinct row; ``failures.jsonl``;
        ``norms.jsonl``, the distinct norms that were kept; ``report.md``; ``table_1.csv``.
Method  a row that states a rule is taken as it stands; of a question and its correct answer ``model@generator=`` makes
        a norm, which is checked and asked for again with what is wrong. What says the same is kept once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from ccfw.crisp.norms import LICENCES, SHIPPED, Candidate, Rows, candidate_of, distinct, told_apart
from ccfw.crisp.reading import read_norm_files, read_norms, shipped_folder
from ccfw.crisp.records import Loss, Norm, NormRecord, Reason
from ccfw.crisp.rules import FORM, asks_for_traits, check_norm, read_norm, repeated, without_a_model
from ccfw.crisp.tally import Tally
from ccfw.errors import RequestError
from ccfw.report.crisp import sources_table
from ccfw.selection import stratified
from ccfw.settings import Settings
from ccfw.stages.batch import FAILURES, run_attempts
from ccfw.stages.context import Context, StageResult
from ccfw.stages.course import Course
from ccfw.stages.crisp import (
    Due,
    Patience,
    all_calls,
    chosen,
    conclude,
    drafting,
    folder_of,
    loss_of,
    make_first,
    region_of,
    write_lines,
)
from ccfw.stages.drafting import Assignment, Drafting
from ccfw.store import Output, digest, done_ids, read_records

NAME = "norms"
VERSION = 2
"""Raised when the same rows and replies give other norms."""
LIST = "norms.jsonl"


class Collected(NamedTuple):
    """What the sources hold."""

    rows: dict[str, int]
    """Of each source, in the order of the request."""
    candidates: tuple[Candidate, ...]
    """Distinct ones of the cultures that are asked for."""
    losses: tuple[Loss, ...]
    alone: Mapping[str, int]
    """Cultures that neither ship nor stand in a published file, with the rows that name them."""


def collected(settings: Settings) -> Collected:
    """Read the sources; raise ``RequestError`` for files that are none, and cultures that none of them has."""
    key, terms = "crisp.norms.sources", settings.crisp
    files = [source for source in terms.norms.sources if source != SHIPPED]
    shipped = tuple(map(candidate_of, read_norms(shipped_folder())))
    regions = {each.culture: each.region for each in shipped}
    given = [Rows(SHIPPED, shipped, ())] if SHIPPED in terms.norms.sources else []
    sources = list(told_apart([*given, *read_norm_files(files, key)]))
    every = [replace(each, region=regions.get(each.culture)) for source in sources for each in source.candidates]
    wanted = chosen(terms.cultures, (each.culture for each in every), "crisp.cultures", "norm")
    asked = [each for each in every if wanted is None or each.culture in wanted]
    kept, again = distinct(asked)
    others = Loss(reason=Reason.OTHER_CULTURE, detail="of a culture that was not asked for")
    losses = [loss for source in sources for _, loss in source.losses]
    losses += [loss for _, loss in again] + [others] * (len(every) - len(asked))
    rows: dict[str, int] = {}
    for source in sources:
        for name in [each.source for each in source.candidates] + [source.source] * len(source.losses):
            rows[name] = rows.get(name, 0) + 1
    traits = [each for each in kept if asks_for_traits(each)]
    losses += [Loss(reason=Reason.NO_RULE, detail=f"{each.row_id} asks what people are like") for each in traits]
    elsewhere = {*regions, *(each.culture for each in every if each.source in LICENCES)}
    alone = Counter(each.culture for each in every if each.culture not in elsewhere)
    return Collected(rows, tuple(each for each in kept if each not in traits), tuple(losses), alone)


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the norms; its hash names the output folder."""
    settings = context.settings
    found, asks = collected(settings), settings.crisp.norms.extraction == "auto"
    asked = [each for each in found.candidates if each.rule is None] if asks else []
    content: dict[str, Any] = {
        "rows": digest(repr(each) for each in found.candidates),
        "norms": settings.crisp.norms.model_dump(mode="json", exclude={"sources"}),
        "version": VERSION,
    }
    if asked:  # what needs no model is the same whoever would be asked
        generator = settings.generator
        prompts = context.prompts(generator).digest("crisp_norm_")
        content |= {"generator": generator.identity, "prompts": prompts, "seed": settings.seed}
    return content


def run(context: Context) -> StageResult:
    """Make norms of every chosen row that has none yet, and keep each norm once."""
    settings, content, found = context.settings, parts(context), collected(context.settings)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder)
    author = _author(context, result)
    todo = _chosen(settings, found)
    with output:
        items = [(each.row_id, each) for each in todo]
        try:
            run_attempts(context, output, result, items, author.write, kind=NormRecord, model=settings.generator)
        finally:
            _conclude(context, output, result, content, found)
    return result


def _conclude(
    context: Context,
    output: Output,
    result: StageResult,
    content: dict[str, Any],
    found: Collected,
) -> None:
    stored = [r for p in (output.records, output.folder / FAILURES) for r in read_records(p, NormRecord)]
    made = {record.row_id: record.norm for record in stored if record.norm is not None}
    norms = [made[each.row_id] for each in found.candidates if each.row_id in made]
    same = repeated(norms, context.settings.crisp.norms.alike)
    kept = [norm for norm in norms if norm.norm_id not in same]
    tally = Tally(sum(found.rows.values()), kept=len(kept))
    tally.add(found.losses)
    tally.add(record.loss for record in stored if record.loss is not None)
    tally.add(Loss(reason=Reason.SAME_NORM, detail=f"{one} says what {other} says") for one, other in same.items())
    write_lines(output.folder / LIST, kept)
    table = sources_table(found.rows, kept)
    metrics = {f"norms_{source}": float(sum(n.source == source for n in kept)) for source in found.rows}
    conclude(context, output, result, content, tally, "Norms", [table], metrics, _notes(found))


def _notes(found: Collected) -> list[str]:
    """Say which cultures only files of one's own have: one of them may be another name of one that is there."""
    if not found.alone or set(found.alone) == {each.culture for each in found.candidates}:
        return []
    names = ", ".join(f"{name} ({count})" for name, count in sorted(found.alone.items()))
    return [f"Cultures that no norm that ships and no published file has, with their rows: {names}."]


def kept_norms(context: Context, stage: str) -> tuple[Norm, ...]:
    """Return the norms of the rows that the job takes, in the order of these, for a stage.

    Raises ``RequestError`` when none are there under the same settings.
    """
    wanted = {name: number for number, name in enumerate(chosen_rows(context.settings))}
    found = read_records(folder_of(context, NAME, parts(context)) / LIST, Norm, wanted)
    norms = tuple(sorted(found, key=lambda each: wanted[each.norm_id]))
    if not norms:
        first = make_first(context.settings, NAME)
        raise RequestError([f"stage={stage}: no norms under these settings; {first}"])
    return norms


def chosen_rows(settings: Settings) -> tuple[str, ...]:
    """Return the ids of the rows that the job takes, which are those of the norms that are made of them, in order."""
    return tuple(each.row_id for each in _chosen(settings, collected(settings)))


def expected(context: Context) -> set[str]:
    """Return the ids of the norms that there are, or will be at most where this job makes them first."""
    if NAME in context.settings.stage.runs:
        return set(chosen_rows(context.settings))
    return {each.norm_id for each in kept_norms(context, "scenarios")}


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored."""
    return all_calls(due(context))


def due(context: Context) -> list[Due]:
    """Return what each role's model would be asked: the least and the most calls, given what is stored."""
    settings = context.settings
    have = done_ids(folder_of(context, NAME, parts(context)) / "records.jsonl")
    todo = [each for each in _chosen(settings, collected(settings)) if each.row_id not in have]
    asked = sum(each.rule is None for each in todo) if settings.crisp.norms.extraction == "auto" else 0
    return [Due("generator", settings.generator, asked, asked * settings.crisp.norms.tries)]


def _chosen(settings: Settings, found: Collected) -> tuple[Candidate, ...]:
    """Return the rows that the job takes: of the regions asked for, in the stratified order, at most ``limit``."""
    wanted = chosen(settings.region, map(region_of, found.candidates), "region", "norm")
    asked = (each for each in found.candidates if wanted is None or region_of(each) in wanted)
    return stratified(((each.culture, each.row_id, each) for each in asked), settings.seed)[: settings.limit]


@dataclass(frozen=True)
class Author:
    """Who makes norms of questions, by source; nobody where nothing is to be asked."""

    drafting: dict[str, Drafting]

    async def write(self, candidate: Candidate, attempt: int) -> NormRecord:
        """Make a norm of one row; ``attempt`` is how often it was given up before."""
        course = Course[Norm | Loss](attempt)
        if candidate.rule is not None or not self.drafting:
            found = without_a_model(candidate)
            return _record(candidate, course, found)
        failure = await self.drafting[candidate.source].draft(course, _assignment(candidate))
        if failure is not None:
            return _record(candidate, course, loss_of(failure, Reason.NO_NORM)).model_copy(update={"failure": failure})
        assert course.draft is not None
        return _record(candidate, course, course.draft)


def _author(context: Context, result: StageResult) -> Author:
    terms = context.settings.crisp.norms
    if terms.extraction == "deterministic":
        return Author({})
    patience = Patience(terms.tries, terms.temperature)
    sources = ("culturalbench", "fork")
    return Author({source: drafting(context, result, f"crisp_norm_{source}", patience) for source in sources})


def _assignment(candidate: Candidate) -> Assignment[Norm | Loss]:
    fields = {
        "culture": candidate.culture,
        "question": candidate.question,
        "options": candidate.options,
        "answer": candidate.answer,
        "negated": candidate.negated,
    }
    return Assignment(
        FORM,
        partial(read_norm, candidate),
        lambda faults: fields | {"faults": faults},
        partial(check_norm, candidate),
        None,
    )


def _record(candidate: Candidate, course: Course[Norm | Loss], found: Norm | Loss) -> NormRecord:
    return NormRecord(
        row_id=candidate.row_id,
        source=candidate.source,
        norm=found if isinstance(found, Norm) else None,
        loss=found if isinstance(found, Loss) else None,
        **course.told(None),
    )
