"""A stage that has something written for every seed: the batch, its records and failures, its report and manifest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Generic, TypeVar

from ccfw.authoring.histories import WrittenRecord
from ccfw.report.drafts import Words, report
from ccfw.stages.batch import FAILURES, run_attempts
from ccfw.stages.batch import RECORDS as RECORDS
from ccfw.stages.context import Context, StageResult
from ccfw.stages.drafting import Drafting, Terms
from ccfw.store import Output, fingerprint, read_records, write_atomically

T = TypeVar("T")
R = TypeVar("R", bound=WrittenRecord)


def folder_of(context: Context, name: str, content: Mapping[str, Any]) -> Path:
    """Return where a stage's output is that hangs on ``content`` and on no dataset."""
    return Path(context.settings.workspace) / "universe" / name / fingerprint(content)


@dataclass(frozen=True)
class Authoring(Generic[R]):
    """What such a stage writes, and how it tells of it."""

    name: str
    what: str
    """As prompts and schemas are named."""
    kind: type[R]
    validators: Mapping[str, tuple[str, ...]]
    """Every check by whose reply it looks at."""
    words: Words

    def drafting(self, context: Context, result: StageResult, terms: Terms) -> Drafting:
        """Return the stage's generator and auditor."""
        settings = context.settings
        return Drafting(
            self.name,
            self.what,
            settings,
            terms,
            generator=context.client(settings.generator, result.meter),
            auditor=context.client(settings.auditor, result.meter),
            prompts=context.prompts(settings.generator),
            audit_prompts=context.prompts(settings.auditor),
        )

    def write_all(
        self,
        context: Context,
        output: Output,
        result: StageResult,
        content: Mapping[str, Any],
        items: Collection[tuple[str, T]],
        write: Callable[[T, int], Awaitable[R]],
    ) -> None:
        """Have every item written that the output lacks; ``write`` is told how often it was given up before.

        Raises ``StoreError`` for a line of the output that is none of its records.
        """
        try:
            run_attempts(context, output, result, items, write, kind=self.kind, model=context.settings.generator)
        finally:
            manifest = context.manifest(output, result, content)
            text = report(_records(output, self.kind), self.validators, manifest["paid"], self.words)
            write_atomically(output.folder / "report.md", text)
            output.write_manifest(manifest)


def _records(output: Output, kind: type[R]) -> Iterator[R]:
    return chain.from_iterable(read_records(path, kind) for path in (output.records, output.folder / FAILURES))
