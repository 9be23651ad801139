"""What calls cost: rates per token from a model's own YAML, or else from the price list that litellm's package holds.

The list is read as a file, without importing litellm. A model whose entry says more than rates per token and
context tiers (hours of the day, characters, tables) has no tariff here: its price is unknown, which is not free.
"""

from __future__ import annotations

import importlib.util
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ccfw.llm.types import ChatRequest, Usage
from ccfw.settings.models import ModelConfig

_LIST = "model_prices_and_context_window_backup.json"
_IN, _OUT = "input_cost_per_token", "output_cost_per_token"
_READ, _WRITTEN = "cache_read_input_token_cost", "cache_creation_input_token_cost"
_ABOVE = re.compile(rf"({_IN}|{_OUT}|{_READ}|{_WRITTEN})(_above_(\d+)(k?)_tokens)$")
_FROM_THE_THRESHOLD = frozenset({"xai"})
"""Providers whose other rates hold from the threshold on; everybody else's hold beyond it."""
_BEYOND_RATES = ("tiered_pricing", "off_peak_pricing", "input_cost_per_character", "input_cost_per_second")
_UNSEEN = 1024
"""Tokens that a provider may add to a prompt unseen: its chat template, its own instructions."""
_PER_MESSAGE = 16
_BOUND, _LEAVE_OUT = "give {role}.max_output_tokens", "leave it out"
BEYOND_REQUEST = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens"), _BOUND),
    **dict.fromkeys(("n", "best_of"), _LEAVE_OUT),
    **dict.fromkeys(("model", "models"), "give {role}.provider_model"),
}
"""Keys of ``extra_body`` under which ``Tariff.most`` is not the most, and what to give in their place."""


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
        cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
        written = min(usage.written_tokens or 0, usage.prompt_tokens - cached)
        plain = usage.prompt_tokens - cached - written
        tokens_in = plain * rates.input + cached * rates.cached + written * rates.written
        return tokens_in + usage.completion_tokens * rates.output

    def most(self, request: ChatRequest, max_output_tokens: int) -> float:
        """Return what a request can cost at most.

        A token is at least one byte of the prompt, which a tokenizer may bring to a normal form (NFC, NFKC) first, and
        the output is bounded by the request.
        """
        if self.free:
            return 0.0
        schema = json.dumps(request.schema, ensure_ascii=False) if request.schema else ""
        texts = [*(message.content for message in request.messages), schema]
        tokens = sum(_most_bytes(text) + _PER_MESSAGE for text in texts) + _UNSEEN
        reached = [self.rates, *(rates for least, rates in self.above if tokens >= least)]
        return max(
            tokens * max(rates.input, rates.cached, rates.written) + max_output_tokens * rates.output
            for rates in reached
        )

    @property
    def free(self) -> bool:
        """Whether nothing of a call costs anything."""
        return self.rates == Rates(0.0, 0.0, 0.0, 0.0) and not self.above

    def scaled(self, share: float) -> Tariff:
        """Return the tariff at a share of every rate."""
        above = tuple((least, _scaled(rates, share)) for least, rates in self.above)
        return replace(self, rates=_scaled(self.rates, share), above=above)


def _most_bytes(text: str) -> int:
    """Return the bytes of a text as it is or in the normal form that is longest: one character may become many."""
    forms = [text] if text.isascii() else [text, *(unicodedata.normalize(form, text) for form in ("NFC", "NFKC"))]
    return max(len(form.encode("utf-8", "surrogatepass")) for form in forms)


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
    return _read(_entry(model.provider_model), "_batches")


@lru_cache(maxsize=64)
def _listed(provider_model: str) -> Tariff | None:
    return _read(_entry(provider_model))


def _entry(provider_model: str) -> Mapping[str, Any]:
    provider, _, name = provider_model.partition("/")
    named = price_list().get(provider_model)
    bare = price_list().get(name)
    if named is None and bare is not None and bare.get("litellm_provider") != provider:
        bare = None  # another provider's model of the same name
    return named or bare or {}


def _read(entry: Mapping[str, Any], kind: str = "") -> Tariff | None:
    """Return the tariff of an entry; of its batches, whose rates have names that end so, for ``kind="_batches"``."""
    own = _named(entry, kind)
    if any(entry.get(key) for key in _BEYOND_RATES) or not own.get(_OUT) or own.get(_IN) is None:
        return None
    if entry.get("output_cost_per_reasoning_token") not in (None, entry.get(_OUT)):
        return None
    tiers = sorted({(_tokens(found), found[2]) for found in map(_ABOVE.match, entry) if found})
    beyond = 0 if entry.get("litellm_provider") in _FROM_THE_THRESHOLD else 1
    base, above = _rates(own), []
    for threshold, suffix in tiers:
        own = own | _named(entry, suffix + kind)  # what a tier does not name is as in the one below it
        above.append((threshold + beyond, _rates(own)))
    return Tariff(base, tuple(above))


def _tokens(tier: re.Match[str]) -> int:
    return int(tier[3]) * (1000 if tier[4] else 1)


def _named(entry: Mapping[str, Any], suffix: str) -> dict[str, float]:
    found = {name: entry.get(name + suffix) for name in (_IN, _OUT, _READ, _WRITTEN)}
    return {name: float(rate) for name, rate in found.items() if isinstance(rate, int | float)}


def _rates(named: Mapping[str, float]) -> Rates:
    tokens_in = named[_IN]
    return Rates(tokens_in, named.get(_READ, tokens_in), named.get(_WRITTEN, tokens_in), named[_OUT])


@lru_cache(maxsize=1)
def price_list() -> Mapping[str, Any]:
    """Return litellm's price list by model; empty when the installed litellm has none that can be read."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        return {}
    try:
        content = json.loads((Path(spec.origin).parent / _LIST).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    entries = content.items() if isinstance(content, dict) else ()
    return {name: entry for name, entry in entries if isinstance(entry, dict)}
