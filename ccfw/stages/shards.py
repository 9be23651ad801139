"""Stage *shards*: blueprints become frozen scenarios of three to five phases (section 3.6, G.3).

Reads   the blueprints of stage *blueprints* under the same settings, the universe.
Writes  ``universe/shards/<fingerprint>/records.jsonl``, a seed's frozen scenario a line with its history,
        ``failures.jsonl``, the seeds that were given up, and ``report.md``; ``dataset=generated`` is the records.
Method  the generator's reply is checked, then audited, and asked for again with all that was found, a bounded number
        of times.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ccfw.authoring.audits import AUDIT_CHECKS
from ccfw.authoring.blueprint_records import BlueprintRecord
from ccfw.authoring.shard_records import ShardRecord
from ccfw.checks.shards import CHECKS
from ccfw.errors import RequestError, StoreError
from ccfw.report.shards import WORDS
from ccfw.resources import resource
from ccfw.selection import Outline
from ccfw.stages import blueprints
from ccfw.stages.authoring import RECORDS, Authoring, folder_of
from ccfw.stages.batch import FAILURES
from ccfw.stages.chosen_seeds import chosen_seeds
from ccfw.stages.context import Context, StageResult
from ccfw.stages.shard_author import ShardAuthor
from ccfw.store import Output, StoredRecords, done_ids, fingerprint, read_records, write_atomically
from ccfw.universe.reading import read_universe

log = logging.getLogger(__name__)
NAME = "shards"
VERSION = 3
"""Raised when checks change so that the same replies would give other shards."""
VALIDATORS = {
    "generator": ("reply", "schema", *(each.__name__ for each in CHECKS)),
    "auditor": AUDIT_CHECKS,
}
"""Every check by whose reply it looks at."""
_AUTHORING = Authoring(NAME, "shards", ShardRecord, VALIDATORS, WORDS)


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the shards; its hash names the output folder."""
    settings = context.settings
    generator, auditor = settings.generator, settings.auditor
    return {
        "blueprints": fingerprint(blueprints.parts(context)),
        "generator": generator.identity,
        "auditor": auditor.identity,
        "prompts": context.prompts(generator).digest("shards."),
        "audit_prompts": context.prompts(auditor).digest("shards_audit."),
        "shards": settings.shards.model_dump(mode="json"),
        "seed": settings.seed,
        "version": VERSION,
    }


def run(context: Context) -> StageResult:
    """Have shards written for every chosen seed that has a blueprint and none yet."""
    chosen = _with_blueprint(context)
    content = parts(context)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder)
    with output:
        _drop(output.records, _stale(context, chosen))
        wanted = set(chosen) - done_ids(output.records)
        author = ShardAuthor(
            _AUTHORING.drafting(context, result, context.settings.shards),
            read_universe(resource("data") / "universe"),
            StoredRecords(blueprints.records(context), BlueprintRecord, wanted),
        )
        _AUTHORING.write_all(context, output, result, content, [(each, each) for each in chosen], author.write)
    return result


def records(context: Context) -> Path:
    """Return the file of the scenarios under the job's settings, which may not be there yet."""
    return folder_of(context, NAME, parts(context)) / RECORDS


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored."""
    bounds = calls(context).values()
    return sum(least for least, _ in bounds), sum(most for _, most in bounds)


def calls(context: Context) -> dict[str, tuple[int, int]]:
    """Return the least and the most calls of each role; blueprints that the same job writes before count as written."""
    settings = context.settings.shards
    wanted = _wanted(context)
    todo = len(set(wanted) - done_ids(records(context))) + len(_stale(context, wanted))
    written = todo * settings.tries
    return {"generator": (todo, written), "auditor": (todo, written * settings.review_tries)}


def expected(context: Context) -> tuple[Outline, ...]:
    """Return the seeds that have shards once the stage has run, blueprints counted as ``calls`` does."""
    wanted = set(_wanted(context))
    return tuple(each for each in chosen_seeds(context, NAME) if each.seed.seed_id in wanted)


def _wanted(context: Context) -> list[str]:
    return _chosen(context) if blueprints.NAME in context.settings.stage.runs else _with_blueprint(context)


def _chosen(context: Context) -> list[str]:
    return [outline.seed.seed_id for outline in chosen_seeds(context, NAME)]


def _stale(context: Context, chosen: Collection[str]) -> set[str]:
    """Return those of some seeds whose scenario was made of another blueprint than the one that is there now.

    Raises ``StoreError`` for a blueprint's record that holds none.
    """
    path = blueprints.records(context)
    made = StoredRecords(records(context), ShardRecord, set(chosen))
    found = set()
    for record in read_records(path, BlueprintRecord, set(chosen)):
        if record.blueprint is None:
            raise StoreError(f"{path}: {record.seed_id}: a failure, which belongs into {FAILURES}; take the line out")
        if record.seed_id in made:
            scenario = made[record.seed_id].scenario
            if scenario is None or scenario.blueprint != record.blueprint:
                found.add(record.seed_id)
    return found


def _drop(path: Path, stale: Collection[str]) -> None:
    """Take scenarios out of the records whose blueprint has changed, so that they are asked for anew."""
    if stale:
        log.warning("stage=%s: scenarios whose blueprint has changed since, asked for anew: %d", NAME, len(stale))
        kept = (each for each in read_records(path, ShardRecord) if each.seed_id not in stale)
        write_atomically(path, "".join(f"{each.model_dump_json()}\n" for each in kept))


def _with_blueprint(context: Context) -> list[str]:
    """Return the chosen seeds that have a blueprint, in the stratified order.

    Raises ``RequestError`` when none has.
    """
    chosen = _chosen(context)
    have = done_ids(blueprints.records(context))
    found = [seed_id for seed_id in chosen if seed_id in have]
    if not found:
        missing = f"stage={NAME}: no blueprints under these settings; make them first: stage=blueprints"
        if context.settings.dry_run:
            missing += f"; both at once: 'stage.runs=[{blueprints.NAME},{NAME}]' dry_run=true"
        raise RequestError([missing])
    if len(found) < len(chosen):
        log.warning("stage=%s: %d of %d seeds have no blueprint", NAME, len(chosen) - len(found), len(chosen))
    return found
