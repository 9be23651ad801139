"""The vectors that ship with the knowledge: made by ``python -m ccfw.knowledge.shipping``, used for these very texts.

The starter base can then be searched at once; embedding it takes a few minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ccfw.knowledge.embedders import Embedder
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.records import Passage, Taboo
from ccfw.knowledge.shelf import stored_vectors, vectors_of
from ccfw.knowledge.vectors import sorted_by_region
from ccfw.resources import resource
from ccfw.settings.knowledge import EmbedderConfig

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


def passage_vectors(embedder: Embedder, ours: Sequence[Passage]) -> Mapping[str, Floats]:
    """Return the vectors that ship of our passages, by text; none where they are of other texts or embedders."""
    return _by_text("passages", embedder, [str(each.region) for each in ours], list(map(passage_text, ours)))


def taboo_vectors(embedder: Embedder, ours: Sequence[Taboo]) -> Mapping[str, Floats]:
    """Return the vectors that ship of our taboos, by text; none where they are of other texts or embedders."""
    return _by_text("taboos", embedder, [str(each.region) for each in ours], list(map(taboo_text, ours)))


def _by_text(kind: str, embedder: Embedder, regions: Sequence[str], texts: Sequence[str]) -> Mapping[str, Floats]:
    ordered = [texts[i] for i in sorted_by_region(regions)[0]]
    index = stored_vectors(shipped_folder(kind, embedder), vectors_of(embedder.name, ordered))
    return dict(zip(ordered, index.vectors, strict=True)) if index else {}
