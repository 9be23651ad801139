"""What a job asks of the stages of paper 2, checked whole before any of them begins, in a dry run too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

from ccfw.settings import Settings
from ccfw.stages.checked import gather
from ccfw.stages.context import Context

_ASKED = frozenset({"norms", "scenarios", "refine", "responses", "preferences"})


def check_situated(settings: Settings) -> None:
    """Raise ``RequestError`` with every mistake in sources, embedder, dataset and selection of the stages that run.

    A stage that another one of the job feeds is not looked into: what it will read is not there yet.
    """
    if not _ASKED & set(settings.stage.runs):
        return
    with asyncio.Runner() as runner, closing(Context(settings, runner)) as context:
        gather(_checks(context))


def _checks(context: Context) -> Iterator[Callable[[], object]]:
    from ccfw.stages import norms, scenarios  # they bring in numpy, which most jobs here do without
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
    for name in ("responses", "preferences"):
        if name in runs:
            yield partial(_check_dataset, context, name)
            return


def _check_dataset(context: Context, stage: str) -> None:
    from ccfw.stages import testbed

    testbed.check(context.settings, stage)
    if not testbed.made_here(context.settings):
        testbed.situations(context, stage)
