"""One seed's way to a blueprint: drafted from what is on the desk, then translated, and the translation checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ccfw.authoring.blueprint_records import BlueprintRecord, Evidence
from ccfw.authoring.blueprint_review import BACK_SCHEMA, TRANSLATION_SCHEMA, read_english, read_translation
from ccfw.authoring.blueprints import Filling, Known, Native, assemble, read_back, read_filling, schema, validate
from ccfw.authoring.openers import opener_pair
from ccfw.checks.blueprint import TRANSLATED, Supplied, check
from ccfw.llm.asking import ask, build_request
from ccfw.llm.client import Client
from ccfw.llm.types import ChatRequest
from ccfw.prompts import PromptSet
from ccfw.records import Blueprint, Failure, FailureKind, Seed
from ccfw.settings import Settings
from ccfw.stages.briefing import audit_fields, generator_fields, translation_fields
from ccfw.stages.course import Course
from ccfw.stages.desk import Brief, Desk
from ccfw.stages.drafting import Assignment, Drafting, role, unread, whose


@dataclass(frozen=True)
class BlueprintAuthor:
    """The desk, who drafts, and who translates."""

    settings: Settings
    desk: Desk
    drafting: Drafting
    translator: Client
    translation_prompts: PromptSet

    async def write(self, seed: Seed, attempt: int) -> BlueprintRecord:
        """Bring one seed to its blueprint; what no try could mend is a typed failure with its history."""
        brief, course = self.desk.brief(seed), Course[Filling](attempt)
        if brief.unfounded:
            detail = "the seed rests on a taboo and the retriever found none for it"
            return _record(brief, course, None, Failure(kind=FailureKind.INCOMPLETE, detail=detail))
        if failure := await self.drafting.draft(course, self._assignment(brief)):
            return _record(brief, course, None, failure)
        native = await self._translated(brief, course)
        if isinstance(native, Failure):
            return _record(brief, course, None, native)
        return _record(brief, course, self._blueprint(brief, course.draft, native), None)

    def _assignment(self, brief: Brief) -> Assignment[Filling]:
        form = schema(brief.seed, brief.template, [taboo.taboo_id for taboo in brief.evidence.taboos])
        return Assignment(
            form,
            partial(read_filling, form=form),
            partial(generator_fields, brief),
            lambda filling: validate(self._blueprint(brief, filling, None), filling.rests_on, _known(brief)),
            partial(audit_fields, brief),
        )

    def _blueprint(self, brief: Brief, filling: Filling | None, native: Native | None) -> Blueprint:
        assert filling is not None
        return assemble(filling, brief.seed, brief.template, native, self.settings.auditor.name)

    async def _translated(self, brief: Brief, course: Course[Filling]) -> Native | Failure:
        """Have message and summary translated so that they pass; return why there is no translation."""
        english = self._blueprint(brief, course.draft, None)
        if brief.seed.persona.native_language == "English":
            summary = english.scenario_instantiation.instantiated_summary.global_english
            return Native(english.public_context.initial_user_message.global_english, summary)
        tries = self.settings.blueprints.translations
        for number in range(1, tries + 1):
            fields = translation_fields(brief, english, course.faults("translator", "read_back"))
            request = self._request(course, "translate", fields, TRANSLATION_SCHEMA, number)
            asked = await ask(self.translator, request, read_translation, 1)
            if asked.failure is not None and asked.failure.kind is FailureKind.INFRASTRUCTURE:
                return asked.failure
            made = self._blueprint(brief, course.draft, asked.value)
            issues = (unread(asked.failure),) if asked.failure else check(made, TRANSLATED)
            if course.add(number, "translator", issues):
                if failure := await self._read_back(course, made, number):
                    return failure
                if not course.steps[-1].faults and asked.value is not None:
                    return asked.value
        return course.given_up("translation", tries)

    async def _read_back(self, course: Course[Filling], blueprint: Blueprint, number: int) -> Failure | None:
        """Have a translation put back into English, unseen, and check what it says; return why nobody could."""
        message = blueprint.public_context.initial_user_message.native_language
        fields = {"language": blueprint.seed.persona.native_language, "message": message}
        request = self._request(course, "translate_back", fields, BACK_SCHEMA, 1)
        asked = await ask(self.translator, request, read_english, self.settings.blueprints.review_tries)
        if asked.value is None:
            return whose("translator", asked.failure)
        course.add(number, "read_back", read_back(blueprint, asked.value))
        return None

    def _request(
        self, course: Course[Filling], prompt: str, fields: Mapping[str, Any], form: Mapping[str, Any], number: int
    ) -> ChatRequest:
        return build_request(
            self.settings.translator,
            self.translation_prompts.render(prompt, fields),
            role=role("translator", self.drafting.stage, number),
            temperature=self.settings.blueprints.translation_temperature,
            seed=self.settings.seed,
            schema_name=prompt,
            schema=form,
            replicate=course.replicate(number),
        )


def _known(brief: Brief) -> Known:
    taboos = [Supplied(t.taboo_id, f"{t.action}. {t.detailed_explanation}") for t in brief.evidence.taboos]
    return Known(brief.niche_terms, taboos)


def _record(
    brief: Brief, course: Course[Filling], blueprint: Blueprint | None, failure: Failure | None
) -> BlueprintRecord:
    evidence, made = brief.evidence, course.draft if blueprint else None
    first, second = opener_pair(brief.seed.seed_id)
    return BlueprintRecord(
        seed_id=brief.seed.seed_id,
        seed=brief.seed,
        template=brief.template,
        blueprint=blueprint,
        complexity=made.complexity if made else None,
        evidence=Evidence(
            passages=tuple(found.passage.passage_id for found in evidence.passages),
            taboos=tuple(taboo.taboo_id for taboo in evidence.taboos),
            niche_terms=tuple(term.term for term in evidence.niche_terms),
            rests_on=made.rests_on if made else (),
        ),
        openers=(first.name, second.name),
        **course.told(failure),
    )
