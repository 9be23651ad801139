"""What calls cost: rates per token from a model's own YAML, or else from the price list that litellm's package holds.

The list is read as a file, without importing litellm. A model whose entry says more than rates per token and
context tiers (hours of the day, characters, tables) has no tariff here: its price is unknown, which is not free.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ccfw.llm.types import ChatRequest, Usage
from ccfw.settings import ModelConfig

_LIST = "model_prices_and_context_window_backup.json"
_ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens$")
_BEYOND_RATES = ("tiered_pricing", "off_peak_pricing", "input_cost_per_character", "input_cost_per_second")
_UNSEEN = 1024
"""Tokens that a provider may add to a prompt unseen: its chat template, its own instructions."""
_PER_MESSAGE = 16


@dataclass(frozen=True)
class Rates:
    """US dollars per token."""

    input: float
    cached: float
    """Of a prompt token that the provider's cache held."""
    written: float
    """Of a prompt token that went into the provider's cache."""
    output: float


@dataclass(frozen=True)
class Tariff:
    """The rates of a model, and those from a length of prompt on."""

    rates: Rates
    above: tuple[tuple[int, Rates], ...] = ()
    """Prompt tokens from which other rates hold for the whole call, ascending."""

    def at(self, prompt_tokens: int) -> Rates:
        """Return the rates of a call with a prompt of that length."""
        return next((rates for least, rates in reversed(self.above) if prompt_tokens >= least), self.rates)

    def cost(self, usage: Usage) -> float | None:
        """Return a call's cost in US dollars; ``None`` when the provider did not count its tokens."""
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return 0.0 if self.free else None
        rates = self.at(usage.prompt_tokens)
        cached, written = usage.cached_tokens or 0, usage.written_tokens or 0
        plain = max(usage.prompt_tokens - cached - written, 0)
        tokens_in = plain * rates.input + cached * rates.cached + written * rates.written
        return tokens_in + usage.completion_tokens * rates.output

    def most(self, request: ChatRequest, max_output_tokens: int) -> float:
        """Return what a request can cost at most.

        A token is at least one byte of the prompt, whatever the tokenizer, and the output is bounded by the request.
        """
        prompt = sum(len(message.content.encode("utf-8", "replace")) + _PER_MESSAGE for message in request.messages)
        schema = len(json.dumps(request.schema, ensure_ascii=False).encode()) if request.schema else 0
        tokens = 0 if self.free else prompt + schema + _UNSEEN
        rates = self.at(tokens)
        return tokens * max(rates.input, rates.cached, rates.written) + max_output_tokens * rates.output

    @property
    def free(self) -> bool:
        """Whether nothing of a call costs anything."""
        return self.rates == Rates(0.0, 0.0, 0.0, 0.0)

    def scaled(self, share: float) -> Tariff:
        """Return the tariff at a share of every rate."""
        above = tuple((least, _scaled(rates, share)) for least, rates in self.above)
        return replace(self, rates=_scaled(self.rates, share), above=above)


def _scaled(rates: Rates, share: float) -> Rates:
    return Rates(rates.input * share, rates.cached * share, rates.written * share, rates.output * share)


def tariff(model: ModelConfig) -> Tariff | None:
    """Return what a model's calls cost: as its YAML says, else as the list says, else ``None``."""
    price = model.price
    if price is not None:
        cached = price.input if price.cached_input is None else price.cached_input
        per_million = Rates(price.input, cached, price.input, price.output)
        return Tariff(_scaled(per_million, 1e-6))
    return _listed(model.provider_model)


def batch_tariff(model: ModelConfig, share: float) -> Tariff | None:
    """Return what calls cost in a provider's batches: as the list says, or a share of the direct price.

    ``None`` where the list knows no batches of the model.
    """
    if model.price is not None:
        direct = tariff(model)
        return direct.scaled(share) if direct else None
    entry = _entry(model.provider_model)
    return Tariff(_rates(entry, "_batches", None)) if _number(entry, "output_cost_per_token_batches") else None


@lru_cache(maxsize=64)
def _listed(provider_model: str) -> Tariff | None:
    return _read(_entry(provider_model))


def _entry(provider_model: str) -> Mapping[str, Any]:
    provider, _, name = provider_model.partition("/")
    named = price_list().get(provider_model)
    bare = price_list().get(name)
    if named is None and bare is not None and bare.get("litellm_provider") != provider:
        bare = None  # another provider's model of the same name
    found = named or bare
    return found if isinstance(found, dict) else {}


def _read(entry: Mapping[str, Any]) -> Tariff | None:
    if any(entry.get(key) for key in _BEYOND_RATES) or not _number(entry, "output_cost_per_token"):
        return None
    if entry.get("output_cost_per_reasoning_token") not in (None, entry["output_cost_per_token"]):
        return None
    tiers = sorted((int(found[1]) * 1000, f"_above_{found[1]}k_tokens") for found in map(_ABOVE.match, entry) if found)
    base = _rates(entry, "", None)
    return Tariff(base, tuple((least, _rates(entry, suffix, base)) for least, suffix in tiers))


def _rates(entry: Mapping[str, Any], suffix: str, base: Rates | None) -> Rates:
    def rate(name: str, otherwise: float) -> float:
        found = _number(entry, name + suffix)
        return otherwise if found is None else found

    tokens_in = rate("input_cost_per_token", base.input if base else 0.0)
    hit = None if suffix else _number(entry, "input_cost_per_token_cache_hit")
    return Rates(
        input=tokens_in,
        cached=rate("cache_read_input_token_cost", tokens_in if hit is None else hit),
        written=rate("cache_creation_input_token_cost", tokens_in),
        output=rate("output_cost_per_token", base.output if base else 0.0),
    )


def _number(entry: Mapping[str, Any], key: str) -> float | None:
    value = entry.get(key)
    return float(value) if isinstance(value, int | float) else None


@lru_cache(maxsize=1)
def price_list() -> Mapping[str, Any]:
    """Return litellm's price list by model; empty when the installed litellm keeps it elsewhere."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        return {}
    path = Path(spec.origin).parent / _LIST
    content = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return content if isinstance(content, dict) else {}
