"""What stage *grpo* optimises a policy for: situations, a reward model, norm grounding, form, and a gold judge apart.

Judges are asked through the door, so that every judgement is in the ledger: a step that is done again pays for nothing
twice. A judgement that cannot be had is no reward, and counted by kind; when the provider fails most of a step's, the
step is not taken at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ccfw.crisp.judging import Said, read_response
from ccfw.crisp.records import BOUNDS, ResponseRecord, ResponseScore, Scale, Situation
from ccfw.crisp.views import fields_of, policy_view
from ccfw.errors import RequestError, StoppedError
from ccfw.judging.scoring import combined
from ccfw.parsing import Refusal
from ccfw.prompts import PromptSet
from ccfw.records import Failure, FailureKind
from ccfw.resources import resource
from ccfw.settings import Settings
from ccfw.settings.models import JudgeConfig
from ccfw.stages import responses, reward, supervisor, testbed
from ccfw.stages.batch import in_good_order
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import Due, Speaker
from ccfw.stages.scored import TRAINED
from ccfw.store import digest
from ccfw.training import planning
from ccfw.training.splitting import held_out_norms
from ccfw.training.supervising import grounding
from ccfw.training.task import Question, Rewarder, Tally, Task
from ccfw.training.texts import Text, norm_text, situation_text

NAME = "grpo"
JUDGE = "judge"
_SMALL = 1000.0
"""Millions of parameters below which a policy gets the prompts of a small model."""
_READ_AT_ONCE = 8
_NO_MAJORITY = "no_majority"


def in_form(settings: Settings) -> bool:
    """Whether the policy is asked for an answer with its reasoning, as stage *responses* asks."""
    return settings.grpo.lam > 0 or settings.grpo.format_weight > 0


def asks_supervisor(settings: Settings) -> bool:
    """Whether a judge is asked for norm grounding."""
    config = settings.grpo
    return config.task == "situations" and config.lam > 0 and config.supervisor == JUDGE


def asks_gold(settings: Settings) -> bool:
    """Whether a judge is asked for the monitor's gold score."""
    return settings.grpo.task == "situations" and settings.grpo.gold == JUDGE


def prompts_of(settings: Settings) -> PromptSet:
    """Return the prompts of the policy's size."""
    prompt = settings.prompt
    style = prompt.small if settings.policy.weights.parameters < _SMALL else prompt.large
    return PromptSet(resource("prompts"), f"{prompt.version}/{style}")


def reward_model(context: Context) -> str:
    """Return where the reward model is; raise ``RequestError`` when none is named, or it is not trained yet."""
    place = context.settings.grpo.reward_model
    if place is None:
        raise RequestError([f"grpo.reward_model: which? a folder, a name on the Hub, or {TRAINED}"])
    return _trained(context, "grpo.reward_model", place, reward)


def classifier(context: Context) -> str:
    """Return where the trained supervisor is; raise ``RequestError`` when it is not trained yet."""
    return _trained(context, "grpo.supervisor", context.settings.grpo.supervisor, supervisor)


def _trained(context: Context, key: str, place: str, stage: Any) -> str:
    if place != TRAINED:
        return place
    folder = stage.folder(context) / stage.MODEL
    if not folder.is_dir():
        raise RequestError([f"{key}={TRAINED}: none at {folder}; train it with stage={stage.NAME} and the same line"])
    return str(folder)


def due(context: Context) -> list[Due]:
    """Return what judges would be asked: an answer that is not in form is not judged, so that nothing is certain."""
    settings, config = context.settings, context.settings.grpo
    tries, found = settings.judging.tries, []
    if asks_supervisor(settings):
        calls = config.steps * config.questions * config.group
        found += [Due("supervisor", each, 0, calls * tries, calls) for each in settings.rewarding.members.values()]
    if asks_gold(settings):
        held = Situations(context).held_out
        calls = planning.looks(config) * min(config.monitor.questions, len(held))
        found += [Due("gold judge", each, 0, calls * tries, calls) for each in settings.judge.members.values()]
    return found


class Situations:
    """The situations of the job, those that the policy learns from and those that are only looked at."""

    def __init__(self, context: Context) -> None:
        settings, self.found = context.settings, testbed.situations(context, NAME)
        held = self._held_out(settings)
        self.train = tuple(each for each in self.found if each.norm.norm_id not in held)
        self.held_out = tuple(each for each in self.found if each.norm.norm_id in held)
        if not self.train or not self.held_out:
            raise RequestError(
                [f"grpo.held_out={settings.grpo.held_out}: nothing to train on or to hold out; give a share, as 0.25"]
            )

    def _held_out(self, settings: Settings) -> frozenset[str]:
        if settings.grpo.held_out is None:
            return frozenset(each.norm.norm_id for each in self.found if each.split != "train")
        norms = [(each.norm.norm_id, each.norm.culture) for each in self.found]
        return held_out_norms(norms, settings.grpo.held_out, settings.seed)


class Rewarded:
    """Situations with who rewards what, and how that is paid."""

    def __init__(self, context: Context, result: StageResult) -> None:
        from ccfw.training import scoring

        settings = context.settings
        self._context, self._settings = context, settings
        self._situations = Situations(context)
        self._by_id = {each.situation_id: each for each in self._situations.found}
        terms = {"max_tokens": settings.rewards.max_tokens, "batch": _READ_AT_ONCE}
        self._model = scoring.load(reward_model(context), **terms, key="grpo.reward_model")
        trained = settings.grpo.lam > 0 and settings.grpo.supervisor != JUDGE
        self._supervisor = scoring.load(classifier(context), **terms, key="grpo.supervisor") if trained else None
        self._supervising = self._benches(settings.rewarding, result)
        self._judging = self._benches(settings.judge, result)
        self._in_form = in_form(settings)
        self._tally = Tally()

    def _benches(self, judge: JudgeConfig, result: StageResult) -> list[responses.Bench]:
        speakers = [Speaker.of(self._context, member, result) for member in judge.members.values()]
        return [responses.Bench(self._settings, each) for each in speakers]

    def task(self) -> Task:
        """Return the task."""
        config = self._settings.grpo
        rewards: dict[str, Rewarder] = {"appropriateness": self.appropriateness}
        weights = {"appropriateness": 1.0}
        if config.lam:
            rewards["norm_grounding"], weights["norm_grounding"] = self.norm_grounding, config.lam
        if config.format_weight:
            rewards["form"], weights["form"] = self.form, config.format_weight
        train, held_out = (
            tuple(map(self._question, each)) for each in (self._situations.train, self._situations.held_out)
        )
        gold = self.gold if asks_gold(self._settings) else None
        return Task(train, held_out, rewards, weights, "appropriateness", gold, self._tally)

    def _question(self, situation: Situation) -> Question:
        if not self._in_form:
            return Question(situation.situation_id, ({"role": "user", "content": situation_text(situation)},))
        made = prompts_of(self._settings).render("crisp_response", fields_of(policy_view(situation)))
        return Question(situation.situation_id, tuple({"role": each.role, "content": each.content} for each in made))

    def _said(self, answer: str) -> Said | None:
        """Return what a policy said; ``None`` where it is not in the form asked for."""
        if not self._in_form:
            return Said(answer.strip(), "") if answer.strip() else None
        try:
            found = read_response(answer)
        except Refusal:
            return None
        return found if isinstance(found, Said) else None

    def form(self, _keys: Sequence[str], answers: Sequence[str]) -> list[float | None]:
        """Return 1 for an answer in the form asked for, and 0 for any other."""
        return [float(self._said(answer) is not None) for answer in answers]

    def appropriateness(self, keys: Sequence[str], answers: Sequence[str]) -> list[float | None]:
        """Return the reward model's rewards; of what is not in form there is none."""
        said = [self._said(answer) for answer in answers]
        texts = [
            Text(str(place), situation_text(self._by_id[key]), each.answer)
            for place, (key, each) in enumerate(zip(keys, said, strict=True))
            if each is not None
        ]
        given = {each.text_id: each.reward for each in self._model.rewards(texts)}
        return [given.get(str(place)) for place in range(len(keys))]

    def norm_grounding(self, keys: Sequence[str], answers: Sequence[str]) -> list[float | None]:
        """Return Norm Match of the reasoning, from 0 to 1; the norm is private to whoever gives it."""
        if self._supervisor is None:
            found = self._judged(keys, answers, Scale.NORM_MATCH, self._settings.rewarding, self._supervising)
            highest = BOUNDS[Scale.NORM_MATCH][1]
            return [None if each is None else each / highest for each in found]
        norms = [self._by_id[key].norm for key in keys]
        texts = [
            Text(str(place), norm_text(norm.culture, norm.norm), said.reasoning)
            for place, (norm, answer) in enumerate(zip(norms, answers, strict=True))
            if (said := self._said(answer)) is not None
        ]
        given = {each.text_id: each.reward for each in self._supervisor.rewards(texts)}
        logits = [given.get(str(place)) for place in range(len(keys))]
        return [None if each is None else grounding(each) for each in logits]

    def gold(self, keys: Sequence[str], answers: Sequence[str]) -> list[float | None]:
        """Return the outcome judge's scores, 1 to 5."""
        return self._judged(keys, answers, Scale.OUTCOME, self._settings.judge, self._judging)

    def _judged(
        self,
        keys: Sequence[str],
        answers: Sequence[str],
        scale: Scale,
        judge: JudgeConfig,
        benches: Sequence[responses.Bench],
    ) -> list[float | None]:
        """Return the judge's scores; raise ``StoppedError`` when the job is to stop, or most calls failed."""
        records = [self._record(key, answer) for key, answer in zip(keys, answers, strict=True)]
        given: dict[tuple[int, int], ResponseScore] = {}

        async def score(place: int, record: ResponseRecord, member: int) -> None:
            item = (self._by_id[record.situation_id], record, scale)
            given[place, member] = await benches[member].judge(item)

        work = [
            score(place, record, member)
            for place, record in enumerate(records)
            if record is not None
            for member in range(len(benches))
        ]
        self._context.runner.run(in_good_order(work, self._context.stop))
        self._context.stop.check()
        _check_provider([each.failure for each in given.values()])
        found: list[float | None] = [None] * len(keys)
        for place, record in enumerate(records):
            if record is not None:
                own = [given[place, member] for member in range(len(benches))]
                score_of_all = combined([each.score for each in own], judge.aggregation)
                found[place] = None if score_of_all is None else float(score_of_all)
                failed = [each.failure.kind.value for each in own if each.failure]
                self._tally.add(None if score_of_all is not None else (failed or [_NO_MAJORITY])[0])
        return found

    def _record(self, key: str, answer: str) -> ResponseRecord | None:
        said, norm = self._said(answer), self._by_id[key].norm
        if said is None:
            return None
        policy = self._settings.policy.name
        return ResponseRecord(
            response_id=f"{key}::{policy}::{digest([answer])}",
            situation_id=key,
            norm_id=norm.norm_id,
            culture=norm.culture,
            policy=policy,
            number=1,
            answer=said.answer,
            reasoning=said.reasoning,
            failure=None,
        )


def _check_provider(failures: Sequence[Failure | None]) -> None:
    """Raise ``StoppedError`` when the provider failed most of a step's calls: the step is then not to be taken."""
    broken = [each for each in failures if each and each.kind is FailureKind.INFRASTRUCTURE]
    if 2 * len(broken) > len(failures):
        raise StoppedError(f"{len(broken)} of {len(failures)} judgements of one step failed: {broken[0].detail}")


def missing_notes(judged: Mapping[str, float]) -> list[str]:
    """Return what a reader must know of judgements that gave no score."""
    kinds = {name.partition("/")[2]: count for name, count in judged.items() if "/" in name}
    if not kinds:
        return []
    reasons = ", ".join(f"{count:.0f} {kind}" for kind, count in sorted(kinds.items()))
    return [
        f"{math.fsum(kinds.values()):.0f} of {judged['judgements']:.0f} judgements gave no score ({reasons}): those "
        "answers have no such reward, and are in neither mean nor spread of their group."
    ]
