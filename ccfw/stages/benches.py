"""CulShield and CultureForest put to a model: their questions from files, its replies, a verifier's verdicts.

The prompts are the benchmarks' own, in their files; what CulShield's lack, and the verifier's, are worded here
(``external_yes_no``, ``external_verdict``). Replies lie in one folder for each model, verdicts below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ccfw.crisp.views import framed
from ccfw.errors import ProviderError, RequestError
from ccfw.llm.asking import ask, build_request, unusable
from ccfw.parsing import Refusal
from ccfw.records import Failure, FailureKind, Message, Record
from ccfw.settings import Settings
from ccfw.settings.models import ModelConfig
from ccfw.settings.training import ExternalConfig
from ccfw.stages.batch import run_batch, workers
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import Due, Speaker, failure_of, folder_of
from ccfw.stages.drafting import role
from ccfw.stages.evaluate import tell_unscored
from ccfw.store import Output, digest, done_ids, fingerprint, read_records
from ccfw.training.cultureforest import Acceptability
from ccfw.training.questions import (
    CULSHIELD,
    Grounded,
    Read,
    YesNo,
    chosen,
    read_acceptability,
    read_culshield,
    read_cultureforest,
)
from ccfw.training.verifier import FORM, read_labels

NAME = "external"
PARSER = 1
"""Raised when the reading of verdicts changes."""
_THOUGHT = "</think>"
_SHOWN = 5
Kind = Literal["culshield", "easy", "medium", "hard"]


class Reply(Record):
    """What a model replied to one call; of a question of the medium level there are four in each sample."""

    reply_id: str
    kind: Kind
    question_id: str
    country: str
    number: int
    """Of the sample, from 1."""
    option: int
    """At the medium level, from 1; else 0."""
    text: str
    """With its thinking, if the provider leaves it in; empty where there is a failure."""
    failure: Failure | None


class Verdict(Record):
    """A verifier's log-probabilities for one answer under one norm."""

    verdict_id: str
    question_id: str
    country: str
    number: int
    norm_id: str
    satisfy: float | None
    """``None``: too unlikely to be listed; likewise the next two."""
    neutral: float | None
    violate: float | None
    failure: Failure | None


class Call(NamedTuple):
    """A reply to be had."""

    kind: Kind
    question: YesNo | Grounded
    number: int
    option: int
    text: str
    """The question as it is worded for this call."""

    @property
    def key(self) -> str:
        """The id of its reply."""
        parts = (self.kind, self.question.question_id, str(self.number), *([str(self.option)] if self.option else []))
        return "::".join(parts)


@dataclass(frozen=True)
class Benches:
    """The questions of a job."""

    yes_no: Sequence[YesNo]
    grounded: Sequence[Grounded]
    acceptability: Mapping[str, Acceptability]
    terms: ExternalConfig
    digest: str
    """Of all questions in the files, whatever the job takes of them."""

    def calls(self) -> Iterator[Call]:
        """Yield every call that the model under test gets."""
        for each in self.yes_no:
            yield Call(CULSHIELD, each, 1, 0, each.question)
        for question in self.grounded:
            for number in range(1, self.terms.samples + 1):
                if "easy" in self.terms.levels:
                    yield Call("easy", question, number, 0, question.easy)
                if "medium" in self.terms.levels:
                    yield from (
                        Call("medium", question, number, at, text) for at, text in enumerate(question.medium, 1)
                    )
                if "hard" in self.terms.levels:
                    yield Call("hard", question, number, 0, question.hard)

    @property
    def verified(self) -> bool:
        """Whether a verifier is needed."""
        return bool(self.grounded) and "hard" in self.terms.levels


def benches(settings: Settings) -> Benches:
    """Read the questions; raise ``RequestError`` with everything that is wrong with them."""
    terms, problems = settings.external, _Problems()
    yes_no = [
        each
        for place in terms.culshield_questions
        for each in problems.of(f"external.culshield_questions={place}", read_culshield(problems.text(place)))
    ]
    grounded = list(_grounded(terms.cultureforest_questions, problems)) if terms.cultureforest_questions else []
    acceptability: Mapping[str, Acceptability] = {}
    if terms.verifies:
        acceptability = _acceptability(settings, grounded, problems)
    rights: dict[str, bool] = {}
    problems.lines += [
        f"external.culshield_questions: answer to {each.question_id} is both Yes and No"
        for each in yes_no
        if rights.setdefault(each.question_id, each.answer) != each.answer
    ][:_SHOWN]
    ids = Counter(each.question_id for each in grounded)
    twice = tuple(f"{key} stands in two files" for key, times in ids.items() if times > 1)
    if twice:
        problems.of(f"external.cultureforest_questions={terms.cultureforest_questions}", Read((), twice))
    if problems.lines:
        raise RequestError(problems.lines)
    unique = list({each.question_id: each for each in yes_no}.values())  # the two files share questions
    return Benches(
        chosen(unique, terms.limit),
        chosen(grounded, terms.limit),
        acceptability,
        terms,
        digest(sorted(repr(each) for each in (*unique, *grounded))),
    )


class _Problems:
    """What is wrong with a request, a line each."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._unread: list[str] = []

    def text(self, place: str | Path) -> str:
        """Return a file's text; of one that cannot be read, nothing, and why is kept."""
        try:
            return Path(place).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self._unread = [getattr(error, "strerror", None) or "not UTF-8 text"]
            return ""

    def of(self, key: str, read: Any) -> Sequence[Any]:
        """Return what a file holds, and keep its faults under the key that names it."""
        faults, self._unread = self._unread or read.faults, []
        self.lines += [f"{key}: {fault}" for fault in faults[:_SHOWN]]
        if len(faults) > _SHOWN:
            self.lines.append(f"{key}: and {len(faults) - _SHOWN} faults more")
        if not read.items and not faults:
            self.lines.append(f"{key}: no questions there")
        items: Sequence[Any] = read.items
        return items


def _grounded(place: str, problems: _Problems) -> Iterator[Grounded]:
    root, key = Path(place), f"external.cultureforest_questions={place}"
    if not root.is_dir():
        yield from problems.of(key, read_cultureforest(problems.text(root), None))
        return
    files = [path for path in sorted(root.glob("*/*")) if path.suffix in (".json", ".jsonl")]
    if not files:
        problems.lines.append(f"{key}: no files of questions in folders by country")
    for path in files:
        found = read_cultureforest(problems.text(path), path.parent.name)
        yield from problems.of(f"{key}: {path.relative_to(root)}", found)


def _acceptability(
    settings: Settings, grounded: Sequence[Grounded], problems: _Problems
) -> Mapping[str, Acceptability]:
    place, members = settings.external.cultureforest_norms, settings.judge.members
    if len(members) > 1:
        problems.lines.append(
            f"judge={settings.judge.name}: the hard level is verified by one model, and this judge has {len(members)}"
        )
    if place is None:
        problems.lines.append(
            "external.cultureforest_norms: the hard level needs the file that says whether breaking a norm is ever "
            "acceptable; without it: external.levels=[easy,medium]"
        )
        return {}
    key = f"external.cultureforest_norms={place}"
    found, faults = read_acceptability(problems.text(place))
    problems.of(key, _Norms(tuple(found), faults))
    missing = sorted({slot.norm_id for each in grounded for slot in each.norms} - found.keys()) if found else []
    if missing:
        shown = ", ".join(missing[:_SHOWN]) + (" …" if len(missing) > _SHOWN else "")
        problems.lines.append(f"{key}: lacks {len(missing)} norms of the questions: {shown}")
    return found


class _Norms(NamedTuple):
    items: tuple[str, ...]
    faults: tuple[str, ...]


# ---- what the model is asked


def parts(context: Context, found: Benches) -> dict[str, Any]:
    """Return what decides a model's replies, the model itself aside; alike in all that compare."""
    terms = context.settings.external
    return {
        "questions": found.digest,
        "terms": {"temperature": terms.temperature, "top_p": terms.top_p},
        "seed": context.settings.seed,
        "parser": PARSER,
    }


def _own_parts(context: Context, found: Benches, model: ModelConfig) -> dict[str, Any]:
    prompts = context.prompts(model).digest("external_yes_no")
    return parts(context, found) | {"model": model.identity, "prompts": prompts}


def folder(context: Context, found: Benches) -> Path:
    """Return where the replies of the job's model are."""
    return folder_of(context, NAME, _own_parts(context, found, context.settings.model))


def answered(context: Context, found: Benches) -> StageResult:
    """Ask the job's model what it was not asked yet."""
    settings = context.settings
    content = _own_parts(context, found, settings.model)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder)
    speaker = Speaker.of(context, settings.model, result)

    async def reply(call: Call) -> Reply:
        return await _reply(settings, speaker, call)

    items = [(call.key, call) for call in found.calls()]
    more = {"model": settings.model.name, "label": settings.model.label}
    _batch(context, output, result, items, reply, Reply, settings.model, content, more)
    return result


async def _reply(settings: Settings, speaker: Speaker, call: Call) -> Reply:
    terms, question = settings.external, call.question
    messages: tuple[Message, ...] = (Message(role="user", content=call.text),)
    if call.kind == CULSHIELD:
        messages = speaker.prompts.render("external_yes_no", {"question": call.text})
    request = build_request(
        speaker.model,
        messages,
        role=role("policy", NAME),
        temperature=terms.temperature,
        seed=settings.seed,
        replicate=call.number - 1,
    )
    wanted = terms.top_p if speaker.model.accepts.temperature else None
    said = await ask(speaker.client, replace(request, top_p=wanted), lambda text: text, 1)
    return Reply(
        reply_id=call.key,
        kind=call.kind,
        question_id=question.question_id,
        country=question.country,
        number=call.number,
        option=call.option,
        text=said.value or "",
        failure=None if said.value is not None else failure_of(said),
    )


def replies(place: Path, found: Benches) -> dict[str, Reply]:
    """Return the stored replies to the job's calls, by id."""
    wanted = dict.fromkeys(call.key for call in found.calls())
    return {each.reply_id: each for each in read_records(place / "records.jsonl", Reply, wanted)}


# ---- what the verifier says


def verifier(settings: Settings) -> ModelConfig:
    """Return who verifies: the only member of the job's judge."""
    return next(iter(settings.judge.members.values()))


def verdicts_folder(context: Context, place: Path) -> Path:
    """Return where the job's verifier's verdicts on the answers in a folder are."""
    return place / "verdicts" / fingerprint(_verifier_parts(context))


def _verifier_parts(context: Context) -> dict[str, Any]:
    settings = context.settings
    return {
        "verifier": verifier(settings).identity,
        "prompts": context.prompts(verifier(settings)).digest("external_verdict."),
        "temperature": settings.judging.temperature,
        "top_logprobs": settings.external.top_logprobs,
        "seed": settings.seed,
        "parser": PARSER,
    }


class Held(NamedTuple):
    """An answer to be held against a norm."""

    question: Grounded
    norm_id: str
    norm: str
    number: int
    answer: str

    @property
    def key(self) -> str:
        """The id of its verdict."""
        return f"{self.question.question_id}::{self.number}::{self.norm_id}"


def _held(found: Benches, said: Mapping[str, Reply]) -> Iterator[Held]:
    for call in found.calls():
        reply = said.get(call.key)
        if call.kind == "hard" and isinstance(call.question, Grounded) and reply is not None and not reply.failure:
            answer = reply.text.rpartition(_THOUGHT)[2].strip()
            yield from (Held(call.question, *slot, call.number, answer) for slot in call.question.norms)


def verified(context: Context, found: Benches) -> StageResult:
    """Have the answers of the hard level held against their norms, those that were not yet."""
    settings, place = context.settings, folder(context, found)
    output = Output(verdicts_folder(context, place), context.stop)
    result = StageResult(NAME, output.folder)
    speaker = Speaker.of(context, verifier(settings), result)

    async def verdict(held: Held) -> Verdict:
        return await _verdict(settings, speaker, held)

    items = [(held.key, held) for held in _held(found, replies(place, found))]
    content = {"answers": _own_parts(context, found, settings.model), "judge": _verifier_parts(context)}
    _batch(context, output, result, items, verdict, Verdict, speaker.model, content, {"member": speaker.model.name})
    stored = read_records(output.records, Verdict, {key for key, _ in items})
    tell_unscored(result, [each.failure for each in stored], "verdicts")
    return result


async def _verdict(settings: Settings, speaker: Speaker, held: Held) -> Verdict:
    fields = {"background": held.question.background, "norm": held.norm, "answer": framed("ANSWER", held.answer)}
    request = build_request(
        speaker.model,
        speaker.prompts.render("external_verdict", fields),
        role=role("verifier", NAME),
        temperature=settings.judging.temperature,
        seed=settings.seed,
        schema_name="external_verdict",
        schema=FORM,
    )
    logs, failure = None, None
    try:
        reply = await speaker.client.complete(replace(request, top_logprobs=settings.external.top_logprobs))
        failure = unusable(reply)
        logs = read_labels(reply.tokens) if failure is None else None
    except ProviderError as error:
        failure = Failure(kind=FailureKind.INFRASTRUCTURE, detail=str(error))
    except Refusal as refusal:
        failure = Failure(kind=refusal.kind, detail=refusal.detail)
    satisfy, neutral, violate = (each if each > float("-inf") else None for each in logs) if logs else (None,) * 3
    return Verdict(
        verdict_id=held.key,
        question_id=held.question.question_id,
        country=held.question.country,
        number=held.number,
        norm_id=held.norm_id,
        satisfy=satisfy,
        neutral=neutral,
        violate=violate,
        failure=failure,
    )


def verdicts(context: Context, place: Path, found: Benches, said: Mapping[str, Reply]) -> dict[str, Verdict]:
    """Return the stored verdicts on the answers in a folder, by id."""
    wanted = dict.fromkeys(held.key for held in _held(found, said))
    path = verdicts_folder(context, place) / "records.jsonl"
    return {each.verdict_id: each for each in read_records(path, Verdict, wanted)}


# ---- both


def _batch(
    context: Context,
    output: Output,
    result: StageResult,
    items: Sequence[tuple[str, Any]],
    work: Callable[[Any], Any],
    kind: type[Any],
    model: ModelConfig,
    content: Mapping[str, Any],
    more: Mapping[str, str],
) -> None:
    with output:
        try:
            run_batch(
                context.runner,
                output,
                result,
                items,
                work,
                broken=_broken,
                kind=kind,
                concurrency=workers(model),
                stop=context.stop,
            )
        finally:
            output.write_manifest(context.manifest(output, result, content, **more))


def _broken(record: Reply | Verdict) -> str | None:
    failure = record.failure
    return failure.detail if failure and failure.kind is FailureKind.INFRASTRUCTURE else None


def due(context: Context) -> list[Due]:
    """Return what the model and the verifier would be asked, given what is stored."""
    settings = context.settings
    if not settings.external.asks:
        return []
    found = benches(settings)
    place = folder(context, found)
    calls = {call.key: call.kind for call in found.calls()}
    todo = len(calls.keys() - done_ids(place / "records.jsonl"))
    every = [Due("policy", settings.model, todo, todo)]
    if found.verified:
        norms = sum(len(each.norms) for each in found.grounded) * settings.external.samples
        there = verdicts(context, place, found, replies(place, found))
        every.append(Due("verifier", verifier(settings), norms - len(there), norms - len(there)))
    return every
