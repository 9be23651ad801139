"""Make the vectors that ship: ``python -m ccfw.knowledge.shipping``, which ``make vectors`` runs."""

from __future__ import annotations

from pathlib import Path

from ccfw.knowledge.embedders import open_embedder
from ccfw.knowledge.files import read_passages, read_taboos
from ccfw.knowledge.likeness import ship_templates
from ccfw.knowledge.shelf import build_shelf, vectors_of
from ccfw.knowledge.shipped import SHIPPED_WITH, passage_text, shipped_folder, taboo_text
from ccfw.resources import resource
from ccfw.universe.reading import read_universe


def ship(cache: Path) -> None:
    """Embed what ships, where its vectors are not of these texts, and write the vectors beside it."""
    folder, embedder = resource("data") / "knowledge", open_embedder(SHIPPED_WITH)
    passages, taboos = read_passages(folder / "passages"), read_taboos(folder / "taboos")
    for kind, shelf in (
        ("passages", build_shelf(passages, passage_text, embedder=embedder, lexical=False, shipped=None, cache=cache)),
        ("taboos", build_shelf(taboos, taboo_text, embedder=embedder, lexical=False, shipped=None, cache=cache)),
    ):
        about = {"embedder": embedder.name, "digest": vectors_of(embedder.name, shelf.texts)}
        if shelf.vectors is not None:
            shelf.vectors.save(shipped_folder(kind, embedder), about)
    texts = [template.template_text for template in read_universe(resource("data") / "universe").templates]
    ship_templates(texts, shipped_folder("templates", embedder), embedder)


if __name__ == "__main__":
    ship(Path("workspace") / "kb" / "vectors")
