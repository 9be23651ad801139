"""What ``dry_run=true`` says of a job's costs: one line for each stage and model, and their sum."""

from __future__ import annotations

from collections.abc import Iterator

from ccfw.estimate import Estimate, Mean, PerCall, mean_of
from ccfw.llm import prices
from ccfw.llm.ledger import Ledger
from ccfw.llm.types import ChatReply, Usage
from ccfw.records import Episode, Metric
from ccfw.settings import ModelConfig, Settings
from ccfw.stages import attack, evaluate, simulate
from ccfw.stages.context import Context
from ccfw.store import fingerprint, read_records

_PILOT = 1000
"""The latest calls that are read as a pilot."""


def estimates(context: Context) -> list[Estimate]:
    """Return what each role of each stage of the job would take, given what is stored."""
    found: list[Estimate] = []
    for name in context.settings.stage.runs:
        if name == simulate.NAME:
            found += _simulation(context)
        elif name in (evaluate.NAME, attack.NAME):
            found += _judging(context, name)
    return found


def _simulation(context: Context) -> Iterator[Estimate]:
    settings = context.settings
    least, most = simulate.plan(context)
    dialogues = simulate.missing(context)
    turns = _turns(context)
    calls = Mean(turns.value * dialogues, None if turns.error is None else turns.error * dialogues)
    tries = settings.simulation.tries
    for role, model in (("assistant", settings.model), ("simulator", settings.simulator)):
        bound = most // (1 + tries) * (tries if role == "simulator" else 1)
        yield Estimate(
            simulate.NAME,
            role,
            model.name,
            calls,
            least // 2,
            bound,
            _per_call(context, role, model),
            min(model.max_in_flight, max(1, dialogues)),
        )


def _turns(context: Context) -> Mean:
    """Return the turns of a dialogue: as held so far under these settings, or as assumed."""
    output = context.output(simulate.NAME, fingerprint(simulate.parts(context)))
    held = mean_of([len(episode.turns) for episode in read_records(output.records, Episode)])
    if held is not None:
        return held
    planned = context.planned
    shards = sum(scenario.shards for scenario, _ in planned) / max(1, len(planned))
    return Mean(shards * context.settings.estimate.turns_per_shard)


def _judging(context: Context, name: str) -> Iterator[Estimate]:
    plan_member = attack.plan_member if name == attack.NAME else evaluate.plan_member
    for member in context.settings.judge.members.values():
        least, most = plan_member(context, member)
        per_call = _per_call(context, "judge", member)
        yield Estimate(name, "judge", member.name, Mean(least, 0.0), least, most, per_call, member.max_in_flight)


def _per_call(context: Context, role: str, model: ModelConfig) -> PerCall:
    tariff, assumed = prices.tariff(model), getattr(context.settings.estimate, role)
    pilot = _pilot(context, role, model)
    if pilot:
        tokens_in = _mean([reply.usage.prompt_tokens for reply in pilot], assumed.prompt_tokens)
        tokens_out = _mean([reply.usage.completion_tokens for reply in pilot], assumed.completion_tokens)
        seconds = _mean([reply.seconds for reply in pilot], assumed.seconds)
        costs = [reply.cost for reply in pilot if reply.cost is not None]
        usd = mean_of(costs) if len(costs) == len(pilot) else None
    else:
        tokens_in, tokens_out, seconds = assumed.prompt_tokens, assumed.completion_tokens, assumed.seconds
        cost = tariff.cost(Usage(round(tokens_in), round(tokens_out), None)) if tariff else None
        usd = None if cost is None else Mean(cost)
    batch = prices.batch_tariff(model, context.settings.batch.discount)
    usage = Usage(round(tokens_in), round(tokens_out), None)
    return PerCall(
        tokens_in,
        tokens_out,
        seconds,
        usd,
        batch.cost(usage) if batch and role == "judge" else None,
        _shared_prefix(context.settings, tariff, usage) if role == "judge" else None,
        len(pilot),
    )


def _shared_prefix(settings: Settings, tariff: prices.Tariff | None, usage: Usage) -> float | None:
    """Return a judgement's cost when five of the six of an episode find their common beginning in the cache."""
    if tariff is None or usage.prompt_tokens is None:
        return None
    share = settings.estimate.shared_prefix * (len(Metric) - 1) / len(Metric)
    return tariff.cost(Usage(usage.prompt_tokens, usage.completion_tokens, round(usage.prompt_tokens * share)))


def _pilot(context: Context, role: str, model: ModelConfig) -> list[ChatReply]:
    path = context.ledger_path
    if not path.exists():
        return []
    with Ledger(path) as ledger:
        found = list(ledger.replies(model.provider_model, role, _PILOT))
    return found if mean_of([reply.seconds for reply in found]) else []


def _mean(values: list[int | None] | list[float], otherwise: float) -> float:
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else otherwise
