"""What stage *grpo* optimises a policy for: situations, a reward model, norm grounding, form, and a gold judge apart.

Judges are asked through the door, so that every judgement is in the ledger: a step that is done again pays for nothing
twice. A judgement that cannot be had is no reward, and counted by kind; so is the reward of an answer that is too long
for whoever is to read it. When the provider fails most of a step's judgements, the step is not taken at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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
from ccfw.stages.scored import TRAINED, is_nowhere
from ccfw.stages.trained import weights_faults
from ccfw.store import digest
from ccfw.training import planning
from ccfw.training.scoring import RewardModel
from ccfw.training.splitting import split_by_norm, split_faults
from ccfw.training.supervising import grounding
from ccfw.training.task import JUDGEMENTS, READINGS, Given, Missing, Question, Rewarder, RewardError, Tally, Task
from ccfw.training.texts import Text, norm_text, situation_text

NAME = "grpo"
JUDGE = "judge"
_SMALL = 1000.0
"""Millions of parameters below which a policy gets the prompts of a small model."""
_READ_AT_ONCE = 8
_NO_MAJORITY, _NO_NUMBER = "no_majority", "not_a_number"


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


def shared(settings: Settings) -> tuple[str, ...]:
    """Return the models that both reward norm grounding and watch over it, by the names that providers know."""
    if not (asks_supervisor(settings) and asks_gold(settings)):
        return ()
    rewards, watches = (
        {(each.provider_model, each.api_base) for each in judge.members.values()}
        for judge in (settings.rewarding, settings.judge)
    )
    return tuple(sorted({name for name, _ in rewards & watches}))


def shared_notes(settings: Settings) -> list[str]:
    """Return what a reader must know where a judge that rewards also watches."""
    return [
        f"{each} both rewards norm grounding and gives the gold score, so that what pleases it alone is not seen; "
        "judge@rewards.judge=… names another to reward."
        for each in shared(settings)
    ]


def reward_model(context: Context) -> str:
    """Return where the reward model is; raise ``RequestError`` when none is named, or it is not there."""
    place = context.settings.grpo.reward_model
    if place is None:
        raise RequestError([f"grpo.reward_model=null: which? a folder, a name on the Hub, or {TRAINED}"])
    return _there(context, "grpo.reward_model", place, reward)


def classifier(context: Context) -> str:
    """Return where the trained supervisor is; raise ``RequestError`` when it is not there."""
    return _there(context, "grpo.supervisor", context.settings.grpo.supervisor, supervisor)


def asks_classifier(settings: Settings) -> bool:
    """Whether a supervisor of one's own gives norm grounding."""
    return settings.grpo.task == "situations" and settings.grpo.lam > 0 and settings.grpo.supervisor != JUDGE


def _there(context: Context, key: str, place: str, stage: Any) -> str:
    if place != TRAINED:
        if is_nowhere(place):
            raise RequestError([f"{key}={place}: no such folder"])
        return place
    folder = stage.folder(context) / stage.MODEL
    if not folder.is_dir():
        raise RequestError([f"{key}={TRAINED}: none at {folder}; train it with stage={stage.NAME} and the same line"])
    return str(folder)


def check(context: Context) -> list[str]:
    """Return what is to be trained before the policy is, a line each: ``trained`` that is not there yet.

    Raises ``RequestError`` with everything else that would keep the policy from being optimised.
    """
    settings, ahead, problems = context.settings, list[str](), list[str]()
    if settings.grpo.task == "toy":
        return ahead
    if settings.policy.weights.scratch is not None:
        known = "knows the words of the toy task alone"
        problems.append(f"policy={settings.policy.name}: {known}; grpo=toy optimises it, or name another policy")
    problems += weights_faults("policy.weights", settings.policy.weights)
    asked = [(settings.grpo.reward_model, reward_model, reward)]
    if asks_classifier(settings):
        asked.append((settings.grpo.supervisor, classifier, supervisor))
    for place, look, stage in asked:
        if place == TRAINED and stage.NAME in settings.stage.runs:
            continue
        try:
            look(context)
        except RequestError as error:
            (ahead if place == TRAINED else problems).extend(error.problems)
    try:
        Situations(context)
    except RequestError as error:
        problems += error.problems
    if problems:
        raise RequestError(problems)
    return ahead


def due(context: Context) -> list[Due]:
    """Return what judges would be asked: an answer that is not in form is not judged, so that nothing is certain."""
    settings, config = context.settings, context.settings.grpo
    tries, found = settings.judging.tries, []
    if asks_supervisor(settings):
        calls = config.steps * config.questions * config.group
        found += [Due("supervisor", each, 0, calls * tries, calls) for each in settings.rewarding.members.values()]
    if asks_gold(settings):
        looked_at = min(config.monitor.questions, len(Situations(context).held_out))
        calls = (planning.looks(config) + _TIMES_MATCHED) * looked_at
        found += [Due("gold judge", each, 0, calls * tries, calls) for each in settings.judge.members.values()]
    return found


_TIMES_MATCHED = 2
"""Norm Match is asked for before the first step and after the last."""


class _Placed(NamedTuple):
    """A situation as norms are held out by."""

    norm_id: str
    culture: str
    split: str
    situation: Situation


class Situations:
    """The situations of the job, those that the policy learns from and those that are only looked at.

    Raises ``RequestError`` when there are none of the one kind or the other, or a norm is in both.
    """

    def __init__(self, context: Context) -> None:
        settings, self.found = context.settings, testbed.situations(context, NAME)
        share = settings.grpo.held_out
        placed = [_Placed(each.norm.norm_id, each.norm.culture, each.split, each) for each in self.found]
        split = split_by_norm(placed, share, settings.seed)
        if problems := split_faults(split, "grpo.held_out", share, "situation"):
            raise RequestError(problems)
        self.train, self.held_out = (tuple(each.situation for each in part) for part in split)


def prompt_of(settings: Settings, situation: Situation) -> tuple[dict[str, str], ...]:
    """Return a situation as the policy is asked it, a chat: as stage *responses* asks where a form is asked for."""
    if not in_form(settings):
        return ({"role": "user", "content": situation_text(situation)},)
    made = prompts_of(settings).render("crisp_response", fields_of(policy_view(situation)))
    return tuple({"role": each.role, "content": each.content} for each in made)


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
        trained = asks_classifier(settings)
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
            tuple(Question(each.situation_id, prompt_of(self._settings, each)) for each in part)
            for part in (self._situations.train, self._situations.held_out)
        )
        watched = asks_gold(self._settings)
        return Task(
            train,
            held_out,
            rewards,
            weights,
            "appropriateness",
            self.gold if watched else None,
            self._tally,
            self.valid,
            self.norm_match if watched else None,
        )

    def _said(self, answer: str) -> Said | None:
        """Return what a policy said; ``None`` where it is not in the form asked for."""
        if not self._in_form:
            return Said(answer.strip(), "") if answer.strip() else None
        try:
            found = read_response(answer)
        except Refusal:
            return None
        return found if isinstance(found, Said) else None

    def valid(self, answer: str) -> bool:
        """Whether an answer is in the form asked for."""
        return self._said(answer) is not None

    def form(self, _keys: Sequence[str], answers: Sequence[str]) -> list[Given]:
        """Return 1 for an answer in the form asked for, and 0 for any other."""
        return [float(self.valid(answer)) for answer in answers]

    def appropriateness(self, keys: Sequence[str], answers: Sequence[str]) -> list[Given]:
        """Return the reward model's rewards; an answer that is not in form is not read."""
        texts = [
            None if (said := self._said(answer)) is None else Text("", situation_text(self._by_id[key]), said.answer)
            for key, answer in zip(keys, answers, strict=True)
        ]
        return self._read("grpo.reward_model", self._model, texts)

    def norm_grounding(self, keys: Sequence[str], answers: Sequence[str]) -> list[Given]:
        """Return Norm Match of the reasoning, from 0 to 1; the norm is private to whoever gives it."""
        if self._supervisor is None:
            found = self._judged(keys, answers, Scale.NORM_MATCH, self._settings.rewarding, self._supervising)
            highest = BOUNDS[Scale.NORM_MATCH][1]
            return [each / highest if isinstance(each, float) else each for each in found]
        norms = [norm_text(norm.culture, norm.norm) for norm in (self._by_id[key].norm for key in keys)]
        texts = [
            None if (said := self._said(answer)) is None else Text("", norm, said.reasoning)
            for norm, answer in zip(norms, answers, strict=True)
        ]
        found = self._read("grpo.supervisor", self._supervisor, texts)
        return [grounding(each) if isinstance(each, float) else each for each in found]

    def gold(self, keys: Sequence[str], answers: Sequence[str]) -> list[Given]:
        """Return the outcome judge's scores, 1 to 5."""
        return self._judged(keys, answers, Scale.OUTCOME, self._settings.judge, self._judging)

    def norm_match(self, keys: Sequence[str], answers: Sequence[str]) -> list[Given]:
        """Return Norm Match by the outcome judge, which nothing is optimised for, 0 to 2."""
        return self._judged(keys, answers, Scale.NORM_MATCH, self._settings.judge, self._judging)

    def _read(self, key: str, model: RewardModel, texts: Sequence[Text | None]) -> list[Given]:
        """Return what a model gives the texts that are there; raise ``RewardError`` when it gives one no number."""
        given = model.rewards([each for each in texts if each is not None])
        found: list[Given] = []
        for text in texts:
            if text is None:
                found.append(None)
                continue
            own = next(given)
            if own.failure == _NO_NUMBER:
                raise RewardError(f"{key} gives no number for an answer, of {own.tokens} tokens with its question")
            found.append(Missing(own.failure) if own.reward is None else own.reward)
        self._tally.add(READINGS, found)
        return found

    def _judged(
        self,
        keys: Sequence[str],
        answers: Sequence[str],
        scale: Scale,
        judge: JudgeConfig,
        benches: Sequence[responses.Bench],
    ) -> list[Given]:
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
        found: list[Given] = [None] * len(keys)
        for place, record in enumerate(records):
            if record is not None:
                own = [given[place, member] for member in range(len(benches))]
                score_of_all = combined([each.score for each in own], judge.aggregation)
                failed = [each.failure.kind.value for each in own if each.failure]
                found[place] = Missing((failed or [_NO_MAJORITY])[0]) if score_of_all is None else float(score_of_all)
        self._tally.add(JUDGEMENTS, found)
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


def missing_notes(asked: Mapping[str, float]) -> list[str]:
    """Return what a reader must know of judgements that gave no score, and of answers that were not read."""
    told = {
        JUDGEMENTS: "judgements gave no score ({}): those answers have no such reward, and are in neither mean nor "
        "spread of their group.",
        READINGS: "answers that a model was to reward got none ({}): they are in neither mean nor spread of their "
        "group, and not in the mean reward.",
    }
    found = []
    for what, sentence in told.items():
        kinds = {name.partition("/")[2]: count for name, count in asked.items() if name.startswith(f"{what}/")}
        if kinds:
            reasons = ", ".join(f"{count:.0f} {kind}" for kind, count in sorted(kinds.items()))
            found.append(f"{math.fsum(kinds.values()):.0f} of {asked[what]:.0f} {sentence.format(reasons)}")
    return found
