"""Stage *scenarios*: norms become chronotopes, and those scenarios with a question and a hidden answer (Tables 8, 9).

Reads   the norms of stage *norms* under the same settings.
Writes  ``crisp/scenarios/<fingerprint>/records.jsonl``, a norm's situations a line with their history;
        ``failures.jsonl``, the norms of which not all came about, with those that did; ``report.md``.
Method  the chronotopes of a norm are asked for one after another, each held against those accepted by its own
        declaration, by its fields and by its vector; then the scenario, which must not tell an accepted one of the
        norm again. What is wrong goes into the next request.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ccfw.checks.issue import Issue
from ccfw.checks.text import normalise
from ccfw.crisp.checks import check_draft, check_scene
from ccfw.crisp.chronotopes import (
    DIMENSIONS,
    SCENARIO_FORM,
    Declared,
    check_chronotope,
    form,
    read_chronotope,
    read_draft,
    spoken,
)
from ccfw.crisp.records import Chronotope, Draft, Loss, Norm, Reason, ScenarioRecord, Situation, Slot
from ccfw.crisp.tally import Tally
from ccfw.errors import RequestError
from ccfw.knowledge.embedders import Embedder, Stoppable, open_embedder
from ccfw.knowledge.nearest import Floats
from ccfw.records import Failure, FailureKind
from ccfw.stages import norms as norms_stage
from ccfw.stages.batch import FAILURES, run_attempts
from ccfw.stages.context import Context, StageResult
from ccfw.stages.course import Course
from ccfw.stages.crisp import Due, Patience, all_calls, conclude, drafting, folder_of, loss_of, make_first
from ccfw.stages.drafting import Assignment, Drafting
from ccfw.store import Output, done_ids, fingerprint, read_records

NAME = "scenarios"
VERSION = 2
"""Raised when checks change so that the same replies would give other situations."""
_SLOTS = 1000
"""Keeps the requests of a norm's slots apart in the ledger."""


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the situations; its hash names the output folder."""
    settings = context.settings
    compared = settings.crisp.scenarios.likeness is not None and settings.retriever.embedder is not None
    embedder = settings.retriever.embedder if compared else None
    return {
        "norms": fingerprint(norms_stage.parts(context)),
        "generator": settings.generator.identity,
        "prompts": [
            context.prompts(settings.generator).digest(f"crisp_{name}.") for name in ("chronotope", "scenario")
        ],
        "scenarios": settings.crisp.scenarios.model_dump(mode="json"),
        "embedder": embedder.model_dump(mode="json") if embedder else None,
        "seed": settings.seed,
        "version": VERSION,
    }


def run(context: Context) -> StageResult:
    """Have situations written for every chosen norm that has none yet."""
    chosen, content = norms_stage.kept_norms(context, NAME), parts(context)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder)
    author = _author(context, result)
    with output:
        earlier = {each.norm_id: _made(each) for each in read_records(output.folder / FAILURES, ScenarioRecord)}
        items = [(each.norm_id, (each, earlier.get(each.norm_id, ()))) for each in chosen]
        model = context.settings.generator
        try:
            run_attempts(context, output, result, items, author.write, kind=ScenarioRecord, model=model)
        finally:
            _conclude(context, output, result, content, chosen)
    return result


def _conclude(
    context: Context, output: Output, result: StageResult, content: dict[str, Any], chosen: Sequence[Norm]
) -> None:
    each, wanted = context.settings.crisp.scenarios.per_norm, {norm.norm_id for norm in chosen}
    tally = Tally(0)
    likest: list[float] = []
    scenes: list[str] = []
    for record in _stored(output.folder):
        wanted.add(record.norm_id)
        tally.add(slot.loss for slot in record.slots)
        likest += [slot.likeness for slot in record.slots if slot.situation and slot.likeness is not None]
        scenes += [normalise(slot.situation.draft.scenario) for slot in record.slots if slot.situation]
        if record.failure is not None:
            tally.add([loss_of(record.failure, Reason.NO_SCENARIO)] * (each - len(record.slots)))
    tally.taken = each * len(wanted)
    compared = bool(content["embedder"])
    notes = [] if compared else ["No embedder, or no threshold: chronotopes were not compared by vectors."]
    if again := len(scenes) - len(set(scenes)):
        notes.append(f"{again} of {len(scenes)} scenes stand word for word under another norm: is the generator stuck?")
    metrics = {"greatest_likeness": max(likest)} if likest else {}
    conclude(context, output, result, content, tally, "Scenarios", metrics=metrics, notes=notes)


def _stored(folder: Path, ids: Container[str] | None = None) -> Iterator[ScenarioRecord]:
    """Yield what came of every norm, or of some: also where not all situations came about."""
    for name in ("records.jsonl", FAILURES):
        yield from read_records(folder / name, ScenarioRecord, ids)


def _made(record: ScenarioRecord) -> tuple[Slot, ...]:
    return tuple(slot for slot in record.slots if slot.situation is not None)


def situations(context: Context, stage: str) -> list[Situation]:
    """Return the situations of the job's norms, for a stage; raise ``RequestError`` when there are none."""
    wanted = {norm.norm_id: number for number, norm in enumerate(norms_stage.kept_norms(context, stage))}
    stored = _stored(folder_of(context, NAME, parts(context)), wanted)
    found = sorted(stored, key=lambda each: wanted[each.norm_id])
    made = [slot.situation for record in found for slot in record.slots if slot.situation is not None]
    if not made:
        first = make_first(context.settings, NAME)
        raise RequestError([f"stage={stage}: no situations under these settings; {first}"])
    return made


def expected(context: Context) -> set[str]:
    """Return the ids of the situations that there are, or will be at most where this job makes them first."""
    if NAME in context.settings.stage.runs:
        each = range(1, context.settings.crisp.scenarios.per_norm + 1)
        return {_situation_id(norm, number) for norm in norms_stage.expected(context) for number in each}
    return {each.situation_id for each in situations(context, "refine")}


def _situation_id(norm: str, number: int) -> str:
    return f"{norm}__s{number}"


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored."""
    return all_calls(due(context))


def due(context: Context) -> list[Due]:
    """Return what each role's model would be asked: the least and the most calls, given what is stored."""
    terms, folder = context.settings.crisp.scenarios, folder_of(context, NAME, parts(context))
    todo = norms_stage.expected(context) - done_ids(folder / "records.jsonl")
    made = sum(len(_made(each)) for each in read_records(folder / FAILURES, ScenarioRecord, todo))
    slots = len(todo) * terms.per_norm - made
    return [Due("generator", context.settings.generator, 2 * slots, 2 * slots * terms.tries)]


@dataclass
class Nearness:
    """How near a chronotope lies to those accepted, by an embedder's vectors; those are made once for each text."""

    embedder: Embedder | None
    threshold: float
    vectors: dict[str, Floats] = field(default_factory=dict)

    def greatest(self, made: Chronotope, accepted: Sequence[Chronotope]) -> float | None:
        """Return the greatest cosine with an accepted one; ``None`` when nothing is compared."""
        if self.embedder is None or not accepted:
            return None
        texts = [spoken(each) for each in (made, *accepted)]
        missing = [text for text in dict.fromkeys(texts) if text not in self.vectors]
        if missing:
            self.vectors |= dict(zip(missing, self.embedder.passages(missing), strict=True))
        own, *others = (self.vectors[text] for text in texts)
        return max(float(own @ other) for other in others)

    def issues(self, made: Chronotope, accepted: Sequence[Chronotope]) -> tuple[Issue, ...]:
        """Return a fault when a chronotope lies too near to an accepted one."""
        cosine = self.greatest(made, accepted)
        if cosine is None or cosine < self.threshold:
            return ()
        return (Issue("likeness", "", f"cosine {cosine:.2f}", "another situation, and not the same in other words"),)


@dataclass(frozen=True)
class Author:
    """Who writes chronotopes and scenarios, and what holds them apart."""

    per_norm: int
    chronotopes: Drafting
    scenarios: Drafting
    nearness: Nearness

    async def write(self, item: tuple[Norm, Sequence[Slot]], attempt: int) -> ScenarioRecord:
        """Have the situations of one norm written that earlier attempts have not brought about."""
        norm, before = item
        slots = {slot.number: slot for slot in before}
        accepted = [slot.situation.chronotope for slot in before if slot.situation is not None]
        failure = None
        for number in range(1, self.per_norm + 1):
            if number in slots:
                continue
            scenes = [each.situation.draft for each in slots.values() if each.situation is not None]
            slot = await self._slot(norm, number, accepted, scenes, attempt)
            if isinstance(slot, Failure):
                failure = slot
                break
            slots[number] = slot
        lost = [slot.loss for slot in slots.values() if slot.loss is not None]
        if failure is None and lost:
            failure = Failure(kind=FailureKind.INCONSISTENT, detail=lost[0].detail)
        made = tuple(slots[number] for number in sorted(slots))
        return ScenarioRecord(norm_id=norm.norm_id, slots=made, failure=failure, attempt=attempt)

    async def _slot(
        self, norm: Norm, number: int, accepted: list[Chronotope], scenes: Sequence[Draft], attempt: int
    ) -> Slot | Failure:
        """Have one situation written; what was found about its chronotope stays among the accepted."""
        first = Course[Declared](attempt * _SLOTS + number)
        failure = await self.chronotopes.draft(first, self._chronotope(norm, tuple(accepted)))
        if failure is not None:
            if failure.kind is FailureKind.INFRASTRUCTURE:
                return failure
            return _slot(number, None, loss_of(failure, Reason.NO_CHRONOTOPE), first, None, None)
        assert first.draft is not None
        chronotope = first.draft.chronotope
        likeness = self.nearness.greatest(chronotope, accepted)
        accepted.append(chronotope)
        second = Course[Draft](attempt * _SLOTS + number)
        failure = await self.scenarios.draft(second, _scenario(norm, chronotope, scenes))
        if failure is not None:
            if failure.kind is FailureKind.INFRASTRUCTURE:
                return failure
            return _slot(number, None, loss_of(failure, Reason.NO_SCENARIO), first, second, likeness)
        assert second.draft is not None
        made = Situation(
            situation_id=_situation_id(norm.norm_id, number),
            norm=norm,
            chronotope=chronotope,
            draft=second.draft,
            split="train",
        )
        return _slot(number, made, None, first, second, likeness)

    def _chronotope(self, norm: Norm, accepted: tuple[Chronotope, ...]) -> Assignment[Declared]:
        fields = {
            "norm": norm.norm,
            "culture": norm.culture,
            "accepted": [each.model_dump() for each in accepted],
            "dimensions": DIMENSIONS,
        }
        return Assignment(
            form(len(accepted)),
            partial(read_chronotope, accepted=len(accepted)),
            lambda faults: fields | {"faults": faults},
            lambda made: (
                *check_chronotope(norm, made, accepted),
                *self.nearness.issues(made.chronotope, accepted),
            ),
            None,
        )


def _scenario(norm: Norm, chronotope: Chronotope, scenes: Sequence[Draft]) -> Assignment[Draft]:
    fields = {
        "norm": norm.norm,
        "culture": norm.culture,
        "norm_type": norm.norm_type,
        "chronotope": chronotope.model_dump(exclude={"difference_from_previous"}),
    }
    return Assignment(
        SCENARIO_FORM,
        read_draft,
        lambda faults: fields | {"faults": faults},
        lambda made: (*check_draft(norm, made), *check_scene(made, scenes)),
        None,
    )


def _slot(
    number: int,
    made: Situation | None,
    loss: Loss | None,
    first: Course[Declared],
    second: Course[Draft] | None,
    likeness: float | None,
) -> Slot:
    return Slot(
        number=number,
        situation=made,
        loss=loss,
        chronotope_tries=len(first.steps),
        scenario_tries=len(second.steps) if second else 0,
        likeness=likeness,
        history=(*first.steps, *(second.steps if second else ())),
    )


def _author(context: Context, result: StageResult) -> Author:
    settings, terms = context.settings, context.settings.crisp.scenarios
    patience = Patience(terms.tries, terms.temperature)
    config = settings.retriever.embedder if terms.likeness is not None else None
    embedder = Stoppable(open_embedder(config), context.stop) if config else None
    return Author(
        terms.per_norm,
        drafting(context, result, "crisp_chronotope", patience),
        drafting(context, result, "crisp_scenario", patience),
        Nearness(embedder, terms.likeness or 1.0),
    )
