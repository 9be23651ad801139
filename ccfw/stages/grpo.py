"""Stage *grpo*: a policy is optimised for appropriateness and norm grounding, and watched (Tables 5, 24; Figures 2, 6).

Reads   the situations of the job; a reward model (``grpo.reward_model``), ``trained`` being that of stage *reward*.
Writes  ``crisp/grpo/<fingerprint>/``: ``model/``; ``report.md``; ``policies.csv``, before and after on held-out norms,
        over valid and over all answers; ``curve.csv`` and its figure; ``looks.csv``; ``answers.jsonl``; checkpoints
        until it is finished.
Method  GRPO, reward = reward model + λ · Norm Match + form, each normalised apart and logged apart. Norm Match is asked
        of the judge through the door (``ccfw.stages.rewarding``), or of a classifier (``grpo.supervisor``); the policy
        never sees the norm. The monitor (``ccfw.training.monitor``) ends the run, with the reason, when the reward is
        being exploited. A budget that is spent, or a provider that is out, ends it too: the same line then goes on from
        the last checkpoint, and what was paid for comes from the ledger.
"""

from __future__ import annotations

import json
import logging
import math
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from ccfw.align.alignment import Figure
from ccfw.errors import StoppedError
from ccfw.report.agreement import Table, percent, points
from ccfw.report.crisp import plain
from ccfw.report.writing import comma_separated
from ccfw.settings import Settings
from ccfw.settings.models import JudgeConfig
from ccfw.stages import responses, rewarding, testbed
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import Due, all_calls, folder_of
from ccfw.stages.rated import terms_of
from ccfw.stages.rewarding import Rewarded, asks_gold, asks_supervisor
from ccfw.stages.scored import TRAINED, bootstrap_parts, finish
from ccfw.store import Output, digest, write_atomically
from ccfw.training.figures import means
from ccfw.training.guard import check_installed
from ccfw.training.planning import grpo_plan, shown_plan
from ccfw.training.task import Task
from ccfw.training.texts import situation_text
from ccfw.training.toy import toy_task

log = logging.getLogger(__name__)
NAME = rewarding.NAME
VERSION = 2
MODEL = "model"


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the optimised policy; its hash names the output folder."""
    settings = context.settings
    elsewhere = {"save_every", "micro_batch", "reward_model", "supervisor"}
    content: dict[str, Any] = {
        "grpo": settings.grpo.model_dump(mode="json", exclude=elsewhere),
        "policy": settings.policy.model_dump(mode="json"),
        **bootstrap_parts(settings),
        "version": VERSION,
    }
    if settings.grpo.task == "toy":
        return content
    from ccfw.training import scoring

    found = testbed.situations(context, NAME)
    supervised = settings.rewarding if asks_supervisor(settings) else None
    trained = settings.grpo.lam > 0 and supervised is None
    return content | {
        "situations": digest(sorted(each.model_dump_json() for each in found)),
        "reward_model": scoring.identity(rewarding.reward_model(context)),
        "max_tokens": settings.rewards.max_tokens,
        "prompts": rewarding.prompts_of(settings).digest("crisp_response.") if rewarding.in_form(settings) else None,
        "supervisor": scoring.identity(rewarding.classifier(context)) if trained else _judge(context, supervised),
        "gold": _judge(context, settings.judge if asks_gold(settings) else None),
    }


def _judge(context: Context, judge: JudgeConfig | None) -> dict[str, Any] | None:
    if judge is None:
        return None
    members = {name: responses.judge_parts(context, each) for name, each in judge.members.items()}
    return {"members": members, "aggregation": judge.aggregation}


def run(context: Context) -> StageResult:
    """Optimise the policy, unless that is done, and write what came of it."""
    check_installed(f"stage={NAME}")
    settings, content = context.settings, parts(context)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder)
    with output:
        if (output.folder / MODEL).is_dir() and output.read_manifest().get("status") == "ok":
            result.skipped = settings.grpo.steps
            return result
        from ccfw.training.grpo import optimise

        task = toy_task(settings.grpo.toy_hack) if settings.grpo.task == "toy" else Rewarded(context, result).task()
        try:
            found = optimise(settings.grpo, settings.policy, task, output.folder, settings.seed, context.stop)
        except StoppedError as stopped:  # in the middle of a step, which is then done again
            return _broken_off(context, output, result, content, str(stopped))
        result.done = found.steps
        if not found.finished:
            return _broken_off(context, output, result, content, context.stop.reason or "interrupted")
        _write(context, output, result, content, task, found)
    return result


def _broken_off(
    context: Context, output: Output, result: StageResult, content: Mapping[str, Any], reason: str
) -> StageResult:
    """Leave a run that goes on from its last checkpoint."""
    result.stopped, result.interrupted = reason, context.stop.interrupted
    output.write_manifest(context.manifest(output, result, content))
    log.warning("stage=%s: stopped (%s); the same line goes on from the last checkpoint", NAME, reason)
    return result


def plan(context: Context) -> tuple[int, int]:
    """Return the calls that judges would be asked for, and print what optimisation would take."""
    settings, config = context.settings, context.settings.grpo
    texts = [] if config.task == "toy" else [situation_text(each) for each in testbed.situations(context, NAME)]
    scorer = settings.reward.weights if config.reward_model == TRAINED else None
    made = grpo_plan(config, settings.policy, texts, scorer)
    print(shown_plan(made, f"{NAME}={config.name} policy={settings.policy.name}"))
    return all_calls(due(context))


def due(context: Context) -> list[Due]:
    """Return what judges would be asked at most, if the policy kept the form in every answer."""
    return rewarding.due(context)


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
    names += ["zero_variance", "repetition", "length_correlation", "unscored", "loss", "entropy"]
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
    notes += rewarding.missing_notes(found.judged)
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
    note = _whose(settings, least) + (
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


def _whose(settings: Settings, least: float | None) -> str:
    """Return whose answers the table is of, and what its gold score is."""
    if settings.grpo.task == "toy":
        return (
            "Answers to the questions of the made-up task, the same that it is trained on. Gold: 1 for an answer whose "
            "first act is the right one, else 0. Cut off: per cent. "
        )
    over_all = "" if least is None else f", and over all with {least:g} for the others"
    return (
        "Answers to questions of norms not trained on. Gold: the judge's score over answers that can be read"
        f"{over_all}. Valid, cut off: per cent. "
    )


def _answers(found: Any) -> str:
    lines = []
    for when, answers in (("before", found.first), ("after", found.last)):
        for each in answers:
            row = {"key": each.question.key, "when": when, "answer": each.answer, "truncated": each.truncated}
            lines.append(json.dumps(row | {"reward": each.proxy, "gold": each.gold}, ensure_ascii=False))
    return "\n".join(lines) + "\n"
