"""Stage *evaluate*: judge episodes (section 4, Appendix L).

Reads   the episodes of *simulate* under the same settings.
Writes  ``evaluate/<fingerprint>/records.jsonl`` for each member of the judge, one ``Judgement`` a line.
Method  one strict call per episode and metric; a reply that cannot be read is a typed failure, not a score.
        A member's judgements are stored once, whatever judges it is a member of.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccfw.errors import RequestError
from ccfw.llm.asking import ask, build_request
from ccfw.llm.client import Client, Meter
from ccfw.prompts import PromptSet
from ccfw.records import Episode, Failure, FailureKind, Judgement, Metric, Scenario
from ccfw.rubric import Breadth, Verdict, read_verdict, reply_schema
from ccfw.seed_id import episode_id
from ccfw.settings import ModelConfig, Settings
from ccfw.stages import simulate
from ccfw.stages.batch import run_batch
from ccfw.stages.context import Context, StageResult
from ccfw.store import Output, done_ids, fingerprint, read_records
from ccfw.views import judge_view

log = logging.getLogger(__name__)

NAME = "evaluate"
PARSER = 1
"""Raised when the reading of verdicts changes: judgements are then read anew from the ledger, without a call."""


def parts(context: Context, member: ModelConfig) -> dict[str, Any]:
    """Return everything that decides a member's judgements; its hash names the output folder."""
    return {
        "episodes": simulate.parts(context),
        "member": member.identity,
        "rubric": context.settings.judge.rubric,
        "prompts": context.prompts(member).digest("judge/"),
        "judging": context.settings.judging.model_dump(mode="json"),
        "seed": context.settings.seed,
        "parser": PARSER,
    }


def comparable(content: dict[str, Any]) -> str:
    """Return the hash of a judgement's parts without the assistant: equal hashes may share a table."""
    return fingerprint(content | {"episodes": content["episodes"] | {"model": None}})


def run(context: Context) -> StageResult:
    """Judge what is not judged yet, member by member."""
    return by_member(NAME, context, _run_member)


def by_member(
    name: str, context: Context, run_member: Callable[[Context, ModelConfig, list[Episode]], StageResult]
) -> StageResult:
    """Run a stage for each member of the judge over the stored episodes and sum up what came of it."""
    episodes = stored_episodes(context)
    total = StageResult(name, Path())
    for member in context.settings.judge.members.values():
        total.add(run_member(context, member, episodes))
        if total.interrupted:
            break
    if len(context.settings.judge.members) > 1:
        total.out = total.out.parent
    return total


def _run_member(context: Context, member: ModelConfig, episodes: list[Episode]) -> StageResult:
    content = parts(context, member)
    output = context.output(NAME, fingerprint(content))
    meter = Meter()
    result = StageResult(NAME, output.folder, meter=meter)
    bench = Bench(context.settings, member, context.client(member, meter), context.prompts(member))
    scenarios = context.dataset.by_seed()
    items = [
        (judgement_id(episode, metric), (scenarios[episode.seed.seed_id], episode, metric))
        for episode in episodes
        for metric in Metric
    ]
    with output:
        try:
            run_batch(
                context.runner,
                output,
                result,
                items,
                bench.judge,
                broken=_broken,
                kind=Judgement,
                concurrency=member.max_in_flight,
            )
        finally:
            _count_unscored(result, output, {key for key, _ in items})
            about = {"member": member.name, "model": context.settings.model.name, "label": context.settings.model.label}
            output.write_manifest(context.manifest(output, result, content, comparable=comparable(content), **about))
    return result


def _broken(judgement: Judgement) -> str | None:
    failure = judgement.failure
    return failure.detail if failure and failure.kind is FailureKind.INFRASTRUCTURE else None


def _count_unscored(result: StageResult, output: Output, wanted: set[str]) -> None:
    stored = [j for j in read_records(output.records, Judgement) if j.judgement_id in wanted]
    tell_unscored(result, [j.failure for j in stored], "judgements")


def tell_unscored(result: StageResult, failures: Sequence[Failure | None], noun: str) -> None:
    """Say how many results hold no score, and why; a judge whose every result is one has failed."""
    kinds = Counter(failure.kind.value for failure in failures if failure is not None)
    if not kinds:
        return
    reasons = ", ".join(f"{kind} {times}" for kind, times in kinds.most_common())
    log.warning("stage=%s: %d of %d %s hold no score: %s", result.stage, kinds.total(), len(failures), noun, reasons)
    if kinds.total() == len(failures):
        result.failed += result.done + result.skipped
        result.done = result.skipped = 0


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored.

    Dialogues that are not held yet count as if they were.
    """
    tries = context.settings.judging.tries
    planned = [episode_id(scenario.seed.seed_id, language) for scenario, language in context.planned]
    todo = 0
    for member in context.settings.judge.members.values():
        have = done_ids(context.output(NAME, fingerprint(parts(context, member))).records)
        todo += sum(f"{episode}::{metric}" not in have for episode in planned for metric in Metric)
    return todo, todo * tries


def judgement_id(episode: Episode, metric: Metric) -> str:
    """Name the judgement of one metric of one episode."""
    return f"{episode.episode_id}::{metric.value}"


def stored_episodes(context: Context) -> list[Episode]:
    """Return the finished episodes that the job asks for; raise ``RequestError`` when there are none."""
    output = episodes_output(context)
    wanted = {episode_id(scenario.seed.seed_id, language) for scenario, language in context.planned}
    episodes = [e for e in read_records(output.records, Episode) if e.episode_id in wanted]
    if not episodes:
        settings = context.settings
        raise RequestError(
            [
                f"stage={settings.stage.name}: no episodes of model={settings.model.name} "
                f"simulator={settings.simulator.name} language={settings.language.name} mode={settings.mode.name} "
                f"under {output.folder}; hold them first with stage=simulate and otherwise the same line"
            ]
        )
    return sorted(episodes, key=lambda episode: episode.episode_id)


def episodes_output(context: Context) -> Output:
    """Return the output folder of the episodes that the job judges."""
    return context.output(simulate.NAME, fingerprint(simulate.parts(context)))


@dataclass(frozen=True)
class Bench:
    """One member of the judge with its prompts."""

    settings: Settings
    member: ModelConfig
    client: Client
    prompts: PromptSet

    async def judge(self, item: tuple[Scenario, Episode, Metric]) -> Judgement:
        """Ask for one judgement; whatever is not a valid verdict ends as a typed failure."""
        scenario, episode, metric = item
        view = judge_view(scenario, episode, metric)
        breadth: Breadth = "core" if self.member.size == "small" else "full"
        request = build_request(
            self.member,
            self.prompts.render(f"judge/{metric.value}", view.fields),
            temperature=self.settings.judging.temperature,
            seed=self.settings.seed,
            schema_name=f"judge_{metric.value}",
            schema=reply_schema(view, breadth),
        )
        asked = await ask(
            self.client, request, lambda text: read_verdict(text, view, breadth), self.settings.judging.tries
        )
        verdict: Verdict | None = asked.value
        return Judgement(
            judgement_id=judgement_id(episode, metric),
            episode_id=episode.episode_id,
            metric=metric,
            judge=self.member.name,
            score=verdict.score if verdict else None,
            failure=asked.failure,
            reasoning=verdict.reasoning if verdict else "",
            tripwires_triggered=verdict.tripwires_triggered if verdict else (),
            taboos_violated=verdict.taboos_violated if verdict else (),
            details=verdict.details if verdict else {},
            tries=asked.tries,
        )
