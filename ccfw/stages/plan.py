"""What ``dry_run=true`` says of a job's costs: one line for each stage and model, and their sum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from ccfw.errors import StoreError
from ccfw.estimate import LEAST_PILOT, Estimate, Mean, PerCall, mean_of, product, tries_of
from ccfw.llm import prices
from ccfw.llm.asking import AGAIN
from ccfw.llm.ledger import Ledger
from ccfw.llm.types import ChatReply, Usage
from ccfw.records import Episode, Metric
from ccfw.settings import Settings
from ccfw.settings.models import ModelConfig
from ccfw.stages import attack, blueprints, evaluate, shards, simulate, stage
from ccfw.stages.context import Context
from ccfw.stages.drafting import role as drafting_role
from ccfw.store import read_records

_CRISP = ("norms", "scenarios", "refine", "responses", "preferences", "grpo", "triplets", "best_of_n", "external")
_PILOT = 1000
"""The latest calls that are read as a pilot."""
_DIALOGUES = 500
"""Of one folder, those whose turns are counted."""
LEAST_DIALOGUES = 10
"""Dialogues from which the mean of their turns is read."""


def estimates(context: Context) -> list[Estimate]:
    """Return what each role of each stage of the job would take, given what is stored."""
    found: list[Estimate] = []
    for name in context.settings.stage.runs:
        if name in (blueprints.NAME, shards.NAME):
            found += _writing(context, name, (blueprints if name == blueprints.NAME else shards).calls(context))
        elif name == simulate.NAME:
            found += _simulation(context)
        elif name in _CRISP:
            found += _due(context, name)
        elif name in (evaluate.NAME, attack.NAME):
            found += _judging(context, name)
    return found


def _writing(context: Context, name: str, bounds: Mapping[str, tuple[int, int]]) -> Iterator[Estimate]:
    """Estimate the roles of a stage that has something written, by the least and the most calls of each."""
    for role, (least, most) in bounds.items():
        model: ModelConfig = getattr(context.settings, role)
        per_call, asked = _per_call(context, role, drafting_role(role, name), model)
        calls = product(Mean(least, 0.0), _audits(context, name) if role == "auditor" else asked)
        calls = Mean(min(calls.value, most), calls.error)  # the pilot may have been granted more tries
        yield Estimate(name, role, model.name, calls, least, most, per_call, min(model.max_in_flight, max(1, least)))


def _due(context: Context, name: str) -> Iterator[Estimate]:
    """Estimate a stage of paper 2, whose roles may be played by several models each."""
    kinds = {"policy": "reasoner", "verifier": "auditor", "supervisor": "judge", "gold judge": "judge"}
    for role, model, least, most, expected in stage(name).due(context):
        kind = kinds.get(role, role)
        # answers are judged under one role, whatever for: judgements of one stage are a pilot for another's
        ledger_role = drafting_role("judge", "responses") if kind == "judge" else drafting_role(role, name)
        per_call, asked = _per_call(context, kind, ledger_role, model)
        calls = product(Mean(least if expected is None else expected, 0.0), asked)
        at_once = min(model.max_in_flight, max(1, round(calls.value)))
        yield Estimate(name, role, model.name, calls, least, most, per_call, at_once)


def _audits(context: Context, name: str) -> Mean:
    """Return the audits that a seed takes: one for each draft that passes the checks, and those of unreadable ones."""
    settings = context.settings
    if not context.ledger_path.exists():
        return Mean(1.0)
    with Ledger(context.ledger_path) as ledger:
        seeds = ledger.count(settings.generator.provider_model, drafting_role("generator", name))
        role = drafting_role("auditor", name)
        audits = sum(ledger.count(settings.auditor.provider_model, each) for each in (role, role + AGAIN))
    return tries_of(seeds, max(0, audits - seeds)) if seeds >= LEAST_PILOT else Mean(1.0)


def _simulation(context: Context) -> Iterator[Estimate]:
    settings = context.settings
    least, most = simulate.plan(context)
    dialogues = simulate.missing(context)
    turns = product(_turns(context), Mean(dialogues, 0.0))
    tries = settings.simulation.tries
    for role, model in (("assistant", settings.model), ("simulator", settings.simulator)):
        bound = most // (1 + tries) * (tries if role == "simulator" else 1)
        per_call, asked = _per_call(context, role, role, model)
        calls = product(turns, asked) if role == "simulator" else turns
        at_once = min(model.max_in_flight, max(1, dialogues))
        yield Estimate(simulate.NAME, role, model.name, calls, least // 2, bound, per_call, at_once)


def _turns(context: Context) -> Mean:
    """Return the turns of a dialogue: as the same two models held them in this workspace, or as assumed."""
    settings = context.settings
    folder = context.output(simulate.NAME, "any").folder.parent
    speakers = (settings.model.name, settings.simulator.name)
    lengths = [turns for path in sorted(folder.glob("*/records.jsonl")) for turns in _lengths(path, speakers)]
    held = mean_of(lengths, LEAST_DIALOGUES)
    if held is not None:
        return held
    planned = context.planned
    shards = sum(scenario.shards for scenario, _ in planned) / max(1, len(planned))
    return Mean(shards * settings.estimate.turns_per_shard)


def _lengths(path: Path, speakers: tuple[str, str]) -> list[int]:
    """Return the turns of a folder's dialogues of two models; nothing where an older ccfw wrote them otherwise."""
    try:
        episodes = islice(read_records(path, Episode), _DIALOGUES)
        return [len(each.turns) for each in episodes if (each.target_model, each.simulator_model) == speakers]
    except StoreError:
        return []


def _judging(context: Context, name: str) -> Iterator[Estimate]:
    attacked = name == attack.NAME
    for member in context.settings.judge.members.values():
        least, most = (attack.plan_member if attacked else evaluate.plan_member)(context, member)
        prompts = attack.judge_prompts(context, member) if attacked else context.prompts(member)
        per_call, asked = _per_call(context, "judge", evaluate.judge_role(name, prompts), member)
        calls = product(Mean(least, 0.0), asked)
        yield Estimate(name, "judge", member.name, calls, least, most, per_call, member.max_in_flight, otherwise=True)


def _per_call(context: Context, kind: str, role: str, model: ModelConfig) -> tuple[PerCall, Mean]:
    """Return what a call takes, and how many calls a request takes, by the ledger or by assumption."""
    tariff, assumed = prices.tariff(model), getattr(context.settings.estimate, kind)
    pilot, asked = _pilot(context, role, model)
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
    usage = Usage(round(tokens_in), round(tokens_out), None)
    batch = prices.batch_tariff(model, context.settings.batch.discount) if kind == "judge" else None
    shared = _shared_prefix(context.settings, tariff, usage) if kind == "judge" else None
    by_batch = batch.cost(usage) if batch else None
    return PerCall(tokens_in, tokens_out, seconds, usd, by_batch, shared, len(pilot)), asked


def _shared_prefix(settings: Settings, tariff: prices.Tariff | None, usage: Usage) -> float | None:
    """Return a judgement's cost when five of the six of an episode find their common beginning in the cache."""
    if tariff is None or usage.prompt_tokens is None:
        return None
    share = settings.estimate.shared_prefix * (len(Metric) - 1) / len(Metric)
    return tariff.cost(Usage(usage.prompt_tokens, usage.completion_tokens, round(usage.prompt_tokens * share)))


def _pilot(context: Context, role: str, model: ModelConfig) -> tuple[list[ChatReply], Mean]:
    """Return the latest calls of a model in a role, further tries among them, and the calls that a request took."""
    path, name = context.ledger_path, model.provider_model
    if not path.exists():
        return [], Mean(1.0)
    with Ledger(path) as ledger:
        first, further = ledger.count(name, role), ledger.count(name, role + AGAIN)
        if first < LEAST_PILOT:
            return [], Mean(1.0)
        share = min(1.0, _PILOT / (first + further))
        found = [*ledger.replies(name, role, _PILOT), *ledger.replies(name, role + AGAIN, round(further * share))]
    return found, tries_of(first, further)


def _mean(values: list[int | None] | list[float], otherwise: float) -> float:
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else otherwise
