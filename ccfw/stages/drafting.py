"""Having something written: a generator's reply is checked, audited, and asked for again with all that was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ccfw.authoring.audits import AUDIT_SCHEMA, read_audit
from ccfw.checks.issue import Issue
from ccfw.llm.asking import AGAIN, Asked, ask, build_request
from ccfw.llm.client import Client
from ccfw.llm.types import ChatRequest
from ccfw.prompts import PromptSet
from ccfw.records import Failure, FailureKind
from ccfw.settings import Settings
from ccfw.stages.course import Course

D = TypeVar("D")


class Terms(Protocol):
    """How patiently something is asked for; ``BlueprintsConfig`` and ``ShardsConfig`` are such terms."""

    @property
    def tries(self) -> int: ...  # noqa: D102
    @property
    def review_tries(self) -> int: ...  # noqa: D102
    @property
    def temperature(self) -> float | None: ...  # noqa: D102
    @property
    def audit_temperature(self) -> float | None: ...  # noqa: D102


@dataclass(frozen=True)
class Assignment(Generic[D]):
    """What is wanted for one seed: what is asked, how a reply is read, and what it is held to."""

    form: Mapping[str, Any]
    """JSON schema of the generator's reply."""
    read: Callable[[str], D | tuple[Issue, ...]]
    """Gives a draft, which is no tuple, or what breaks the form; may raise ``Refusal``."""
    told: Callable[[Sequence[str]], dict[str, Any]]
    """Gives what the generator's prompt is rendered from, with the faults of earlier drafts."""
    faults: Callable[[D], tuple[Issue, ...]]
    shown: Callable[[D], dict[str, Any]] | None
    """Gives what the auditor's prompt is rendered from; ``None``: nobody audits."""


@dataclass(frozen=True)
class Drafting:
    """The generator and the auditor of a stage, with their prompts."""

    stage: str
    what: str
    """What is written, as ``blueprint``: it names prompts and schemas."""
    settings: Settings
    terms: Terms
    generator: Client
    auditor: Client | None
    """``None`` in a stage that has nothing audited."""
    prompts: PromptSet
    audit_prompts: PromptSet | None

    async def draft(self, course: Course[D], wanted: Assignment[D]) -> Failure | None:
        """Bring a course to a draft that passes checks and audit; return why there is none."""
        tries = self.terms.tries
        for number in range(1, tries + 1):
            failure = await self._written(course, wanted, number)
            if failure is not None:
                return failure
            audited = wanted.shown is not None and not course.steps[-1].faults
            if audited and (failure := await self._audited(course, wanted, number)):
                return failure
            if not course.steps[-1].faults:
                return None
        return course.given_up(self.what, tries)

    async def _written(self, course: Course[D], wanted: Assignment[D], number: int) -> Failure | None:
        """Have it written once and check it; return what broke the call."""
        request = self._request(course, wanted, number)
        asked: Asked[D | tuple[Issue, ...]] = await ask(self.generator, request, wanted.read, 1)
        if asked.failure is not None and asked.failure.kind is FailureKind.INFRASTRUCTURE:
            return asked.failure
        course.add(number, "generator", self._found(course, wanted, asked))
        return None

    @staticmethod
    def _found(course: Course[D], wanted: Assignment[D], asked: Asked[D | tuple[Issue, ...]]) -> tuple[Issue, ...]:
        """Return what is wrong with a reply, and keep it if it can be read."""
        if asked.failure is not None:
            course.kind = asked.failure.kind
            return (unread(asked.failure),)
        if asked.value is None or isinstance(asked.value, tuple):
            course.kind = FailureKind.INCOMPLETE
            return asked.value or ()
        course.kind, course.draft = FailureKind.INCONSISTENT, asked.value
        return wanted.faults(asked.value)

    def _request(self, course: Course[D], wanted: Assignment[D], number: int) -> ChatRequest:
        return build_request(
            self.settings.generator,
            self.prompts.render(self.what, wanted.told(course.faults("generator", "auditor"))),
            role=role("generator", self.stage, number),
            temperature=self.terms.temperature,
            seed=self.settings.seed,
            schema_name=self.what,
            schema=wanted.form,
            replicate=course.replicate(number),
        )

    async def _audited(self, course: Course[D], wanted: Assignment[D], number: int) -> Failure | None:
        """Have it audited; return why there is no verdict."""
        assert course.draft is not None
        assert wanted.shown is not None
        assert self.auditor is not None
        assert self.audit_prompts is not None
        name = f"{self.what}_audit"
        request = build_request(
            self.settings.auditor,
            self.audit_prompts.render(name, wanted.shown(course.draft)),
            role=role("auditor", self.stage),
            temperature=self.terms.audit_temperature,
            seed=self.settings.seed,
            schema_name=name,
            schema=AUDIT_SCHEMA,
            replicate=course.replicate(1),
        )
        asked = await ask(self.auditor, request, read_audit, self.terms.review_tries)
        if asked.value is None:
            return whose("auditor", asked.failure)
        course.add(number, "auditor", asked.value)
        return None


def role(name: str, stage: str, number: int = 1) -> str:
    """Return the role under which the ledger counts a request: who, for which stage, and whether again."""
    return f"{name}/{stage}" + (AGAIN if number > 1 else "")


def unread(failure: Failure) -> Issue:
    """Return the fault of a reply that could not be read."""
    return Issue("reply", "", "", failure.detail)


def whose(name: str, failure: Failure | None) -> Failure:
    """Return a failure that says whose reply it was."""
    assert failure is not None
    return failure.model_copy(update={"detail": f"{name}: {failure.detail}"})
