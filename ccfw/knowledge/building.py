"""Dumps → the passages of a knowledge base, in files of a few thousand.

Three walks, of which only the first reads dumps. *Drafts*: each article's passages with candidates for niche terms, and
the words of every article; after each file of them what was counted so far is written, and a killed run goes on from
there. *Look over*: which passages say the same as an earlier one of their region. *Finish*: what is kept, with its
niche terms, the rare ones. Memory does not grow with the dumps: it holds one file of drafts, the sketch of words, and
136 bytes for each passage of one region.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ccfw.errors import StoreError
from ccfw.frames import read_table, write_table
from ccfw.knowledge.drafts import COLUMNS, HELD, REDIRECTS, Plan, Tally, Watch, draft, redirects
from ccfw.knowledge.duplicates import MINIMA, repeated, similar
from ccfw.knowledge.records import NicheTerm, Passage
from ccfw.knowledge.terms import Rarity, Sketch, niche
from ccfw.records import Region
from ccfw.store import write_atomically

log = logging.getLogger(__name__)
T = TypeVar("T")
PASSAGES = "passages"
_DRAFTS, _BEGUN = "drafts", "begun.json"
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
    """Build a knowledge base, or go on with it; return the tally alone when ``watch`` ended it before its end.

    Raises ``StoreError`` for what is no dump, or changed while it was read.
    """
    _begin(plan, folder)
    if plan.follow and plan.recipe.lists.all:
        targets = redirects(plan, folder, watch)
        if targets is None:
            return Tally()
        plan = replace(plan, recipe=replace(plan.recipe, lists=plan.recipe.lists.followed(targets)))
    tally = Tally.read(folder / _DRAFTS)
    sketch = draft(plan, folder / _DRAFTS, tally, watch)
    if sketch is None:
        return tally
    _check_unchanged(plan, folder)
    drafts = sorted((folder / _DRAFTS).glob("*.parquet"))
    watched = partial(_watched, partial(watch, sum(path.stat().st_size for path in plan.dumps)))
    try:
        verdicts = _verdicts(drafts, plan.near_duplicate, watched)
        for path in watched(drafts):
            _finish(path, folder / PASSAGES / path.name, verdicts[path.name], sketch, plan.rarity)
    except _Ended:
        return tally
    regions = Counter(region for path in drafts for region in _regions(folder / PASSAGES / path.name))
    said = Counter(int(each) for verdict in verdicts.values() for each in verdict)
    lost = tally.lost | {"exact duplicate": said[_EXACT], "near-duplicate": said[_NEAR]}
    return Built(tally, {str(region): regions[region] for region in Region}, lost)


class _Ended(Exception):  # noqa: N818 a wish, no error; it never leaves this module
    """``watch`` ended the build."""


def _watched(go_on: Callable[[], bool], things: Iterable[T]) -> Iterator[T]:
    """Yield things as long as the build is to go on; raise ``_Ended`` when it is not."""
    for each in things:
        if not go_on():
            raise _Ended
        yield each


def clean(folder: Path) -> None:
    """Take away what only a run that goes on would need."""
    shutil.rmtree(folder / _DRAFTS, ignore_errors=True)
    for name in (REDIRECTS, _BEGUN):
        (folder / name).unlink(missing_ok=True)


def _begin(plan: Plan, folder: Path) -> None:
    """Note which files the dumps are, and drop what was begun with others: a mix of two would be told by nothing."""
    now, path = _stamps(plan), folder / _BEGUN
    if path.exists() and path.read_text("utf-8", "replace") != now:
        log.warning("the dumps changed since this build was begun: it begins anew")
        clean(folder)
        shutil.rmtree(folder / PASSAGES, ignore_errors=True)
    write_atomically(path, now)


def _check_unchanged(plan: Plan, folder: Path) -> None:
    if (folder / _BEGUN).read_text("utf-8", "replace") != _stamps(plan):
        raise StoreError("a dump changed while it was read; the same line begins anew")


def _stamps(plan: Plan) -> str:
    """Return size and time of change of each dump: a change in its middle shows in neither name nor edges."""
    return json.dumps([[stat.st_size, stat.st_mtime_ns] for stat in (path.stat() for path in plan.dumps)])


def read_passages(folder: Path) -> Iterator[Passage]:
    """Yield the passages of a knowledge base, in order."""
    for path in sorted((folder / PASSAGES).glob("*.parquet")):
        yield from map(Passage.model_validate, _rows(read_table(path, list(COLUMNS))))


def _rows(columns: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _verdicts(
    drafts: Sequence[Path], threshold: float, watched: Callable[[Iterable[int]], Iterable[int]]
) -> dict[str, NDArray[np.uint8]]:
    """Return for each row of each file whether it is kept, or as which earlier one of its region it is."""
    regions = {path.name: np.array([_CODES[each] for each in _regions(path)], dtype=np.uint8) for path in drafts}
    verdicts = {name: np.zeros(len(found), dtype=np.uint8) for name, found in regions.items()}
    for code in watched(_CODES.values()):
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
