"""Stage *kb*: the passages that blueprints are grounded in (section 3.5, Appendix D).

Reads   MediaWiki dumps, ``data/kb`` and lists of titles; without dumps the passages that ship, and builds nothing.
Writes  ``kb/<fingerprint>/passages/*.parquet``, one passage a row, and ``manifest.json``: what was left out, and why.
Method  ``ccfw.knowledge.building``; the same dumps and settings give the same files, also after a kill.
"""

from __future__ import annotations

import hashlib
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ccfw.errors import RequestError
from ccfw.knowledge import building
from ccfw.knowledge.drafts import Plan, Tally, Watch
from ccfw.knowledge.harvest import Recipe
from ccfw.knowledge.queries import Queries
from ccfw.knowledge.rules import RULES, read_lists, read_rules
from ccfw.knowledge.shown import context_lines
from ccfw.knowledge.splitting import Size
from ccfw.knowledge.terms import Rarity
from ccfw.records import Region
from ccfw.resources import resource
from ccfw.settings import KbBuild
from ccfw.stages.context import Context, StageResult
from ccfw.stages.evidence import all_taboos, open_retriever, shipped_taboos
from ccfw.stop import Stop
from ccfw.store import Output, digest, fingerprint
from ccfw.terminal import printable

log = logging.getLogger(__name__)
NAME = "kb"
VERSION = 1
"""Raised when the same dumps and settings give other passages."""
_EDGE = 1 << 20
_PULSE_S = 30.0


def run(context: Context) -> StageResult:
    """Build the knowledge base that is asked for, or print what a query finds in it."""
    if context.settings.query is not None:
        return show(context, context.settings.query)
    taboos = all_taboos(context)  # read before a build of hours, so that their faults are not found after it
    result = build(context)
    result.done += len(taboos) - len(shipped_taboos())
    return result


def show(context: Context, query: str) -> StageResult:
    """Print what a blueprint of the job's regions and identity would be shown for a query."""
    settings = context.settings
    retriever = open_retriever(context, made_of_dumps(context))
    result = StageResult(NAME, resource("data") / "knowledge")
    if retriever is None:
        raise RequestError([f"retriever={settings.retriever.name}: nothing is looked up; choose another"])
    regions = settings.region or tuple(map(str, Region))
    identity = settings.identity[0] if settings.identity else None
    evidence = retriever.evidence(Queries(query, query, query), regions, identity, grounded=True)
    for found in evidence.passages:
        log.debug("%s by %s: %.3f, ranked at %.2f", found.passage.passage_id, found.query, found.raw, found.score)
    for line in context_lines(evidence):
        print(printable(line))
    result.done = len(evidence.passages) + len(evidence.taboos)
    return result


def made_of_dumps(context: Context) -> Path | None:
    """Return where the passages of the job's dumps are or will be; ``None`` when it asks for those that ship."""
    config = context.settings.kb
    if config.build is None:
        return None
    _plan(config.dumps, config.build)
    return folder(context)


def plan(_: Context) -> tuple[int, int]:
    """Return the calls of the stage: none."""
    return 0, 0


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
            return result
        with context.stop.on_signals(), _watched(chosen.dumps, context.stop) as watch:
            built = building.build(chosen, output.folder, watch)
        if isinstance(built, Tally):
            result.done = built.drafted
            result.stopped, result.interrupted = context.stop.reason, context.stop.interrupted
            log.warning("stopped (%s); the same line goes on", result.stopped)
            return result
        result.done = sum(built.regions.values())
        _tell(built)
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
    problems = [f"kb.dumps: {path}: no such file" for path in dumps if not Path(path).is_file()]
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


def _tell(built: building.Built) -> None:
    """Say which dumps did not end as they should, and which languages the rules do not know."""
    for dump in built.tally.dumps:
        if dump["status"] != "whole":
            log.warning("%s: %s after %d whole pages: %s", dump["file"], dump["status"], dump["pages"], dump["reason"])
        if not dump["ruled"]:
            log.warning("%s: data/kb/rules.yaml has no words for language %s", dump["file"], dump["language"])


def _found(built: building.Built) -> dict[str, Any]:
    return {
        "dumps": built.tally.dumps,
        "passages": built.regions,
        "left_out": built.lost,
        "repaired_articles": built.tally.repaired,
    }
