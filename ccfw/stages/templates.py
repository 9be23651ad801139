"""Stage *templates*: new scenario sketches for the library (G.1).

Reads   the universe in ``data/universe``.
Writes  ``universe/templates/<fingerprint>/records.jsonl``, the new templates of a subdomain a line, and
        ``templates.yaml``, all of them in the library's own form.
Method  one call a subdomain to ``model@generator=``; the reply is checked like the templates that ship and sent back
        with what is wrong, a bounded number of times.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccfw.errors import RequestError
from ccfw.knowledge.likeness import Likeness, library_likeness
from ccfw.llm.asking import ask, build_request
from ccfw.llm.client import Client
from ccfw.prompts import PromptSet
from ccfw.read_universe import read_universe
from ccfw.records import Failure, FailureKind, Record
from ccfw.resources import resource
from ccfw.settings import Settings
from ccfw.stages.batch import run_batch, workers
from ccfw.stages.context import Context, StageResult
from ccfw.store import Output, done_ids, fingerprint, read_records, write_atomically
from ccfw.templates import as_yaml_entry, read_templates, schema
from ccfw.universe import Domain, LibraryTemplate, Subdomain, Universe

NAME = "templates"
Place = tuple[Domain, Subdomain]


class NewTemplates(Record):
    """What came of one subdomain."""

    subdomain: str
    """``<domain code>_<subdomain code>``."""
    templates: tuple[LibraryTemplate, ...]
    failure: Failure | None


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the templates; its hash names the output folder."""
    settings = context.settings
    return {
        "generator": settings.generator.identity,
        "prompts": context.prompts(settings.generator).digest("template"),
        "templates": settings.templates.model_dump(mode="json"),
        "library": fingerprint({t.template_id: t.template_text for t in _universe().templates}),
        "seed": settings.seed,
    }


def run(context: Context) -> StageResult:
    """Have templates written for every chosen subdomain that has none yet."""
    settings, content = context.settings, parts(context)
    output = Output(Path(settings.workspace) / "universe" / NAME / fingerprint(content), context.stop)
    result = StageResult(NAME, output.folder)
    writer = Writer(
        settings,
        context.client(settings.generator, result.meter),
        context.prompts(settings.generator),
        library_likeness([template.template_text for template in _universe().templates]),
    )
    with output:
        try:
            run_batch(
                context.runner,
                output,
                result,
                [(f"{domain.code}_{sub.code}", (domain, sub)) for domain, sub in _chosen(settings)],
                writer.write,
                broken=_broken,
                kind=NewTemplates,
                concurrency=workers(settings.generator),
                stop=context.stop,
            )
            made = [template for each in read_records(output.records, NewTemplates) for template in each.templates]
            write_atomically(output.folder / "templates.yaml", "".join(map(as_yaml_entry, made)))
        finally:
            output.write_manifest(context.manifest(output, result, content))
    return result


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored."""
    settings = context.settings
    folder = Path(settings.workspace) / "universe" / NAME / fingerprint(parts(context))
    have = done_ids(folder / "records.jsonl")
    todo = sum(f"{domain.code}_{sub.code}" not in have for domain, sub in _chosen(settings))
    return todo, todo * settings.templates.tries


def _universe() -> Universe:
    return read_universe(resource("data") / "universe")


def _broken(made: NewTemplates) -> str | None:
    return made.failure.detail if made.failure else None


def _chosen(settings: Settings) -> list[Place]:
    """Return the job's subdomains; raise ``RequestError`` for names that the universe lacks."""
    places = [(domain, sub) for domain in _universe().domains for sub in domain.subdomains]
    problems = []
    for key, wanted, names in (
        ("domain", settings.domain, [domain.name for domain, _ in places]),
        ("subdomain", settings.subdomain, [sub.name for _, sub in places]),
    ):
        options = ", ".join(dict.fromkeys(names))
        problems += [f"{key}={each}: no such {key}; options: {options}" for each in wanted if each not in names]
    if problems:
        raise RequestError(problems)
    return [
        (domain, sub)
        for domain, sub in places
        if (not settings.domain or domain.name in settings.domain)
        and (not settings.subdomain or sub.name in settings.subdomain)
    ][: settings.limit]


@dataclass(frozen=True)
class Writer:
    """The generator with its prompts, and the library that it must not repeat."""

    settings: Settings
    client: Client
    prompts: PromptSet
    likeness: Likeness

    async def write(self, place: Place) -> NewTemplates:
        """Have the templates of one subdomain written; what no try could mend is a typed failure."""
        domain, sub = place
        name = f"{domain.code}_{sub.code}"
        universe, count = _universe(), self.settings.templates.count
        own = [t for t in universe.templates if (t.domain_code, t.subdomain_code) == (domain.code, sub.code)]
        first = 1 + max((int(t.template_id[-2:]) for t in own), default=0)
        ids = [f"TPL_{name}_{first + number:02}" for number in range(count)]
        if first + count > 100:
            detail = f"{name} has {len(own)} templates: ids end at 99"
            return NewTemplates(
                subdomain=name, templates=(), failure=Failure(kind=FailureKind.INCOMPLETE, detail=detail)
            )
        asked = await ask(
            self.client,
            build_request(
                self.settings.generator,
                self.prompts.render(
                    "template",
                    {
                        "domain": domain.name,
                        "subdomain": sub.name,
                        "description": sub.description,
                        "existing": [template.template_text for template in own],
                        "count": count,
                    },
                ),
                role="generator",
                temperature=self.settings.templates.temperature,
                seed=self.settings.seed,
                schema_name="templates",
                schema=schema(count),
            ),
            lambda text: read_templates(text, ids, self.likeness.repeated, universe.culture_words),
            self.settings.templates.tries,
        )
        return NewTemplates(subdomain=name, templates=asked.value or (), failure=asked.failure)
