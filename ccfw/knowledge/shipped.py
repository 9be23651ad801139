"""The vectors that ship with the knowledge: made by ``python -m ccfw.knowledge.shipping``, used for these very texts.

The starter base can then be searched at once; embedding it takes a few minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ccfw.knowledge.embedders import Embedder
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.records import Passage, Taboo
from ccfw.knowledge.shelf import stored_vectors, vectors_of
from ccfw.knowledge.vectors import sorted_by_region
from ccfw.resources import resource
from ccfw.settings import EmbedderConfig

SHIPPED_WITH = EmbedderConfig(kind="e5", model="multilingual-e5-small-q4", threads=1, api_base=None, api_key_env=None)
"""The embedder of ``conf/retriever/e5.yaml``."""


def passage_text(passage: Passage) -> str:
    """Return what of a passage is searched: its title, its text and its native terms."""
    terms = " ".join(term.native or term.term for term in passage.niche_terms)
    return f"{passage.title}. {passage.text} {terms}".strip()


def taboo_text(taboo: Taboo) -> str:
    """Return what of a taboo is searched."""
    about = "" if taboo.category == "unknown" else f"{taboo.category.replace('_', ' ')}: "
    return f"{about}{taboo.action}. {taboo.detailed_explanation}"


def shipped_folder(kind: str, embedder: Embedder) -> Path:
    """Return where the vectors of ``passages``, ``taboos`` or ``templates`` by an embedder are, if they ship."""
    return resource("data") / "knowledge" / "vectors" / embedder.name.replace(":", "_") / kind


class Knowing:
    """An embedder to which the taboos that ship are known by their vectors; it embeds what stands beside them."""

    def __init__(self, embedder: Embedder, ours: Sequence[Taboo]) -> None:
        """Look up what ships of this very embedder; when nothing does, everything is embedded."""
        self.name = embedder.name
        self.queries = embedder.queries
        self._embed = embedder.passages
        texts = [taboo_text(ours[i]) for i in sorted_by_region([each.region for each in ours])[0]]
        index = stored_vectors(shipped_folder("taboos", embedder), vectors_of(embedder.name, texts))
        self._known = dict(zip(texts, index.vectors, strict=True)) if index else {}

    def passages(self, texts: Sequence[str]) -> Floats:
        """Embed texts that are to be found."""
        new = [text for text in texts if text not in self._known]
        found = dict(zip(new, self._embed(new), strict=True)) if new else {}
        return np.stack([self._known[text] if text in self._known else found[text] for text in texts])
