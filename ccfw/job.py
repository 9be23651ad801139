"""One job: settings in, stages run in order, one closing line each, an exit code out."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import closing
from pathlib import Path

from ccfw.errors import CcfwError, RequestError
from ccfw.llm import batch, local
from ccfw.settings import ModelConfig, Settings
from ccfw.stages import STAGES
from ccfw.stages.context import Context, StageResult

log = logging.getLogger(__name__)


def run_job(settings: Settings) -> int:
    """Run the job's stages and return its exit code: 0 for ok, 1 for partial or failed.

    Raises ``RequestError`` when something that the request needs is missing, before any call is made.
    """
    if not settings.dry_run:
        check_prerequisites(settings)
    with asyncio.Runner() as runner, closing(Context(settings, runner)) as context:
        if settings.dry_run:
            return _dry_run(context)
        try:
            return _run_stages(context)
        finally:
            _close_clients(runner)
            local.stop()


def check_job(settings: Settings) -> None:
    """Raise ``RequestError`` with what a job lacks: keys, weights, scenarios."""
    problems: list[str] = []
    for check in (check_prerequisites, check_selection):
        try:
            check(settings)
        except RequestError as error:
            problems += error.problems
    if problems:
        raise RequestError(problems)


def check_prerequisites(settings: Settings) -> None:
    """Raise ``RequestError`` with every key and weight file that the job's models lack."""
    needed: dict[str, ModelConfig] = {}
    if "simulate" in settings.stage.runs:
        needed |= {"model": settings.model, "simulator": settings.simulator}
    if {"evaluate", "attack"} & set(settings.stage.runs):
        needed |= {f"judge.members.{name}": member for name, member in settings.judge.members.items()}
    problems = []
    for role, model in needed.items():
        problems += local.missing(model)
        if model.api_key_env and not os.environ.get(model.api_key_env):
            problems.append(f"{role}={model.name}: the environment variable {model.api_key_env} is not set")
    if settings.batch.name != "none" and "evaluate" in settings.stage.runs:
        reasons = [batch.unsupported(member) for member in settings.judge.members.values()]
        problems += [f"batch={settings.batch.name}: {reason}" for reason in reasons if reason]
    if problems:
        raise RequestError(dict.fromkeys(problems))


def check_selection(settings: Settings) -> None:
    """Raise ``RequestError`` with what is wrong with the dataset, or with what is asked of it."""
    with asyncio.Runner() as runner, closing(Context(settings, runner)) as context:
        context.selection  # noqa: B018 reading it is the check


def _run_stages(context: Context) -> int:
    total = StageResult(context.settings.stage.name, Path())
    for name in context.settings.stage.runs:
        result: StageResult = STAGES[name].run(context)
        print(result.line(), flush=True)
        total.add(result)
        if result.interrupted or (name == "simulate" and result.status == "failed"):
            break  # the next stage would find nothing; unscored judgements are still worth a table
    if len(context.settings.stage.runs) > 1:
        print(total.line(), flush=True)
    if total.interrupted:
        raise SystemExit(1)  # the jobs that a sweep has left must not start
    return 0 if total.status == "ok" else 1


def _dry_run(context: Context) -> int:
    settings = context.settings
    counts = {name: STAGES[name].plan(context) for name in settings.stage.runs}
    least, most = (sum(pair[side] for pair in counts.values()) for side in (0, 1))
    spread = " ".join(f"{name}={low}..{high}" for name, (low, high) in counts.items())
    print(
        f"plan model={settings.model.name} simulator={settings.simulator.name} judge={settings.judge.name} "
        f"language={settings.language.name} dialogues={len(context.planned)} {spread} calls={least}..{most}"
    )
    print(StageResult(settings.stage.name, Path(settings.workspace) / settings.dataset.name).line(), flush=True)
    return 0


def _close_clients(runner: asyncio.Runner) -> None:
    from ccfw.llm.litellm_client import close

    try:
        runner.run(close())
    except (CcfwError, RuntimeError) as error:
        log.debug("closing the HTTP sessions: %s", error)
