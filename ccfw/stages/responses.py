"""Stage *responses*: policies answer the questions of the test bed, and judges score what they say (Tables 18–20, 26).

Reads   situations: ``dataset=normcompass_starter``, or ``dataset=normcompass`` as stage *refine* left it.
Writes  ``crisp/responses/<fingerprint>/records.jsonl`` for each policy, its answers; below it for each judge
        ``scores/<fingerprint>/records.jsonl``; for the request as a whole ``table.md``, ``policies.csv``,
        ``scores.csv``, and ``outcome.csv`` and ``norm_match.csv``, which ``stage=align`` takes as ``align.scores``.
Method  ``k`` answers with a paragraph of reasoning at temperature; the answer alone is judged for its outcome, 1 to 5,
        the reasoning for the norm, 0 to 2. What cannot be read is a typed failure, never a number.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ccfw.crisp.records import Loss, Reason, ResponseRecord, ResponseScore, Scale, Situation
from ccfw.crisp.tally import Tally
from ccfw.judging.scoring import combined
from ccfw.records import FailureKind, LanguageMode
from ccfw.report.crisp import SMALL_JUDGE, PolicyRow, plain, policies_table
from ccfw.report.writing import comma_separated
from ccfw.settings import Settings
from ccfw.settings.models import ModelConfig
from ccfw.stages import testbed
from ccfw.stages.batch import FAILURES, run_batch, workers
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import Due, Speaker, all_calls, conclude, folder_of, track
from ccfw.stages.evaluate import tell_unscored
from ccfw.stages.respondents import Asked, Respondent
from ccfw.stages.respondents import Bench as Bench
from ccfw.store import Output, done_ids, fingerprint, read_records, write_atomically

log = logging.getLogger(__name__)
NAME = "responses"
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
    with output:
        try:
            run_batch(
                context.runner,
                output,
                result,
                list(_ids(found, name, context.settings.crisp.responses.k)),
                author.respond,
                broken=_broken,
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
                broken=_broken,
                kind=ResponseScore,
                concurrency=workers(member),
                stop=context.stop,
            )
            wanted = {key for key, _ in items}
            stored = read_records(output.records, ResponseScore, wanted)
            tell_unscored(result, [each.failure for each in stored], "scores")
        finally:
            output.write_manifest(context.manifest(output, result, content, policy=name, member=member.name))
    return result


def _broken(record: ResponseRecord | ResponseScore) -> str | None:
    failure = record.failure
    return failure.detail if failure and failure.kind is FailureKind.INFRASTRUCTURE else None


def answers_of(
    context: Context, name: str, policy: ModelConfig, found: Sequence[Situation]
) -> dict[str, ResponseRecord]:
    """Return the stored answers of a policy to situations, in the order of these."""
    wanted = dict.fromkeys(key for key, _ in _ids(found, name, context.settings.crisp.responses.k))
    stored = {
        each.response_id: each
        for each in read_records(folder(context, policy) / "records.jsonl", ResponseRecord, wanted)
    }
    return {key: stored[key] for key in wanted if key in stored}


def scores_of(context: Context, policy: ModelConfig) -> dict[tuple[str, Scale], float]:
    """Return the stored scores of a policy's answers, members combined; what one of them lacks is missing."""
    members = []
    for member in context.settings.judge.members.values():
        path = scores_folder(context, policy, member) / "records.jsonl"
        members.append({(each.response_id, each.scale): each.score for each in read_records(path, ResponseScore)})
    keys = dict.fromkeys(key for scores in members for key in scores)
    every = {key: combined([scores.get(key) for scores in members], context.settings.judge.aggregation) for key in keys}
    return {key: float(score) for key, score in every.items() if score is not None}


class Collected(NamedTuple):
    """One policy's answers with their scores, and how many of its calls were broken."""

    name: str
    model: ModelConfig
    answers: Mapping[str, ResponseRecord]
    scores: Mapping[tuple[str, Scale], float]
    broken: int


def collected(context: Context, found: Sequence[Situation]) -> list[Collected]:
    """Return what is stored of every policy of the job."""
    k = context.settings.crisp.responses.k
    every = []
    for name, policy in context.settings.policies.items():
        answers = answers_of(context, name, policy, found)
        standing = done_ids(folder(context, policy) / FAILURES) & {key for key, _ in _ids(found, name, k)}
        scores = scores_of(context, policy)
        own = {key: score for key, score in scores.items() if key[0] in answers}
        every.append(Collected(name, policy, answers, own, len(standing - set(answers))))
    return every


def _reported(context: Context, total: StageResult, found: Sequence[Situation]) -> StageResult:
    settings = context.settings
    every = collected(context, found)
    rows = [_row(each, settings) for each in every]
    table = policies_table(rows, settings.judge.name, settings.bootstrap.level)
    notes = cautions(settings)
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
        tally.add(_losses(each))
    with output:
        report = StageResult(NAME, output.folder)
        for name, scales in {"scores": tuple(Scale), **{scale.value: (scale,) for scale in Scale}}.items():
            write_atomically(output.folder / f"{name}.csv", scores_csv(every, found, settings.judge.name, scales))
        write_atomically(output.folder / "table.md", table.markdown())
        paid_for = list(_outputs(context))
        conclude(context, output, report, content, tally, "Responses", [table], notes=notes, parts=paid_for)
        for row in rows:
            track(context, NAME, row.policy, content, _metrics(row), [output.folder / "policies.csv"])
    if settings.report.shown:
        print(plain(table, notes), flush=True)
    return total


def _outputs(context: Context) -> Iterator[Output]:
    """Yield the outputs of all policies and judges of the job."""
    for policy in context.settings.policies.values():
        yield Output(folder(context, policy))
        yield from (Output(scores_folder(context, policy, each)) for each in context.settings.judge.members.values())


def cautions(settings: Settings) -> list[str]:
    """Return what a reader must know before believing the scores."""
    small = any(member.size == "small" for member in settings.judge.members.values())
    own = sorted(set(settings.policies) & set(settings.judge.members)) if not small else []
    notes = [SMALL_JUDGE] if small else []
    return notes + [f"{name} judges its own answers." for name in own]


def _losses(each: Collected) -> Iterator[Loss | None]:
    for answer in each.answers.values():
        if answer.failure is not None:
            yield Loss(reason=Reason.NO_ANSWER, detail=f"{answer.failure.kind}: {answer.failure.detail}")
        elif any((answer.response_id, scale) not in each.scores for scale in Scale):
            yield Loss(reason=Reason.NOT_SCORED, detail="a judge gave no score that could be read")
        else:
            yield None
    for _ in range(each.broken):
        yield Loss(reason=Reason.INFRASTRUCTURE, detail="the provider failed the call; the same line tries again")


def _row(each: Collected, settings: Settings) -> PolicyRow:
    """Summarise one policy; every row uses the same resampling seed, so rows over the same norms pair."""
    valid = [answer for answer in each.answers.values() if answer.failure is None]
    outcome, match = clustered_means(
        [[each.scores.get((answer.response_id, scale)) for scale in Scale] for answer in valid],
        [answer.norm_id for answer in valid],
        settings,
    )
    return PolicyRow(
        policy=each.name,
        label=each.model.label,
        outcome=outcome,
        norm_match=match,
        valid=len(valid) / len(each.answers) if each.answers else 0.0,
        answers=len(each.answers),
        broken=each.broken,
        unscored=sum((answer.response_id, scale) not in each.scores for answer in valid for scale in Scale),
    )


def _metrics(row: PolicyRow) -> dict[str, float]:
    found = {"valid": row.valid, "answers": float(row.answers), "broken": float(row.broken)}
    for name, interval in (("outcome", row.outcome), ("norm_match", row.norm_match)):
        for suffix, value in (("", interval.mean), ("_lo", interval.low), ("_hi", interval.high)):
            if value is not None:
                found[f"{name}{suffix}"] = value
    return found


def clustered_means(values: Sequence[Sequence[float | None]], norms: Sequence[str], settings: Settings) -> list[Any]:
    """Return the mean of each column with its percentile interval, whole norms drawn."""
    import numpy as np

    from ccfw.stats.bootstrap import Interval
    from ccfw.stats.intervals import ratio_intervals

    columns = len(values[0]) if values else len(Scale)
    if not values:
        return [Interval(None, None, None, 0)] * columns
    array = np.array([[np.nan if x is None else x for x in row] for row in values], dtype=np.float64)
    there = ~np.isnan(array)
    terms = settings.bootstrap
    bounds = ratio_intervals(
        np.where(there, array, 0.0),
        there.astype(np.float64),
        np.random.default_rng(settings.seed),
        resamples=terms.resamples,
        level=terms.level,
        clusters=np.asarray(norms),
    )
    ends = [[None if np.isnan(x) else x for x in side[0].tolist()] for side in bounds]
    return [Interval(*each) for each in zip(*ends, there.sum(axis=0).tolist(), strict=True)]


def scores_csv(every: Sequence[Collected], found: Sequence[Situation], judge: str, scales: Sequence[Scale]) -> str:
    """Return scores as ``stage=align`` reads judges' scores, long; the cluster is the norm."""
    regions = {each.situation_id: each.norm.region for each in found}
    rows = [
        (key, judge, scale.value, score, regions[answer.situation_id] or "other", _LANGUAGE, answer.norm_id)
        for each in every
        for key, answer in each.answers.items()
        for scale in scales
        if (score := each.scores.get((key, scale))) is not None
    ]
    shown = [(key, name, scale, f"{score:g}", *rest) for key, name, scale, score, *rest in rows]
    return comma_separated(("item", "rater", "metric", "score", "region", "language", "cluster"), shown)


_LANGUAGE = LanguageMode.ENGLISH.value


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
            done = done_ids(scores_folder(context, policy, member) / "records.jsonl") if found else set()
            own = {f"{key}::{scale.value}" for key in have for scale in Scale}
            judged = max(0, number * len(Scale) - len(done & own))
            every.append(Due("judge", member, judged, judged * settings.judging.tries))
    return every
