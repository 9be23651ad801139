"""Stage *refine*: situations are answered, verified, and kept, answered again or revised (Tables 2 and 10 to 15).

Reads   the situations of stage *scenarios* under the same settings.
Writes  ``crisp/refine/<fingerprint>/records.jsonl``, a situation's way through the loop a line; ``failures.jsonl``;
        ``situations.jsonl``, those kept with their split, which ``dataset=normcompass`` reads; ``report.md``;
        ``situations.html``, all of them to read.
Method  ``model@reasoner=`` answers without norm and hidden answer, ``model@auditor=`` verifies, a table decides
        (``ccfw.crisp.routing``), ``model@generator=`` advises, plans and revises. Both loops are bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ccfw.crisp.checks import leaks
from ccfw.crisp.chronotopes import SCENARIO_FORM
from ccfw.crisp.records import (
    Decision,
    Draft,
    Loss,
    Reason,
    Reasons,
    RefineRecord,
    Round,
    Situation,
)
from ccfw.crisp.routing import Bounds, diagnosis, route
from ccfw.crisp.splits import split_norms
from ccfw.crisp.tally import Tally
from ccfw.crisp.verdicts import (
    ADVICE_FORM,
    ANSWER_FORM,
    PLAN_FORM,
    VERDICT_FORM,
    advice_reader,
    read_answer,
    read_plan,
    read_verdict,
    revision_reader,
)
from ccfw.crisp.views import (
    View,
    advisor_view,
    fields_of,
    planner_view,
    reasoner_view,
    reviser_view,
    verifier_view,
)
from ccfw.forms import Form
from ccfw.llm.asking import ask, build_request
from ccfw.records import Failure
from ccfw.report.agreement import Table
from ccfw.report.crisp import cultures_table
from ccfw.settings import Settings
from ccfw.stages import scenarios as scenarios_stage
from ccfw.stages.batch import FAILURES, run_attempts
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import (
    Due,
    Speaker,
    all_calls,
    conclude,
    failure_of,
    folder_of,
    loss_of,
    shortened,
    write_lines,
)
from ccfw.stages.crisp_reader import write_reader
from ccfw.stages.drafting import role
from ccfw.store import Output, done_ids, fingerprint, read_records

NAME = "refine"
VERSION = 1
"""Raised when routing or checks change so that the same replies would end otherwise."""
LIST = "situations.jsonl"
PROMPTS = ("answer", "verdict", "advice", "plan", "revision")
_ROUND = 1_000_000
"""Keeps the requests of a situation's rounds apart in the ledger …"""
_ATTEMPT = 1_000 * _ROUND
"""… and the attempts at it."""
T = TypeVar("T")


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides which situations are kept, and how; its hash names the output folder."""
    settings = context.settings
    speakers = {"answer": settings.reasoner, "verdict": settings.auditor}
    return {
        "scenarios": fingerprint(scenarios_stage.parts(context)),
        "reasoner": settings.reasoner.identity,
        "verifier": settings.auditor.identity,
        "generator": settings.generator.identity,
        "prompts": {
            name: context.prompts(speakers.get(name, settings.generator)).digest(f"crisp_{name}.") for name in PROMPTS
        },
        "refine": settings.crisp.refine.model_dump(mode="json"),
        "seed": settings.seed,
        "version": VERSION,
    }


def run(context: Context) -> StageResult:
    """Refine every situation of the chosen norms that has not been refined yet, and split what was kept."""
    situations, content = scenarios_stage.situations(context, NAME), parts(context)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder)
    loop = _loop(context, result)
    with output:
        items, model = [(each.situation_id, each) for each in situations], context.settings.reasoner
        try:
            run_attempts(context, output, result, items, loop.refine, kind=RefineRecord, model=model)
        finally:
            _conclude(context, output, result, content, situations)
    return result


def _conclude(
    context: Context, output: Output, result: StageResult, content: dict[str, Any], situations: Sequence[Situation]
) -> None:
    stored = list(_stored(output.folder))
    kept = sorted((r.situation for r in stored if r.situation is not None), key=lambda each: each.situation_id)
    known = {each.norm.norm_id: each.split for each in read_records(output.folder / LIST, Situation)}
    texts = {each.norm.norm_id: each.norm.norm for each in kept}
    cultures = [(each.norm.norm_id, each.norm.culture) for each in kept]
    splits = split_norms(cultures, context.settings.seed, known=known, texts=texts)
    kept = [each.model_copy(update={"split": splits[each.norm.norm_id]}) for each in kept]
    write_lines(output.folder / LIST, kept)
    tally = Tally(len({each.situation_id for each in situations} | {each.situation_id for each in stored}))
    tally.add(record.loss for record in stored)
    decisions = Counter(each.decision for record in stored for each in record.rounds)
    metrics = {f"rounds_{decision.value}": float(decisions[decision]) for decision in Decision}
    tables = [_cultures(kept), _routes(stored)]
    conclude(context, output, result, content, tally, "Refined situations", tables, metrics)
    by_id = {each.situation_id: each for each in kept}
    shown = [by_id.get(each.situation_id, each) for each in situations]
    write_reader(output.folder, context.settings, shown, ways={each.situation_id: each for each in stored})


def _stored(folder: Path) -> Iterator[RefineRecord]:
    for name in ("records.jsonl", FAILURES):
        yield from read_records(folder / name, RefineRecord)


def ways(context: Context) -> dict[str, RefineRecord]:
    """Return the stored ways of situations through the loop under the job's settings, by situation."""
    return {each.situation_id: each for each in _stored(folder_of(context, NAME, parts(context)))}


def _cultures(kept: Sequence[Situation]) -> Table:
    norms = Counter(culture for culture, _ in {(each.norm.culture, each.norm.norm_id) for each in kept})
    splits: dict[str, Counter[str]] = {culture: Counter() for culture in norms}
    for each in kept:
        splits[each.norm.culture][each.split] += 1
    return cultures_table(norms, {culture: found.total() for culture, found in splits.items()}, splits)


def _routes(stored: Sequence[RefineRecord]) -> Table:
    rounds = [each for record in stored for each in record.rounds]
    seen = Counter((each.verdict.line, "yes" if each.leaks else "no", each.decision.value) for each in rounds)
    rows = tuple((*key, str(count)) for key, count in sorted(seen.items(), key=lambda each: (-each[1], each[0])))
    note = "Leak seen: by the deterministic checks, which count as L1 whatever the verifier says."
    return Table("routes", "Verdicts and what followed", ("Verdict", "Leak seen", "Decision", "Rounds"), rows, note, 3)


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored."""
    return all_calls(due(context))


def due(context: Context) -> list[Due]:
    """Return what each role's model would be asked: the least and the most calls, given what is stored."""
    settings, terms = context.settings, context.settings.crisp.refine
    done = done_ids(folder_of(context, NAME, parts(context)) / "records.jsonl")
    todo = len(scenarios_stage.expected(context) - done)
    answers = (1 + terms.revisions) * (1 + terms.reruns)
    advice, revisions = (1 + terms.revisions) * terms.reruns, 2 * terms.revisions
    return [
        Due("reasoner", settings.reasoner, todo, todo * answers * terms.tries),
        Due("auditor", settings.auditor, todo, todo * answers * terms.tries),
        Due("generator", settings.generator, 0, todo * (advice + revisions) * terms.tries),
    ]


class _GivenUp(Exception):  # noqa: N818 a reply did not come, nothing is in error
    """A role's reply that could not be had."""

    def __init__(self, failure: Failure, reason: Reason) -> None:
        super().__init__(failure.detail)
        self.failure = failure
        self.reason = reason


@dataclass(frozen=True)
class Loop:
    """Everyone who takes part in the refinement of situations."""

    settings: Settings
    reasoner: Speaker
    verifier: Speaker
    generator: Speaker

    async def refine(self, situation: Situation, attempt: int) -> RefineRecord:
        """Bring one situation to where the routing table sends it; ``attempt`` is how often it was given up before."""
        way = Way(self, situation, attempt)
        try:
            loss = await way.gone()
        except _GivenUp as given_up:
            return way.record(loss_of(given_up.failure, given_up.reason), given_up.failure)
        return way.record(loss, None)


@dataclass
class Way:
    """One situation's way through the loop, so far."""

    loop: Loop
    situation: Situation
    attempt: int
    rounds: list[Round] = field(default_factory=list)
    draft: Draft = field(init=False)

    def __post_init__(self) -> None:
        self.draft = self.situation.draft

    async def gone(self) -> Loss | None:
        """Go on until the situation is kept, ``None``, or a bound is reached."""
        terms = self.loop.settings.crisp.refine
        bounds = Bounds.of(terms.revisions, terms.reruns)
        version, run, guidance = 1, 1, ""
        while True:  # ``Bounds`` falls with every step
            made = await self._round(version, run, guidance)
            left = bounds.after(made.decision)
            if not isinstance(left, Bounds):
                self.rounds.append(made)
                return None if left is None else Loss(reason=left, detail=f"the last verdict: {made.verdict.line}")
            bounds = left
            if made.decision is Decision.RERUN_ANSWER:
                guidance, run = await self._advice(made), run + 1
                self.rounds.append(made.model_copy(update={"guidance": guidance}))
            else:
                plan = await self._plan(made)
                self.rounds.append(made.model_copy(update={"guidance": plan["revision_guidance"]}))
                self.draft, version, run, guidance = await self._revision(plan), version + 1, 1, ""

    async def _round(self, version: int, run: int, guidance: str) -> Round:
        draft, norm, terms = self.draft, self.situation.norm, self.loop.settings.crisp.refine
        answer = await self._ask(
            self.loop.reasoner,
            "answer",
            reasoner_view(norm.culture, draft, guidance),
            ANSWER_FORM,
            read_answer,
            Reason.NO_ANSWER,
            terms.reasoner_temperature,
        )
        verdict, reasons = await self._ask(
            self.loop.verifier,
            "verdict",
            verifier_view(self.situation, draft, answer),
            VERDICT_FORM,
            read_verdict,
            Reason.NO_VERDICT,
            terms.verifier_temperature,
        )
        seen = tuple(dict.fromkeys(f"{issue.where}: {issue.says}" for issue in leaks(norm, draft)))
        return Round(
            version=version,
            run=run,
            draft=draft,
            answer=answer,
            verdict=verdict,
            reasons=Reasons.model_validate({name: shortened(text) for name, text in reasons.model_dump().items()}),
            leaks=seen,
            decision=route(verdict, leaks=bool(seen)),
            guidance="",
        )

    async def _advice(self, made: Round) -> str:
        norm, draft = self.situation.norm, made.draft
        view = advisor_view(norm, draft, made.answer, made.verdict, made.reasons, _diagnosis(made))
        return await self._generated("advice", view, ADVICE_FORM, advice_reader(norm, draft), Reason.NO_ADVICE)

    async def _plan(self, made: Round) -> Mapping[str, str]:
        view = planner_view(
            self.situation, made.draft, made.answer, made.verdict, made.reasons, made.leaks, _diagnosis(made)
        )
        return await self._generated("plan", view, PLAN_FORM, read_plan, Reason.NO_PLAN)

    async def _revision(self, plan: Mapping[str, str]) -> Draft:
        view, read = reviser_view(self.situation, self.draft, plan), revision_reader(self.situation.norm, self.draft)
        return await self._generated("revision", view, SCENARIO_FORM, read, Reason.NO_REVISION)

    async def _generated(
        self, what: str, view: View, form: Form, read: Callable[[str], T | Failure], reason: Reason
    ) -> T:
        temperature = self.loop.settings.crisp.refine.temperature
        return await self._ask(self.loop.generator, what, view, form, read, reason, temperature)

    async def _ask(
        self,
        speaker: Speaker,
        what: str,
        view: View,
        form: Form,
        read: Callable[[str], T | Failure],
        reason: Reason,
        temperature: float | None,
    ) -> T:
        """Return what a role says; raise ``_GivenUp`` when it cannot be had."""
        settings = self.loop.settings
        request = build_request(
            speaker.model,
            speaker.prompts.render(f"crisp_{what}", fields_of(view)),
            role=role(_ROLES.get(what, "generator"), NAME),
            temperature=temperature,
            seed=settings.seed,
            schema_name=f"crisp_{what}",
            schema=form,
            replicate=self.attempt * _ATTEMPT + len(self.rounds) * _ROUND,
        )
        asked = await ask(speaker.client, request, read, settings.crisp.refine.tries)
        if asked.value is None:
            raise _GivenUp(failure_of(asked), reason)
        return asked.value

    def record(self, loss: Loss | None, failure: Failure | None) -> RefineRecord:
        """Return what came of the situation."""
        kept = self.situation.model_copy(update={"draft": self.draft}) if loss is None else None
        return RefineRecord(
            situation_id=self.situation.situation_id,
            situation=kept,
            norm_id=self.situation.norm.norm_id,
            culture=self.situation.norm.culture,
            rounds=tuple(self.rounds),
            loss=loss,
            failure=failure,
            attempt=self.attempt,
        )


_ROLES = {"answer": "reasoner", "verdict": "auditor"}
"""As the ledger counts them, and the estimates read them."""


def _diagnosis(made: Round) -> str:
    return diagnosis(made.verdict, leaks=bool(made.leaks))


def _loop(context: Context, result: StageResult) -> Loop:
    settings = context.settings
    reasoner, verifier, generator = (
        Speaker.of(context, model, result) for model in (settings.reasoner, settings.auditor, settings.generator)
    )
    return Loop(settings, reasoner, verifier, generator)
