"""The first walk of a build: dumps → drafts of passages, in files, each with a tally of what was counted up to it.

A file of drafts is done when its tally is there. A build that was killed goes on after the last of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ccfw.errors import StoreError
from ccfw.frames import ColumnType, write_table
from ccfw.knowledge.dumps import Dump
from ccfw.knowledge.duplicates import exact, signature
from ccfw.knowledge.harvest import Harvest, Recipe, Tools, harvest
from ccfw.knowledge.records import Passage
from ccfw.knowledge.terms import Rarity, Sketch, counted
from ccfw.store import write_atomically

REDIRECTS = "redirects.json"
COLUMNS: dict[str, ColumnType] = {
    **dict.fromkeys(("passage_id", "region", "title"), "text"),
    **dict.fromkeys(("tags", "identities"), "texts"),
    "niche_terms": "terms",
    **dict.fromkeys(("text", "check", "source", "revision", "licence", "language"), "text"),
}  # fmt: skip
HELD: dict[str, ColumnType] = {"exact": "number", "signature": "bytes"}
Watch = Callable[[int], bool]
"""Told of the bytes of all dumps read so far; returns whether to go on."""


@dataclass(frozen=True)
class Plan:
    """What is built, and of what."""

    dumps: tuple[Path, ...]
    recipe: Recipe
    rarity: Rarity
    near_duplicate: float
    """Share of shingles above which two passages say the same."""
    follow: bool
    """Whether a listed title that is a redirect stands for its target."""
    passages_in_file: int = 5_000
    pages_in_file: int = 50_000


@dataclass
class Tally:
    """What was counted up to the end of a file of drafts."""

    dump: int = 0
    page: int = 0
    """Pages of that dump that are behind."""
    files: int = 0
    dumps: list[dict[str, Any]] = field(default_factory=list)
    """Of each dump: wiki, language, what became of its pages, how it ended."""
    lost: dict[str, int] = field(default_factory=dict)
    """Passages left out, by reason."""
    repaired: int = 0
    drafted: int = 0

    @classmethod
    def read(cls, folder: Path) -> Tally:
        """Return the last that was written; a new one when there is none.

        Raises ``StoreError`` for what is no tally.
        """
        written = sorted(folder.glob("*.json"))
        if not written:
            return cls()
        try:
            return cls(**json.loads(written[-1].read_text("utf-8")))
        except (ValueError, TypeError) as error:
            raise StoreError(f"{written[-1]}: not a tally of drafts: {error}; take {folder} away") from None

    def add(self, result: Harvest) -> None:
        """Count a page."""
        _count(self.dumps[self.dump]["kinds"], {result.dropped or "kept": 1})
        _count(self.lost, result.lost)
        self.page += 1
        self.repaired += result.repaired
        self.drafted += len(result.passages)


def _count(into: dict[str, int], more: Mapping[str, int]) -> None:
    for name, times in more.items():
        into[name] = into.get(name, 0) + times


def redirects(plan: Plan, folder: Path, watch: Watch) -> dict[str, str] | None:
    """Return the targets of the listed titles that are redirects; ``None`` when ``watch`` ended it."""
    path = folder / REDIRECTS
    if path.exists():
        found: dict[str, str] = json.loads(path.read_text("utf-8"))
        return found
    listed, found = plan.recipe.lists.all, {}
    for each in plan.dumps:
        with Dump(each) as dump:
            for page in dump.pages():
                if page.redirect is not None and page.title in listed:
                    found[page.title] = page.redirect.partition("#")[0]
                if not watch(0):
                    return None
    write_atomically(path, json.dumps(found, ensure_ascii=False, sort_keys=True))
    return found


def draft(plan: Plan, folder: Path, tally: Tally, watch: Watch) -> Sketch | None:
    """Write the drafts that are not there yet; return the words of all articles, ``None`` when ``watch`` ended it."""
    held = _words_at(folder, tally.files - 1)
    sketch = Sketch.of_bytes(held.read_bytes()) if held.exists() else Sketch()
    while tally.dump < len(plan.dumps):
        before = sum(path.stat().st_size for path in plan.dumps[: tally.dump])
        with Dump(plan.dumps[tally.dump]) as dump:
            if not _draft_dump(plan, dump, folder, tally, sketch, partial(_further, watch, before)):
                return None
    return sketch


def _further(watch: Watch, before: int, position: int) -> bool:
    return watch(before + position)


def _draft_dump(plan: Plan, dump: Dump, folder: Path, tally: Tally, sketch: Sketch, watch: Watch) -> bool:
    held: list[Passage] = []
    behind = begun = tally.page
    tools: Tools | None = None
    if len(tally.dumps) == tally.dump:
        tally.dumps.append({"file": dump.path.name, "kinds": {}})
    for number, page in enumerate(dump.pages()):
        if not watch(dump.position):
            return False
        if number < behind:
            continue
        tools = tools or Tools.of(plan.recipe, dump.site)
        result = harvest(page, tools)
        if page.namespace == 0 and page.redirect is None:
            sketch.add(counted(page.text, (term.term for each in result.passages for term in each.niche_terms)))
        tally.add(result)
        held += result.passages
        if len(held) >= plan.passages_in_file or tally.page - begun >= plan.pages_in_file:
            _write_drafts(held, folder, tally, sketch)
            held, begun = [], tally.page
    assert dump.end is not None
    tally.dumps[-1] |= {"wiki": dump.site.name, "language": dump.site.language, **dump.end._asdict()}
    tally.dumps[-1]["ruled"] = tools is None or tools.classifier.known or bool(plan.recipe.lists.all)
    tally.dump, tally.page = tally.dump + 1, 0
    _write_drafts(held, folder, tally, sketch)
    return True


def _words_at(folder: Path, files: int) -> Path:
    """Return where the words up to a file of drafts are."""
    return folder / f"{files:06d}.words"


def _keep_words(path: Path, sketch: Sketch) -> None:
    part = path.with_name(f".{path.name}")
    with part.open("wb") as file:
        file.writelines(sketch.parts())
    part.replace(path)


def _write_drafts(passages: Sequence[Passage], folder: Path, tally: Tally, sketch: Sketch) -> None:
    """Write a file of drafts and the words up to it, then the tally that says so."""
    name = f"{tally.files:06d}"
    rows = [each.model_dump(mode="json") for each in passages]
    columns: dict[str, list[Any]] = {column: [row[column] for row in rows] for column in COLUMNS}
    columns["exact"] = [exact(each.text) for each in passages]
    columns["signature"] = [signature(each.text).tobytes() for each in passages]
    write_table(folder / f"{name}.parquet", columns, COLUMNS | HELD)
    _keep_words(_words_at(folder, tally.files), sketch)
    tally.files += 1
    write_atomically(folder / f"{name}.json", json.dumps(asdict(tally), ensure_ascii=False))
    _words_at(folder, tally.files - 2).unlink(missing_ok=True)
