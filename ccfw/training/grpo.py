"""Group-relative policy optimisation by TRL's ``GRPOTrainer``, watched (paper 2, section 4; Shao et al. 2024).

Rewards are normalised apart within each group before they are added up (GDPO): in a sum the one of larger spread would
drown the others. What a step shows and what the gold judge says go to ``ccfw.training.monitor``, which may end the run.
"""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback, TrainerState
from transformers.trainer import TRAINER_STATE_NAME
from trl import GRPOConfig, GRPOTrainer

from ccfw.settings.training import GrpoConfig, PolicyConfig
from ccfw.stop import Stop
from ccfw.training.adapters import adapters
from ccfw.training.answering import check_asking, generate
from ccfw.training.callbacks import Watch, ending, guarded
from ccfw.training.checkpoints import CHECKPOINTS, resumed_from, step_of
from ccfw.training.monitor import (
    Limits,
    Look,
    Monitor,
    Trip,
    length_correlation,
    normalised,
    repetition,
    zero_variance,
)
from ccfw.training.task import SHARES, Answered, Given, Missing, Question, Rewarder, Task, number
from ccfw.training.weights import Loaded, load_causal, quiet

log = logging.getLogger(__name__)
_STEP = "loss"
"""In what is logged of a step, and of nothing else: rewards may all be missing."""
_ELSEWHERE = frozenset({"frac_reward_zero_std", "completions/clipped_ratio"})
"""What TRL logs and no curve keeps. With rewards normalised apart, its share of groups without spread is taken over the
whole step, which ``zero_variance`` is not; its share of answers cut off is ``truncated``."""
_PROXY, _GOLD = "held_out/proxy", "held_out/gold"


@dataclass(frozen=True)
class Optimised:
    """A policy that was optimised, and the way there."""

    loaded: Loaded
    curve: tuple[dict[str, float], ...]
    """What every step showed: rewards apart, KL, lengths, and the monitor's signs."""
    looks: tuple[Look, ...]
    first: tuple[Answered, ...]
    """Answers to the held-out questions before the first step."""
    last: tuple[Answered, ...]
    steps: int
    trip: Trip | None
    finished: bool
    """Whether every step was done, or the monitor ended it."""
    asked: Mapping[str, float]
    """Judgements and readings in all steps and looks, and those that gave nothing by kind of failure."""


def optimise(config: GrpoConfig, policy: PolicyConfig, task: Task, folder: Path, seed: int, stop: Stop) -> Optimised:
    """Optimise a policy on a task, going on from the latest checkpoint under ``folder`` if there is one.

    Raises ``TrainingError`` with the step at which the loss, a gradient, a probability or a reward is no number,
    ``RequestError`` for a policy that cannot be asked the task's questions, ``OSError`` when a checkpoint cannot be
    written; what a reward raises besides ends the step that it was asked for, and the run.
    """
    loaded = load_causal(policy.weights, "policy", seed)
    return fit(config, policy, loaded, task, folder, seed, stop)


def fit(
    config: GrpoConfig, policy: PolicyConfig, loaded: Loaded, task: Task, folder: Path, seed: int, stop: Stop
) -> Optimised:
    """Optimise a loaded policy; see ``optimise``."""
    quiet()
    logging.getLogger("trl").setLevel(logging.ERROR)  # of an answer without a reward it prints all that was said
    check_asking(config, policy, loaded, (*task.train, *task.held_out[: config.monitor.questions]))
    limits = Limits(**config.monitor.model_dump(include=set(Limits._fields)))
    watch = _Watch(config, policy.template, loaded, task, Monitor(limits), seed, log_of(task))
    rows = [{"prompt": list(each.prompt), "key": each.key} for each in in_order(task.train, config, seed)]
    names = list(task.rewards)
    trainer = guarded(GRPOTrainer)(
        model=loaded.model,
        args=_arguments(config, policy, folder, seed, [task.weights[name] for name in names]),
        reward_funcs=[_function(name, task.rewards[name], watch) for name in names],
        train_dataset=Dataset.from_list(rows),
        processing_class=loaded.tokenizer,
        callbacks=[Watch(stop), watch],
        peft_config=adapters(policy.lora, "CAUSAL_LM"),
    )
    if config.beta and policy.lora is None:
        trainer.ref_model = trainer.accelerator.prepare_model(copy.deepcopy(loaded.model).eval(), evaluation_mode=True)
        trainer.beta = config.beta
    trainer.remove_callback(PrinterCallback)
    watch.loaded = loaded._replace(model=trainer.model)
    watch.look(0)
    first, before = _matched(task, watch.last), task.tally.take()
    latest = resumed_from(folder)
    if latest and watch.ended_before(TrainerState.load_from_json(str(latest / TRAINER_STATE_NAME)).log_history):
        trainer.args.max_steps = step_of(latest)  # a trainer asks whether it is to end after its first step only
        trainer.train_dataset = trainer.train_dataset.select(range(step_of(latest) * config.questions))
    trainer.train(resume_from_checkpoint=str(latest) if latest else None)
    whole = trainer.model.merge_and_unload() if policy.lora else trainer.model
    whole.eval()
    state = trainer.state
    finished = state.global_step >= config.steps or watch.trip is not None
    if finished and watch.looked < state.global_step:  # a sign ended it between two looks, or all was done before
        known = any(each.step == state.global_step for each in watch.monitor.looks)
        watch.look(state.global_step)
        if known:
            task.tally.take()  # its step has counted what it asks for
    last = _matched(task, watch.last) if finished else watch.last
    curve = tuple(
        {name: value for name, value in _numbers(each).items() if name not in _ELSEWHERE}
        for each in state.log_history
        if _STEP in each
    )
    return Optimised(
        loaded._replace(model=whole),
        curve,
        tuple({look.step: look for look in watch.monitor.looks}.values()),
        first,
        last,
        state.global_step,
        watch.trip,
        finished,
        _asked((before, *curve, task.tally.take())),
    )


def _asked(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the sums of what was asked for and what was missing of it."""
    found: dict[str, float] = {}
    for part in parts:
        for name, count in part.items():
            if name.partition("/")[0] in SHARES:
                found[name] = found.get(name, 0.0) + count
    return found


def _matched(task: Task, answers: Sequence[Answered]) -> tuple[Answered, ...]:
    """Return answers with their Norm Match, where somebody is there to say it."""
    if task.norm_match is None:
        return tuple(answers)
    given = task.norm_match([each.question.key for each in answers], [each.answer for each in answers])
    return tuple(each._replace(norm_match=own) for each, own in zip(answers, given, strict=True))


def in_order(questions: Sequence[Question], config: GrpoConfig, seed: int) -> list[Question]:
    """Return the questions of every step, all of them shuffled anew each time round.

    Laid out beforehand, since a sampler that shuffles starts over when training goes on from a checkpoint.
    """
    generator, wanted = torch.Generator().manual_seed(seed), config.steps * config.questions
    found: list[Question] = []
    while len(found) < wanted:
        found += [questions[place] for place in torch.randperm(len(questions), generator=generator).tolist()]
    return found[:wanted]


def log_of(task: Task) -> Callable[[int, dict[str, float]], None]:
    """Return what tells a step in one line."""

    def tell(step: int, signs: dict[str, float]) -> None:
        shown = {name: signs.get(f"rewards/{name}/mean", math.nan) for name in task.rewards}
        rewards = " ".join(f"{name} {value:.3f}" for name, value in shown.items())
        log.info("grpo step %d: %s length %.0f", step, rewards, signs.get("completions/mean_length", math.nan))

    return tell


@dataclass
class _Watch(TrainerCallback):  # type: ignore[misc]
    """Sees every step and has the gold judge look every few of them."""

    config: GrpoConfig
    template: Mapping[str, Any]
    loaded: Loaded
    task: Task
    monitor: Monitor
    seed: int
    tell: Callable[[int, dict[str, float]], None]
    trip: Trip | None = None
    last: tuple[Answered, ...] = ()
    looked: int = 0
    """The step of the last look."""
    _seen: dict[str, float] = field(default_factory=dict)
    _rewards: dict[str, list[float]] = field(default_factory=dict)
    _lengths: list[int] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)

    def take(self, name: str, rewards: Sequence[Given], texts: Sequence[str], lengths: Sequence[int]) -> None:
        """Keep what one reward said of a step's answers."""
        self._rewards[name] = list(map(number, rewards))
        self._texts, self._lengths = list(texts), list(lengths)

    def ended_before(self, history: Iterable[Mapping[str, Any]]) -> bool:
        """Take what was seen before the checkpoint that training goes on from; return whether it ended the run."""
        for each in history:
            if _STEP in each:
                self._ended(self.monitor.step(each["step"], each))
            if _PROXY in each:
                self._ended(self.monitor.look(Look(each["step"], each[_PROXY], each[_GOLD])))
        return self.trip is not None

    def on_log(self, _args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> Any:
        """Take what the step showed."""
        if not logs or _STEP not in logs:
            return control
        signs = _numbers(logs)
        signs |= self._signs() | {"truncated": signs.get("completions/clipped_ratio", math.nan)}
        state.log_history[-1] |= signs  # a checkpoint keeps it
        self.tell(state.global_step, signs)
        control.should_training_stop |= self._ended(self.monitor.step(state.global_step, signs))
        return control

    def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Look, when it is time to, and after the last step."""
        if state.global_step % self.config.monitor.every == 0 or state.global_step >= self.config.steps:
            control.should_training_stop |= self._ended(self.look(state.global_step))
        return control

    def _ended(self, trip: Trip | None) -> bool:
        """Keep why the run ends, the first time, and return whether it does."""
        if trip is not None and self.trip is None:
            self.trip = trip
            log.warning("grpo ends at step %d: %s", trip.step, trip.reason)
        return self.trip is not None

    def _signs(self) -> dict[str, float]:
        group = self.config.group
        apart = {name: normalised(own, group) for name, own in self._rewards.items()}
        whole = [
            math.fsum(self.task.weights[name] * own[place] for name, own in apart.items())
            for place in range(len(self._texts))
        ]
        seen, self._seen = self._seen, {}
        return (
            seen
            | self.task.tally.take()
            | {
                "zero_variance": zero_variance(whole, group),
                "repetition": sum(map(repetition, self._texts)) / max(1, len(self._texts)),
                "length_correlation": length_correlation(whole, self._lengths, group),
            }
        )

    def look(self, step: int) -> Trip | None:
        """Have the held-out questions answered and judged."""
        questions = self.task.held_out[: self.config.monitor.questions]
        with ending(step):
            answers = generate(self.loaded, questions, self.config, self.template, self.seed)
            keys, texts = [each.key for each in questions], [text for text, _ in answers]
            proxy = self.task.rewards[self.task.proxy](keys, texts)
        gold = self.task.gold(keys, texts) if self.task.gold else [None] * len(keys)
        self.last = tuple(
            Answered(question, text, truncated, self.task.valid(text), one, other)
            for question, (text, truncated), one, other in zip(questions, answers, proxy, gold, strict=True)
        )
        found = Look(step, _mean(proxy), _mean(gold))
        self.looked = step
        if step:
            self._seen = {_PROXY: found.proxy, _GOLD: found.gold}
        log.info("grpo step %d, held out: %s %.3f gold %.3f", step, self.task.proxy, found.proxy, found.gold)
        return self.monitor.look(found)


def _numbers(logs: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in logs.items() if isinstance(value, int | float)}


def _mean(values: Sequence[Given]) -> float:
    there = [each for each in map(number, values) if not math.isnan(each)]
    return math.fsum(there) / len(there) if there else math.nan


def _function(name: str, rewarder: Rewarder, watch: _Watch) -> Callable[..., list[float | None]]:
    def reward(completions: Any, completion_ids: Any, key: Sequence[str], **_: Any) -> list[float | None]:
        texts = [each[-1]["content"] if isinstance(each, list) else each for each in completions]
        found = rewarder(key, texts)
        watch.take(name, found, texts, [len(each) for each in completion_ids])
        return [None if isinstance(each, Missing) else each for each in found]

    reward.__name__ = name
    return reward


def _arguments(config: GrpoConfig, policy: PolicyConfig, folder: Path, seed: int, weights: list[float]) -> GRPOConfig:
    gpu = torch.cuda.is_available()
    return GRPOConfig(
        output_dir=str(folder / CHECKPOINTS),
        max_steps=config.steps,
        shuffle_dataset=False,
        learning_rate=config.learning_rate,
        per_device_train_batch_size=config.micro_batch,
        gradient_accumulation_steps=config.questions * config.group // config.micro_batch,
        num_generations=config.group,
        chat_template_kwargs=policy.template,
        max_completion_length=config.max_completion_tokens,
        temperature=config.temperature,
        top_p=config.top_p,
        beta=config.beta if policy.lora else 0.0,  # TRL would load the reference by name, which GGUF has none of
        epsilon=config.epsilon,
        reward_weights=weights,
        multi_objective_aggregation="normalize_then_sum",
        mask_truncated_completions=config.mask_truncated,
        lr_scheduler_type=config.schedule,
        warmup_steps=config.warmup,
        gradient_checkpointing=policy.gradient_checkpointing,
        bf16=policy.autocast == "bfloat16" and gpu,
        save_steps=config.save_every,
        save_total_limit=2,
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        seed=seed,
        data_seed=seed,
        use_cpu=not gpu,
        dataloader_pin_memory=False,
    )
