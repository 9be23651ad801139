"""Stage *templates*: new scenario sketches for the library (G.1).

Reads   the universe in ``data/universe``.
Writes  ``universe/templates/<fingerprint>/records.jsonl``, the new templates of a subdomain a line, and
        ``templates.yaml``, all of them in the library's own form.
Method  one call a subdomain to ``model@generator=``; the reply is checked like the templates that ship and sent back
        with what is wrong, a bounded number of times. What was given up is asked for anew by the next run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccfw.authoring.templates import as_yaml_entry, read_templates, schema
from ccfw.errors import RequestError
from ccfw.knowledge.likeness import Likeness, library_likeness
from ccfw.llm.asking import ask, build_request
from ccfw.llm.client import Client
from ccfw.llm.types import ChatRequest
from ccfw.prompts import PromptSet
from ccfw.records import Failure, FailureKind, Record
from ccfw.resources import resource
from ccfw.settings import Settings
from ccfw.stages.batch import FAILURES, run_batch, workers
from ccfw.stages.context import Context, StageResult
from ccfw.stages.course import Course, next_attempts
from ccfw.store import Output, done_ids, fingerprint, read_records, write_atomically
from ccfw.universe.reading import read_universe
from ccfw.universe.records import Domain, LibraryTemplate, Subdomain, Universe

NAME = "templates"
Place = tuple[Domain, Subdomain]


class NewTemplates(Record):
    """What came of one subdomain."""

    subdomain: str
    """``<domain code>_<subdomain code>``."""
    templates: tuple[LibraryTemplate, ...]
    failure: Failure | None
    attempt: int = 0
    """How often the subdomain was given up before."""


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
        given_up = read_records(output.folder / FAILURES, NewTemplates)
        attempts = next_attempts((each.subdomain, each.attempt, each.failure) for each in given_up)
        try:
            run_batch(
                context.runner,
                output,
                result,
                [(name, (place, attempts.get(name, 0))) for name, place in _named(_chosen(settings))],
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
    todo = sum(name not in have for name, _ in _named(_chosen(settings)))
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


def _named(places: Iterable[Place]) -> Iterator[tuple[str, Place]]:
    return ((f"{domain.code}_{sub.code}", (domain, sub)) for domain, sub in places)


@dataclass(frozen=True)
class Writer:
    """The generator with its prompts, and the library that it must not repeat."""

    settings: Settings
    client: Client
    prompts: PromptSet
    likeness: Likeness

    async def write(self, item: tuple[Place, int]) -> NewTemplates:
        """Have the templates of one subdomain written; what no try could mend is a typed failure.

        An item is a place and how often it was given up before.
        """
        (domain, sub), attempt = item
        name = f"{domain.code}_{sub.code}"
        universe, count = _universe(), self.settings.templates.count
        own = [t for t in universe.templates if (t.domain_code, t.subdomain_code) == (domain.code, sub.code)]
        first = 1 + max((int(t.template_id[-2:]) for t in own), default=0)
        ids = [f"TPL_{name}_{first + number:02}" for number in range(count)]
        if first + count > 100:
            detail = f"{name} has {len(own)} templates: ids end at 99"
            failure = Failure(kind=FailureKind.INCOMPLETE, detail=detail)
            return NewTemplates(subdomain=name, templates=(), failure=failure, attempt=attempt)
        asked = await ask(
            self.client,
            self._request(domain, sub, own, attempt),
            lambda text: read_templates(text, ids, self.likeness.repeated, universe.culture_words),
            self.settings.templates.tries,
        )
        return NewTemplates(subdomain=name, templates=asked.value or (), failure=asked.failure, attempt=attempt)

    def _request(self, domain: Domain, sub: Subdomain, own: Sequence[LibraryTemplate], attempt: int) -> ChatRequest:
        count = self.settings.templates.count
        fields = {
            "domain": domain.name,
            "subdomain": sub.name,
            "description": sub.description,
            "existing": [template.template_text for template in own],
            "count": count,
        }
        return build_request(
            self.settings.generator,
            self.prompts.render("template", fields),
            role="generator",
            temperature=self.settings.templates.temperature,
            seed=self.settings.seed,
            schema_name="templates",
            schema=schema(count),
            replicate=Course[NewTemplates](attempt).replicate(1),
        )
