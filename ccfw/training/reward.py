"""A Bradley–Terry reward model, trained by TRL's ``RewardTrainer`` (paper 2, part II, Table 21).

Pairs are put into tokens here, so that what does not fit is cut where it does no harm, and counted; TRL drops a pair
that is too long without a word, and pads with the EOS where it is given nothing else.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import PrinterCallback
from trl import RewardConfig as TrlRewardConfig
from trl import RewardTrainer

from ccfw.crisp.records import Preference
from ccfw.errors import RequestError
from ccfw.report.agreement import counted
from ccfw.settings.training import RewardConfig
from ccfw.stop import Stop
from ccfw.training.adapters import adapters
from ccfw.training.callbacks import Watch, guarded
from ccfw.training.checkpoints import CHECKPOINTS, resumed_from
from ccfw.training.encoding import encode
from ccfw.training.terms import check_terms
from ccfw.training.texts import question_text
from ccfw.training.trunk import Trunk, keep_layers
from ccfw.training.weights import Loaded, load_for_reward

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trained:
    """A reward model that was trained, and the way there."""

    loaded: Loaded
    curve: tuple[dict[str, float], ...]
    """What every step logged: loss, accuracy, margin, learning rate, norm of the gradients."""
    steps: int
    finished: bool
    """Whether every step was done."""
    cut: int
    """Answers whose question did not fit whole."""
    too_long: int
    """Pairs left out, since an answer alone does not fit."""
    trainable: int
    """Parameters that were trained."""


def train(config: RewardConfig, pairs: Sequence[Preference], folder: Path, seed: int, stop: Stop) -> Trained:
    """Train on pairs, going on from the latest checkpoint under ``folder`` if there is one.

    Raises ``TrainingError`` with the step at which the loss is no number, ``RequestError`` when the weights cannot be
    read or the method does not suit them.
    """
    loaded = load_for_reward(config.weights, "reward", seed, config.pooling)
    return fit(config, loaded, pairs, folder, seed, stop)


def fit(
    config: RewardConfig, loaded: Loaded, pairs: Sequence[Preference], folder: Path, seed: int, stop: Stop
) -> Trained:
    """Train a loaded model; see ``train``."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    check("reward", config, loaded)
    rows, cut, too_long = _encoded(config, loaded.tokenizer, pairs)
    if not rows:
        raise RequestError([f"reward.max_tokens={config.max_tokens}: of no pair do both answers fit"])
    model = trained_part(config, loaded.model, [ids for row in rows for ids in row.values()], stop)
    trainer = guarded(RewardTrainer)(
        model=model,
        args=arguments(config, folder, seed),
        train_dataset=Dataset.from_list(rows),
        processing_class=loaded.tokenizer,
        callbacks=[Watch(stop, tell)],
        peft_config=adapters(config.lora, "SEQ_CLS", modules_to_save=["score"]),
    )
    trainer.remove_callback(PrinterCallback)
    return carried_out(config, loaded, trainer, folder, cut, too_long)


def check(key: str, config: RewardConfig, loaded: Loaded) -> None:
    """Raise ``RequestError`` for terms that a loaded model cannot be trained by."""
    check_terms(key, loaded.model, most=config.max_tokens, lora=config.lora)


def carried_out(config: RewardConfig, loaded: Loaded, trainer: Any, folder: Path, cut: int, too_long: int) -> Trained:
    """Have a trainer train, from the latest checkpoint on, and return what came of it."""
    count = sum(each.numel() for each in trainer.model.parameters() if each.requires_grad)
    latest = resumed_from(folder)
    trainer.train(resume_from_checkpoint=str(latest) if latest else None)
    whole = trainer.model.merge_and_unload() if config.lora else loaded.model
    whole.eval()
    state = trainer.state
    curve = tuple(
        {name: float(value) for name, value in each.items() if isinstance(value, int | float)}
        for each in state.log_history
        if "loss" in each
    )
    finished = state.global_step >= state.max_steps
    return Trained(loaded._replace(model=whole), curve, state.global_step, finished, cut, too_long, count)


def save(trained: Trained, folder: Path) -> None:
    """Write model and tokenizer in the form that every loader of Hugging Face reads."""
    trained.loaded.model.save_pretrained(folder)
    trained.loaded.tokenizer.save_pretrained(folder)


def _encoded(
    config: RewardConfig, tokenizer: Any, pairs: Sequence[Preference]
) -> tuple[list[dict[str, list[int]]], int, int]:
    rows, cut, too_long = [], 0, 0
    for pair in pairs:
        prompt = question_text(pair.culture, pair.scenario, pair.question)
        both = [encode(tokenizer, prompt, answer, config.max_tokens) for answer in (pair.chosen, pair.rejected)]
        kept = [each for each in both if each is not None]
        if len(kept) < len(both):
            too_long += 1
            continue
        cut += sum(each.cut > 0 for each in kept)
        rows.append({"chosen_ids": kept[0].ids, "rejected_ids": kept[1].ids})
    return rows, cut, too_long


def trained_part(config: RewardConfig, model: Any, texts: Sequence[list[int]], stop: Stop) -> Any:
    """Return what of a model is trained: of ``top`` the last layers, those below having read all texts once."""
    if config.top is None:
        return model
    keep_layers(model, config.top.keep)
    trunk = Trunk(model.to("cuda") if torch.cuda.is_available() else model, config.top.train)
    layers = counted(config.top.keep - config.top.train, "layer")
    log.info("reading %s through %s, once", counted(len(texts), "text"), layers)
    trunk.fill(texts, stop)
    trunk.check()
    return trunk.top


def arguments(config: RewardConfig, folder: Path, seed: int) -> TrlRewardConfig:
    """Return the terms of training as trainers of Hugging Face take them."""
    return TrlRewardConfig(
        output_dir=str(folder / CHECKPOINTS),
        num_train_epochs=config.epochs,
        learning_rate=config.learning_rate,
        per_device_train_batch_size=config.micro_batch,
        gradient_accumulation_steps=config.batch // config.micro_batch,
        max_length=None,
        optim=config.optimizer,
        lr_scheduler_type=config.schedule,
        warmup_steps=config.warmup,
        weight_decay=config.weight_decay,
        center_rewards_coefficient=config.centre,
        gradient_checkpointing=config.gradient_checkpointing,
        bf16=config.autocast == "bfloat16" and torch.cuda.is_available(),
        save_steps=config.save_every,
        save_total_limit=2,
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        seed=seed,
        data_seed=seed,
        use_cpu=not torch.cuda.is_available(),
        dataloader_pin_memory=False,
    )


def tell(step: int, numbers: dict[str, float]) -> None:
    """Tell a step in one line."""
    shown = " ".join(f"{name} {numbers[name]:.4g}" for name in ("loss", "accuracy", "margin") if name in numbers)
    log.info("step %d: %s", step, shown)
