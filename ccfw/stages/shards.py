"""Stage *shards*: blueprints become frozen scenarios of three to five phases (section 3.6, G.3).

Reads   the blueprints of stage *blueprints* under the same settings, the universe.
Writes  ``universe/shards/<fingerprint>/records.jsonl``, a seed's frozen scenario a line with its history,
        ``failures.jsonl``, the seeds that were given up, and ``report.md``; ``dataset=generated`` is the records.
Method  the generator's reply is checked, then audited, and asked for again with all that was found, a bounded number
        of times.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from ccfw.audits import AUDIT_CHECKS
from ccfw.blueprint_records import BlueprintRecord
from ccfw.checks.shards import CHECKS
from ccfw.errors import RequestError
from ccfw.read_universe import read_universe
from ccfw.report.shards import WORDS
from ccfw.resources import resource
from ccfw.shard_records import ShardRecord
from ccfw.stages import blueprints
from ccfw.stages.authoring import RECORDS, Authoring, folder_of
from ccfw.stages.chosen_seeds import chosen_seeds
from ccfw.stages.context import Context, StageResult
from ccfw.stages.shard_author import ShardAuthor
from ccfw.store import Output, StoredRecords, done_ids, fingerprint

log = logging.getLogger(__name__)
NAME = "shards"
VERSION = 1
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
    settings, job = context.settings.shards, context.settings.stage.runs
    wanted = _chosen(context) if blueprints.NAME in job else _with_blueprint(context)
    todo = len(set(wanted) - done_ids(records(context)))
    written = todo * settings.tries
    return {"generator": (todo, written), "auditor": (todo, written * settings.review_tries)}


def _chosen(context: Context) -> list[str]:
    return [outline.seed.seed_id for outline in chosen_seeds(context, NAME)]


def _with_blueprint(context: Context) -> list[str]:
    """Return the chosen seeds that have a blueprint, in the stratified order.

    Raises ``RequestError`` when none has.
    """
    chosen = _chosen(context)
    have = done_ids(blueprints.records(context))
    found = [seed_id for seed_id in chosen if seed_id in have]
    if not found:
        raise RequestError([f"stage={NAME}: no blueprints under these settings; make them first: stage=blueprints"])
    if len(found) < len(chosen):
        log.warning("stage=%s: %d of %d seeds have no blueprint", NAME, len(chosen) - len(found), len(chosen))
    return found
