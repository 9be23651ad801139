"""Stage *blueprints*: seeds become scenarios with a public, a private and an evaluator's part (section 3.4, G.2).

Reads   the seeds of stage *seeds* under the same settings, the universe, the knowledge bases.
Writes  ``universe/blueprints/<fingerprint>/records.jsonl``, a seed's blueprint a line with its evidence and history,
        ``failures.jsonl``, the seeds that were given up, and ``report.md``.
Method  the generator's reply is checked, then audited, and asked for again with all that was found, a bounded number
        of times; what passes is translated, and the translation checked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ccfw.authoring.audits import AUDIT_CHECKS
from ccfw.authoring.blueprint_records import BlueprintRecord
from ccfw.checks.blueprint import CHECKS, READ_BACK, TRANSLATED
from ccfw.report.blueprints import WORDS
from ccfw.resources import resource
from ccfw.stages import kb
from ccfw.stages import seeds as seeds_stage
from ccfw.stages.authoring import RECORDS, Authoring, folder_of
from ccfw.stages.blueprint_author import BlueprintAuthor
from ccfw.stages.chosen_seeds import chosen_seeds
from ccfw.stages.context import Context, StageResult
from ccfw.stages.desk import Desk, knowledge_files, shipped_passages
from ccfw.stages.evidence import open_retriever
from ccfw.store import Output, digest, done_ids, fingerprint
from ccfw.universe.reading import read_universe

NAME = "blueprints"
VERSION = 4
"""Raised when checks or openers change so that the same replies would give other blueprints."""
VALIDATORS = {
    "generator": ("reply", "schema", *(each.__name__ for each in CHECKS), "niche_terms", "taboo_grounding"),
    "auditor": AUDIT_CHECKS,
    "translator": ("reply", *(each.__name__ for each in TRANSLATED)),
    "read_back": tuple(each.__name__ for each in READ_BACK),
}
"""Every check by whose reply it looks at."""
_AUTHORING = Authoring(NAME, "blueprint", BlueprintRecord, VALIDATORS, WORDS)


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
    chosen = [outline.seed for outline in chosen_seeds(context, NAME)]
    built = kb.made_of_dumps(context)
    content = parts(context)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder)
    author = _author(context, result, built)
    with output:
        have = done_ids(output.records)
        author.desk.prepare([seed for seed in chosen if seed.seed_id not in have])
        items = [(seed.seed_id, seed) for seed in chosen]
        _AUTHORING.write_all(context, output, result, content, items, author.write)
    return result


def records(context: Context) -> Path:
    """Return the file of the blueprints under the job's settings, which may not be there yet."""
    return folder_of(context, NAME, parts(context)) / RECORDS


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored."""
    bounds = calls(context).values()
    return sum(least for least, _ in bounds), sum(most for _, most in bounds)


def calls(context: Context) -> dict[str, tuple[int, int]]:
    """Return the least and the most calls of each role."""
    settings = context.settings.blueprints
    have = done_ids(records(context))
    todo = [outline.seed for outline in chosen_seeds(context, NAME) if outline.seed.seed_id not in have]
    foreign = sum(seed.persona.native_language != "English" for seed in todo)
    written, review = len(todo) * settings.tries, settings.review_tries
    return {
        "generator": (len(todo), written),
        "auditor": (len(todo), written * review),
        "translator": (2 * foreign, foreign * settings.translations * (1 + review)),
    }


def _author(context: Context, result: StageResult, built: Path | None) -> BlueprintAuthor:
    settings = context.settings
    return BlueprintAuthor(
        settings,
        Desk(read_universe(resource("data") / "universe"), open_retriever(context, built), shipped_passages()),
        _AUTHORING.drafting(context, result, settings.blueprints),
        translator=context.client(settings.translator, result.meter),
        translation_prompts=context.prompts(settings.translator),
    )
