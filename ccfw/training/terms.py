"""Terms of training that only the model at hand can judge: all that is wrong at once, a line each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from ccfw.errors import RequestError
from ccfw.settings.training import LoraTerms


def check_terms(key: str, model: Any, *, most: int, lora: LoraTerms | None = None) -> None:
    """Raise ``RequestError`` for what cannot be trained by; ``most`` are the tokens of the longest text."""
    faults = unknown_modules(key, model, lora.modules if lora else ())
    if faults := [*faults, *too_few_positions(f"{key}.max_tokens", model, most)]:
        raise RequestError(faults)


def unknown_modules(key: str, model: Any, modules: Iterable[str]) -> list[str]:
    """Return a line for each name that no linear layer of a model ends in."""
    layers = [name for name, each in model.named_modules() if isinstance(each, torch.nn.Linear)]
    options = ", ".join(sorted({name.rpartition(".")[2] for name in layers}))
    return [
        f"{key}.lora.modules={module}: the model has no such linear layer; it has {options}"
        for module in modules
        if not any(f".{name}".endswith(f".{module}") for name in layers)
    ]


def too_few_positions(key: str, model: Any, most: int) -> list[str]:
    """Return a line when texts may be longer than what a model can tell the places of."""
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return [f"{key}={most}: the model has {positions} positions"] if positions is not None and most > positions else []
