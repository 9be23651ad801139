"""Stage *preferences*: scored answers and triplets become pairs for a reward model (paper 2, part II, Table 25).

Reads   situations, and the answers and scores that stage *responses* stored under the same settings.
Writes  ``crisp/preferences/<fingerprint>/records.jsonl``, what came of each situation's triplet; ``failures.jsonl``;
        ``pairs.jsonl``; ``report.md`` with the balance of lengths; ``pairs.csv``; ``situations.html``, to read.
Method  two answers to one question whose outcome scores are ``min_gap`` apart are a pair; a triplet gives three. A
        triplet that does not ship is asked of ``model@generator=`` and held to checks of length, tone and labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from ccfw.checks.issue import Issue
from ccfw.crisp.checks import check_advice, check_triplet, word_tells
from ccfw.crisp.pairs import Scored, gap_pairs, longer, triplet_pairs
from ccfw.crisp.records import (
    Loss,
    PairKind,
    Preference,
    Reason,
    ResponseRecord,
    Scale,
    Situation,
    Triplet,
    TripletRecord,
)
from ccfw.crisp.tally import Tally
from ccfw.forms import TEXT, Form, an_object, read_form
from ccfw.report.crisp import longest_table, pairs_table, tells_table
from ccfw.settings import Settings
from ccfw.stages import responses, testbed
from ccfw.stages.batch import FAILURES, run_attempts
from ccfw.stages.context import Context, StageResult
from ccfw.stages.course import Course
from ccfw.stages.crisp import Due, Patience, all_calls, conclude, drafting, folder_of, loss_of, write_lines
from ccfw.stages.crisp_reader import write_reader
from ccfw.stages.drafting import Assignment, Drafting
from ccfw.stages.response_tables import clustered_means
from ccfw.store import Output, digest, done_ids, read_records

NAME = "preferences"
VERSION = 2
"""Raised when checks or pairs change so that the same replies would give others."""
LIST = "pairs.jsonl"
Mode = Literal["shipped", "full", "rewrite"]
_FULL = an_object(dict.fromkeys(Triplet.model_fields, TEXT))
_REWRITE = an_object({"generic": TEXT, "opposite": TEXT})


class Job(NamedTuple):
    """A triplet to be had, and how."""

    situation: Situation
    mode: Mode
    appropriate: str | None
    """The answer that is rewritten; ``None`` in the other modes, and where there is none."""


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the pairs; its hash names the output folder."""
    settings, generator = context.settings, context.settings.generator
    found = testbed.situations(context, NAME)
    stored = responses.collected(context, found)
    answers = [
        (key, answer.answer, each.scores.get((key, Scale.OUTCOME)))
        for each in stored
        for key, answer in each.answers.items()
    ]
    return {
        "situations": digest(sorted(each.model_dump_json() for each in testbed.everything(context, NAME))),
        "chosen": digest(sorted(each.situation_id for each in found)),
        "answers": digest(sorted(map(repr, answers))),
        "generator": generator.identity,
        "prompts": [context.prompts(generator).digest(f"crisp_{name}.") for name in ("triplet", "rewrite")],
        "preferences": settings.crisp.preferences.model_dump(mode="json"),
        "seed": settings.seed,
        "version": VERSION,
    }


def run(context: Context) -> StageResult:
    """Have the triplets made that are missing, and make pairs of all there is."""
    found, content = testbed.situations(context, NAME), parts(context)
    scored = _scored(context, found)
    output = Output(folder_of(context, NAME, content), context.stop)
    context.written[NAME] = output.folder
    result = StageResult(NAME, output.folder)
    author = _author(context, result)
    jobs = _jobs(context.settings, found, scored)
    with output:
        model = context.settings.generator
        try:
            run_attempts(context, output, result, jobs.items(), author.write, kind=TripletRecord, model=model)
        finally:
            _conclude(context, output, result, content, found, scored, jobs)
    return result


def _conclude(
    context: Context,
    output: Output,
    result: StageResult,
    content: Mapping[str, Any],
    found: Sequence[Situation],
    scored: Mapping[str, Sequence[Scored]],
    jobs: Mapping[str, Job],
) -> None:
    settings, terms = context.settings, context.settings.crisp.preferences
    stored = {
        r.situation_id: r
        for p in (output.records, output.folder / FAILURES)
        for r in read_records(p, TripletRecord, jobs)
    }
    triplets = {key: record.triplet for key, record in stored.items() if record.triplet is not None}
    pairs: list[Preference] = []
    for each in found:
        own = scored.get(each.situation_id, ())
        pairs += gap_pairs(each, own, min_gap=terms.min_gap, most=terms.most, seed=settings.seed)
        if each.situation_id in triplets:
            pairs += triplet_pairs(each, triplets[each.situation_id])
    write_lines(output.folder / LIST, pairs)
    tally = Tally(len(jobs))
    tally.add(record.loss for record in stored.values())
    shares = {
        str(kind): _longer([p for p in pairs if kind in (p.kind, "all")], settings) for kind in (*PairKind, "all")
    }
    every = list(triplets.values())
    tables = [pairs_table(pairs, shares), longest_table(every), tells_table(word_tells(every))]
    metrics = {f"pairs_{kind}": float(sum(kind in (p.kind, "all") for p in pairs)) for kind in (*PairKind, "all")}
    for suffix, value in zip(("", "_lo", "_hi"), shares["all"][:3], strict=True):
        if value is not None:
            metrics[f"chosen_is_longer{suffix}"] = value
    if not pairs:
        result.empty = _no_pairs(scored, tally, settings)
    notes = [] if scored else ["No scored answers under these settings: pairs are those of triplets (stage=responses)."]
    notes.append("The counts are those of triplets.")
    conclude(context, output, result, content, tally, "Preferences", tables, metrics, notes, there=len(pairs))
    read = responses.read_answers(context, responses.collected(context, found))
    write_reader(output.folder, settings, found, ways=testbed.ways(context), answers=read, triplets=triplets)


def _no_pairs(scored: Mapping[str, Sequence[Scored]], tally: Tally, settings: Settings) -> str:
    """Say why there is not a single pair."""
    terms = settings.crisp.preferences
    reasons = [f"no two answers to one question are {terms.min_gap:g} points apart"]
    if not scored:
        reasons = ["no scored answers under these settings (stage=responses)"]
    none = terms.triplets == "none"
    reasons.append("crisp.preferences.triplets=none" if none else f"no triplet of {tally.taken} came about")
    return f"no pairs: {', and '.join(reasons)}"


def _longer(pairs: Sequence[Preference], settings: Settings) -> Any:
    return clustered_means([[longer(pair)] for pair in pairs], [pair.norm_id for pair in pairs], settings)[0]


def _scored(context: Context, found: Sequence[Situation]) -> dict[str, list[Scored]]:
    """Return the answers with an outcome score, by situation."""
    made: dict[str, list[Scored]] = {}
    for each in responses.collected(context, found):
        for answer in each.answers.values():
            score = each.scores.get((answer.response_id, Scale.OUTCOME))
            if score is not None:
                made.setdefault(answer.situation_id, []).append(Scored(answer, score))
    return made


def _jobs(settings: Settings, found: Sequence[Situation], scored: Mapping[str, Sequence[Scored]]) -> dict[str, Job]:
    terms = settings.crisp.preferences
    if terms.triplets == "none":
        return {}
    return {each.situation_id: _job(each, scored.get(each.situation_id, ()), settings) for each in found}


def _job(situation: Situation, scored: Sequence[Scored], settings: Settings) -> Job:
    terms = settings.crisp.preferences
    if terms.triplets == "auto" and situation.triplet is not None:
        return Job(situation, "shipped", None)
    best = _best(situation, scored, terms.rewrite_from)
    if terms.triplets == "full" or (terms.triplets == "auto" and best is None):
        return Job(situation, "full", None)
    return Job(situation, "rewrite", best.answer if best else None)


def _best(situation: Situation, scored: Sequence[Scored], least: float) -> ResponseRecord | None:
    """Return the best answer that may stand in a triplet as it is: whoever rewrites it cannot change it."""
    norm = situation.norm
    good = [
        each for each in scored if each.score >= least and not check_advice(norm, "appropriate", each.response.answer)
    ]
    return min(good, key=lambda each: (-each.score, each.response.response_id)).response if good else None


@dataclass(frozen=True)
class Author:
    """Who writes triplets, whole or from an answer."""

    full: Drafting
    rewrite: Drafting

    async def write(self, job: Job, attempt: int) -> TripletRecord:
        """Have one triplet made; ``attempt`` is how often it was given up before."""
        course = Course[Triplet](attempt)
        if job.mode == "shipped":
            return _record(job, course, job.situation.triplet, None)
        if job.mode == "rewrite" and job.appropriate is None:
            detail = "no answer has the score that a rewrite starts from and says nothing of what kind of advice it is"
            return _record(job, course, None, Loss(reason=Reason.NOT_SCORED, detail=detail))
        author = self.full if job.mode == "full" else self.rewrite
        failure = await author.draft(course, _assignment(job))
        if failure is not None:
            made = _record(job, course, None, loss_of(failure, Reason.NO_TRIPLET))
            return made.model_copy(update={"failure": failure})
        return _record(job, course, course.draft, None)


def _assignment(job: Job) -> Assignment[Triplet]:
    situation, given = job.situation, {"appropriate": job.appropriate} if job.appropriate else {}
    fields = {
        "culture": situation.norm.culture,
        "norm": situation.norm.norm,
        "scenario": situation.draft.scenario,
        "question": situation.draft.question,
        **given,
    }
    form = _REWRITE if job.mode == "rewrite" else _FULL
    return Assignment(
        form,
        partial(read_triplet, form=form, given=given),
        lambda faults: fields | {"faults": faults},
        partial(check_triplet, situation.norm),
        None,
    )


def read_triplet(text: str, form: Form, given: Mapping[str, str]) -> Triplet | tuple[Issue, ...]:
    """Read a reply, and put in what was given; raise ``Refusal`` when it is no JSON object."""
    content = read_form(text, form, lines=True)
    return Triplet.model_validate(content | dict(given)) if isinstance(content, dict) else content


def _record(job: Job, course: Course[Triplet], triplet: Triplet | None, loss: Loss | None) -> TripletRecord:
    return TripletRecord(
        situation_id=job.situation.situation_id, mode=job.mode, triplet=triplet, loss=loss, **course.told(None)
    )


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored."""
    return all_calls(due(context))


def due(context: Context) -> list[Due]:
    """Return what each role's model would be asked: the least and the most calls, given what is stored."""
    settings = context.settings
    tries = settings.crisp.preferences.tries
    if testbed.made_here(settings) or responses.NAME in settings.stage.runs:
        number = testbed.expected(context, NAME)
        shipped = 0 if testbed.made_here(settings) else _shipped(settings, testbed.situations(context, NAME))
        todo = 0 if settings.crisp.preferences.triplets == "none" else number - shipped
    else:
        found = testbed.situations(context, NAME)
        jobs = _jobs(settings, found, _scored(context, found))
        have = done_ids(folder_of(context, NAME, parts(context)) / "records.jsonl")
        todo = sum(job.mode == "full" or job.appropriate is not None for key, job in jobs.items() if key not in have)
    return [Due("generator", settings.generator, todo, todo * tries)]


def _shipped(settings: Settings, found: Sequence[Situation]) -> int:
    return sum(each.triplet is not None for each in found) if settings.crisp.preferences.triplets == "auto" else 0


def _author(context: Context, result: StageResult) -> Author:
    terms = context.settings.crisp.preferences
    patience = Patience(terms.tries, terms.temperature)
    return Author(
        drafting(context, result, "crisp_triplet", patience), drafting(context, result, "crisp_rewrite", patience)
    )
