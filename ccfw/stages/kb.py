"""Stage *kb*: the passages that blueprints are grounded in (section 3.5, Appendix D).

Reads   MediaWiki dumps, ``data/kb`` and lists of titles; with ``query=`` the passages and taboos that it is asked of.
Writes  ``kb/<fingerprint>/passages/*.parquet``, one passage a row, and ``manifest.json``: what was left out, and why.
Method  ``ccfw.knowledge.building``; the same dumps and settings give the same files, also after a kill.
"""

from __future__ import annotations

import hashlib
import logging
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ccfw.errors import RequestError
from ccfw.knowledge import building
from ccfw.knowledge.answered import answer_lines
from ccfw.knowledge.drafts import Plan, Tally, Watch
from ccfw.knowledge.dumps import fault as dump_fault
from ccfw.knowledge.harvest import Recipe
from ccfw.knowledge.rules import RULES, read_lists, read_rules
from ccfw.knowledge.splitting import Size
from ccfw.knowledge.terms import Rarity
from ccfw.paragraphs import line_width
from ccfw.records import Region
from ccfw.resources import resource
from ccfw.settings import Settings
from ccfw.settings.knowledge import KbBuild
from ccfw.stages.context import Context, StageResult
from ccfw.stages.evidence import all_taboos, is_built, open_retriever, shipped_taboos
from ccfw.stop import Stop
from ccfw.store import Output, digest, fingerprint
from ccfw.terminal import printable
from ccfw.universe.reading import read_universe

log = logging.getLogger(__name__)
NAME = "kb"
VERSION = 2
"""Raised when the same dumps and settings give other passages."""
_NOT_ASKED = {
    **dict.fromkeys(("domain", "subdomain"), "put the subject into the query"),
    **dict.fromkeys(("age", "gender", "split", "ids"), "they are no part of what is looked up"),
    "limit": "retriever.passages= and retriever.taboos= say how much is shown",
}
"""Selections that mean nothing to a query, and what to give instead."""
_WHAT_TO_GIVE = (
    "query=… asks it, kb=wikipedia 'kb.dumps=[…]' builds another of dumps, 'kb.taboos=[…]' checks taboos of your own"
)
_EDGE = 1 << 20
_PULSE_S = 30.0


def run(context: Context) -> StageResult:
    """Build the knowledge base that is asked for, or print what a query finds in it.

    Raises ``RequestError`` with every setting that the stage cannot use.
    """
    settings = context.settings
    _check(settings)
    if settings.query is not None:
        return show(context, settings.query)
    taboos = all_taboos(context)  # read before a build of hours, so that their faults are not found after it
    if settings.kb.build is None and not settings.kb.taboos:
        log.warning("stage=%s: kb=%s ships and needs no building; %s", NAME, settings.kb.name, _WHAT_TO_GIVE)
    result = build(context)
    result.done += len(taboos) - len(shipped_taboos())
    return result


def show(context: Context, query: str) -> StageResult:
    """Print what a query finds in the job's regions, the best of them first, with the job's identities raised."""
    settings = context.settings
    built = made_of_dumps(context)
    retriever = open_retriever(context, built)
    assert retriever is not None  # _check refuses the one that is none
    answer = retriever.answer(query, settings.region or tuple(map(str, Region)), settings.identity)
    for found in answer.passages:
        log.debug("%s: cosine or BM25 %.3f, ranked at %.2f", found.passage.passage_id, found.raw, found.score)
    for line in answer_lines(printable(query), answer, line_width()):
        print(printable(line))
    searched = built if built is not None and is_built(built) else resource("data") / "knowledge"
    return StageResult(NAME, searched, done=len(answer.passages) + len(answer.taboos))


def made_of_dumps(context: Context) -> Path | None:
    """Return where the passages of the job's dumps are or will be; ``None`` when it asks for those that ship."""
    config = context.settings.kb
    if config.build is None:
        _refuse(_useless_dumps(context.settings))
        return None
    _plan(config.dumps, config.build)
    return folder(context)


def plan(context: Context) -> tuple[int, int]:
    """Return the calls of the stage: none; raise ``RequestError`` as ``run`` does."""
    _check(context.settings)
    return 0, 0


def _check(settings: Settings) -> None:
    """Refuse what the stage would not heed, and names that there are not."""
    problems = _useless_dumps(settings)
    if settings.query is None:
        given = [key for key in ("region", "identity", *_NOT_ASKED) if getattr(settings, key)]
        problems += [
            f"{key}: a knowledge base is built whole; a query and the stages that read it select" for key in given
        ]
    else:
        given = [key for key in _NOT_ASKED if getattr(settings, key)]
        problems += [f"{key}: stage={NAME} looks up by query, region and identity; {_NOT_ASKED[key]}" for key in given]
        problems += _unknown_names(settings)
        if settings.retriever.embedder is None and not settings.retriever.lexical:
            problems.append(f"retriever={settings.retriever.name}: nothing is looked up; choose another")
    _refuse(problems)


def _useless_dumps(settings: Settings) -> list[str]:
    """Return the complaint of dumps that nothing would be made of."""
    config = settings.kb
    if config.build is not None or not config.dumps:
        return []
    return [f"kb.dumps={','.join(config.dumps)}: kb={config.name} is not made of dumps; add kb=wikipedia"]


def _unknown_names(settings: Settings) -> list[str]:
    """Return a line for each region that there is not, and for each identity that none of the regions asked has."""
    regions = read_universe(resource("data") / "universe").regions
    known = [str(each.region) for each in regions]
    problems = [
        f"region={name}: no such region; options: {', '.join(known)}" for name in settings.region if name not in known
    ]
    asked = [each for each in regions if not settings.region or each.region in settings.region]
    there = {identity.code: None for each in asked for identity in each.identities}
    if asked:
        where = f" in {', '.join(str(each.region) for each in asked)}" if settings.region else ""
        options = ", ".join(there)
        problems += [
            f"identity={name}: no such identity{where}; options: {options}"
            for name in settings.identity
            if name not in there
        ]
    return problems


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise RequestError(problems)


def build(context: Context) -> StageResult:
    """Make passages of dumps, unless the same are there; where none are to be made, those that ship stand."""
    config = context.settings.kb
    if config.build is None:
        return StageResult(NAME, resource("data") / "knowledge")
    chosen = _plan(config.dumps, config.build)
    output = Output(folder(context), context.stop)
    result = StageResult(NAME, output.folder)
    with output:
        if manifest := output.read_manifest():
            result.skipped = sum(manifest["passages"].values())
            _tell(manifest["dumps"], result)
            return result
        with context.stop.on_signals(), _watched(chosen.dumps, context.stop) as watch:
            built = building.build(chosen, output.folder, watch)
        if isinstance(built, Tally):
            result.done = built.drafted
            result.stopped, result.interrupted = context.stop.reason, context.stop.interrupted
            log.warning("stopped (%s); the same line goes on", result.stopped)
            return result
        result.done = sum(built.regions.values())
        _tell(built.tally.dumps, result)
        if result.done:
            log.info("stage=%s: %d passages; who asks first by vectors waits for theirs, once", NAME, result.done)
        else:
            log.warning("stage=%s: no passage is kept of any dump; %s says why", NAME, output.manifest)
        output.write_manifest(context.manifest(output, result, parts(context), **_found(built)))
        building.clean(output.folder)
    return result


def folder(context: Context) -> Path:
    """Return where the passages made of the dumps are, or will be."""
    return Path(context.settings.workspace) / NAME / fingerprint(parts(context))


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the passages; its hash names the output folder."""
    config = context.settings.kb
    build = config.build.model_dump(mode="json") if config.build else {}
    for group in build.get("lists", {}).values():
        for name, paths in group.items():
            group[name] = [digest([Path(path).read_text("utf-8", "replace")]) for path in paths]
    return {
        "dumps": [_identity(Path(path)) for path in config.dumps],
        "rules": digest((resource("data") / "kb" / name).read_text("utf-8") for name in RULES),
        "build": build,
        "version": VERSION,
    }


def _identity(path: Path) -> dict[str, Any]:
    """Return what tells a dump from others: reading tens of gigabytes for their hash would take as long as building."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_EDGE)
        file.seek(max(0, size - _EDGE))
        edges = hashlib.sha256(head + file.read(_EDGE)).hexdigest()[:16]
    return {"name": path.name, "size": size, "edges": edges}


def _plan(dumps: Sequence[str], config: KbBuild) -> Plan:
    """Return what is to be built; raise ``RequestError`` with every dump and list that cannot be read."""
    faults = (dump_fault(Path(path)) for path in dumps)
    problems = [f"kb.dumps: {fault}" for fault in faults if fault]
    if not dumps:
        problems = ["kb.dumps: give one MediaWiki dump or more, as in kb.dumps=[viwiki-pages-articles.xml.bz2]"]
    if problems:
        raise RequestError(problems)
    rules, markup = read_rules(resource("data") / "kb")
    listed = config.lists
    recipe = Recipe(
        rules=rules,
        markup=markup,
        lists=read_lists(listed.regions, listed.tags, listed.identities, rules),
        size=Size(config.words, config.characters),
        least=config.least,
        need_topic=config.need_topic,
        licence=config.licence,
    )
    rarity = Rarity(config.rare_share, config.rare_articles, config.terms)
    paths = tuple(map(Path, dumps))
    return Plan(paths, recipe, rarity, config.near_duplicate, config.redirects == "follow")


@contextmanager
def _watched(dumps: Sequence[Path], stop: Stop) -> Iterator[Watch]:
    """Show how much of the dumps is read, compressed as they are, and hand on the wish to stop."""
    total = sum(path.stat().st_size for path in dumps)
    told = time.monotonic()
    with tqdm(total=total, desc=NAME, unit="B", unit_scale=True, file=sys.stderr, disable=None) as bar:

        def watch(position: int) -> bool:
            nonlocal told
            bar.update(position - bar.n)
            if not sys.stderr.isatty() and time.monotonic() - told > _PULSE_S:
                told = time.monotonic()
                log.info("stage=kb: %d of %d MB read", position >> 20, total >> 20)
            return stop.reason is None

        yield watch


def _tell(dumps: Sequence[Mapping[str, Any]], result: StageResult) -> None:
    """Say which languages the rules do not know, and count as failed the dumps that did not end as they should."""
    for dump in dumps:
        if not dump["ruled"]:
            log.warning("%s: data/kb/rules.yaml has no words for language %s", dump["file"], dump["language"])
        if dump["status"] != "whole":
            result.failed += 1
            result.reason = f"{dump['file']}: {dump['status']} after {dump['pages']} whole pages: {dump['reason']}"
            log.warning("%s", result.reason)


def _found(built: building.Built) -> dict[str, Any]:
    return {
        "dumps": built.tally.dumps,
        "passages": built.regions,
        "left_out": built.lost,
        "repaired_articles": built.tally.repaired,
    }
