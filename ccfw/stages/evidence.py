"""The retriever of a job: the knowledge bases that ship, opened with the job's settings."""

from __future__ import annotations

from pathlib import Path

from ccfw.knowledge.embedders import open_embedder
from ccfw.knowledge.files import read_passages, read_taboos
from ccfw.knowledge.retriever import Retriever
from ccfw.knowledge.shelf import build_shelf
from ccfw.knowledge.shipped import passage_text, shipped_folder, taboo_text
from ccfw.resources import resource
from ccfw.stages.context import Context


def open_retriever(context: Context) -> Retriever | None:
    """Return the retriever that the job names; ``None`` for ``retriever=none``.

    Raises ``RequestError`` when its embedder is not installed.
    """
    config = context.settings.retriever
    if config.embedder is None and not config.lexical:
        return None
    folder = resource("data") / "knowledge"
    embedder = open_embedder(config.embedder) if config.embedder else None
    cache = Path(context.settings.workspace) / "kb" / "vectors"
    passages = build_shelf(
        read_passages(folder / "passages"),
        passage_text,
        embedder=embedder,
        lexical=config.lexical,
        shipped=shipped_folder("passages", embedder) if embedder else None,
        cache=cache,
    )
    taboos = build_shelf(
        read_taboos(folder / "taboos"),
        taboo_text,
        embedder=embedder,
        lexical=config.lexical,
        shipped=shipped_folder("taboos", embedder) if embedder else None,
        cache=cache,
    )
    return Retriever(passages, taboos, config)
