"""What a job asks of the knowledge stages, checked whole before any of them begins, in a dry run too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial

from ccfw.datasets import GENERATED
from ccfw.errors import RequestError
from ccfw.settings import Settings
from ccfw.stages.context import Context

_ASKED = frozenset({"kb", "templates", "blueprints", "shards"})


def gather(checks: Iterable[Callable[[], object]]) -> None:
    """Make every check; raise ``RequestError`` with all that they complain of."""
    problems: list[str] = []
    for check in checks:
        try:
            check()
        except RequestError as error:
            problems += error.problems
    if problems:
        raise RequestError(dict.fromkeys(problems))


def check_knowledge(settings: Settings) -> None:
    """Raise ``RequestError`` with every mistake in files, names and retriever of the stages that the job runs.

    Raises ``StoppedError`` when somebody ends the job meanwhile.
    """
    if not _ASKED & set(settings.stage.runs) and settings.dataset.name != GENERATED:
        return
    with asyncio.Runner() as runner, closing(Context(settings, runner)) as context, context.stop.on_signals():
        context.stop.check()
        gather(_checks(context))


def _checks(context: Context) -> Iterator[Callable[[], object]]:
    from ccfw.stages import kb, templates  # they bring in numpy, which most jobs here do without
    from ccfw.stages.chosen_seeds import chosen_seeds
    from ccfw.stages.evidence import all_taboos, check_retriever

    settings, runs = context.settings, set(context.settings.stage.runs)
    if "templates" in runs:
        yield partial(templates.plan, context)
    if "kb" in runs:
        yield partial(kb.plan, context)
    if runs != {"templates"}:
        yield partial(kb.made_of_dumps, context)
        yield partial(all_taboos, context)
    if "blueprints" in runs or ("kb" in runs and settings.query is not None):
        yield partial(check_retriever, settings)
    if "blueprints" in runs and "seeds" not in runs:
        yield partial(chosen_seeds, context, "blueprints")
