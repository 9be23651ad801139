"""Stage *norms*: norms of several sources become one list (paper 2, section on norm collection, Tables 1, 6 and 7).

Reads   the norms that ship (``starter``), CulturalBench, FORK and NormAd as published, and files of one's own.
Writes  ``crisp/norms/<fingerprint>/records.jsonl``, what came of each distinct row; ``failures.jsonl``;
        ``norms.jsonl``, the distinct norms that were kept; ``report.md``; ``table_1.csv``.
Method  a row that states a rule is taken as it stands; of a question and its correct answer ``model@generator=`` makes
        a norm, which is checked and asked for again with what is wrong. What says the same is kept once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ccfw.crisp.norms import (
    FORM,
    SHIPPED,
    Candidate,
    Rows,
    candidate_of,
    check_norm,
    distinct,
    read_norm,
    repeated,
    without_a_model,
)
from ccfw.crisp.reading import read_norm_files, read_norms, shipped_folder
from ccfw.crisp.records import Loss, Norm, NormRecord, Reason
from ccfw.crisp.tally import Tally
from ccfw.errors import RequestError
from ccfw.report.crisp import sources_table
from ccfw.selection import stratified
from ccfw.settings import Settings
from ccfw.stages.batch import FAILURES, run_batch, workers
from ccfw.stages.context import Context, StageResult
from ccfw.stages.course import Course, next_attempts
from ccfw.stages.crisp import Due, Patience, all_calls, chosen, conclude, drafting, folder_of, loss_of, write_lines
from ccfw.stages.drafting import Assignment, Drafting
from ccfw.store import Output, digest, done_ids, read_records

NAME = "norms"
VERSION = 1
"""Raised when the same rows and replies give other norms."""
LIST = "norms.jsonl"


class Collected(NamedTuple):
    """What the sources hold."""

    rows: dict[str, int]
    """Of each source, in the order of the request."""
    candidates: tuple[Candidate, ...]
    """Distinct ones of the cultures that are asked for."""
    losses: tuple[Loss, ...]


def collected(settings: Settings) -> Collected:
    """Read the sources; raise ``RequestError`` for files that are none, and cultures that none of them has."""
    key, terms = "crisp.norms.sources", settings.crisp
    files = [source for source in terms.norms.sources if source != SHIPPED]
    sources = list(read_norm_files(files, key))
    if SHIPPED in terms.norms.sources:
        sources.insert(0, Rows(SHIPPED, tuple(map(candidate_of, read_norms(shipped_folder()))), ()))
    every = [each for source in sources for each in source.candidates]
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
    if len({each.row_id for each in kept}) < len(kept):
        raise RequestError([f"{key}: two of the files are of one source; give each source once"])
    return Collected(rows, tuple(kept), tuple(losses))


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
        given_up = read_records(output.folder / FAILURES, NormRecord)
        attempts = next_attempts((each.row_id, each.attempt, each.failure) for each in given_up)
        try:
            run_batch(
                context.runner,
                output,
                result,
                [(each.row_id, (each, attempts.get(each.row_id, 0))) for each in todo],
                author.write,
                broken=lambda record: record.failure.detail if record.failure else None,
                kind=NormRecord,
                concurrency=workers(settings.generator),
                stop=context.stop,
            )
        finally:
            _conclude(context, output, result, content, found, todo)
    return result


def _conclude(
    context: Context,
    output: Output,
    result: StageResult,
    content: dict[str, Any],
    found: Collected,
    todo: Sequence[Candidate],
) -> None:
    ids = {each.row_id for each in todo}
    stored = [r for p in (output.records, output.folder / FAILURES) for r in read_records(p, NormRecord, ids)]
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
    conclude(context, output, result, content, tally, "Norms", [table], metrics)


def kept_norms(context: Context, stage: str) -> tuple[Norm, ...]:
    """Return the job's norms in the stratified order, at most ``limit`` of them, for a stage.

    Raises ``RequestError`` when none are there under the same settings.
    """
    settings = context.settings
    norms = tuple(read_records(folder_of(context, NAME, parts(context)) / LIST, Norm))
    if not norms:
        raise RequestError([f"stage={stage}: no norms under these settings; make them first: stage={NAME}"])
    return stratified(((each.culture, each.norm_id, each) for each in norms), settings.seed)[: settings.limit]


def expected(context: Context) -> int:
    """Return how many norms there are, or will be at most where this job makes them first."""
    if NAME in context.settings.stage.runs:
        return len(_chosen(context.settings, collected(context.settings)))
    return len(kept_norms(context, "scenarios"))


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
    return stratified(((each.culture, each.row_id, each) for each in found.candidates), settings.seed)[: settings.limit]


@dataclass(frozen=True)
class Author:
    """Who makes norms of questions, by source; nobody where nothing is to be asked."""

    drafting: dict[str, Drafting]

    async def write(self, item: tuple[Candidate, int]) -> NormRecord:
        """Make a norm of one row, given with how often it was given up before."""
        candidate, attempt = item
        course = Course[Norm](attempt)
        if candidate.rule is not None or not self.drafting:
            found = without_a_model(candidate)
            return _record(candidate, course, found)
        failure = await self.drafting[candidate.source].draft(course, _assignment(candidate))
        if failure is not None:
            return _record(candidate, course, loss_of(failure, Reason.NORM)).model_copy(update={"failure": failure})
        assert course.draft is not None
        return _record(candidate, course, course.draft)


def _author(context: Context, result: StageResult) -> Author:
    terms = context.settings.crisp.norms
    if terms.extraction == "deterministic":
        return Author({})
    patience = Patience(terms.tries, terms.temperature)
    sources = ("culturalbench", "fork")
    return Author({source: drafting(context, result, f"crisp_norm_{source}", patience) for source in sources})


def _assignment(candidate: Candidate) -> Assignment[Norm]:
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


def _record(candidate: Candidate, course: Course[Norm], found: Norm | Loss) -> NormRecord:
    return NormRecord(
        row_id=candidate.row_id,
        source=candidate.source,
        norm=found if isinstance(found, Norm) else None,
        loss=found if isinstance(found, Loss) else None,
        **course.told(None),
    )
