"""Low-rank adapters from settings: the one place that imports PEFT."""

from __future__ import annotations

from typing import Any

from peft import LoraConfig, get_peft_model

from ccfw.settings.training import LoraTerms


def adapters(terms: LoraTerms | None, task: str, **more: Any) -> LoraConfig | None:
    """Return PEFT's configuration for a task as ``SEQ_CLS``; ``None`` trains all parameters."""
    if terms is None:
        return None
    return LoraConfig(
        task_type=task,
        r=terms.rank,
        lora_alpha=terms.alpha,
        lora_dropout=terms.dropout,
        target_modules=list(terms.modules) or "all-linear",
        **more,
    )


def adapted(model: Any, terms: LoraTerms | None, task: str) -> Any:
    """Return a model with adapters in it, for trainers that put in none themselves."""
    made = adapters(terms, task)
    return model if made is None else get_peft_model(model, made)
