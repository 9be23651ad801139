"""Dumps → the passages of a knowledge base, in files of a few thousand.

Three walks, of which only the first reads dumps. *Drafts*: each article's passages with candidates for niche terms;
after each file of them what was counted so far is written, and a killed run goes on from there. *Look over*: which
words are rare, and which passages say the same as an earlier one of their region. *Finish*: what is kept, with its
niche terms. Memory does not grow with the dumps: it holds one file of drafts, the sketch of words, and 136 bytes for
each passage of one region.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccfw.frames import read_table, write_table
from ccfw.knowledge.drafts import COLUMNS, HELD, REDIRECTS, Plan, Tally, Watch, draft, redirects
from ccfw.knowledge.duplicates import MINIMA, repeated, similar
from ccfw.knowledge.records import NicheTerm, Passage
from ccfw.knowledge.terms import Rarity, Sketch, counted, niche
from ccfw.records import Region

PASSAGES = "passages"
_DRAFTS = "drafts"
_CODES = {str(region): code for code, region in enumerate(Region)}
_KEPT, _EXACT, _NEAR = 0, 1, 2


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
        targets = redirects(plan, folder, watch)
        if targets is None:
            return Tally()
        plan = replace(plan, recipe=replace(plan.recipe, lists=plan.recipe.lists.followed(targets)))
    tally = Tally.read(folder / _DRAFTS)
    if not draft(plan, folder / _DRAFTS, tally, watch):
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
    (folder / REDIRECTS).unlink(missing_ok=True)


def read_passages(folder: Path) -> Iterator[Passage]:
    """Yield the passages of a knowledge base, in order."""
    for path in sorted((folder / PASSAGES).glob("*.parquet")):
        yield from map(Passage.model_validate, _rows(read_table(path, list(COLUMNS))))


def _rows(columns: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


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
            columns = read_table(path, list(HELD))
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
    columns = read_table(draft, list(COLUMNS))
    rows = np.flatnonzero(verdict == _KEPT).tolist()
    kept = {name: [values[row] for row in rows] for name, values in columns.items()}
    kept["niche_terms"] = [
        [term.model_dump() for term in niche([NicheTerm(**each) for each in found], sketch, rarity)]
        for found in kept["niche_terms"]
    ]
    write_table(final, kept, COLUMNS)


def _regions(path: Path) -> list[str]:
    return [str(region) for region in read_table(path, ["region"])["region"]]
