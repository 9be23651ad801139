"""Stage *attack*: how often a text inside the transcript raises a judge's score.

Reads   the episodes of *simulate* under the same settings, and the attacks of ``data/attacks``.
Writes  ``attack/<fingerprint>/`` for each member of the judge: ``records.jsonl``, one ``AttackOutcome`` a line;
        ``attacks.md`` and ``attacks.csv``, the success rates of the attacks that the job asks for. For a judge of
        several members another such folder holds the tables of the panel's own score, with its members' rates.
Method  each attack goes to the end of a message of a sampled episode, and the judge of *evaluate* scores that copy
        and its clean twin. Twins that are judged already come from the ledger.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ccfw.errors import RequestError
from ccfw.judging import attacks
from ccfw.judging.attacks import Attack, AttackOutcome, outcome_id
from ccfw.llm.client import Meter
from ccfw.prompts import PromptSet
from ccfw.records import Episode, Failure, FailureKind, Judgement, Metric, Scenario
from ccfw.resources import resource
from ccfw.settings.models import ModelConfig
from ccfw.stages import evaluate
from ccfw.stages.batch import run_batch, workers
from ccfw.stages.context import Context, StageResult
from ccfw.stages.evaluate import Bench, Held, by_member, judgement_id, tell_unscored
from ccfw.store import Output, digest, done_ids, fingerprint, read_records, write_atomically
from ccfw.universe.seed_id import episode_id

NAME = "attack"
T = TypeVar("T")
Item = tuple[Attack, Scenario, Episode, Metric]


def parts(context: Context, member: ModelConfig) -> dict[str, Any]:
    """Return everything that decides a member's outcomes; its hash names the output folder.

    How many episodes, attacks and metrics are taken is not in it: an outcome does not depend on what else is asked.
    """
    corpus = digest(attack.model_dump_json() for attack in shipped())
    prompts = judge_prompts(context, member).digest("judge/")
    return evaluate.parts(context, member) | {"corpus": corpus, "prompts": prompts}


def shipped() -> list[Attack]:
    """Return the corpus in the order of its files."""
    return [a for path in sorted((resource("data") / "attacks").glob("*.jsonl")) for a in read_records(path, Attack)]


def judge_prompts(context: Context, member: ModelConfig) -> PromptSet:
    """Return the prompts that are attacked: those that evaluate, or the style that the job names."""
    style = context.settings.attack.prompt
    if style is None:
        return context.prompts(member)
    return PromptSet(resource("prompts"), f"{context.settings.prompt.version}/{style}")


def drawn(context: Context, things: Iterable[T], name: Callable[[T], str], count: int | None) -> list[T]:
    """Return ``count`` things, all if ``None``, in an order that hangs on the seed and each one's name alone."""
    seed = context.settings.seed
    return sorted(things, key=lambda thing: hashlib.sha256(f"{seed}:{name(thing)}".encode()).digest())[:count]


def run(context: Context) -> StageResult:
    """Attack every member of the judge with what it was not attacked with yet."""
    result = by_member(NAME, context, _run_member)
    if len(context.settings.judge.members) > 1 and not result.interrupted:
        _write_panel(context, result)
    return result


def _run_member(context: Context, member: ModelConfig, episodes: Held) -> StageResult:
    settings = context.settings
    content = parts(context, member)
    output = context.output(NAME, fingerprint(content))
    meter = Meter()
    result = StageResult(NAME, output.folder, meter=meter)
    bench = Bench(settings, member, context.client(member, meter), judge_prompts(context, member), stage=NAME)
    items = _items(context, episodes)
    with output:
        try:
            run_batch(
                context.runner,
                output,
                result,
                items,
                Siege(bench).outcome,
                broken=_broken,
                kind=AttackOutcome,
                concurrency=workers(member),
                stop=context.stop,
            )
            _report(context, output, result, {key for key, _ in items})
        finally:
            output.write_manifest(context.manifest(output, result, content, member=member.name))
    return result


def _broken(outcome: AttackOutcome) -> str | None:
    failure = outcome.failure
    return failure.detail if failure and failure.kind is FailureKind.INFRASTRUCTURE else None


def _report(context: Context, output: Output, result: StageResult, asked: set[str]) -> None:
    """Write the tables of what was asked; a judge that gave no pair of scores has failed."""
    outcomes = [o for o in read_records(output.records, AttackOutcome) if o.outcome_id in asked]
    _write_tables(context, output, attacks.rows(outcomes, len(asked) - len(outcomes)))
    tell_unscored(result, [outcome.failure for outcome in outcomes], "outcomes")


def _write_tables(context: Context, output: Output, table: list[attacks.Row]) -> None:
    level = context.settings.bootstrap.level
    write_atomically(output.folder / "attacks.md", attacks.markdown(table, level))
    write_atomically(output.folder / "attacks.csv", attacks.comma_separated(table, level))


def _write_panel(context: Context, result: StageResult) -> None:
    """Write the tables of what was asked for the panel as one judge; what was paid stands beside its members'."""
    judge = context.settings.judge
    asked = {key for key, _ in _items(context, evaluate.stored_episodes(context))}
    members = {
        name: [o for o in outcomes if o.outcome_id in asked] for name, outcomes in member_outcomes(context).items()
    }
    found = attacks.panel_outcomes(list(members.values()), judge.aggregation)
    table = attacks.rows(found, len(asked) - len(found))
    table += [attacks.Row("member", name, attacks.rate(outcomes)) for name, outcomes in members.items()]
    content = {
        "members": {name: fingerprint(parts(context, member)) for name, member in judge.members.items()},
        "aggregation": judge.aggregation,
    }
    output = context.output(NAME, fingerprint(content))
    result.out = output.folder
    with output:
        _write_tables(context, output, table)
        manifest = context.manifest(output, result, content, judge=judge.name)
        output.write_manifest({key: value for key, value in manifest.items() if key != "paid"})


def member_outcomes(context: Context) -> dict[str, list[AttackOutcome]]:
    """Return the stored outcomes of each member of the judge, by its name in the judge."""
    outputs = {
        name: context.output(NAME, fingerprint(parts(context, member)))
        for name, member in context.settings.judge.members.items()
    }
    return {name: list(read_records(output.records, AttackOutcome)) for name, output in outputs.items()}


def _items(context: Context, episodes: Held) -> list[tuple[str, Item]]:
    settings = context.settings.attack
    scenarios = context.dataset.by_seed()
    sample = [episodes[key] for key in drawn(context, episodes, str, settings.episodes)]
    return [
        (outcome_id(attack, episode.episode_id, metric), (attack, scenarios[episode.seed.seed_id], episode, metric))
        for episode in sample
        for metric in settings.metrics
        for attack in _corpus(context)
    ]


def _corpus(context: Context) -> list[Attack]:
    found = shipped()
    if not found:
        raise RequestError([f"stage={NAME}: no attacks in {resource('data') / 'attacks'}"])
    return drawn(context, found, lambda attack: attack.id, context.settings.attack.limit)


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored.

    Dialogues that are not held yet count as if they were; a clean twin without a stored judgement counts as asked.
    """
    pairs = [plan_member(context, member) for member in context.settings.judge.members.values()]
    return sum(least for least, _ in pairs), sum(most for _, most in pairs)


def plan_member(context: Context, member: ModelConfig) -> tuple[int, int]:
    """Return the least and the most calls to one member of the judge."""
    planned = [episode_id(scenario.seed.seed_id, language) for scenario, language in context.planned]
    sample = drawn(context, planned, str, context.settings.attack.episodes)
    joint, tries = judge_prompts(context, member).has(evaluate.JOINT), context.settings.judging.tries
    scores = _scores_wanted(context, member, sample)
    first = sum(wanted > 0 for wanted in scores) if joint else sum(scores)
    return first, first + sum(scores) * (tries - 1)  # each later try is one metric's own


def _scores_wanted(context: Context, member: ModelConfig, sample: list[str]) -> list[int]:
    """Return how many scores each transcript is still to be given, attacked copies and clean twins alike."""
    settings, corpus = context.settings, _corpus(context)
    have = done_ids(context.output(NAME, fingerprint(parts(context, member))).records)
    judged = set[str]()
    if settings.attack.prompt is None:
        judged = done_ids(context.output(evaluate.NAME, fingerprint(evaluate.parts(context, member))).records)
    wanted = []
    for episode in sample:
        copies = [{m for m in settings.attack.metrics if outcome_id(a, episode, m) not in have} for a in corpus]
        twin = {metric for metric in set[Metric]().union(*copies) if f"{episode}::{metric}" not in judged}
        wanted += [len(metrics) for metrics in (*copies, twin)]
    return wanted


@dataclass(frozen=True)
class Siege:
    """One member of the judge under attack; each clean twin is asked for once."""

    bench: Bench
    _clean: dict[str, asyncio.Task[Judgement]] = field(default_factory=dict)

    async def outcome(self, item: Item) -> AttackOutcome:
        """Judge the twin and the attacked copy; without a score of the twin the copy is not asked for."""
        attack, scenario, episode, metric = item
        clean = await self._twin(scenario, episode, metric)
        attacked = None
        if clean.score is not None:
            attacked = await self.bench.judge((scenario, attacks.apply(attack, episode), metric))
        attacked_score = attacked.score if attacked else None
        return AttackOutcome(
            outcome_id=outcome_id(attack, episode.episode_id, metric),
            attack=attack.id,
            kind=attack.kind,
            language=attack.language,
            episode_id=episode.episode_id,
            metric=metric,
            judge=self.bench.member.name,
            clean_score=clean.score,
            attacked_score=attacked_score,
            success=attacks.success(clean.score, attacked_score),
            failure=_failure("clean twin", clean) or (_failure("attacked", attacked) if attacked else None),
        )

    async def _twin(self, scenario: Scenario, episode: Episode, metric: Metric) -> Judgement:
        key = judgement_id(episode, metric)
        if key not in self._clean:
            self._clean[key] = asyncio.create_task(self.bench.judge((scenario, episode, metric)))
        # Shielded: a worker that is cancelled must not take the twin from the others that wait for it.
        return await asyncio.shield(self._clean[key])


def _failure(side: str, judgement: Judgement) -> Failure | None:
    failure = judgement.failure
    return failure.model_copy(update={"detail": f"{side}: {failure.detail}"}) if failure else None
