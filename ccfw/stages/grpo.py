"""Stage *grpo*: a policy is optimised for appropriateness and norm grounding, and watched (Tables 5, 24; Figures 2, 6).

Reads   the situations of the job; a reward model (``grpo.reward_model``), ``trained`` being that of stage *reward*.
Writes  ``crisp/grpo/<fingerprint>/``: ``model/``; ``report.md``; ``policies.csv``, before and after on held-out norms,
        over valid and over all answers; ``curve.csv`` and its figure; ``looks.csv``; ``answers.jsonl``; checkpoints
        until it is finished.
Method  GRPO, reward = reward model + λ · Norm Match + form, each normalised apart and logged apart. Norm Match is asked
        of the judge through the door, so that it is in the ledger; the policy never sees the norm. The monitor
        (``ccfw.training.monitor``) ends the run, with the reason, when the reward is being exploited.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ccfw.align.alignment import Figure
from ccfw.crisp.judging import Said, read_response
from ccfw.crisp.records import BOUNDS, ResponseRecord, Scale, Situation
from ccfw.crisp.views import fields_of, policy_view
from ccfw.errors import RequestError
from ccfw.judging.scoring import combined
from ccfw.parsing import Refusal
from ccfw.prompts import PromptSet
from ccfw.report.agreement import Table, percent, points
from ccfw.report.crisp import plain
from ccfw.report.writing import comma_separated
from ccfw.resources import resource
from ccfw.settings import Settings
from ccfw.stages import responses, reward, testbed
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import Speaker, folder_of
from ccfw.stages.rated import terms_of
from ccfw.stages.scored import TRAINED, bootstrap_parts, finish
from ccfw.store import Output, digest, write_atomically
from ccfw.training.figures import means
from ccfw.training.guard import check_installed
from ccfw.training.planning import grpo_plan, shown_plan
from ccfw.training.splitting import held_out_norms
from ccfw.training.task import Question, Rewarder, Task
from ccfw.training.texts import Text, situation_text
from ccfw.training.toy import toy_task

log = logging.getLogger(__name__)
NAME = "grpo"
VERSION = 1
MODEL = "model"
_SMALL = 1000.0
"""Millions of parameters below which a policy gets the prompts of a small model."""
_READ_AT_ONCE = 8


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the optimised policy; its hash names the output folder."""
    settings = context.settings
    content: dict[str, Any] = {
        "grpo": settings.grpo.model_dump(mode="json", exclude={"save_every", "micro_batch", "reward_model"}),
        "policy": settings.policy.model_dump(mode="json"),
        **bootstrap_parts(settings),
        "version": VERSION,
    }
    if settings.grpo.task == "toy":
        return content
    from ccfw.training import scoring

    found = testbed.situations(context, NAME)
    judges = {name: responses.judge_parts(context, each) for name, each in settings.judge.members.items()}
    return content | {
        "situations": digest(sorted(each.model_dump_json() for each in found)),
        "reward_model": scoring.identity(_reward_model(context)),
        "judges": judges if settings.grpo.lam or settings.grpo.gold == "judge" else {},
    }


def run(context: Context) -> StageResult:
    """Optimise the policy, unless that is done, and write what came of it."""
    check_installed(NAME)
    settings = context.settings
    meter = StageResult(NAME, Path())
    content = parts(context)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder, meter=meter.meter)
    with output:
        if (output.folder / MODEL).is_dir() and output.read_manifest().get("status") == "ok":
            result.skipped = settings.grpo.steps
            return result
        from ccfw.training.grpo import optimise

        task = toy_task(settings.grpo.toy_hack) if settings.grpo.task == "toy" else _Rewarded(context, result).task()
        found = optimise(settings.grpo, settings.policy, task, output.folder, settings.seed, context.stop)
        result.done = found.steps
        if not found.finished:
            result.interrupted, result.stopped = True, "interrupted; the same line goes on from the last checkpoint"
            output.write_manifest(context.manifest(output, result, content))
            return result
        _write(context, output, result, content, task, found)
    return result


def plan(context: Context) -> tuple[int, int]:
    """Return the calls that judges would be asked for, and print what optimisation would take."""
    settings, config = context.settings, context.settings.grpo
    texts = [] if config.task == "toy" else [situation_text(each) for each in testbed.situations(context, NAME)]
    print(shown_plan(grpo_plan(config, settings.policy, texts), f"{NAME}={config.name} policy={settings.policy.name}"))
    if config.task == "toy":
        return 0, 0
    looks = 2 + config.steps // config.monitor.every
    calls = config.steps * config.questions * config.group if config.lam else 0
    calls += looks * config.monitor.questions if config.gold == "judge" else 0
    calls *= len(settings.judge.members)
    return 0, calls * settings.judging.tries


def _reward_model(context: Context) -> str:
    """Return where the reward model is; raise ``RequestError`` when none is named, or it is not trained yet."""
    place = context.settings.grpo.reward_model
    if place is None:
        raise RequestError([f"grpo.reward_model: which? a folder, a name on the Hub, or {TRAINED}"])
    if place != TRAINED:
        return place
    folder = reward.folder(context) / reward.MODEL
    if not folder.is_dir():
        raise RequestError(
            [f"grpo.reward_model={TRAINED}: none at {folder}; train it with stage={reward.NAME} and the same line"]
        )
    return str(folder)


class _Rewarded:
    """Situations with their judges: what the policy is optimised for, and how that is paid."""

    def __init__(self, context: Context, result: StageResult) -> None:
        from ccfw.training import scoring

        settings = context.settings
        self._context, self._settings = context, settings
        self._found = {each.situation_id: each for each in testbed.situations(context, NAME)}
        self._model = scoring.load(_reward_model(context), max_tokens=settings.rewards.max_tokens, batch=_READ_AT_ONCE)
        self._benches = [
            responses.Bench(settings, Speaker.of(context, member, result)) for member in settings.judge.members.values()
        ]
        self._in_form = settings.grpo.lam > 0 or settings.grpo.format_weight > 0

    def task(self) -> Task:
        """Return the task; raise ``RequestError`` when nothing is left to learn from or to hold out."""
        config = self._settings.grpo
        held = self._held_out()
        train, held_out = (
            tuple(self._question(each) for each in self._found.values() if (each.norm.norm_id in held) == wanted)
            for wanted in (False, True)
        )
        if not train or not held_out:
            raise RequestError(
                [f"grpo.held_out={config.held_out}: nothing to train on or to hold out; give a share, as 0.25"]
            )
        rewards: dict[str, Rewarder] = {"appropriateness": self.appropriateness}
        weights = {"appropriateness": 1.0}
        if config.lam:
            rewards["norm_grounding"], weights["norm_grounding"] = self.norm_grounding, config.lam
        if config.format_weight:
            rewards["form"], weights["form"] = self.form, config.format_weight
        return Task(train, held_out, rewards, weights, "appropriateness", self.gold if config.gold == "judge" else None)

    def _held_out(self) -> frozenset[str]:
        norms = [(each.norm.norm_id, each.norm.culture) for each in self._found.values()]
        if self._settings.grpo.held_out is None:
            own = {each.norm.norm_id: each.split for each in self._found.values()}
            return frozenset(name for name, split in own.items() if split != "train")
        return held_out_norms(norms, self._settings.grpo.held_out, self._settings.seed)

    def _question(self, situation: Situation) -> Question:
        if not self._in_form:
            return Question(situation.situation_id, ({"role": "user", "content": situation_text(situation)},))
        prompt = self._settings.prompt
        style = prompt.small if self._settings.policy.weights.parameters < _SMALL else prompt.large
        made = PromptSet(resource("prompts"), f"{prompt.version}/{style}").render(
            "crisp_response", fields_of(policy_view(situation))
        )
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
            Text(str(place), situation_text(self._found[key]), each.answer)
            for place, (key, each) in enumerate(zip(keys, said, strict=True))
            if each is not None
        ]
        given = {each.text_id: each.reward for each in self._model.rewards(texts)}
        return [given.get(str(place)) for place in range(len(keys))]

    def norm_grounding(self, keys: Sequence[str], answers: Sequence[str]) -> list[float | None]:
        """Return Norm Match of the reasoning, from 0 to 1, by the judge; the norm is private to it."""
        highest = BOUNDS[Scale.NORM_MATCH][1]
        return [None if each is None else each / highest for each in self._judged(keys, answers, Scale.NORM_MATCH)]

    def gold(self, keys: Sequence[str], answers: Sequence[str]) -> list[float | None]:
        """Return the outcome judge's scores, 1 to 5."""
        return self._judged(keys, answers, Scale.OUTCOME)

    def _judged(self, keys: Sequence[str], answers: Sequence[str], scale: Scale) -> list[float | None]:
        async def every() -> list[float | None]:
            return list(await asyncio.gather(*(self._score(k, a, scale) for k, a in zip(keys, answers, strict=True))))

        return self._context.runner.run(every())

    async def _score(self, key: str, answer: str, scale: Scale) -> float | None:
        said, situation = self._said(answer), self._found[key]
        if said is None:
            return None
        record = ResponseRecord(
            response_id=f"{key}::{self._settings.policy.name}::{digest([answer])}",
            situation_id=key,
            norm_id=situation.norm.norm_id,
            culture=situation.norm.culture,
            policy=self._settings.policy.name,
            number=1,
            answer=said.answer,
            reasoning=said.reasoning,
            failure=None,
        )
        scores = await asyncio.gather(*(bench.judge((situation, record, scale)) for bench in self._benches))
        found = combined([each.score for each in scores], self._settings.judge.aggregation)
        return None if found is None else float(found)


def _write(
    context: Context, output: Output, result: StageResult, content: Mapping[str, Any], task: Task, found: Any
) -> None:
    from ccfw.training.drawing import curves
    from ccfw.training.reward import CHECKPOINTS

    settings, folder = context.settings, output.folder
    found.loaded.model.save_pretrained(folder / MODEL)
    found.loaded.tokenizer.save_pretrained(folder / MODEL)
    table = _before_and_after(settings, found)
    names = [*(f"rewards/{name}/mean" for name in task.rewards), "kl", "completions/mean_length", "truncated"]
    names += ["zero_variance", "repetition", "length_correlation", "loss", "entropy"]
    series = {
        name: [(each["step"], each[name]) for each in found.curve if math.isfinite(each.get(name, math.nan))]
        for name in names
    }
    series |= {
        f"held out: {name}": [(look.step, value) for look in found.looks if math.isfinite(value := getattr(look, name))]
        for name in ("proxy", "gold")
    }
    figures = curves({name: line for name, line in series.items() if line}, "step", folder / "curve")
    columns = list(dict.fromkeys(name for each in found.curve for name in each if name not in ("step", "step_time")))
    rows = [[int(each["step"]), *(each.get(name) for name in columns)] for each in found.curve]
    write_atomically(folder / "curve.csv", comma_separated(["step", *columns], rows))
    looks = [(look.step, *(None if math.isnan(x) else x for x in (look.proxy, look.gold))) for look in found.looks]
    write_atomically(folder / "looks.csv", comma_separated(["step", "proxy", "gold"], looks))
    write_atomically(folder / "answers.jsonl", _answers(found))
    notes = (
        [f"Ended by the monitor at step {found.trip.step} of {settings.grpo.steps}: {found.trip.reason}."]
        if found.trip
        else []
    )
    last = found.curve[-1] if found.curve else {}
    metrics = {name: last[name] for name in names if math.isfinite(last.get(name, math.nan))}
    metrics |= {
        f"held_out/{name}": value
        for name, value in zip(("proxy", "gold"), looks[-1][1:], strict=True)
        if value is not None
    }
    metrics |= {"lam": settings.grpo.lam, "steps": float(found.steps), "tripped": float(found.trip is not None)}
    finish(context, output, result, content, f"GRPO {settings.policy.name}", [table], metrics, notes, figures)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    if settings.report.shown:
        print(plain(table, notes), flush=True)


def _before_and_after(settings: Settings, found: Any) -> Table:
    """Return the held-out answers of the policy as it was and as it is, over valid answers and over all."""
    import numpy as np

    least = settings.norm_match.invalid_outcome if settings.grpo.task == "situations" else 0.0
    rows, data = [], []
    columns = []
    for answers in (found.first, found.last):
        gold = [np.nan if each.gold is None else each.gold for each in answers]
        valid = [float(each.proxy is not None) for each in answers]
        every = [
            np.nan if least is None else least if not there else score for score, there in zip(gold, valid, strict=True)
        ]
        proxy = [np.nan if each.proxy is None else each.proxy for each in answers]
        columns.append(np.array([proxy, gold, every, valid, [float(each.truncated) for each in answers]]).T)
    before, after = columns
    keys = [each.question.key for each in found.first]
    terms = terms_of(settings)
    for name, values in (("before", before), ("after", after), ("difference", after - before)):
        figures: Sequence[Figure] = means(values, keys, terms).figures["all", "all"]
        shown = (*map(points, figures[:3]), *map(percent, figures[3:]))
        rows.append((name, *shown, str(len(keys))))
        data.append((name, *(end for figure in figures for end in figure), len(keys)))
    heads = ("reward", "gold_valid", "gold_all", "valid", "truncated")
    note = (
        "Answers to questions of norms not trained on. Gold: the judge's score over answers that can be read, "
        f"and over all with {least if least is None else f'{least:g}'} for the others. Valid, cut off: per cent. "
        f"{settings.bootstrap.level:.0%} percentile bootstrap intervals; differences are paired by question."
    )
    return Table(
        "policies",
        "Before and after",
        ("Policy", "Reward", "Gold, valid", "Gold, all", "Valid", "Cut off", "Questions"),
        tuple(rows),
        note,
        data_head=("policy", *(f"{head}{end}" for head in heads for end in ("", "_lo", "_hi")), "questions"),
        data=tuple(data),
    )


def _answers(found: Any) -> str:
    lines = []
    for when, answers in (("before", found.first), ("after", found.last)):
        for each in answers:
            row = {"key": each.question.key, "when": when, "answer": each.answer, "truncated": each.truncated}
            lines.append(json.dumps(row | {"reward": each.proxy, "gold": each.gold}, ensure_ascii=False))
    return "\n".join(lines) + "\n"
