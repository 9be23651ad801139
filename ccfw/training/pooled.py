"""A reward model that reads the whole answer: the mean of the hidden states of the answer's tokens, then one output.

A sequence classifier of Hugging Face reads one state, that of the last token, and a small model has written little of
an answer's content there. The answer begins behind the token that opens its turn; where none is known, all tokens
count.

This file knows torch and transformers alone, and is saved beside the weights: whoever has no ccfw loads the model with
``trust_remote_code=True``, and is refused without it, instead of being given the rewards of another head.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class PooledRewardConfig(PreTrainedConfig):  # type: ignore[misc]
    """A language model's own configuration, and where an answer begins in what it reads."""

    model_type = "ccfw_pooled_reward"
    sub_configs = {"text_config": AutoConfig}  # noqa: RUF012 (as transformers declares it)

    def __init__(
        self,
        text_config: PreTrainedConfig | dict[str, Any] | None = None,
        opening: int | None = None,
        turn: int = 0,
        **more: Any,
    ) -> None:
        """Take the base's configuration, the token that opens a turn, and which of its occurrences opens the answer."""
        if isinstance(text_config, dict):
            text_config = AutoConfig.for_model(**text_config)
        self.text_config, self.opening, self.turn = text_config, opening, turn
        super().__init__(**more)


class PooledReward(PreTrainedModel):  # type: ignore[misc]
    """A decoder, the mean over the answer, and a linear head without bias."""

    config_class = PooledRewardConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True

    def __init__(self, config: PooledRewardConfig, base: Any = None) -> None:
        """Take a configuration, and the decoder where there is one already."""
        super().__init__(config)
        self.model = AutoModel.from_config(config.text_config) if base is None else base
        width: int = config.get_text_config().hidden_size
        self.score = torch.nn.Linear(width, config.num_labels, bias=False)
        self.post_init()

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **_: Any
    ) -> SequenceClassifierOutput:
        """Return one output for each of the rows, (rows, tokens) → (rows, 1)."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        states = self.model(input_ids=input_ids, attention_mask=mask, use_cache=False).last_hidden_state
        return SequenceClassifierOutput(logits=self.read(states, input_ids, mask))

    def read(self, states: torch.Tensor, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the outputs from the last hidden states, (rows, tokens, width) → (rows, 1)."""
        weight = self.counted(input_ids, attention_mask).to(states.dtype)
        mean = (states * weight[..., None]).sum(dim=1) / weight.sum(dim=1, keepdim=True)
        return self.score(mean)

    def counted(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return which tokens count, 1 or 0: the answer's with its end, or all where no answer's turn is opened."""
        opened = input_ids == self.config.opening if self.config.opening is not None else torch.zeros_like(input_ids)
        before = opened.long().cumsum(dim=1) - opened.long()
        answer = (before >= self.config.turn).long() * attention_mask
        there = (answer.sum(dim=1, keepdim=True) > 0) & (self.config.turn > 0)
        return torch.where(there, answer, attention_mask)


AutoConfig.register(PooledRewardConfig.model_type, PooledRewardConfig)
AutoModelForSequenceClassification.register(PooledRewardConfig, PooledReward)
PooledRewardConfig.register_for_auto_class()
PooledReward.register_for_auto_class("AutoModelForSequenceClassification")
