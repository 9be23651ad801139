"""A norm-grounding supervisor: a sequence classifier that learns a judge's Norm Match, by transformers' ``Trainer``.

It is trained as the reward model is (``ccfw.training.reward``): every parameter, adapters, or the last layers alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import PrinterCallback, Trainer

from ccfw.errors import RequestError
from ccfw.settings.training import RewardConfig
from ccfw.stop import Stop
from ccfw.training.adapters import adapted
from ccfw.training.callbacks import Watch, guarded
from ccfw.training.encoding import encode, padded
from ccfw.training.reward import Trained, arguments, carried_out, check, tell, trained_part
from ccfw.training.supervising import HIGHEST, Grade
from ccfw.training.texts import norm_text
from ccfw.training.weights import Loaded, load_for_reward


def train(config: RewardConfig, grades: Sequence[Grade], folder: Path, seed: int, stop: Stop) -> Trained:
    """Train on grades, going on from the latest checkpoint under ``folder`` if there is one.

    Raises ``TrainingError`` with the step at which the loss is no number, ``RequestError`` when the weights cannot be
    read or the method does not suit them.
    """
    return fit(config, load_for_reward(config.weights, "supervisor", seed, config.pooling), grades, folder, seed, stop)


def fit(config: RewardConfig, loaded: Loaded, grades: Sequence[Grade], folder: Path, seed: int, stop: Stop) -> Trained:
    """Train a loaded model; see ``train``."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    check("supervisor", config, loaded)
    read = [
        (encode(loaded.tokenizer, norm_text(each.culture, each.norm), each.reasoning, config.max_tokens), each.score)
        for each in grades
    ]
    rows = [{"ids": text.ids, "share": score / HIGHEST} for text, score in read if text is not None]
    if not rows:
        raise RequestError([f"supervisor.max_tokens={config.max_tokens}: no reasoning fits"])
    model = trained_part(config, loaded.model, [text.ids for text, _ in read if text is not None], stop)
    terms = arguments(config, folder, seed)
    terms.remove_unused_columns = False  # the names of the columns are ours
    trainer = guarded(_Trainer)(
        model=adapted(model, config.lora, "SEQ_CLS"),
        args=terms,
        train_dataset=Dataset.from_list(rows),
        data_collator=_Batch(loaded.tokenizer.pad_token_id),
        processing_class=loaded.tokenizer,
        callbacks=[Watch(stop, tell)],
    )
    trainer.model_accepts_loss_kwargs = False  # the loss is a mean of ours, whatever the model's own would take
    trainer.remove_callback(PrinterCallback)
    cut = sum(text is not None and text.cut > 0 for text, _ in read)
    return carried_out(config, loaded, trainer, folder, cut, len(read) - len(rows))


class _Batch:
    """Rows → a batch, filled up on the right."""

    def __init__(self, padding: int) -> None:
        self._padding = padding

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, torch.Tensor]:
        ids, mask = padded([each["ids"] for each in rows], self._padding)
        shares = [each["share"] for each in rows]
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask), "labels": torch.tensor(shares)}


class _Trainer(Trainer):  # type: ignore[misc]
    def compute_loss(self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, **_: Any) -> Any:
        labels = inputs.pop("labels")
        found = model(**inputs)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(found.logits[:, 0].float(), labels.float())
        return (loss, found) if return_outputs else loss
