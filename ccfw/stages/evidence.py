"""The retriever of a job: the knowledge bases that ship and the one built of dumps, opened with the job's settings."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from ccfw.errors import RequestError
from ccfw.knowledge.embedders import Embedder, Stoppable, faults, open_embedder
from ccfw.knowledge.files import read_passages, read_taboos
from ccfw.knowledge.importing import read_atlas, with_imported
from ccfw.knowledge.library import open_library
from ccfw.knowledge.records import Passage, Taboo
from ccfw.knowledge.retriever import Retriever
from ccfw.knowledge.shelf import Shelf, build_shelf
from ccfw.knowledge.shipped import passage_text, passage_vectors, shipped_folder, taboo_text, taboo_vectors
from ccfw.resources import resource
from ccfw.settings import Settings
from ccfw.stages.context import Context

log = logging.getLogger(__name__)


def open_retriever(context: Context, built: Path | None = None) -> Retriever | None:
    """Return the retriever that the job names; ``None`` for ``retriever=none``.

    ``built`` is where the passages made of the job's dumps are, if it names a knowledge base that is made of some.
    Raises ``RequestError`` when its embedder is not installed, or with every fault of the user's files of taboos.
    """
    config = context.settings.retriever
    if config.embedder is None and not config.lexical:
        return None
    ours, entries = shipped_taboos(), all_taboos(context)
    embedder = Stoppable(open_embedder(config.embedder), context.stop) if config.embedder else None
    cache = Path(context.settings.workspace) / "kb" / "vectors"
    taboos = build_shelf(
        entries,
        taboo_text,
        embedder=embedder,
        lexical=config.lexical,
        shipped=shipped_folder("taboos", embedder) if embedder else None,
        cache=cache,
        known=taboo_vectors(embedder, ours) if embedder and entries != ours else {},
    )
    return Retriever(_passages(context, built, embedder, cache), taboos, config)


def shipped_taboos() -> tuple[Taboo, ...]:
    """Return the taboos that ship."""
    return read_taboos(resource("data") / "knowledge" / "taboos")


def all_taboos(context: Context) -> tuple[Taboo, ...]:
    """Return the taboos that ship and after them those of the user's files.

    Raises ``RequestError`` with every fault of every file.
    """
    ours, paths = shipped_taboos(), context.settings.kb.taboos
    if not paths:
        return ours
    key = tuple((path, _stamp(Path(path))) for path in paths)
    if key not in _MERGED:
        found = with_imported(ours, paths, read_atlas(resource("data")), context.stop)
        _MERGED.clear()
        _MERGED[key] = found
    return _MERGED[key]


_MERGED: dict[tuple[Any, ...], tuple[Taboo, ...]] = {}
"""The latest, by files and their state: the check of a job and its stages ask for the same."""


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns


def check_retriever(settings: Settings) -> None:
    """Raise ``RequestError`` when the retriever's embedder is not to be had, without loading it."""
    embedder = settings.retriever.embedder
    if embedder is not None and (found := faults(embedder)):
        raise RequestError(found)


def is_built(folder: Path) -> bool:
    """Tell whether a knowledge base is whole."""
    return (folder / "manifest.json").exists()


def _passages(context: Context, built: Path | None, embedder: Embedder | None, cache: Path) -> Shelf[Passage]:
    """Return the passages that ship, and with them those of the built knowledge base."""
    ours = read_passages(resource("data") / "knowledge" / "passages")
    lexical = context.settings.retriever.lexical
    if built is not None and is_built(built):
        known = passage_vectors(embedder, ours) if embedder else {}
        return open_library(built, ours, embedder=embedder, lexical=lexical, cache=cache, known=known)
    if built is not None:
        kb = context.settings.kb.name
        log.warning("kb=%s is not built yet: only what ships is searched; build it by stage=kb without query", kb)
    shipped = shipped_folder("passages", embedder) if embedder else None
    return build_shelf(ours, passage_text, embedder=embedder, lexical=lexical, shipped=shipped, cache=cache)
