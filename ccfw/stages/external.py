"""Stage *external*: replies to CulShield and CultureForest, scored by the rules of their published code (Tables 5, 24).

Reads   files of replies that the user supplies (``external.*``); the benchmarks themselves are not shipped.
Writes  ``crisp/external/<fingerprint>/``: ``report.md`` and a CSV for each benchmark, with every country.
Method  ``ccfw.training.culshield`` and ``cultureforest``: over the replies that can be read, and over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ccfw.align.alignment import Terms
from ccfw.errors import RequestError
from ccfw.knowledge import tables
from ccfw.report.agreement import Table, number, percent, points
from ccfw.report.crisp import plain
from ccfw.settings import Settings
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import folder_of
from ccfw.stages.rated import terms_of
from ccfw.stages.scored import bootstrap_parts, finish
from ccfw.store import Output, digest
from ccfw.training import replies
from ccfw.training.culshield import Asked, coverage
from ccfw.training.cultureforest import Verified, hard
from ccfw.training.figures import means
from ccfw.training.replies import Marked, ReadReplies

NAME = "external"
VERSION = 1
_READERS: dict[str, Callable[[tables.Table], ReadReplies]] = {
    "culshield": replies.read_culshield,
    "cultureforest_easy": replies.read_easy,
    "cultureforest_medium": replies.read_medium,
    "cultureforest_hard": replies.read_hard,
}
_SHOWN = 5


def run(context: Context) -> StageResult:
    """Score every file of replies, and write the tables."""
    settings = context.settings
    found, texts = _read(settings)
    content = {
        "files": {name: digest([text]) for name, text in texts.items()},
        **bootstrap_parts(settings),
        "version": VERSION,
    }
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder, done=sum(map(len, found.values())))
    made = [_table(name, items, terms_of(settings)) for name, items in found.items()]
    with output:
        finish(context, output, result, content, "Other benchmarks", made, {}, [])
    if settings.report.shown:
        print("\n\n".join(plain(table, []) for table in made), flush=True)
    return result


def plan(_context: Context) -> tuple[int, int]:
    """Return the calls of the stage: none."""
    return 0, 0


def _read(settings: Settings) -> tuple[dict[str, Sequence[Any]], dict[str, str]]:
    """Return the replies of every file; raise ``RequestError`` with everything that is wrong with them."""
    given = {name: place for name, place in settings.external.model_dump().items() if place is not None}
    if not given:
        raise RequestError([f"stage={NAME}: which replies? external.{name}=…" for name in _READERS])
    found: dict[str, Sequence[Any]] = {}
    texts: dict[str, str] = {}
    problems: list[str] = []
    for name, place in given.items():
        key = f"external.{name}={place}"
        try:
            texts[name] = Path(place).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{key}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}")
            continue
        read = _READERS[name](tables.read(texts[name]))
        found[name] = read.items
        problems += [f"{key}: {fault}" for fault in read.faults[:_SHOWN]]
        if len(read.faults) > _SHOWN:
            problems.append(f"{key}: and {len(read.faults) - _SHOWN} faults more")
        if not read.items and not read.faults:
            problems.append(f"{key}: no replies there")
    if problems:
        raise RequestError(problems)
    return found, texts


def _table(name: str, items: Sequence[Any], terms: Terms) -> Table:
    if name == "culshield":
        return _culshield(items, terms)
    return _hard(items, terms) if name == "cultureforest_hard" else _marked(name, items, terms)


def _culshield(asked: Sequence[Asked], terms: Terms) -> Table:
    rows = tuple(
        (each.country, percent(each.valid_only), percent(each.every_reply), str(each.unresolved), str(each.questions))
        for each in coverage(asked, terms)
    )
    note = (
        f"Per cent right, of the replies that say yes or no, as published, and of all. {terms.level:.0%} percentile "
        "bootstrap intervals over questions."
    )
    head = ("Country", "Of resolved", "Of all", "Unresolved", "Questions")
    return Table("culshield", "CulShield, Knowledge Coverage", head, rows, note)


def _marked(name: str, marked: Sequence[Marked], terms: Terms) -> Table:
    values = np.array([[float(each.right)] for each in marked])
    questions = [each.question_id for each in marked]
    found = means(values, questions, terms, {"country": [each.country for each in marked]})
    rows = tuple(
        (group[1], percent(figures[0]), str(found.items[group][0])) for group, figures in found.figures.items()
    )
    level = name.rpartition("_")[2]
    note = f"Per cent right; a reply in another form is wrong. {terms.level:.0%} bootstrap intervals, whole questions."
    return Table(name, f"CultureForest, {level}", ("Country", "Right", "Replies"), rows, note)


def _hard(verified: Sequence[Verified], terms: Terms) -> Table:
    found = hard(verified, terms)
    rows = [("all", points(found.mean), points(found.best), str(found.norms))]
    rows += [(country, number(value), "", "") for country, value in found.countries.items()]
    note = (
        "Between −100 and 100, on the published scale for the whole benchmark and, for a part, on that of what is "
        f"attainable there. Mean and best of {found.answers} answers; countries: standard deviation "
        f"{number(found.deviation)}, gap {number(found.gap)}. {terms.level:.0%} bootstrap intervals, whole questions."
    )
    head = ("Country", f"Mean@{found.answers}", f"Pass@{found.answers}", "Norms")
    return Table("cultureforest_hard", "CultureForest, hard", head, tuple(rows), note)
