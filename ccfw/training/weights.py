"""Weights on disk or on the Hub → tokenizer and model, read by transformers; the only import of it besides trainers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from contextlib import redirect_stderr
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging as transformers_logging

from ccfw.errors import RequestError
from ccfw.settings.training import Pooling, WeightsConfig
from ccfw.terminal import printable
from ccfw.training import toy
from ccfw.training.encoding import ends_of_turn, opening_of, padding_of
from ccfw.training.pooled import PooledReward, PooledRewardConfig

_NONE = r"(?!)"
_POOLER = r"\bpooler\b"
_HEAD = rf"{_POOLER}|^(score|classifier|pre_classifier|classification_head|head)\b"
"""What classifiers call theirs."""


class Loaded(NamedTuple):
    """A model with its tokenizer, both set up for padding that is never taken for an end."""

    tokenizer: Any
    model: Any


def quiet() -> None:
    """Keep transformers from drawing progress bars and telling what is expected here."""
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    for module in ("transformers", "trl", "peft", "torch"):  # old names of settings that they use themselves
        warnings.filterwarnings("ignore", category=FutureWarning, module=module)
    warnings.filterwarnings("ignore", "Could not find a config file", module="peft")  # GGUF has none beside it


def place_of(weights: WeightsConfig, key: str) -> tuple[str, dict[str, Any]]:
    """Return what ``from_pretrained`` is called with; raise ``RequestError`` under ``key`` for a missing package."""
    more: dict[str, Any] = {"gguf_file": weights.gguf} if weights.gguf else {}
    if weights.revision:
        more["revision"] = weights.revision
    if weights.package is None:
        return str(weights.path), more
    found = find_spec(weights.package)
    if found is None or found.origin is None:
        raise RequestError([f"{key}.weights.package={weights.package}: not installed"])
    return str(Path(found.origin).parent), more


def load_causal(weights: WeightsConfig, key: str, seed: int) -> Loaded:
    """Load a language model, or draw a small one by the seed."""
    if weights.scratch is not None:
        return _toy(weights, seed)
    return _loaded(AutoModelForCausalLM, *place_of(weights, key), dtype=getattr(torch, weights.dtype), key=key)


def load_for_reward(weights: WeightsConfig, key: str, seed: int, pooling: Pooling = "last") -> Loaded:
    """Load a language model with a new head of one output in place of that over the vocabulary.

    The head of ``pooling`` *last* is drawn by the seed; that of *answer* begins at 0.
    """
    place, more = place_of(weights, key)
    torch.manual_seed(seed)
    kind = getattr(torch, weights.dtype)
    if weights.gguf is not None:  # GGUF files hold no classifier, and their reader knows language models only
        found = _loaded(AutoModelForCausalLM, place, more, dtype=kind, key=key)
        base = getattr(found.model, found.model.base_model_prefix)
        model = with_pooling(found.tokenizer, base) if pooling == "answer" else _with_head(found.model)
        found = Loaded(found.tokenizer, model)
    elif pooling == "answer":
        found = _loaded(AutoModel, place, more, dtype=kind, key=key, new=_POOLER)
        found = Loaded(found.tokenizer, with_pooling(found.tokenizer, found.model))
    else:
        more |= {"num_labels": 1}
        found = _loaded(AutoModelForSequenceClassification, place, more, dtype=kind, key=key, new=_HEAD)
    torch.manual_seed(seed)
    head = getattr(found.model, "score", None)
    if head is not None and pooling == "answer":  # a random head's opinion of whole answers would outlast small data
        head.weight.data.zero_()
    elif head is not None:  # encoders have their head drawn on loading, by the seed too
        head.weight.data.normal_(0.0, found.model.config.get_text_config().hidden_size ** -0.5)
    return found


def _toy(weights: WeightsConfig, seed: int) -> Loaded:
    """Return a small model over the words of the toy task."""
    words = {word: place for place, word in enumerate(toy.VOCABULARY)}
    made = Tokenizer(WordLevel(words, unk_token=toy.SPECIAL[-1]))
    made.pre_tokenizer = WhitespaceSplit()
    made.add_special_tokens(list(toy.SPECIAL))
    names = {f"{name}_token": f"<{name}>" for name in ("pad", "bos", "eos", "unk")}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, **names)
    tokenizer.chat_template = toy.TEMPLATE
    torch.manual_seed(seed)
    config = AutoConfig.for_model(
        "llama",
        vocab_size=len(words),
        hidden_size=weights.hidden,
        intermediate_size=2 * weights.hidden,
        num_hidden_layers=weights.layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=64,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, weights.dtype))
    set_ends(tokenizer, model)
    return Loaded(tokenizer, model)


def load_scorer(place: str, key: str) -> Loaded:
    """Load a trained reward model: a sequence classifier with one output."""
    found = _loaded(AutoModelForSequenceClassification, place, {}, dtype="auto", key=key)
    outputs = found.model.config.num_labels
    if outputs != 1:
        raise RequestError([f"{key}={place}: has {outputs} outputs, and a reward model has one"])
    found.model.eval()
    if torch.cuda.is_available():
        found.model.to("cuda")
    return found


def _loaded(kind: Any, place: str, more: dict[str, Any], *, dtype: Any, key: str, new: str = _NONE) -> Loaded:
    quiet()
    try:
        names = {name: more[name] for name in ("gguf_file", "revision") if name in more}
        with redirect_stderr(StringIO()):  # a bar for every file of GGUF, which no setting keeps away
            tokenizer = AutoTokenizer.from_pretrained(place, **names)
            model, info = kind.from_pretrained(place, dtype=dtype, output_loading_info=True, **more)
        _check_whole(info["missing_keys"], new)
        _drop_quantization(model)
        set_ends(tokenizer, model)
    except Exception as error:  # noqa: BLE001 (what a file of somebody else's lets their reader raise nobody knows)
        reason = printable(" ".join(str(error).split()))[:300] or type(error).__name__
        what = f"transformers cannot read {place}"
        if isinstance(error, OSError) and not Path(place).is_dir():
            what = f"{place} is no folder here, and is not to be had from the Hub"
        raise RequestError([f"{key}: {what}: {reason}"]) from None
    return Loaded(tokenizer, model)


def _check_whole(missing: Iterable[str], new: str) -> None:
    """Raise ``ValueError`` for weights that no file has: transformers draws them, and tells nobody who asks for quiet.

    Of a reward model to be trained, those of ``new`` may be missing: its head, and a pooler, which only a head reads.
    """
    lacking = sorted(each for each in missing if not re.search(new, each))
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise ValueError(f"its files lack {lacking[0]}{more}")


def set_ends(tokenizer: Any, model: Any) -> None:
    """Give tokenizer and model a padding token that is no end, and the model every end of a turn."""
    padding = padding_of(tokenizer)
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(padding)
    model.config.get_text_config().pad_token_id = padding
    generation = getattr(model, "generation_config", None)
    if generation is not None:
        generation.pad_token_id = padding
        generation.eos_token_id = list(ends_of_turn(tokenizer))


def _drop_quantization(model: Any) -> None:
    """Forget that weights came quantized: they are not any more, and it could be neither trained nor loaded again."""
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    if getattr(model, "hf_quantizer", None) is not None:
        model.hf_quantizer, model.is_quantized = None, False
        model.quantization_method = None


def _with_head(given: Any) -> Any:
    config = given.config
    config.num_labels = 1
    model = AutoModelForSequenceClassification.from_config(config, dtype=given.dtype)
    setattr(model, model.base_model_prefix, getattr(given, given.base_model_prefix))
    return model


def with_pooling(tokenizer: Any, base: Any) -> PooledReward:
    """Return a decoder with a new head over the mean of the answer's states."""
    opening, turn = opening_of(tokenizer)
    attention = base.config._attn_implementation  # a composed model sets it for its parts, to nothing if it has none
    config = PooledRewardConfig(base.config, opening, turn, num_labels=1, attn_implementation=attention)
    model: PooledReward = PooledReward(config, base).to(base.dtype)
    return model
