"""Dumps → the passages of a knowledge base, in files of a few thousand.

Three walks, of which only the first reads dumps. *Drafts*: each article's passages with candidates for niche terms;
after each file of them what was counted so far is written, and a killed run goes on from there. *Look over*: which
words are rare, and which passages say the same as an earlier one of their region. *Finish*: what is kept, with its
niche terms. Memory does not grow with the dumps: it holds one file of drafts, the sketch of words, and 136 bytes for
each passage of one region.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccfw.frames import ColumnType, read_table, write_table
from ccfw.knowledge.dumps import Dump
from ccfw.knowledge.duplicates import MINIMA, exact, repeated, signature, similar
from ccfw.knowledge.harvest import Harvest, Recipe, Tools, harvest
from ccfw.knowledge.records import NicheTerm, Passage
from ccfw.knowledge.terms import Rarity, Sketch, counted, niche
from ccfw.records import Region
from ccfw.store import write_atomically

PASSAGES = "passages"
_DRAFTS = "drafts"
_REDIRECTS = "redirects.json"
_COLUMNS: dict[str, ColumnType] = {
    **dict.fromkeys(("passage_id", "region", "title"), "text"),
    **dict.fromkeys(("tags", "identities"), "texts"),
    "niche_terms": "terms",
    **dict.fromkeys(("text", "check", "source", "revision", "licence", "language"), "text"),
}  # fmt: skip
_HELD: dict[str, ColumnType] = {"exact": "number", "signature": "bytes"}
_CODES = {str(region): code for code, region in enumerate(Region)}
_KEPT, _EXACT, _NEAR = 0, 1, 2
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
        """Return the last that was written; a new one when there is none."""
        written = sorted(folder.glob("*.json"))
        if not written:
            return cls()
        return cls(**json.loads(written[-1].read_text("utf-8")))

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


@dataclass(frozen=True)
class Built:
    """What a finished knowledge base holds."""

    tally: Tally
    regions: dict[str, int]
    """Passages by region."""
    lost: dict[str, int]
    """Passages left out, by reason."""


def build(plan: Plan, folder: Path, watch: Watch) -> Built | Tally:
    """Build a knowledge base, or go on with it; return the tally alone when ``watch`` ended it before its end."""
    if plan.follow and plan.recipe.lists.all:
        targets = _redirects(plan, folder, watch)
        if targets is None:
            return Tally()
        plan = replace(plan, recipe=replace(plan.recipe, lists=plan.recipe.lists.followed(targets)))
    tally = Tally.read(folder / _DRAFTS)
    if not _draft(plan, folder / _DRAFTS, tally, watch):
        return tally
    drafts = sorted((folder / _DRAFTS).glob("*.parquet"))
    verdicts = _verdicts(drafts, plan.near_duplicate)
    sketch = _words(drafts)
    for path in drafts:
        _finish(path, folder / PASSAGES / path.name, verdicts[path.name], sketch, plan.rarity)
    regions = Counter(region for path in drafts for region in _regions(folder / PASSAGES / path.name))
    said = Counter(int(each) for verdict in verdicts.values() for each in verdict)
    lost = tally.lost | {"exact duplicate": said[_EXACT], "near-duplicate": said[_NEAR]}
    return Built(tally, {str(region): regions[region] for region in Region}, lost)


def clean(folder: Path) -> None:
    """Take away what only a run that goes on would need."""
    shutil.rmtree(folder / _DRAFTS, ignore_errors=True)
    (folder / _REDIRECTS).unlink(missing_ok=True)


def read_passages(folder: Path) -> Iterator[Passage]:
    """Yield the passages of a knowledge base, in order."""
    for path in sorted((folder / PASSAGES).glob("*.parquet")):
        yield from map(Passage.model_validate, _rows(read_table(path, list(_COLUMNS))))


def _rows(columns: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _redirects(plan: Plan, folder: Path, watch: Watch) -> dict[str, str] | None:
    """Return the targets of the listed titles that are redirects; ``None`` when ``watch`` ended it."""
    path = folder / _REDIRECTS
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


def _draft(plan: Plan, folder: Path, tally: Tally, watch: Watch) -> bool:
    """Write the drafts that are not there yet; return whether all are."""
    while tally.dump < len(plan.dumps):
        before = sum(path.stat().st_size for path in plan.dumps[: tally.dump])
        with Dump(plan.dumps[tally.dump]) as dump:
            if not _draft_dump(plan, dump, folder, tally, partial(_further, watch, before)):
                return False
    return True


def _further(watch: Watch, before: int, position: int) -> bool:
    return watch(before + position)


def _draft_dump(plan: Plan, dump: Dump, folder: Path, tally: Tally, watch: Watch) -> bool:
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
        tally.add(result)
        held += result.passages
        if len(held) >= plan.passages_in_file or tally.page - begun >= plan.pages_in_file:
            _write_drafts(held, folder, tally)
            held, begun = [], tally.page
    assert dump.end is not None
    tally.dumps[-1] |= {"wiki": dump.site.name, "language": dump.site.language, **dump.end._asdict()}
    tally.dumps[-1]["ruled"] = tools is None or tools.classifier.known or bool(plan.recipe.lists.all)
    tally.dump, tally.page = tally.dump + 1, 0
    _write_drafts(held, folder, tally)
    return True


def _write_drafts(passages: Sequence[Passage], folder: Path, tally: Tally) -> None:
    """Write a file of drafts, then the tally that says so."""
    name = f"{tally.files:06d}"
    rows = [each.model_dump(mode="json") for each in passages]
    columns: dict[str, list[Any]] = {column: [row[column] for row in rows] for column in _COLUMNS}
    columns["exact"] = [exact(each.text) for each in passages]
    columns["signature"] = [signature(each.text).tobytes() for each in passages]
    write_table(folder / f"{name}.parquet", columns, _COLUMNS | _HELD)
    tally.files += 1
    write_atomically(folder / f"{name}.json", json.dumps(asdict(tally), ensure_ascii=False))


def _verdicts(drafts: Sequence[Path], threshold: float) -> dict[str, NDArray[np.uint8]]:
    """Return for each row of each file whether it is kept, or as which earlier one of its region it is."""
    regions = {path.name: np.array([_CODES[each] for each in _regions(path)], dtype=np.uint8) for path in drafts}
    verdicts = {name: np.zeros(len(found), dtype=np.uint8) for name, found in regions.items()}
    for code in _CODES.values():
        chosen = {path: np.flatnonzero(regions[path.name] == code) for path in drafts}
        found = _verdict(*_held(chosen), threshold)
        start = 0
        for path, rows in chosen.items():
            verdicts[path.name][rows] = found[start : start + len(rows)]
            start += len(rows)
    return verdicts


def _held(chosen: Mapping[Path, NDArray[np.intp]]) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
    hashes: list[NDArray[np.uint64]] = [np.zeros(0, dtype=np.uint64)]
    signatures: list[NDArray[np.uint16]] = [np.zeros((0, MINIMA), dtype=np.uint16)]
    for path, rows in chosen.items():
        if len(rows):
            columns = read_table(path, list(_HELD))
            hashes.append(np.array(columns["exact"], dtype=np.uint64)[rows])
            joined = np.frombuffer(b"".join(columns["signature"]), dtype=np.uint16)
            signatures.append(joined.reshape(-1, MINIMA)[rows])
    return np.concatenate(hashes), np.concatenate(signatures)


def _verdict(hashes: NDArray[np.uint64], signatures: NDArray[np.uint16], threshold: float) -> NDArray[np.uint8]:
    again = repeated(hashes)
    verdict = np.where(again, _EXACT, _KEPT).astype(np.uint8)
    rest = np.flatnonzero(~again)
    verdict[rest[similar(signatures[rest], threshold)]] = _NEAR
    return verdict


def _words(drafts: Sequence[Path]) -> Sketch:
    """Count in how many articles each word is; an article never lies in two files."""
    sketch = Sketch()
    for path in drafts:
        rows = _rows(read_table(path, ["source", "text", "niche_terms"]))
        for _, of_article in groupby(rows, key=lambda row: row["source"]):
            passages = list(of_article)
            candidates = {term["term"] for row in passages for term in row["niche_terms"]}
            sketch.add(counted("\n".join(row["text"] for row in passages), candidates))
    return sketch


def _finish(draft: Path, final: Path, verdict: NDArray[np.uint8], sketch: Sketch, rarity: Rarity) -> None:
    if final.exists():
        return
    columns = read_table(draft, list(_COLUMNS))
    rows = np.flatnonzero(verdict == _KEPT).tolist()
    kept = {name: [values[row] for row in rows] for name, values in columns.items()}
    kept["niche_terms"] = [
        [term.model_dump() for term in niche([NicheTerm(**each) for each in found], sketch, rarity)]
        for found in kept["niche_terms"]
    ]
    write_table(final, kept, _COLUMNS)


def _regions(path: Path) -> list[str]:
    return [str(region) for region in read_table(path, ["region"])["region"]]
