"""The scoring door: texts → rewards, by any Hugging Face sequence classifier with one output.

A text's reward does not depend on what is read beside it: texts are padded on the right with a token that no text
holds, and masked.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ccfw.errors import RequestError
from ccfw.settings.training import WeightsConfig
from ccfw.training.encoding import encode, padded
from ccfw.training.texts import Reward, Text

CARD = "card.json"
"""Beside the weights of a reward model of ours: what it was trained on."""
_WEIGHTS = ("*.safetensors", "*.bin", "*.gguf", "*.json", "*.jinja", "*.model", "*.txt")


class RewardModel:
    """A reward model that reads ``batch`` texts at a time, each of at most ``max_tokens`` tokens."""

    def __init__(self, tokenizer: Any, model: Any, *, max_tokens: int, batch: int) -> None:
        self._tokenizer, self._model = tokenizer, model
        self._most, self._batch = max_tokens, batch

    def rewards(self, texts: Sequence[Text]) -> Iterator[Reward]:
        """Yield the reward of every text, in their order; one that is too long or gets no number is a failure."""
        for start in range(0, len(texts), self._batch):
            part = texts[start : start + self._batch]
            encoded = [encode(self._tokenizer, each.prompt, each.answer, self._most) for each in part]
            values = iter(self._read([each.ids for each in encoded if each is not None]))
            for text, each in zip(part, encoded, strict=True):
                if each is None:
                    yield Reward(text_id=text.text_id, reward=None, tokens=0, cut=0, failure="too_long")
                    continue
                value = next(values)
                failure = None if math.isfinite(value) else "not_a_number"
                kept = value if failure is None else None
                yield Reward(text_id=text.text_id, reward=kept, tokens=len(each.ids), cut=each.cut, failure=failure)

    def _read(self, rows: list[list[int]]) -> list[float]:
        if not rows:
            return []
        import torch

        ids, mask = padded(rows, self._tokenizer.pad_token_id)
        device = next(self._model.parameters()).device
        with torch.inference_mode():
            found = self._model(
                input_ids=torch.tensor(ids, device=device), attention_mask=torch.tensor(mask, device=device)
            )
        return [float(each) for each in found.logits[:, 0].float()]


def load(place: str, *, max_tokens: int, batch: int, key: str = "rewards.scorers") -> RewardModel:
    """Load a reward model from a folder or the Hub; raise ``RequestError`` under ``key`` for what is none."""
    from ccfw.training.guard import check_installed

    check_installed(key)
    from ccfw.training.terms import too_few_positions
    from ccfw.training.weights import load_scorer

    loaded = load_scorer(place, key)
    if faults := too_few_positions(f"{key}: {place}: max_tokens", loaded.model, max_tokens):
        raise RequestError(faults)
    return RewardModel(*loaded, max_tokens=max_tokens, batch=batch)


def identity(place: str) -> str:
    """Return what tells a reward model from every other: of a folder the hash of its files, else its name."""
    folder = Path(place)
    if not folder.is_dir():
        return place
    sha = hashlib.sha256()
    for path in sorted(path for pattern in _WEIGHTS for path in folder.glob(pattern) if path.name != CARD):
        sha.update(path.name.encode())
        with path.open("rb") as file:
            sha.update(hashlib.file_digest(file, "sha256").digest())
    return sha.hexdigest()


def origin(weights: WeightsConfig) -> str | None:
    """Return what tells the weights that training starts from apart, wherever they lie; ``None``: a package's."""
    return None if weights.path is None else identity(weights.path)


def trained_norms(place: str) -> frozenset[str]:
    """Return the norms that a reward model of ours was trained on; of others none is known."""
    card = Path(place) / CARD
    try:
        found = json.loads(card.read_text("utf-8"))["trained_norms"] if card.exists() else []
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise RequestError([f"{card}: does not say which norms the model was trained on"])
    return frozenset(found)
