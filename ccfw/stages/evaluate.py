"""Stage *evaluate*: judge episodes (section 4, Appendix L).

Reads   the episodes of *simulate* under the same settings.
Writes  ``evaluate/<fingerprint>/records.jsonl`` for each member of the judge, one ``Judgement`` a line.
Method  one strict call per episode and metric; a reply that cannot be read is a typed failure, not a score.
        A member's judgements are stored once, whatever judges it is a member of.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccfw.errors import ProviderError, RequestError, StoppedError
from ccfw.judging.rubric import Breadth, Verdict, joint_schema, read_joint, read_verdict, reply_schema
from ccfw.llm import prices
from ccfw.llm.asking import Asked, ask, build_request
from ccfw.llm.batch import prefill
from ccfw.llm.client import Client, Meter
from ccfw.llm.litellm_client import LitellmBatches
from ccfw.llm.types import ChatRequest
from ccfw.prompts import PromptSet
from ccfw.records import Episode, Failure, FailureKind, Judgement, Metric, Scenario
from ccfw.selection import random_order
from ccfw.settings import Settings
from ccfw.settings.models import ModelConfig
from ccfw.stages import simulate
from ccfw.stages.batch import in_good_order, run_batch, workers
from ccfw.stages.context import Context, StageResult
from ccfw.store import Output, StoredRecords, done_ids, fingerprint, read_records
from ccfw.universe.seed_id import episode_id
from ccfw.views import judge_view

if TYPE_CHECKING:
    from ccfw.stats.sequential import StoppedAt

log = logging.getLogger(__name__)

NAME = "evaluate"
Item = tuple[Scenario, Episode, Metric]
Held = Mapping[str, Episode]
"""Finished episodes by id, in the order of the ids."""
Due = tuple[str, Metric]
"""A judgement to make: the id of its episode, and the metric."""
JOINT = "judge/joint"
"""The prompt of a style that judges all six metrics in one call."""
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


def run(context: Context) -> StageResult:
    """Judge what is not judged yet, member by member."""
    return by_member(NAME, context, _run_member)


def by_member(
    name: str, context: Context, run_member: Callable[[Context, ModelConfig, Held], StageResult]
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


def _run_member(context: Context, member: ModelConfig, episodes: Held) -> StageResult:
    content = parts(context, member)
    output = context.output(NAME, fingerprint(content))
    meter = Meter()
    result = StageResult(NAME, output.folder, meter=meter)
    bench = Bench(context.settings, member, context.client(member, meter), context.prompts(member))
    about: dict[str, Any] = {
        "member": member.name,
        "model": context.settings.model.name,
        "label": context.settings.model.label,
        "stopped": None,
    }
    with output:
        try:
            if context.settings.precision is None:
                _judge(context, output, result, bench, episodes, episodes)
            else:
                about["stopped"] = _judge_until(context, output, result, bench, episodes)
            _count_unscored(result, output, episodes)
        finally:
            manifest = context.manifest(output, result, content, **about)
            output.write_manifest(manifest)
    return result


@dataclass(frozen=True)
class Docket(Collection[tuple[str, Due]]):
    """Judgements by their ids; what each is about is looked up when it is due, since memory may not hold it all."""

    bench: Bench
    episodes: Held
    scenarios: Mapping[str, Scenario]
    chosen: Collection[str]
    """Ids of the episodes that are judged."""

    def __iter__(self) -> Iterator[tuple[str, Due]]:
        return ((f"{key}{suffix}", (key, metric)) for key in self.chosen for suffix, metric in _SUFFIXES)

    def __len__(self) -> int:
        return len(self.chosen) * len(_SUFFIXES)

    def __contains__(self, entry: object) -> bool:
        return any(entry == own for own in self)

    def item(self, due: Due) -> Item:
        """Return what a judgement is about."""
        episode = self.episodes[due[0]]
        return self.scenarios[episode.seed.seed_id], episode, due[1]

    async def judge(self, due: Due) -> Judgement:
        """Make one judgement."""
        return await self.bench.judge(self.item(due))


def _judge(
    context: Context, output: Output, result: StageResult, bench: Bench, episodes: Held, chosen: Collection[str]
) -> None:
    part = StageResult(NAME, output.folder)
    docket = Docket(bench, episodes, context.dataset.by_seed(), chosen)
    try:
        if context.settings.batch.name != "none" and context.stop.reason is None:
            docket = replace(docket, bench=replace(bench, withheld=_prefilled(context, output, docket)))
        run_batch(
            context.runner,
            output,
            part,
            docket,
            docket.judge,
            broken=_broken,
            kind=Judgement,
            concurrency=workers(bench.member),
            stop=context.stop,
        )
    except ProviderError as error:  # no batch can be made or read
        part.skipped = len(done_ids(output.records) & {key for key, _ in docket})
        part.failed, part.reason = len(docket) - part.skipped, f"batch={context.settings.batch.name}: {error}"
        log.warning("stage=%s: %d failed: %s; batch=none asks directly", NAME, part.failed, part.reason)
    except StoppedError as stopped:  # while a batch was made or waited for; run_batch lets none out
        context.stop.ask(str(stopped))
        part.stopped, part.interrupted = context.stop.reason, context.stop.interrupted
        part.skipped = len(done_ids(output.records) & {key for key, _ in docket})
        log.warning("stopped (%s): batches under way go on at the provider; the same line goes on", part.stopped)
    finally:
        result.add(part)


def _prefilled(context: Context, output: Output, docket: Docket) -> dict[str, str]:
    """Have provider batches answer the first try of what is not judged yet; return what nobody is to ask now."""
    have, terms, bench = done_ids(output.records), context.settings.batch, docket.bench
    requests = [bench.request(docket.item(due)) for key, due in docket if key not in have]
    meter = bench.client.meter
    most, before = _most(context, bench, requests) * terms.discount, replace(meter)
    context.runner.run(context.budget.reserve(most))
    left: dict[str, str] = {}

    async def fill() -> None:
        left.update(
            await prefill(
                requests,
                model=bench.member,
                transport=LitellmBatches(bench.member, bench.member.api_base),
                ledger=context.ledger,
                count=meter.count_ahead,
                folder=output.folder,
                terms=terms,
                stop=context.stop,
            )
        )

    try:
        with context.stop.on_signals():
            context.runner.run(in_good_order([fill()], context.stop))
        context.stop.check()
    finally:
        counted = meter.unpriced == before.unpriced  # a reply that the provider did not count may cost its most
        context.budget.settle(most, meter.cost - before.cost if counted else most)
    return {} if terms.direct_rest else left


def _most(context: Context, bench: Bench, requests: Sequence[ChatRequest]) -> float:
    """Return what the requests that the ledger lacks can cost at most, each asked once and directly."""
    tariff = prices.tariff(bench.member)
    if tariff is None:
        return 0.0
    missing = {request.key: request for request in requests if context.ledger.get(request.key) is None}
    return sum(tariff.most(request, bench.member.max_output_tokens) for request in missing.values())


def _judge_until(context: Context, output: Output, result: StageResult, bench: Bench, episodes: Held) -> dict[str, Any]:
    """Judge in random order until every interval is as narrow as asked, and return where that was.

    The rule holds at every look (``ccfw.stats.sequential``), so looking after each batch does not break the level.
    """
    settings = context.settings
    order = random_order(episodes, settings.seed)
    size, planned = settings.judging.batch, len(order)
    stop = None
    for start in range(0, planned, size):
        _judge(context, output, result, bench, episodes, order[start : start + size])
        if result.stopped:
            break
        stop = _look(settings, output, [episodes[key] for key in order[: start + size]], planned)
        if stop.reached:
            break
    if stop is None:
        return {"n": 0, "planned": planned, "saved": 0, "reached": False, "widths": {}}
    log.info(
        "stage=%s: precision=%g %sreached after %d of %d dialogues, %d judgements saved",
        NAME,
        settings.precision,
        "" if stop.reached else "not ",
        stop.n,
        planned,
        stop.saved * len(Metric),
    )
    return {
        "n": stop.n,
        "planned": planned,
        "saved": stop.saved,
        "reached": stop.reached,
        "widths": {name: round(width, 4) for name, width in stop.widths.items()},
    }


def _look(settings: Settings, output: Output, seen: Sequence[Episode], planned: int) -> StoppedAt:
    """Read the intervals of every metric, in each language apart, over the episodes judged so far."""
    import numpy as np

    from ccfw.judging.score_table import METRICS, tabulated
    from ccfw.stats.sequential import Column, stopping_point

    stored = tabulated(read_records(output.records, Judgement))
    scores = stored.rows([episode.episode_id for episode in seen]).metrics
    held_in = np.array([episode.language_mode.value for episode in seen])
    columns = {
        f"{language.value} {metric.value}": Column(np.where(held_in == language.value, column, np.nan), 1.0, 5.0)
        for language in settings.language.modes
        for metric, column in zip(METRICS, scores.T, strict=True)
    }
    return stopping_point(
        columns,
        precision=settings.precision or math.inf,
        alpha=1.0 - settings.bootstrap.level,
        batch=settings.judging.batch,
        planned=planned,
    )


def _broken(judgement: Judgement) -> str | None:
    failure = judgement.failure
    return failure.detail if failure and failure.kind is FailureKind.INFRASTRUCTURE else None


def _count_unscored(result: StageResult, output: Output, episodes: Held) -> None:
    stored = (j for j in read_records(output.records, Judgement) if j.episode_id in episodes)
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
    pairs = [plan_member(context, member) for member in context.settings.judge.members.values()]
    return sum(least for least, _ in pairs), sum(most for _, most in pairs)


def plan_member(context: Context, member: ModelConfig) -> tuple[int, int]:
    """Return the least and the most calls to one member of the judge."""
    tries = context.settings.judging.tries
    have = done_ids(context.output(NAME, fingerprint(parts(context, member))).records)
    planned = [episode_id(scenario.seed.seed_id, language) for scenario, language in context.planned]
    todo = [sum(f"{episode}::{metric}" not in have for metric in Metric) for episode in planned]
    if context.prompts(member).has(JOINT):  # the first try is one call for all, each later try one metric's own
        return sum(missing > 0 for missing in todo), sum((missing > 0) + missing * (tries - 1) for missing in todo)
    return sum(todo), sum(todo) * tries


def judgement_id(episode: Episode, metric: Metric) -> str:
    """Name the judgement of one metric of one episode."""
    return f"{episode.episode_id}::{metric.value}"


_SUFFIXES = tuple((f"::{metric.value}", metric) for metric in Metric)


def stored_episodes(context: Context) -> Held:
    """Return the finished episodes that the job asks for; raise ``RequestError`` when there are none."""
    output = episodes_output(context)
    wanted = {episode_id(scenario.seed.seed_id, language) for scenario, language in context.planned}
    episodes = StoredRecords(output.records, Episode, wanted)
    if not episodes:
        settings = context.settings
        raise RequestError(
            [
                f"stage={settings.stage.name}: no episodes of model={settings.model.name} "
                f"simulator={settings.simulator.name} language={settings.language.name} mode={settings.mode.name} "
                f"with these settings under {output.folder}; hold them first with stage=simulate and otherwise "
                "the same line"
            ]
        )
    return episodes


def episodes_output(context: Context) -> Output:
    """Return the output folder of the episodes that the job judges."""
    return context.output(simulate.NAME, fingerprint(simulate.parts(context)))


def judge_role(stage: str, prompts: PromptSet) -> str:
    """Return the role of a judge of a stage under some prompts."""
    return f"judge/{stage}/{prompts.style}"


@dataclass(frozen=True)
class Bench:
    """One member of the judge with its prompts."""

    settings: Settings
    member: ModelConfig
    client: Client
    prompts: PromptSet
    withheld: Mapping[str, str] = field(default_factory=dict)
    """Requests that are not to be sent, by key: the reason."""
    stage: str = NAME

    @property
    def role(self) -> str:
        """What the ledger files the calls under: other prompts and other stages take other tokens."""
        return judge_role(self.stage, self.prompts)

    @property
    def breadth(self) -> Breadth:
        """How much of a verdict the member is asked for."""
        return "core" if self.member.size == "small" else "full"

    def request(self, item: Item) -> ChatRequest:
        """Return the first request of one judgement.

        Under a joint prompt it is the same for the six metrics of an episode.
        """
        scenario, episode, metric = item
        joint = self.prompts.has(JOINT)
        views = {m: judge_view(scenario, episode, m) for m in (Metric if joint else [metric])}
        fields = {name: value for each in views.values() for name, value in each.fields.items()}
        return build_request(
            self.member,
            self.prompts.render(JOINT if joint else f"judge/{metric.value}", fields),
            role=self.role,
            temperature=self.settings.judging.temperature,
            seed=self.settings.seed,
            schema_name="judge_joint" if joint else f"judge_{metric.value}",
            schema=joint_schema(views, self.breadth) if joint else reply_schema(views[metric], self.breadth),
        )

    def reader(self, item: Item) -> Callable[[str], Verdict | Failure]:
        """Return what reads one judgement's verdict from a reply; of a joint reply it reads one part."""
        scenario, episode, metric = item
        view, read = judge_view(scenario, episode, metric), read_joint if self.prompts.has(JOINT) else read_verdict
        return lambda text: read(text, view, self.breadth)

    async def judge(self, item: Item) -> Judgement:
        """Ask for one judgement; whatever is not a valid verdict ends as a typed failure.

        Under a joint prompt the six metrics of an episode ask the same request, which the client sends once.
        """
        _, episode, metric = item
        request = self.request(item)
        if request.key in self.withheld:
            failure = Failure(kind=FailureKind.INFRASTRUCTURE, detail=self.withheld[request.key])
            asked: Asked[Verdict] = Asked(None, failure, 0)
        else:
            asked = await ask(self.client, request, self.reader(item), self.settings.judging.tries)
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
