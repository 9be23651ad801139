"""The retriever of a job: the knowledge bases that ship, opened with the job's settings."""

from __future__ import annotations

from pathlib import Path

from ccfw.knowledge.embedders import Embedder, open_embedder
from ccfw.knowledge.files import read_passages, read_taboos
from ccfw.knowledge.records import Passage, Taboo
from ccfw.knowledge.retriever import Retriever
from ccfw.knowledge.shelf import build_shelf
from ccfw.resources import resource
from ccfw.stages.context import Context

SHIPPED = "vectors"
"""Folder of the vectors that ship with the knowledge, by embedder."""


def passage_text(passage: Passage) -> str:
    """Return what of a passage is searched: its title, its native terms and its text."""
    terms = " ".join(term.native or term.term for term in passage.niche_terms)
    return f"{passage.title}. {passage.text} {terms}".strip()


def taboo_text(taboo: Taboo) -> str:
    """Return what of a taboo is searched."""
    return f"{taboo.category.replace('_', ' ')}: {taboo.action}. {taboo.detailed_explanation}"


def open_retriever(context: Context) -> Retriever | None:
    """Return the retriever that the job names; ``None`` for ``retriever=none``.

    Raises ``RequestError`` when its embedder is not installed.
    """
    config = context.settings.retriever
    if config.embedder is None and not config.lexical:
        return None
    folder = resource("data") / "knowledge"
    embedder = open_embedder(config.embedder) if config.embedder else None
    shipped = _shipped(folder, embedder)
    cache = Path(context.settings.workspace) / "kb" / "vectors"
    passages = build_shelf(
        read_passages(folder / "passages"),
        passage_text,
        embedder=embedder,
        lexical=config.lexical,
        shipped=shipped / "passages" if shipped else None,
        cache=cache,
    )
    taboos = build_shelf(
        read_taboos(folder / "taboos"),
        taboo_text,
        embedder=embedder,
        lexical=config.lexical,
        shipped=shipped / "taboos" if shipped else None,
        cache=cache,
    )
    return Retriever(passages, taboos, config)


def _shipped(folder: Path, embedder: Embedder | None) -> Path | None:
    return folder / SHIPPED / embedder.name.replace(":", "_") if embedder else None
