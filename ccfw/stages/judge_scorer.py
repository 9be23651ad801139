"""A judge as a scorer: Norm Match or outcome of answers by ``rewards.judge``, each judged once and stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ccfw.crisp.records import ResponseRecord, ResponseScore, Scale, Situation
from ccfw.judging.scoring import combined
from ccfw.settings import Settings, training
from ccfw.settings.models import ModelConfig
from ccfw.stages import responses
from ccfw.stages.batch import run_batch, workers
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import Due, Speaker, folder_of
from ccfw.store import Output, digest, done_ids, fingerprint, read_records

JUDGED = {place: Scale(scale) for place, scale in training.JUDGED.items()}
_FOLDER = "rewards"


class Answer(NamedTuple):
    """An answer as a judge is shown it."""

    situation: Situation
    record: ResponseRecord

    def key(self, scale: Scale) -> str:
        """Return what its score is stored under: all that the judge sees of it beside the norm and the question."""
        reasoning = self.record.reasoning if scale is Scale.NORM_MATCH else ""
        return digest([self.situation.model_dump_json(exclude={"split", "triplet"}), self.record.answer, reasoning])


def scales(settings: Settings) -> dict[str, Scale]:
    """Return the scorers of the job that are judges, by name."""
    return {name: JUDGED[place] for name, place in settings.rewards.scorers.items() if place in JUDGED}


def problems(settings: Settings, answers: Mapping[str, Answer]) -> list[str]:
    """Return a line for each judge that is to score what it cannot: answers of a file, or reasoning that is none."""
    found = []
    for name, scale in scales(settings).items():
        key = f"rewards.scorers.{name}=judge_{scale.value}"
        if not answers:
            found.append(f"{key}: judges score answers to situations, and those of a file have none")
        elif scale is Scale.NORM_MATCH and not any(each.record.reasoning for each in answers.values()):
            found.append(f"{key}: Norm Match is of the reasoning, and these answers have none")
    return found


def from_judge(
    context: Context, name: str, scale: Scale, answers: Mapping[str, Answer], result: StageResult
) -> tuple[dict[str, float], str]:
    """Return the judge's scores of answers by text id, and what tells the judge from others; count into ``result``.

    What a job that was stopped had no time for is missing, and ``result`` says so.
    """
    judge, members = context.settings.rewarding, []
    content = {"judge": {member: _parts(context, each, scale) for member, each in judge.members.items()}}
    for member in judge.members.values():
        members.append(_scored(context, name, member, scale, answers, result))
        if result.stopped:
            break
    found = {
        key: combined([scores.get(answer.key(scale)) for scores in members], judge.aggregation)
        for key, answer in answers.items()
    }
    own = fingerprint(content | {"aggregation": judge.aggregation})
    return {key: float(score) for key, score in found.items() if score is not None}, own


def due(context: Context, answers: Mapping[str, Answer]) -> list[Due]:
    """Return what judges would be asked, given what is stored."""
    found = []
    wanted = {scale: {each.key(scale) for each in answers.values()} for scale in scales(context.settings).values()}
    for member in context.settings.rewarding.members.values():
        todo = sum(len(keys - done_ids(_output(context, member, scale).records)) for scale, keys in wanted.items())
        found.append(Due("judge", member, todo, todo * context.settings.judging.tries))
    return found


def _parts(context: Context, member: ModelConfig, scale: Scale) -> dict[str, Any]:
    parts = responses.judge_parts(context, member)
    return parts | {"prompts": parts["prompts"][scale.value], "scale": scale.value}


def _output(context: Context, member: ModelConfig, scale: Scale) -> Output:
    return Output(folder_of(context, _FOLDER, _parts(context, member, scale)), context.stop)


def _scored(
    context: Context,
    name: str,
    member: ModelConfig,
    scale: Scale,
    answers: Mapping[str, Answer],
    result: StageResult,
) -> dict[str, float]:
    output = _output(context, member, scale)
    own = StageResult(result.stage, output.folder)
    bench = responses.Bench(context.settings, Speaker.of(context, member, own))

    async def judge(item: tuple[str, Answer]) -> ResponseScore:
        key, (situation, record) = item
        return (await bench.judge((situation, record, scale))).model_copy(update={"score_id": key})

    items = {each.key(scale): each for each in answers.values()}
    with output:
        try:
            run_batch(
                context.runner,
                output,
                own,
                [(key, (key, each)) for key, each in items.items()],
                judge,
                broken=responses.broken,
                kind=ResponseScore,
                concurrency=workers(member),
                stop=context.stop,
            )
        finally:
            content = _parts(context, member, scale)
            output.write_manifest(context.manifest(output, own, content, scorer=name, member=member.name))
            result.meter.add(own.meter)
    stored = list(read_records(output.records, ResponseScore, set(items)))
    responses.tell_unscored(own, [each.failure for each in stored], "scores")
    result.failed += own.failed
    result.stopped, result.interrupted, result.reason = own.stopped, own.interrupted, own.reason or result.reason
    return {each.score_id: each.score for each in stored if each.score is not None}
