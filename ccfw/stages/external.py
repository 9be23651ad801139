"""Stage *external*: CulShield and CultureForest by the rules of their published code (Tables 5, 24).

Reads   the benchmarks' own files of questions, which the user supplies (``external.*_questions``; nothing of them is
        shipped): ``model=`` is asked, and at the hard level the judge of ``judge=`` verifies. Or files of replies that
        are there already (``external.culshield`` and the like).
Writes  ``crisp/external/<fingerprint>/``: ``records.jsonl`` for each model, its replies, with a verifier's verdicts in
        ``verdicts/<fingerprint>/``; for the request as a whole ``report.md`` and a CSV for each benchmark, with every
        country, and of all models in the workspace that were asked the same ``models_*.csv``, ``countries.csv`` and
        figures.
Method  ``ccfw.training.culshield`` and ``cultureforest``: over the replies that can be read, and over all of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ccfw.align.alignment import Terms
from ccfw.errors import RequestError
from ccfw.knowledge import tables
from ccfw.report.agreement import Table
from ccfw.report.crisp import SMALL_JUDGE, plain
from ccfw.settings import Settings
from ccfw.stages import benches
from ccfw.stages.benches import Benches, Kind, Reply
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import Due, all_calls, folder_of
from ccfw.stages.rated import terms_of
from ccfw.stages.scored import bootstrap_parts, finish
from ccfw.store import Output, digest
from ccfw.training import replies
from ccfw.training.culshield import Asked, by_reading, coverage
from ccfw.training.cultureforest import (
    Level,
    Marked,
    Verified,
    by_norm,
    by_question,
    hard,
    marks,
    read_easy,
    read_medium,
    rescaled,
    scale_end,
    verdict,
)
from ccfw.training.differences import Item, averages
from ccfw.training.external_tables import Standing, culshield_table, level_table, metrics, models_tables
from ccfw.training.questions import CULSHIELD, OPTIONS
from ccfw.training.replies import ReadReplies

NAME = benches.NAME
VERSION = 4
_READERS: dict[str, Callable[[tables.Table], ReadReplies]] = {
    "culshield": replies.read_culshield_replies,
    "cultureforest_easy": replies.read_easy_replies,
    "cultureforest_medium": replies.read_medium_replies,
    "cultureforest_hard": replies.read_hard_verdicts,
}
_QUESTIONS = ("culshield_questions", "cultureforest_questions")
_SHOWN = 5


def run(context: Context) -> StageResult:
    """Ask and verify what is missing, or read files of replies, and write the tables."""
    settings = context.settings
    problems = _mixed(settings)
    if problems:
        raise RequestError(problems)
    return _asked(context) if settings.external.asks else _filed(context)


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored."""
    return all_calls(due(context))


def due(context: Context) -> list[Due]:
    """Return what each role's model would be asked: the least and the most calls, given what is stored."""
    return benches.due(context)


def _mixed(settings: Settings) -> list[str]:
    terms = settings.external
    given = [name for name in _READERS if getattr(terms, name) is not None]
    if not settings.external.asks and not given:
        return [f"stage={NAME}: questions or replies? external.{name}=…" for name in (*_QUESTIONS, *_READERS)]
    if settings.external.asks:
        return [
            f"external.{name}: replies in files and questions to ask are two requests; leave one out" for name in given
        ]
    return []


# ---- replies in files


def _filed(context: Context) -> StageResult:
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
        finish(context, output, result, content, "Other benchmarks", made, {}, [], compared=())
    if settings.report.shown:
        print("\n\n".join(plain(table, []) for table in made), flush=True)
    return result


def _read(settings: Settings) -> tuple[dict[str, Sequence[Any]], dict[str, str]]:
    """Return the replies of every file; raise ``RequestError`` with everything that is wrong with them."""
    found: dict[str, Sequence[Any]] = {}
    texts: dict[str, str] = {}
    problems: list[str] = []
    for name, reader in _READERS.items():
        place = getattr(settings.external, name)
        if place is None:
            continue
        key = f"external.{name}={place}"
        try:
            texts[name] = Path(place).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{key}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}")
            continue
        read = reader(tables.read(texts[name]))
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
    if name == CULSHIELD:
        return culshield_table(coverage(items, terms), terms.level)
    level = name.rpartition("_")[2]
    return level_table(level, hard(items, terms) if level == "hard" else marks(items, terms), terms.level)


# ---- a model asked


def _asked(context: Context) -> StageResult:
    found = benches.benches(context.settings)
    total = StageResult(NAME, Path())
    total.add(benches.answered(context, found))
    if found.verified and not total.interrupted:
        total.add(benches.verified(context, found))
    return total if total.interrupted else _reported(context, total, found)


class _Shelf(NamedTuple):
    """The replies of one model in the workspace."""

    model: str
    folder: Path
    identity: Mapping[str, Any]


def _reported(context: Context, total: StageResult, found: Benches) -> StageResult:
    from ccfw.training.drawing import level_figure, region_figures

    settings, terms = context.settings, terms_of(context.settings)
    shelves = list(_shelves(context, found))
    standings = {shelf.model: _standing(context, shelf, found, terms) for shelf in shelves}
    own = standings[settings.model.name]
    tables_made = models_tables(list(standings.values()), terms)
    made = [*tables_made]
    if own.coverage:
        made.append(culshield_table(own.coverage, terms.level))
    made += [level_table(name, level, terms.level) for name, level in own.levels.items()]
    content = _parts(context, found, shelves)
    output = Output(folder_of(context, NAME, content), context.stop)
    total.out = output.folder
    counts = {f"missing_{name}": number for name, number in own.missing.items() if number}
    counts |= {f"unread_{name}": number for name, number in own.unread.items() if number}
    with output:
        rows = {table.name: table.records() for table in tables_made}
        figures = [*level_figure(rows), *region_figures(rows)]
        written = [path for figure in figures for path in figure.write(output.folder)]
        report = StageResult(NAME, output.folder, done=total.done, failed=total.failed, skipped=total.skipped)
        notes = _cautions(settings, found)
        paid_for = [Output(shelf.folder) for shelf in shelves]
        paid_for += [Output(benches.verdicts_folder(context, shelf.folder)) for shelf in shelves if found.verified]
        more = written, counts, paid_for
        finish(context, output, report, content, "Other benchmarks", made, metrics(own), notes, *more)
    if settings.report.shown:
        print("\n\n".join(plain(table, notes) for table in tables_made if table.name != "countries"), flush=True)
    return total


def _cautions(settings: Settings, found: Benches) -> list[str]:
    if not found.verified:
        return []
    who = benches.verifier(settings)
    return [SMALL_JUDGE] if who.size == "small" else [f"The hard level is verified by {who.label}, not by C-Verifier."]


def _parts(context: Context, found: Benches, shelves: Sequence[_Shelf]) -> dict[str, Any]:
    settings = context.settings
    chosen = settings.external.model_dump(mode="json", include={"levels", "limit", "samples"})
    own = benches.folder(context, found)
    judged = str(benches.verdicts_folder(context, own).name) if found.verified else None
    return {
        **benches.parts(context, found),
        **chosen,
        "own": own.name,
        "models": {shelf.model: shelf.folder.name for shelf in shelves},
        "verdicts": judged,
        **bootstrap_parts(settings),
        "version": VERSION,
    }


def _shelves(context: Context, found: Benches) -> Iterator[_Shelf]:
    """Yield the job's own model and every other in the workspace that was asked the same in the same way."""
    own = benches.folder(context, found)
    yield _Shelf(context.settings.model.name, own, context.settings.model.identity)
    wanted, names = benches.parts(context, found), {context.settings.model.name}
    for path in sorted(own.parent.glob("*/manifest.json")):
        manifest = _manifest(path)
        content, name = manifest.get("fingerprint_of"), manifest.get("model")
        if path.parent == own or not isinstance(content, dict) or not isinstance(name, str):
            continue
        if {key: content.get(key) for key in wanted} == wanted and isinstance(content.get("model"), dict):
            unlike = name if name not in names else f"{name} {path.parent.name[:6]}"
            names.add(unlike)
            yield _Shelf(unlike, path.parent, content["model"])


def _manifest(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _standing(context: Context, shelf: _Shelf, found: Benches, terms: Terms) -> Standing:
    said = benches.replies(shelf.folder, found)
    missing, unread = Counter[str](), Counter[str]()
    for call in found.calls():
        missing[call.kind] += call.key not in said
    by_kind: dict[Kind, list[Reply]] = {}
    for reply in said.values():
        by_kind.setdefault(reply.kind, []).append(reply)
    levels: dict[str, Level] = {}
    scores: dict[str, Mapping[Item, float]] = {}
    easy, medium = _easy(found, by_kind.get("easy", [])), _medium(by_kind.get("medium", []))
    for name, marked in (("easy", easy), ("medium", medium)):
        if marked:
            levels[name], scores[name] = marks(marked, terms), averages(by_question(marked))
            unread[name] = sum(levels[name].unread.values())
    if "hard" in by_kind:
        held, lost, waiting = _hard(context, shelf.folder, found, said)
        unread["hard"], missing["hard"] = lost, missing["hard"] + waiting
        if held:
            end = scale_end([found.acceptability[slot.norm_id] for each in found.grounded for slot in each.norms])
            levels["hard"] = hard(held, terms, end)
            scores["hard"] = {item: rescaled(mean, end) for item, mean in averages(by_norm(held)).items()}
    asked = _yes_no(found, said)
    scores |= by_reading(asked)
    return Standing(shelf.model, coverage(asked, terms) if asked else None, levels, dict(missing), dict(unread), scores)


def _yes_no(found: Benches, said: Mapping[str, Reply]) -> list[Asked]:
    """Return CulShield's questions with their replies; one that is empty or was refused says neither yes nor no."""
    right = {each.question_id: each.answer for each in found.yes_no}
    own = [each for each in said.values() if each.kind == CULSHIELD]
    return [Asked(each.country, right[each.question_id], each.text, each.question_id) for each in own]


def _easy(found: Benches, said: Sequence[Reply]) -> list[Marked]:
    answers = {each.question_id: each.answer for each in found.grounded}
    read = [(each, read_easy(each.text)) for each in said]
    return [
        Marked(each.question_id, each.country, None if choice is None else choice == answers[each.question_id])
        for each, choice in read
    ]


def _medium(said: Sequence[Reply]) -> list[Marked]:
    """Return the samples of which all four calls are there."""
    samples: dict[tuple[str, int], dict[int, Reply]] = {}
    for each in said:
        samples.setdefault((each.question_id, each.number), {})[each.option] = each
    return [
        Marked(question, own[1].country, verdict([read_medium(own[option].text) for option in sorted(own)]))
        for (question, _), own in samples.items()
        if len(own) == OPTIONS
    ]


def _hard(context: Context, place: Path, found: Benches, said: Mapping[str, Reply]) -> tuple[list[Verified], int, int]:
    """Return what was verified, how many answers and verdicts have no value, and how many verdicts are yet to come."""
    stored = benches.verdicts(context, place, found, said)
    held, none = [], -float("inf")
    for each in stored.values():
        logs = (each.satisfy, each.neutral, each.violate)
        if each.failure is None:
            satisfy, neutral, violate = (none if log is None else log for log in logs)
            credit = found.acceptability[each.norm_id]
            key = each.question_id, each.country, each.number, each.norm_id
            held.append(Verified(*key, credit, satisfy, neutral, violate))
    answers = [each for each in said.values() if each.kind == "hard"]
    empty = sum(each.failure is not None for each in answers)
    norms = {each.question_id: len(each.norms) for each in found.grounded}
    waiting = sum(norms[each.question_id] for each in answers if each.failure is None) - len(stored)
    return held, empty + len(stored) - len(held), waiting
