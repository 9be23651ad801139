"""Stage *blueprints*: seeds become scenarios with a public, a private and an evaluator's part (section 3.4, G.2).

Reads   the seeds of stage *seeds* under the same settings, the universe, the knowledge bases.
Writes  ``universe/blueprints/<fingerprint>/records.jsonl``, a seed's blueprint a line with its evidence and history,
        ``failures.jsonl``, the seeds that were given up, and ``report.md``.
Method  the generator's reply is checked, then audited, and asked for again with all that was found, a bounded number
        of times; what passes is translated, and the translation checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from ccfw.blueprint_records import BlueprintRecord
from ccfw.blueprint_review import DIMENSIONS
from ccfw.checks.blueprint import CHECKS, READ_BACK, TRANSLATED
from ccfw.read_universe import read_universe
from ccfw.records import FailureKind
from ccfw.report.blueprints import report
from ccfw.resources import resource
from ccfw.stages import kb
from ccfw.stages import seeds as seeds_stage
from ccfw.stages.batch import FAILURES, run_batch, workers
from ccfw.stages.chosen_seeds import chosen_seeds
from ccfw.stages.context import Context, StageResult
from ccfw.stages.desk import Desk, knowledge_files, shipped_passages
from ccfw.stages.drafting import Author
from ccfw.stages.evidence import open_retriever
from ccfw.store import Output, digest, done_ids, fingerprint, read_records, write_atomically

NAME = "blueprints"
VERSION = 1
"""Raised when checks or openers change so that the same replies would give other blueprints."""
VALIDATORS = {
    "generator": ("reply", "schema", *(each.__name__ for each in CHECKS), "niche_terms", "taboo_grounding"),
    "auditor": tuple(f"audit_{name.lower()}" for name in DIMENSIONS),
    "translator": ("reply", *(each.__name__ for each in TRANSLATED)),
    "read_back": tuple(each.__name__ for each in READ_BACK),
}
"""Every check by whose reply it looks at."""


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the blueprints; its hash names the output folder."""
    settings = context.settings
    universe = read_universe(resource("data") / "universe")
    generator, auditor, translator = settings.generator, settings.auditor, settings.translator
    return {
        "seeds": fingerprint(seeds_stage.parts(context)),
        "universe": digest(each.model_dump_json() for each in (*universe.regions, *universe.domains)),
        "knowledge": digest(path.read_text("utf-8") for path in knowledge_files()),
        "kb": kb.parts(context) if settings.kb.build is not None else None,
        "own_taboos": [digest([path.read_text("utf-8", "replace")]) for path in map(Path, settings.kb.taboos)],
        "retriever": settings.retriever.model_dump(mode="json"),
        "generator": generator.identity,
        "auditor": auditor.identity | {"name": auditor.name},
        "translator": translator.identity,
        "prompts": context.prompts(generator).digest("blueprint."),
        "audit_prompts": context.prompts(auditor).digest("blueprint_audit."),
        "translation_prompts": context.prompts(translator).digest("translate"),
        "blueprints": settings.blueprints.model_dump(mode="json"),
        "seed": settings.seed,
        "version": VERSION,
    }


def run(context: Context) -> StageResult:
    """Have a blueprint written for every chosen seed that has none yet."""
    chosen = [outline.seed for outline in chosen_seeds(context)]
    built = kb.made_of_dumps(context)
    content = parts(context)
    output = Output(_folder(context, content), context.stop)
    result = StageResult(NAME, output.folder)
    author = _author(context, result, built)
    with output:
        have, attempts = done_ids(output.records), _attempts(output)
        author.desk.prepare(seed for seed in chosen if seed.seed_id not in have)
        try:
            run_batch(
                context.runner,
                output,
                result,
                [(seed.seed_id, (seed, attempts.get(seed.seed_id, 0))) for seed in chosen],
                author.write,
                broken=_broken,
                kind=BlueprintRecord,
                concurrency=workers(context.settings.generator),
                stop=context.stop,
            )
        finally:
            manifest = context.manifest(output, result, content)
            write_atomically(output.folder / "report.md", report(_records(output), VALIDATORS, manifest["paid"]))
            output.write_manifest(manifest)
    return result


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored."""
    settings = context.settings.blueprints
    have = done_ids(_folder(context, parts(context)) / "records.jsonl")
    todo = [outline.seed for outline in chosen_seeds(context) if outline.seed.seed_id not in have]
    foreign = sum(seed.persona.native_language != "English" for seed in todo)
    review = settings.review_tries
    most = len(todo) * settings.tries * (1 + review) + foreign * settings.translations * (1 + review)
    return 2 * len(todo) + 2 * foreign, most


def _folder(context: Context, content: dict[str, Any]) -> Path:
    return Path(context.settings.workspace) / "universe" / NAME / fingerprint(content)


def _author(context: Context, result: StageResult, built: Path | None) -> Author:
    settings, meter = context.settings, result.meter
    universe = read_universe(resource("data") / "universe")
    return Author(
        settings,
        Desk(universe, open_retriever(context, built), shipped_passages()),
        generator=context.client(settings.generator, meter),
        auditor=context.client(settings.auditor, meter),
        translator=context.client(settings.translator, meter),
        prompts=context.prompts(settings.generator),
        audit_prompts=context.prompts(settings.auditor),
        translation_prompts=context.prompts(settings.translator),
    )


def _broken(record: BlueprintRecord) -> str | None:
    return record.failure.detail if record.failure else None


def _attempts(output: Output) -> dict[str, int]:
    """Return which attempt is next for each seed that was given up.

    The ledger would repeat the replies of that attempt, so the next one asks anew; after a provider's failure the same
    attempt goes on where it stopped.
    """
    return {
        record.seed_id: record.attempt + (record.failure.kind is not FailureKind.INFRASTRUCTURE)
        for record in read_records(output.folder / FAILURES, BlueprintRecord)
        if record.failure is not None
    }


def _records(output: Output) -> Iterator[BlueprintRecord]:
    return chain.from_iterable(
        read_records(path, BlueprintRecord) for path in (output.records, output.folder / FAILURES)
    )
