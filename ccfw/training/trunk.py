"""Training the last layers only: what the layers below make of a text never changes, so it is computed once a text.

Texts that begin with the same question share its computation too. The layers above then read stored hidden states
instead of tokens, at a fraction of the cost of a step. Nothing here is of one family of models: the layers are those of
the model's base, and the split model is held against the whole one before anything is trained.
"""

from __future__ import annotations

import copy
import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers.modeling_outputs import SequenceClassifierOutput

from ccfw.errors import RequestError
from ccfw.stop import Stop
from ccfw.training.pooled import PooledReward

log = logging.getLogger(__name__)
_TOLERANCE = 1e-3
_CHECKED = 2
_TENTHS = 10
_SHORTEST_S = 1e-3


def keep_layers(model: Any, count: int) -> None:
    """Leave only the lowest layers of a classifier; raise ``RequestError`` when it has no such list of layers."""
    base = model.base_model
    layers = getattr(base, "layers", None)
    if layers is None:
        raise RequestError(["reward.top: this kind of model has no list of layers to train the last of; use lora"])
    if not 0 < count <= len(layers):
        raise RequestError([f"reward.top.keep={count}: the model has {len(layers)} layers"])
    base.layers = layers[:count]
    _count_layers(model.config.get_text_config(), 0, count)


def _count_layers(config: Any, start: int, stop: int) -> None:
    config.num_hidden_layers = stop - start
    kinds = getattr(config, "layer_types", None)
    if kinds:
        config.layer_types = kinds[start:stop]


class Trunk:
    """The layers of a classifier up to the last few, and their outputs by text."""

    def __init__(self, model: Any, trained: int) -> None:
        base = model.base_model
        depth = len(base.layers)
        self.model, self._padding = model, model.config.get_text_config().pad_token_id
        self.top = copy.copy(model)
        self.top.config = copy.deepcopy(model.config)
        self.top._modules = dict(model._modules)
        above = copy.copy(base)
        above.config, above._modules = self.top.config.get_text_config(), dict(base._modules)
        above.layers = base.layers[depth - trained :]
        _count_layers(above.config, depth - trained, depth)
        setattr(self.top, model.base_model_prefix, above)
        self._below = copy.copy(base)
        self._below.config = copy.deepcopy(model.config).get_text_config()
        self._below._modules = dict(base._modules)
        self._below.layers = base.layers[: depth - trained]
        self._below.norm = torch.nn.Identity()
        _count_layers(self._below.config, 0, depth - trained)
        self._states: dict[tuple[int, ...], torch.Tensor] = {}
        for parameter in self._below.parameters():
            parameter.requires_grad_(requires_grad=False)
        self.top.forward = self._forward

    def fill(self, rows: Sequence[Sequence[int]], stop: Stop | None = None) -> None:
        """Compute what the lower layers make of texts, those of one question together; ``stop`` may end it."""
        todo = sorted({tuple(row) for row in rows} - set(self._states))
        progress = _Progress(len(todo))
        self._below.eval()
        device = next(self._below.parameters()).device
        with torch.inference_mode(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # the name of the cache changes within the releases we take
            for shared, group in _by_beginning(todo):
                if stop is not None and stop.interrupted:
                    stop.check()
                if shared:
                    start = self._below(input_ids=torch.tensor([shared], device=device), use_cache=True)
                for row in group:
                    rest = torch.tensor([row[len(shared) :]], device=device)
                    past = copy.deepcopy(start.past_key_values) if shared else None
                    found = self._below(input_ids=rest, past_key_values=past, use_cache=True).last_hidden_state[0]
                    whole = torch.cat([start.last_hidden_state[0], found]) if shared else found
                    self._states[row] = whole.cpu().clone()  # of all texts they may be more than a GPU holds
                progress.done(len(group))

    def check(self) -> None:
        """Hold the split model against the whole one on a few texts; raise ``RequestError`` when they differ."""
        rows = list(self._states)[:_CHECKED]
        self.model.eval()
        with torch.inference_mode():
            for row in rows:
                ids = torch.tensor([row], device=next(self.model.parameters()).device)
                whole = self.model(input_ids=ids).logits[0, 0]
                split = self._forward(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0, 0]
                if not torch.isclose(whole, split, atol=_TOLERANCE, rtol=_TOLERANCE):
                    raise RequestError(
                        ["reward.top: this kind of model does more between its layers than can be split; use lora"]
                    )

    def _forward(self, input_ids: Any, attention_mask: Any, **_: Any) -> SequenceClassifierOutput:
        lengths = attention_mask.sum(dim=1).tolist()
        states = [
            self._states[tuple(row[:length])].clone() for row, length in zip(input_ids.tolist(), lengths, strict=True)
        ]
        stacked = torch.nn.utils.rnn.pad_sequence(states, batch_first=True).to(input_ids.device)
        base = getattr(self.top, self.model.base_model_prefix)
        hidden = base(inputs_embeds=stacked, attention_mask=attention_mask, use_cache=False).last_hidden_state
        if isinstance(self.top, PooledReward):
            return SequenceClassifierOutput(logits=self.top.read(hidden, input_ids, attention_mask))
        last = hidden[torch.arange(len(lengths)), torch.tensor(lengths) - 1]
        return SequenceClassifierOutput(logits=self.top.score(last))


class _Progress:
    """Says how far the reading is, after every tenth of the texts but the last, and how fast."""

    def __init__(self, total: int) -> None:
        self._total, self._read, self._start = total, 0, time.monotonic()

    def done(self, count: int) -> None:
        """Count texts that were read."""
        before, self._read = self._read, self._read + count
        if _TENTHS * before // self._total < _TENTHS * self._read // self._total < _TENTHS:
            rate = self._read / max(time.monotonic() - self._start, _SHORTEST_S)
            log.info("read %d of %d texts, %.3g a second", self._read, self._total, rate)


def _by_beginning(rows: Sequence[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Yield sorted rows in groups that begin alike for at least half of their length, with that beginning."""
    group: list[tuple[int, ...]] = []
    shared = 0
    for row in rows:
        common = _common(group[0][:shared], row) if group else 0
        if group and 2 * common >= max(len(row), len(group[0])):
            shared = common
            group.append(row)
            continue
        if group:
            yield (group[0][:shared] if len(group) > 1 else ()), group
        group, shared = [row], len(row) - 1
    if group:
        yield (group[0][:shared] if len(group) > 1 else ()), group


def _common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
