"""Stage *grpo*: a policy is optimised for appropriateness and norm grounding, and watched (Tables 5, 24; Figures 2, 6).

Reads   the situations of the job; a reward model (``grpo.reward_model``), ``trained`` being that of stage *reward*.
Writes  ``crisp/grpo/<fingerprint>/``: ``model/`` with its ``card.json``; ``report.md``; ``policies.csv``, before and
        after on held-out norms, over valid answers (those in form) and over all, with Norm Match by the gold judge;
        ``curve.csv`` and its figure; ``looks.csv``; ``ended.csv``; ``answers.jsonl``; checkpoints until it is finished.
Method  GRPO, reward = reward model + λ · Norm Match + form, each normalised apart and logged apart. Norm Match is asked
        of the judge through the door (``ccfw.stages.rewarding``), or of a classifier (``grpo.supervisor``); the policy
        never sees the norm. The monitor (``ccfw.training.monitor``) ends the run, with the reason, when the reward is
        being exploited. A budget that is spent, or a provider that is out, ends it too: the same line then goes on from
        the last whole checkpoint, and what was paid for comes from the ledger.
"""

from __future__ import annotations

import json
import logging
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ccfw.errors import RequestError, StoppedError
from ccfw.report.crisp import plain
from ccfw.report.writing import comma_separated
from ccfw.settings import Settings
from ccfw.settings.models import JudgeConfig
from ccfw.stages import responses, rewarding, testbed
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import Due, all_calls, folder_of
from ccfw.stages.curves import CURVE, LOOKS
from ccfw.stages.model_card import Whole, files_of, libraries, read_card, write_card
from ccfw.stages.optimised import before_and_after
from ccfw.stages.rewarding import Rewarded, asks_classifier, asks_gold, asks_supervisor
from ccfw.stages.scored import TRAINED, bootstrap_parts, finish, track_stored
from ccfw.stages.trained import broken_off
from ccfw.stages.training_curve import curve_csv
from ccfw.store import Output, digest, write_atomically
from ccfw.training import scoring
from ccfw.training.checkpoints import CHECKPOINTS, saving
from ccfw.training.guard import check_installed
from ccfw.training.planning import grpo_plan, shown_plan
from ccfw.training.scoring import CARD
from ccfw.training.task import Given, Missing, Task
from ccfw.training.toy import toy_task

log = logging.getLogger(__name__)
NAME = rewarding.NAME
VERSION = 4
MODEL = "model"
ENDED = "ended.csv"


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the optimised policy; its hash names the output folder."""
    settings = context.settings
    elsewhere = {"save_every", "micro_batch", "reward_model", "supervisor"}
    policy = settings.policy.model_dump(mode="json")
    policy["weights"]["path"] = scoring.origin(settings.policy.weights)
    content: dict[str, Any] = {
        "grpo": settings.grpo.model_dump(mode="json", exclude=elsewhere),
        "policy": policy,
        **bootstrap_parts(settings),
        "version": VERSION,
    }
    if settings.grpo.task == "toy":
        return content
    found = testbed.situations(context, NAME)
    supervised = settings.rewarding if asks_supervisor(settings) else None
    trained = asks_classifier(settings)
    return content | {
        "situations": digest(sorted(each.model_dump_json() for each in found)),
        "reward_model": scoring.identity(rewarding.reward_model(context)),
        "max_tokens": settings.rewards.max_tokens,
        "prompts": rewarding.prompts_of(settings).digest("crisp_response.") if rewarding.in_form(settings) else None,
        "supervisor": scoring.identity(rewarding.classifier(context)) if trained else _judge(context, supervised),
        "gold": _judge(context, settings.judge if asks_gold(settings) else None),
        "invalid": settings.norm_match.model_dump(mode="json", include={"invalid_outcome", "invalid_norm_match"}),
    }


def _judge(context: Context, judge: JudgeConfig | None) -> dict[str, Any] | None:
    if judge is None:
        return None
    members = {name: responses.judge_parts(context, each) for name, each in judge.members.items()}
    return {"members": members, "aggregation": judge.aggregation}


def run(context: Context) -> StageResult:
    """Optimise the policy, unless that is done, and write what came of it."""
    check_installed(f"stage={NAME}")
    if ahead := rewarding.check(context):
        raise RequestError(ahead)
    settings, content = context.settings, parts(context)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder)
    with output:
        if _is_whole(output):
            result.skipped = settings.grpo.steps
            track_stored(context, output, NAME)
            return result
        from ccfw.training.grpo import optimise

        task = toy_task(settings.grpo.toy_hack) if settings.grpo.task == "toy" else Rewarded(context, result).task()
        try:
            found = optimise(settings.grpo, settings.policy, task, output.folder, settings.seed, context.stop)
        except StoppedError as stopped:  # in the middle of a step, which is then done again
            return broken_off(context, output, result, content, str(stopped))
        result.done = found.steps
        if not found.finished:
            return broken_off(context, output, result, content, context.stop.reason)
        _write(context, output, result, content, task, found)
    return result


def _is_whole(output: Output) -> bool:
    """Return whether the policy is optimised and there whole; say it when it was and is not."""
    if output.read_manifest().get("status") != "ok":
        return False
    found = read_card(output.folder / MODEL, Whole)
    if isinstance(found, str):
        log.warning("%s: %s; the policy is optimised again", output.folder / MODEL, found)
    return isinstance(found, Whole)


def plan(context: Context) -> tuple[int, int]:
    """Return the calls that judges would be asked for, and print what optimisation would take.

    Raises ``RequestError`` as the run would, but for what is yet to be trained, which is said.
    """
    settings, config = context.settings, context.settings.grpo
    ahead = rewarding.check(context)
    scorers = {}
    if config.task == "toy":
        prompts = [each.prompt for each in toy_task(config.toy_hack).train]
    else:
        prompts = [rewarding.prompt_of(settings, each) for each in rewarding.Situations(context).train]
        scorers["reward model"] = settings.reward if config.reward_model == TRAINED else None
    if asks_classifier(settings):
        scorers["supervisor"] = settings.supervisor if config.supervisor == TRAINED else None
    made = grpo_plan(config, settings.policy, prompts, scorers)
    print(shown_plan(made, f"{NAME}={config.name} policy={settings.policy.name}"))
    for line in (*(f"first: {each}" for each in ahead), *rewarding.shared_notes(settings)):
        print(f"  {line}")
    return all_calls(due(context))


def due(context: Context) -> list[Due]:
    """Return what judges would be asked at most, if the policy kept the form in every answer."""
    return rewarding.due(context)


def _write(
    context: Context, output: Output, result: StageResult, content: Mapping[str, Any], task: Task, found: Any
) -> None:
    from ccfw.training.drawing import curves

    settings, folder = context.settings, output.folder
    _save(settings, found, folder / MODEL, output.folder.name)
    table = before_and_after(settings, found.first, found.last)
    names = [*(f"rewards/{name}/mean" for name in task.rewards), "kl", "completions/mean_length", "truncated"]
    names += ["zero_variance", "repetition", "length_correlation", "unscored", "unrewarded", "loss", "entropy"]
    series = {
        name: [(each["step"], each[name]) for each in found.curve if math.isfinite(each.get(name, math.nan))]
        for name in names
    }
    series |= {
        f"held out: {name}": [(look.step, value) for look in found.looks if math.isfinite(value := getattr(look, name))]
        for name in ("proxy", "gold")
    }
    figures = curves({name: line for name, line in series.items() if line}, "step", folder / "curve")
    untimed = [{name: value for name, value in each.items() if name != "step_time"} for each in found.curve]
    write_atomically(folder / CURVE, curve_csv(untimed))
    looks = [(look.step, _written(look.proxy), _written(look.gold)) for look in found.looks]
    write_atomically(folder / LOOKS, comma_separated(["step", "proxy", "gold"], looks))
    ended = (found.steps, settings.grpo.steps, *((found.trip.sign, found.trip.reason) if found.trip else (None, None)))
    write_atomically(folder / ENDED, comma_separated(("step", "of", "sign", "reason"), [ended]))
    write_atomically(folder / "answers.jsonl", _answers(found))
    notes = (
        [f"Ended by the monitor at step {found.trip.step} of {settings.grpo.steps}: {found.trip.reason}."]
        if found.trip
        else []
    )
    notes += rewarding.missing_notes(found.asked) + rewarding.shared_notes(settings)
    last = found.curve[-1] if found.curve else {}
    metrics = {name: last[name] for name in names if math.isfinite(last.get(name, math.nan))}
    metrics |= {
        f"held_out/{name}": value
        for name, value in zip(("proxy", "gold"), looks[-1][1:], strict=True)
        if value is not None
    }
    metrics |= {"lam": settings.grpo.lam, "steps": float(found.steps), "tripped": float(found.trip is not None)}
    title, label = f"GRPO {settings.policy.name}", f"{settings.policy.name} λ {settings.grpo.lam:g}"
    more = ENDED, f"{MODEL}/{CARD}"
    finish(context, output, result, content, title, [table], metrics, notes, figures, label=label, more=more)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    if settings.report.shown:
        print(plain(table, notes), flush=True)


def _save(settings: Settings, found: Any, model: Path, name: str) -> None:
    """Write a policy with its tokenizer, and its card last."""
    (model / CARD).unlink(missing_ok=True)
    with saving(model):
        found.loaded.model.save_pretrained(model)
        found.loaded.tokenizer.save_pretrained(model)
    card = Whole(
        name=settings.policy.name,
        fingerprint=name,
        settings={key: getattr(settings, key).model_dump(mode="json") for key in ("grpo", "policy")},
        seed=settings.seed,
        steps=found.steps,
        files=files_of(model),
        versions=libraries(),
    )
    write_card(model, card)


def _written(value: float | None) -> float | None:
    """Return a value as a CSV has it: nothing where there is no number."""
    return None if value is None or math.isnan(value) else value


def _answers(found: Any) -> str:
    lines = []
    for when, answers in (("before", found.first), ("after", found.last)):
        for each in answers:
            row = {"key": each.question.key, "when": when, "answer": each.answer}
            row |= {"valid": each.valid, "truncated": each.truncated}
            for name, given in (("reward", each.proxy), ("gold", each.gold), ("norm_match", each.norm_match)):
                row |= _given(name, given)
            lines.append(json.dumps(row, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def _given(name: str, given: Given) -> dict[str, Any]:
    """Return a reward, and why it is missing if it is."""
    if isinstance(given, Missing):
        return {name: None, f"no_{name}": given}
    return {name: given}
