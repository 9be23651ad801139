"""Stage *view*: every stored dialogue in the browser, however many there are.

Reads   what *report* compares: the episodes of every assistant that the job's judge judged, in both languages and both
        modes. Where the job's own are not judged yet, they are shown without scores.
Writes  nothing but scores that are read for the first time, which are kept beside the judgements as by *report*.
Method  a small server on this machine; the page asks it for a part of the list, and for the dialogue that is
        opened. Ctrl-C ends it.
"""

from __future__ import annotations

import os
from pathlib import Path

from ccfw.errors import RequestError
from ccfw.report.page import Served, render
from ccfw.report.sections import Report
from ccfw.stages.context import Context, StageResult
from ccfw.stages.evaluate import episodes_output
from ccfw.stages.gathered import Judged, gathered
from ccfw.stages.judged import folders
from ccfw.stages.reading import Reading
from ccfw.stop import Stop

NAME = "view"


def run(context: Context) -> StageResult:
    """Serve until somebody ends it."""
    reading = _reading(context)
    result = StageResult(NAME, episodes_output(context).folder, done=len(reading))
    _serve(context, reading)
    return result


def plan(_context: Context) -> tuple[int, int]:
    """Return the calls that the stage would make: none."""
    return 0, 0


def _reading(context: Context) -> Reading:
    settings = context.settings
    root = Path(settings.workspace) / settings.dataset.name
    found = gathered(context, list(folders(root)))
    own = Judged(settings.model.name, settings.model.label, episodes_output(context), (), settings.judge.aggregation)
    shown = [run.episodes.folder for run in (*found.found.values(), *found.counterpart.values())] if found else []
    reading = Reading.of(context, found, () if own.episodes.folder in shown else (own,))
    reading = reading.without(reading.damaged(whole=False))
    if not len(reading):
        raise RequestError(
            [
                f"stage={settings.stage.name}: no episodes of model={settings.model.name} with these settings "
                f"in {root}; hold them first with stage=simulate and otherwise the same line"
            ]
        )
    return reading


def _serve(context: Context, reading: Reading) -> None:
    """Serve until Ctrl-C or SIGTERM, which is how this stage is meant to end."""
    from ccfw.report.serving import Desk, serve

    port = context.settings.view.port
    ended = Stop()
    desk = Desk(reading, render(_front(context, reading), Served(reading.index)))
    try:
        with ended.on_signals():
            context.runner.run(serve(desk, port, _tell, ended.asked))
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise RequestError([f"view.port={port}: {reason}; view.port=0 takes any that is free"]) from None


def _tell(address: str) -> None:
    print(f"{address}  (only this machine reaches it; Ctrl-C ends it)", flush=True)


def _front(context: Context, reading: Reading) -> Report:
    settings = context.settings
    facts = (
        ("Dataset", settings.dataset.name),
        ("Chosen", f"{len(context.selection):,} of {len(context.dataset.outlines):,} scenarios"),
        ("Assistants", ", ".join(reading.index.known["model"])),
        ("Dialogues", f"{len(reading):,}"),
    )
    return Report(f"Dialogues: {settings.dataset.name}", facts, "", (), ())
