"""What a job asks of the stages of paper 2, checked whole before any of them begins, in a dry run too."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

from ccfw.datasets import MAKERS
from ccfw.records import LanguageMode, SimulationMode, Tier
from ccfw.settings import Settings
from ccfw.stages.checked import gather
from ccfw.stages.context import Context

log = logging.getLogger(__name__)
_ASKED = frozenset({*MAKERS, "responses", "preferences"})
_SITUATED = _ASKED | {"reward", "supervisor", "grpo", "triplets", "best_of_n", "norm_match"}
"""Stages that read no dialogue."""


def check_situated(settings: Settings) -> None:
    """Raise ``RequestError`` with every mistake in sources, embedder, dataset and selection of the stages that run.

    A stage that another one of the job feeds is not looked into: what it will read is not there yet.
    """
    if not _ASKED & set(settings.stage.runs):
        return
    with asyncio.Runner() as runner, closing(Context(settings, runner)) as context:
        gather(_checks(context))


def _checks(context: Context) -> Iterator[Callable[[], object]]:
    from ccfw.stages import norms, rewarding, scenarios, testbed  # they bring in numpy, which most jobs here do without
    from ccfw.stages.evidence import check_retriever

    settings, runs = context.settings, set(context.settings.stage.runs)
    if "norms" in runs:
        yield partial(norms.collected, settings)
    if "scenarios" in runs:
        if settings.crisp.scenarios.likeness is not None:
            yield partial(check_retriever, settings)
        if "norms" not in runs:
            yield partial(norms.kept_norms, context, "scenarios")
    if "refine" in runs and "scenarios" not in runs:
        yield partial(scenarios.situations, context, "refine")
    if "grpo" in runs and not testbed.made_here(settings):
        yield partial(rewarding.check, context)
    for name in ("responses", "preferences"):
        if name in runs:
            yield partial(_check_dataset, context, name)
            return


def tell_idle(settings: Settings) -> None:
    """Say which settings that were given do nothing in a job of these stages: those of dialogues and their judging."""
    runs = set(settings.stage.runs)
    if not _ASKED & runs or not runs <= _SITUATED:
        return
    names = ("identity", "domain", "subdomain", "age", "gender")
    given = {name: ",".join(getattr(settings, name)) for name in names}
    given["trap"] = settings.trap.name if set(settings.trap.tiers) != set(Tier) else ""
    given["mode"] = settings.mode.name if settings.mode.name != SimulationMode.EVAL.value else ""
    given["language"] = settings.language.name if settings.language.modes != (LanguageMode.ENGLISH,) else ""
    given["batch"] = settings.batch.name if settings.batch.name != "none" else ""
    given["precision"] = "" if settings.precision is None else f"{settings.precision:g}"
    if runs <= set(MAKERS):
        given |= {"split": ",".join(settings.split), "ids": ",".join(settings.ids)}
    for name, value in given.items():
        if value:
            log.warning("%s=%s: without effect on stage=%s", name, value, settings.stage.name)


def _check_dataset(context: Context, stage: str) -> None:
    from ccfw.stages import testbed

    testbed.check(context.settings, stage)
    if not testbed.made_here(context.settings):
        testbed.situations(context, stage)
