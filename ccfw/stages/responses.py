"""Stage *responses*: policies answer the questions of the test bed, and judges score what they say (Tables 18–20, 26).

Reads   situations: ``dataset=normcompass_starter``, or ``dataset=normcompass`` as stage *refine* left it.
Writes  ``crisp/responses/<fingerprint>/records.jsonl`` for each policy, its answers; below it for each judge
        ``scores/<fingerprint>/records.jsonl``; for the request as a whole ``table.md``, ``policies.csv``,
        ``cultures.csv``, ``scores.csv``, ``outcome.csv`` and ``norm_match.csv``, which ``stage=align`` takes as
        ``align.scores``; ``lost_answers.csv``; under ``rating/`` what people are given to rate; ``situations.html``.
Method  ``k`` answers with a paragraph of reasoning at temperature; the answer alone is judged for its outcome, 1 to 5,
        the reasoning for the norm, 0 to 2. What cannot be read is a typed failure, never a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ccfw.crisp.rating import Rated
from ccfw.crisp.records import Loss, Reason, ResponseRecord, ResponseScore, Scale, Situation
from ccfw.crisp.tally import Tally
from ccfw.judging.scoring import Aggregation, combined
from ccfw.records import FailureKind
from ccfw.report.crisp import plain, policies_table, scores_by_culture_table
from ccfw.report.situations import Answered
from ccfw.settings.models import ModelConfig
from ccfw.stages import rating_sheets, testbed
from ccfw.stages import response_tables as told
from ccfw.stages.batch import FAILURES, RECORDS, check_records, run_batch, workers
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import Due, Speaker, all_calls, conclude, folder_of, loss_of, track
from ccfw.stages.crisp_reader import write_reader
from ccfw.stages.evaluate import tell_unscored as tell_unscored
from ccfw.stages.respondents import Asked, Respondent
from ccfw.stages.respondents import Bench as Bench
from ccfw.store import Output, done_ids, fingerprint, read_records, write_atomically

NAME = "responses"
Place = tuple[str, Scale]
"""A response, and what it is judged for."""
PARSER = 1
"""Raised when the reading of replies changes: they are then read anew from the ledger, without a call."""


def parts(context: Context, policy: ModelConfig) -> dict[str, Any]:
    """Return everything that decides one policy's answers; its hash names their folder.

    It is the whole dataset that counts, not what a job selects of it.
    """
    settings, terms = context.settings, context.settings.crisp.responses
    return {
        "situations": testbed.digest_of(testbed.everything(context, NAME)),
        "policy": policy.identity,
        "prompts": context.prompts(policy).digest("crisp_response."),
        "terms": terms.model_dump(mode="json", exclude={"policies", "k"}),
        "seed": settings.seed,
        "parser": PARSER,
    }


def judge_parts(context: Context, member: ModelConfig) -> dict[str, Any]:
    """Return everything that decides one judge's scores beside the answers."""
    return {
        "member": member.identity,
        "prompts": {scale.value: context.prompts(member).digest(f"crisp_{scale.value}.") for scale in Scale},
        "judging": context.settings.judging.model_dump(mode="json", exclude={"batch"}),
        "seed": context.settings.seed,
        "parser": PARSER,
    }


def run(context: Context) -> StageResult:
    """Collect and score what is missing, policy by policy, and write the table of all."""
    found = testbed.situations(context, NAME)
    total = StageResult(NAME, Path())
    for policy in context.settings.policies.values():
        for member in context.settings.judge.members.values():
            check_records(scores_folder(context, policy, member) / RECORDS, ResponseScore)
    for name, policy in context.settings.policies.items():
        total.add(_answered(context, name, policy, found))
        if total.interrupted:
            return total
        for member in context.settings.judge.members.values():
            total.add(_scored(context, name, policy, member, found))
            if total.interrupted:
                return total
    return _reported(context, total, found)


def _ids(found: Sequence[Situation], policy: str, k: int) -> Iterator[tuple[str, Asked]]:
    for each in found:
        for number in range(1, k + 1):
            yield f"{each.situation_id}::{policy}::{number}", Asked(each, number)


def folder(context: Context, policy: ModelConfig) -> Path:
    """Return where a policy's answers are."""
    return folder_of(context, NAME, parts(context, policy))


def scores_folder(context: Context, policy: ModelConfig, member: ModelConfig) -> Path:
    """Return where one judge's scores of a policy's answers are."""
    return folder(context, policy) / "scores" / fingerprint(judge_parts(context, member))


def _answered(context: Context, name: str, policy: ModelConfig, found: Sequence[Situation]) -> StageResult:
    content = parts(context, policy)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder)
    author = Respondent(context.settings, name, Speaker.of(context, policy, result))
    check_records(output.records, ResponseRecord)
    with output:
        try:
            run_batch(
                context.runner,
                output,
                result,
                list(_ids(found, name, context.settings.crisp.responses.k)),
                author.respond,
                broken=broken,
                kind=ResponseRecord,
                concurrency=workers(policy),
                stop=context.stop,
            )
        finally:
            output.write_manifest(context.manifest(output, result, content, policy=name))
    return result


def _scored(
    context: Context, name: str, policy: ModelConfig, member: ModelConfig, found: Sequence[Situation]
) -> StageResult:
    output = Output(scores_folder(context, policy, member), context.stop)
    result = StageResult(NAME, output.folder)
    bench = Bench(context.settings, Speaker.of(context, member, result))
    situations = {each.situation_id: each for each in found}
    answers = answers_of(context, name, policy, found)
    items = [
        (f"{each.response_id}::{scale.value}", (situations[each.situation_id], each, scale))
        for each in answers.values()
        if each.failure is None
        for scale in Scale
    ]
    content = {"answers": parts(context, policy), "judge": judge_parts(context, member)}
    with output:
        try:
            run_batch(
                context.runner,
                output,
                result,
                items,
                bench.judge,
                broken=broken,
                kind=ResponseScore,
                concurrency=workers(member),
                stop=context.stop,
            )
            wanted = {key for key, _ in items}
            stored = read_records(output.records, ResponseScore, wanted)
            noun = f"scores by {member.name} of what {name} answered"
            tell_unscored(result, [each.failure for each in stored], noun)
        finally:
            output.write_manifest(context.manifest(output, result, content, policy=name, member=member.name))
    return result


def broken(record: ResponseRecord | ResponseScore) -> str | None:
    """Return why a record is to be made again: the provider failed its call."""
    failure = record.failure
    return failure.detail if failure and failure.kind is FailureKind.INFRASTRUCTURE else None


def answers_of(
    context: Context, name: str, policy: ModelConfig, found: Sequence[Situation]
) -> dict[str, ResponseRecord]:
    """Return the stored answers of a policy to situations, in the order of these."""
    wanted = dict.fromkeys(key for key, _ in _ids(found, name, context.settings.crisp.responses.k))
    stored = {
        each.response_id: each for each in read_records(folder(context, policy) / RECORDS, ResponseRecord, wanted)
    }
    return {key: stored[key] for key in wanted if key in stored}


class Collected(NamedTuple):
    """One policy's answers with their scores, and what there is instead where there is no answer or no score."""

    name: str
    model: ModelConfig
    answers: Mapping[str, ResponseRecord]
    scores: Mapping[Place, float]
    """Members combined; what one of them lacks is missing."""
    by_judge: Mapping[str, Mapping[Place, int]]
    unscored: Mapping[Place, Loss]
    """Why there is no score, of each that a judge was asked for in vain."""
    failed: Mapping[str, str]
    """Answers that the provider broke off, with what it said."""

    @property
    def broken(self) -> int:
        """How many answers the provider broke off."""
        return len(self.failed)


def collected(context: Context, found: Sequence[Situation]) -> list[Collected]:
    """Return what is stored of every policy of the job."""
    k = context.settings.crisp.responses.k
    every = []
    for name, policy in context.settings.policies.items():
        answers = answers_of(context, name, policy, found)
        wanted = {key for key, _ in _ids(found, name, k)} - set(answers)
        standing = read_records(folder(context, policy) / FAILURES, ResponseRecord, wanted)
        failed = {each.response_id: each.failure.detail for each in standing if each.failure is not None}
        by_judge: dict[str, dict[Place, int]] = {}
        unscored: dict[Place, Loss] = {}
        for judge, member in context.settings.judge.members.items():
            by_judge[judge] = _judged(context, policy, member, answers, unscored)
        aggregation = context.settings.judge.aggregation
        every.append(Collected(name, policy, answers, _together(by_judge, aggregation), by_judge, unscored, failed))
    return every


def _judged(
    context: Context,
    policy: ModelConfig,
    member: ModelConfig,
    answers: Mapping[str, ResponseRecord],
    unscored: dict[Place, Loss],
) -> dict[Place, int]:
    """Return one judge's scores of answers, and put into ``unscored`` why it gave none."""
    given: dict[Place, int] = {}
    stored = scores_folder(context, policy, member)
    for each in (record for name in (RECORDS, FAILURES) for record in read_records(stored / name, ResponseScore)):
        place = each.response_id, each.scale
        if each.response_id not in answers or place in given:
            continue
        if each.score is not None:
            given[place] = each.score
        elif each.failure is not None:
            loss = loss_of(each.failure, Reason.NOT_SCORED)
            detail = f"{each.scale.value} by {member.name}: {each.failure.kind.value}: {each.failure.detail}"
            unscored.setdefault(place, loss.model_copy(update={"detail": detail}))
    return given


def _together(by_judge: Mapping[str, Mapping[Place, int]], aggregation: Aggregation) -> dict[Place, float]:
    places = dict.fromkeys(place for scores in by_judge.values() for place in scores)
    every = {place: combined([scores.get(place) for scores in by_judge.values()], aggregation) for place in places}
    return {place: float(score) for place, score in every.items() if score is not None}


def _reported(context: Context, total: StageResult, found: Sequence[Situation]) -> StageResult:
    settings = context.settings
    every = collected(context, found)
    labels = told.apart({each.name: each.model.label for each in every})
    rows = [told.policy_row(each, settings)._replace(label=labels[each.name]) for each in every]
    cultures = [row._replace(policy=labels[row.policy]) for each in every for row in told.culture_rows(each, settings)]
    level = settings.bootstrap.level
    table = policies_table(rows, settings.judge.name, level)
    notes = told.cautions(settings)
    content = {
        "policies": {each.name: parts(context, each.model) for each in every},
        "judges": {name: judge_parts(context, each) for name, each in settings.judge.members.items()},
        "situations": sorted(each.situation_id for each in found),
        "k": settings.crisp.responses.k,
        "bootstrap": settings.bootstrap.model_dump(mode="json"),
    }
    output = Output(folder_of(context, NAME, content), context.stop)
    total.out = output.folder
    tally = Tally(len(found) * settings.crisp.responses.k * len(every))
    for each in every:
        tally.add(loss for _, loss in told.losses(each))
    situations = {each.situation_id: each for each in found}
    answers = [Rated(situations[answer.situation_id], answer) for each in every for answer in each.answers.values()]
    with output:
        report = StageResult(NAME, output.folder, stopped=total.stopped)
        for name, scales in {"scores": tuple(Scale), **{scale.value: (scale,) for scale in Scale}}.items():
            write_atomically(output.folder / f"{name}.csv", told.scores_csv(every, found, scales, settings))
        write_atomically(output.folder / "lost_answers.csv", told.losses_csv(every, found))
        write_atomically(output.folder / "table.md", table.markdown())
        rating_sheets.write(output.folder, answers, settings)
        paid_for, tables = list(_outputs(context)), [table, scores_by_culture_table(cultures, level)]
        conclude(context, output, report, content, tally, "Responses", tables, notes=notes, parts=paid_for)
        for row in rows:
            track(context, NAME, row.policy, content, told.metrics(row), [output.folder / "policies.csv"])
        read = read_answers(context, every)
        write_reader(output.folder, settings, found, ways=testbed.ways(context), answers=read)
    total.empty = report.empty
    if settings.report.shown:
        print(plain(table, notes), flush=True)
    return total


def read_answers(context: Context, every: Sequence[Collected]) -> list[Answered]:
    """Return answers with all that judges said of each, for whoever reads them."""
    if not context.settings.report.page:
        return []
    labels, answers = told.apart({each.name: each.model.label for each in every}), list[Answered]()
    for each in every:
        remarks: dict[str, list[ResponseScore]] = {}
        for member in context.settings.judge.members.values():
            for name in (RECORDS, FAILURES):
                for score in read_records(scores_folder(context, each.model, member) / name, ResponseScore):
                    remarks.setdefault(score.response_id, []).append(score)
        answers += [Answered(labels[each.name], one, tuple(remarks.get(key, ()))) for key, one in each.answers.items()]
    return answers


def _outputs(context: Context) -> Iterator[Output]:
    """Yield the outputs of all policies and judges of the job."""
    for policy in context.settings.policies.values():
        yield Output(folder(context, policy))
        yield from (Output(scores_folder(context, policy, each)) for each in context.settings.judge.members.values())


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored."""
    return all_calls(due(context))


def due(context: Context) -> list[Due]:
    """Return what each role's model would be asked: the least and the most calls, given what is stored."""
    settings, terms = context.settings, context.settings.crisp.responses
    number = testbed.expected(context, NAME) * terms.k
    found = () if testbed.made_here(settings) else testbed.situations(context, NAME)
    every = []
    for name, policy in settings.policies.items():
        have = answers_of(context, name, policy, found) if found else {}
        todo = max(0, number - len(have))
        every.append(Due("policy", policy, todo, todo * terms.tries))
        for member in settings.judge.members.values():
            done = done_ids(scores_folder(context, policy, member) / RECORDS) if found else set()
            own = {f"{key}::{scale.value}" for key in have for scale in Scale}
            judged = max(0, number * len(Scale) - len(done & own))
            every.append(Due("judge", member, judged, judged * settings.judging.tries))
    return every
