"""One seed's way to a blueprint: written, checked, audited, written again with all that was found, then translated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from ccfw.blueprint_records import BlueprintRecord
from ccfw.blueprint_review import (
    AUDIT_SCHEMA,
    BACK_SCHEMA,
    TRANSLATION_SCHEMA,
    read_audit,
    read_english,
    read_translation,
)
from ccfw.blueprints import Filling, Known, Native, assemble, read_back, read_filling, schema, validate
from ccfw.checks.blueprint import TRANSLATED, Supplied, check
from ccfw.checks.issue import Issue
from ccfw.llm.asking import AGAIN, Asked, ask, build_request
from ccfw.llm.client import Client
from ccfw.llm.types import ChatRequest
from ccfw.prompts import PromptSet
from ccfw.records import Blueprint, Failure, FailureKind, Seed
from ccfw.settings import Settings
from ccfw.stages.briefing import audit_fields, generator_fields, translation_fields
from ccfw.stages.course import Course
from ccfw.stages.desk import Brief, Desk

Item = tuple[Seed, int]
"""A seed, and how often it was given up before."""


@dataclass(frozen=True)
class Author:
    """The three roles with their prompts, and the desk."""

    settings: Settings
    desk: Desk
    generator: Client
    auditor: Client
    translator: Client
    prompts: PromptSet
    audit_prompts: PromptSet
    translation_prompts: PromptSet

    async def write(self, item: Item) -> BlueprintRecord:
        """Bring one seed to its blueprint; what no try could mend is a typed failure with its history."""
        seed, attempt = item
        course = Course(self.desk.brief(seed), attempt)
        if course.brief.unfounded:
            detail = "the seed rests on a taboo and the retriever found none for it"
            return course.record(None, Failure(kind=FailureKind.INCOMPLETE, detail=detail))
        if failure := await self._drafted(course):
            return course.record(None, failure)
        native = await self._translated(course)
        if isinstance(native, Failure):
            return course.record(None, native)
        return course.record(self._blueprint(course, native), None)

    def _blueprint(self, course: Course, native: Native | None) -> Blueprint:
        assert course.filling is not None
        brief = course.brief
        return assemble(course.filling, brief.seed, brief.template, native, self.settings.auditor.name)

    async def _drafted(self, course: Course) -> Failure | None:
        """Have a blueprint written that passes checks and audit; return why there is none."""
        tries = self.settings.blueprints.tries
        for number in range(1, tries + 1):
            failure = await self._filled(course, number)
            if failure is not None:
                return failure
            if not course.steps[-1].faults and (failure := await self._audited(course, number)):
                return failure
            if not course.steps[-1].faults:
                return None
        return course.given_up("blueprint", tries)

    async def _filled(self, course: Course, number: int) -> Failure | None:
        """Have it written once and check it; return what broke the call."""
        brief = course.brief
        form = schema(brief.seed, brief.template, [taboo.taboo_id for taboo in brief.evidence.taboos])
        request = self._request(course, form, number)
        asked: Asked[Filling | tuple[Issue, ...]] = await ask(
            self.generator, request, partial(read_filling, form=form), 1
        )
        if asked.failure is not None and asked.failure.kind is FailureKind.INFRASTRUCTURE:
            return asked.failure
        course.add(number, "generator", self._found(course, asked))
        return None

    def _found(self, course: Course, asked: Asked[Filling | tuple[Issue, ...]]) -> tuple[Issue, ...]:
        """Return what is wrong with a reply, and keep it if it can be read."""
        if asked.failure is not None:
            course.kind = asked.failure.kind
            return (_unread(asked.failure),)
        if not isinstance(asked.value, Filling):
            course.kind = FailureKind.INCOMPLETE
            return asked.value or ()
        course.kind, course.filling = FailureKind.INCONSISTENT, asked.value
        return validate(self._blueprint(course, None), asked.value.rests_on, _known(course.brief))

    def _request(self, course: Course, form: dict[str, Any], number: int) -> ChatRequest:
        fields = generator_fields(course.brief, course.faults("generator", "auditor"))
        return build_request(
            self.settings.generator,
            self.prompts.render("blueprint", fields),
            role=_role("generator", number),
            temperature=self.settings.blueprints.temperature,
            seed=self.settings.seed,
            schema_name="blueprint",
            schema=form,
            replicate=course.replicate(number),
        )

    async def _audited(self, course: Course, number: int) -> Failure | None:
        """Have it audited; return why there is no verdict."""
        assert course.filling is not None
        settings = self.settings
        request = build_request(
            settings.auditor,
            self.audit_prompts.render("blueprint_audit", audit_fields(course.brief, course.filling)),
            role="auditor",
            temperature=settings.blueprints.audit_temperature,
            seed=settings.seed,
            schema_name="blueprint_audit",
            schema=AUDIT_SCHEMA,
            replicate=course.replicate(1),
        )
        asked = await ask(self.auditor, request, read_audit, settings.blueprints.review_tries)
        if asked.value is None:
            return _whose("auditor", asked.failure)
        course.add(number, "auditor", asked.value)
        return None

    async def _translated(self, course: Course) -> Native | Failure:
        """Have message and summary translated so that they pass; return why there is no translation."""
        english = self._blueprint(course, None)
        if course.brief.seed.persona.native_language == "English":
            summary = english.scenario_instantiation.instantiated_summary.global_english
            return Native(english.public_context.initial_user_message.global_english, summary)
        tries = self.settings.blueprints.translations
        for number in range(1, tries + 1):
            fields = translation_fields(course.brief, english, course.faults("translator", "read_back"))
            request = self._translation(course, "translate", fields, TRANSLATION_SCHEMA, number)
            asked = await ask(self.translator, request, read_translation, 1)
            if asked.failure is not None and asked.failure.kind is FailureKind.INFRASTRUCTURE:
                return asked.failure
            made = self._blueprint(course, asked.value)
            issues = (_unread(asked.failure),) if asked.failure else check(made, TRANSLATED)
            if course.add(number, "translator", issues):
                if failure := await self._read_back(course, made, number):
                    return failure
                if not course.steps[-1].faults and asked.value is not None:
                    return asked.value
        return course.given_up("translation", tries)

    async def _read_back(self, course: Course, blueprint: Blueprint, number: int) -> Failure | None:
        """Have a translation put back into English, unseen, and check what it says; return why nobody could."""
        message = blueprint.public_context.initial_user_message.native_language
        fields = {"language": course.brief.seed.persona.native_language, "message": message}
        request = self._translation(course, "translate_back", fields, BACK_SCHEMA, 1)
        asked = await ask(self.translator, request, read_english, self.settings.blueprints.review_tries)
        if asked.value is None:
            return _whose("translator", asked.failure)
        course.add(number, "read_back", read_back(blueprint, asked.value))
        return None

    def _translation(
        self, course: Course, prompt: str, fields: dict[str, Any], form: dict[str, Any], number: int
    ) -> ChatRequest:
        return build_request(
            self.settings.translator,
            self.translation_prompts.render(prompt, fields),
            role=_role("translator", number),
            temperature=self.settings.blueprints.translation_temperature,
            seed=self.settings.seed,
            schema_name=prompt,
            schema=form,
            replicate=course.replicate(number),
        )


def _role(name: str, number: int) -> str:
    return name if number == 1 else name + AGAIN


def _unread(failure: Failure) -> Issue:
    return Issue("reply", "", "", failure.detail)


def _whose(role: str, failure: Failure | None) -> Failure:
    assert failure is not None
    return failure.model_copy(update={"detail": f"{role}: {failure.detail}"})


def _known(brief: Brief) -> Known:
    taboos = [Supplied(t.taboo_id, f"{t.action}. {t.detailed_explanation}") for t in brief.evidence.taboos]
    return Known(brief.niche_terms, taboos)
