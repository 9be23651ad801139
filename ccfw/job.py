"""One job: settings in, stages run in order, one closing line each, an outcome out."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from ccfw.datasets import GENERATED, MAKERS, NORMCOMPASS_STARTER, unwritten
from ccfw.errors import CcfwError, RequestError, StoppedError
from ccfw.estimate import Estimate, dollars, sum_of, table
from ccfw.llm import batch, local, prices, transports
from ccfw.outcome import Outcome, io_error, of_error, say
from ccfw.secrets import sendable
from ccfw.settings import Settings
from ccfw.settings.models import ModelConfig
from ccfw.settings.training import JUDGED
from ccfw.stages import plan, stage
from ccfw.stages.checked import check_knowledge, gather
from ccfw.stages.checked_crisp import check_situated, tell_idle
from ccfw.stages.context import Context, StageResult
from ccfw.training.guard import check_installed

log = logging.getLogger(__name__)
_READ_SCENARIOS = {"simulate", "evaluate", "attack", "report", "view"}
_WRITE_SCENARIOS = {"blueprints", "shards"}
_TRAIN = {"reward", "supervisor", "grpo"}
_SHARDS = 4
"""Of a scenario that is yet to be written: between the fewest and the most that it may have (section 3.6)."""
_FEWEST, _MOST = 3, 5


def run_job(settings: Settings, overrides: Sequence[str] = (), *, alone: bool = True) -> Outcome:
    """Run the job's stages and return what came of it; an error is said, and is part of that.

    ``overrides`` are what the job was asked for with, for the record of a failure; ``alone`` is no job of a sweep.
    """
    results: list[StageResult] = []
    try:
        planned = _run(settings, results, alone=alone)
    except StoppedError as stopped:  # between the stages, or while one of them only computed
        if not any(result.interrupted for result in results):  # else the stage has said so
            log.warning("stopped (%s); the same line goes on", stopped)
        outcome = _outcome(settings, results, interrupted=True)
    except BrokenPipeError:
        raise  # whoever read stdout has gone
    except (CcfwError, OSError) as error:
        outcome = _broken_off(settings, results, error)
    else:
        outcome = planned or _outcome(settings, results)
    _track(settings, results, outcome, overrides)
    return outcome


def _run(settings: Settings, results: list[StageResult], *, alone: bool) -> Outcome | None:
    """Run the stages into ``results``, or return what a dry run says of them."""
    planned = None
    pays = (partial(check_prerequisites, settings),) if not settings.dry_run else ()
    # a job whose first stage reads the scenarios stops there, if it must, before anybody is asked
    begins = settings.stage.runs[0] in _READ_SCENARIOS or settings.dataset.name == GENERATED
    late = () if begins else (partial(check_selection, settings),)
    gather((*pays, partial(check_knowledge, settings), partial(check_situated, settings), *late))
    tell_idle(settings)
    with (
        asyncio.Runner() as runner,
        closing(_opened(settings, runner)) as context,
        context.stop.on_signals(),
    ):
        context.stop.check()
        try:
            if settings.dry_run:
                planned = _dry_run(context, alone=alone)
            else:
                if settings.budget is not None:
                    _warn_of_budget(settings, _expected(context))
                _run_stages(context, results)
        finally:
            _close_clients(runner)
            local.stop()
        if context.stop.interrupted:  # so that a sweep begins no other job
            context.stop.check()
    return planned


def _opened(settings: Settings, runner: asyncio.Runner) -> Context:
    """Return what the job's stages work with; scenarios that a stage wrote are looked for under the same settings."""
    context, dataset = Context(settings, runner), settings.dataset
    if dataset.name != GENERATED or dataset.path is not None:
        return context
    found = dataset.model_copy(update={"path": str(stage("shards").records(context))})
    return Context(settings.model_copy(update={"dataset": found}), runner)


def _outcome(settings: Settings, results: Sequence[StageResult], *, interrupted: bool = False) -> Outcome:
    total = _total(settings, results)
    total.interrupted |= interrupted
    reason = "interrupted" if total.interrupted else _shortfall(results)
    code = int(total.status != "ok")
    return Outcome(total.status, code, total.meter.calls, total.meter.cost_text, reason, total.interrupted)


def _broken_off(settings: Settings, results: Sequence[StageResult], error: CcfwError | OSError) -> Outcome:
    """Say what broke the job off, and return what came of it; what the broken stage had spent is not known."""
    if isinstance(error, OSError):  # a full disk, a folder that may not be written
        under_way = settings.stage.runs[min(len(results), len(settings.stage.runs) - 1)]
        error = io_error(f"stage={under_way} could not read or write", error, settings.workspace)
    say(error)
    outcome = of_error(error)
    if outcome.status == "refused" and not results:
        return outcome
    return replace(outcome, status="failed", calls=None, cost="unknown")


def _shortfall(results: Sequence[StageResult]) -> str:
    """Return which stages fell short of what was asked for, and how."""
    reasons = []
    for result in results:
        if result.failed:
            why = f" ({result.reason})" if result.reason else ""
            reasons.append(
                f"{result.stage}: {result.failed} of {result.done + result.failed + result.skipped} failed{why}"
            )
        if result.empty:
            reasons.append(f"{result.stage}: {result.empty}")
        if result.stopped:
            reasons.append(f"{result.stage}: stopped ({result.stopped})")
    return "; ".join(reasons)


def _total(settings: Settings, results: Sequence[StageResult]) -> StageResult:
    total = StageResult(settings.stage.name, Path())
    for result in results:
        total.add(result)
    return total


def _track(settings: Settings, results: Sequence[StageResult], outcome: Outcome, overrides: Sequence[str]) -> None:
    """Have the tracker tell a job that failed on its way to the report, or that reported on less than was asked for."""
    reported = [result for result in results if result.stage == "report"]
    if settings.tracking.name == "none" or settings.dry_run or outcome.interrupted:
        return
    from ccfw import tracking

    if reported and outcome.status == "partial":
        tracking.mark_partial(settings, reported[0].out, outcome)
    elif not reported and outcome.status == "failed":
        tracking.track_failure(settings, outcome, overrides)


def check_prerequisites(settings: Settings) -> None:
    """Raise ``RequestError`` with every key and weight file that the job's models lack, and libraries to train with."""
    needed: dict[str, ModelConfig] = {}
    if "simulate" in settings.stage.runs:
        needed |= {"model": settings.model, "simulator": settings.simulator}
    if "templates" in settings.stage.runs:
        needed |= {"generator": settings.generator}
    if "blueprints" in settings.stage.runs:
        needed |= {"generator": settings.generator, "auditor": settings.auditor, "translator": settings.translator}
    if "shards" in settings.stage.runs:
        needed |= {"generator": settings.generator, "auditor": settings.auditor}
    needed |= _situated(settings)
    if {"evaluate", "attack", "responses"} & set(settings.stage.runs) or _optimised(settings, settings.grpo.gold):
        needed |= {f"judge.members.{name}": member for name, member in settings.judge.members.items()}
    if _rewarded_by_judge(settings) and settings.rewarding == settings.judge:
        needed |= {f"judge.members.{name}": member for name, member in settings.judge.members.items()}
    elif _rewarded_by_judge(settings):
        needed |= {f"rewards.judge.members.{name}": member for name, member in settings.rewarding.members.items()}
    problems = _lacking_extra(settings)
    for role, model in needed.items():
        problems += local.missing(model)
        problems += _key_problems(role, model)
        if settings.budget is not None:
            problems += _budget_problems(settings.budget, role, model)
    if settings.batch.name != "none" and "evaluate" in settings.stage.runs:
        reasons = [batch.unsupported(member) for member in settings.judge.members.values()]
        problems += [f"batch={settings.batch.name}: {reason}" for reason in reasons if reason]
    if problems:
        raise RequestError(dict.fromkeys(problems))


def _lacking_extra(settings: Settings) -> list[str]:
    """Return a line for everything in the job that needs the extra ``train``, if that is not installed."""
    runs = settings.stage.runs
    needed = [f"stage={name}" for name in runs if name in _TRAIN]
    if {"triplets", "best_of_n"} & set(runs):
        from ccfw.stages.scored import read_by_models  # brings in numpy, which most jobs here do without

        needed += read_by_models(settings)
    try:
        check_installed(*needed)
    except RequestError as error:
        return list(error.problems)
    return []


def _optimised(settings: Settings, by: str) -> bool:
    """Whether stage *grpo* asks a judge, where ``by`` says who is asked."""
    return "grpo" in settings.stage.runs and settings.grpo.task == "situations" and by == "judge"


def _rewarded_by_judge(settings: Settings) -> bool:
    """Whether rewards of the job are a judge's scores."""
    compared = {"triplets", "best_of_n"} & set(settings.stage.runs)
    judges = any(place in JUDGED for place in settings.rewards.scorers.values())
    return bool(compared and judges) or (settings.grpo.lam > 0 and _optimised(settings, settings.grpo.supervisor))


def _situated(settings: Settings) -> dict[str, ModelConfig]:
    """Return the models that the stages of paper 2 need, the judge aside, by the setting that names them."""
    runs, crisp, needed = set(settings.stage.runs), settings.crisp, dict[str, ModelConfig]()
    asks = crisp.norms.extraction == "auto" and set(crisp.norms.sources) != {"starter"}
    shipped = settings.dataset.name == NORMCOMPASS_STARTER and settings.dataset.path is None
    writes = crisp.preferences.triplets != "none" and not (shipped and crisp.preferences.triplets == "auto")
    if {"scenarios", "refine"} & runs or ("norms" in runs and asks) or ("preferences" in runs and writes):
        needed["generator"] = settings.generator
    if "refine" in runs:
        needed |= {"reasoner": settings.reasoner, "auditor": settings.auditor}
    if "external" in runs and settings.external.asks:
        verifiers = settings.judge.members if settings.external.verifies else {}
        needed |= {"model": settings.model} | {f"judge.members.{name}": each for name, each in verifiers.items()}
    if "responses" in runs:
        key = "crisp.responses.policies." if crisp.responses.policies else "model"
        needed |= {(f"{key}{name}" if key.endswith(".") else key): each for name, each in settings.policies.items()}
    return needed


def _key_problems(role: str, model: ModelConfig) -> list[str]:
    key = os.environ.get(model.api_key_env, "") if model.api_key_env else None
    if key is None or (key and sendable(key)):
        return []
    what = "is not set"
    if key:
        what = "holds what no key can: blanks around it, a line break, a control character or one beyond ASCII"
    return [f"{role}={model.name}: the environment variable {model.api_key_env} {what}"]


def _budget_problems(usd: float, role: str, model: ModelConfig) -> list[str]:
    problems = []
    if prices.tariff(model) is None:
        problems.append(
            f"budget={usd:g}: the price of {role}={model.name} ({model.provider_model}) is unknown; "
            f"give {role}.price={{input: …, output: …, cached_input: null}} in US dollars per million tokens"
        )
    problems += [
        f"budget={usd:g}: {role}.extra_body.{name} changes what a call of {model.name} is billed for, "
        f"so that no budget can hold; {instead.format(role=role)}"
        for name, instead in prices.BEYOND_REQUEST.items()
        if name in model.extra_body
    ]
    return problems


def check_selection(settings: Settings) -> None:
    """Raise ``RequestError`` with what is wrong with the dataset, or with what is asked of it, if a stage reads it."""
    if not _READ_SCENARIOS & set(settings.stage.runs):
        return
    with asyncio.Runner() as runner, closing(_opened(settings, runner)) as context:
        _ahead(context).selection  # noqa: B018 reading it is the check


def _ahead(context: Context, count: int = _SHARDS) -> Context:
    """Return a context to plan with: scenarios that the job writes before it reads them are as good as written.

    Each then has ``count`` shards.
    """
    settings, shards = context.settings, stage("shards")
    ahead = Context(settings, context.runner, context.stop)
    if settings.dataset.name != GENERATED or not {"shards"} < set(settings.stage.runs):
        return ahead
    if settings.dataset.path == str(shards.records(context)) and shards.plan(context)[0]:
        ahead.dataset = unwritten(GENERATED, (each._replace(shards=count) for each in shards.expected(context)))
    return ahead


def _run_stages(context: Context, results: list[StageResult]) -> None:
    for name in context.settings.stage.runs:
        if context.stop.interrupted:
            context.stop.check()
        result: StageResult = stage(name).run(context)
        print(result.line(), flush=True)
        results.append(result)
        if result.interrupted or _leads_nowhere(result):
            break
    if len(context.settings.stage.runs) > 1:
        print(_total(context.settings, results).line(), flush=True)


def _leads_nowhere(result: StageResult) -> bool:
    """Whether the next stage would find nothing, or too little; unscored judgements are still worth a table."""
    if result.stage in {*MAKERS, *_WRITE_SCENARIOS} and result.stopped:
        return True
    if result.empty:
        return True
    return result.stage in {"simulate", *_WRITE_SCENARIOS} and not result.done + result.skipped


def _dry_run(context: Context, *, alone: bool) -> Outcome:
    """Print what the job would take; in a sweep, whose table says it too, only the calls."""
    settings, counts, context = context.settings, _counts(context), _ahead(context)
    least, most = (sum(pair[side] for pair in counts.values()) for side in (0, 1))
    spread = " ".join(f"{name}={low}..{high}" for name, (low, high) in counts.items())
    roles = f"model={settings.model.name} simulator={settings.simulator.name} judge={settings.judge.name} "
    roles += f"language={settings.language.name}"
    dialogues = f"dialogues={len(context.planned)} " if _READ_SCENARIOS & set(settings.stage.runs) else ""
    print(f"plan {roles} {dialogues}{spread} calls={least}..{most}")
    found = plan.estimates(context)
    if found and alone:
        print(table(found, settings.bootstrap.level))
    _warn_of_budget(settings, found)
    expected = round(sum(each.calls.value for each in found))
    return Outcome("ok", 0, expected, dollars(sum_of(found)), "estimated" if found else "")


def _counts(context: Context) -> dict[str, tuple[int, int]]:
    """Return the least and the most calls of each stage; scenarios yet to be written may be short or long."""
    ahead, runs = _ahead(context), context.settings.stage.runs
    if "dataset" not in vars(ahead):
        return {name: stage(name).plan(ahead) for name in runs}
    fewest, most = (_ahead(context, count) for count in (_FEWEST, _MOST))
    return {name: (stage(name).plan(fewest)[0], stage(name).plan(most)[1]) for name in runs}


def _expected(context: Context) -> list[Estimate]:
    """Return what the job would take; nothing where a stage is to read what an earlier one has yet to write."""
    try:
        return plan.estimates(_ahead(context))
    except RequestError:  # one that is the user's is said by the stage that it concerns
        return []


def _warn_of_budget(settings: Settings, found: Sequence[Estimate]) -> None:
    """Say beforehand that a budget will not do: the first stages would spend it all."""
    usd = sum_of(found)
    if settings.budget is not None and usd is not None and usd > settings.budget:
        log.warning("budget=%g: about %.4f US dollars are needed for everything", settings.budget, usd)


def _close_clients(runner: asyncio.Runner) -> None:
    try:
        runner.run(transports.close())
    except (CcfwError, RuntimeError) as error:
        log.debug("closing the HTTP sessions: %s", error)
