"""The scores of an evaluate folder as a table: read from its judgements once, and from Parquet from then on."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccfw.errors import StoreError
from ccfw.frames import read_arrays, write_parquet
from ccfw.judging.score_table import METRICS, ScoreTable, tabulated
from ccfw.records import Judgement
from ccfw.store import Output, fingerprint, read_records

log = logging.getLogger(__name__)

VERSION = 2
"""Raised when a judgement comes to another score or flag, or scores are kept in another form."""
_LARGE = 1 << 22
"""Bytes of judgements from which on their scores are kept: what is smaller is read as fast."""
_NAMES = (*(metric.value for metric in METRICS), "clean")
_DIGEST = "digest"
"""The column that repeats the hash of all others: what says another was changed since it was written, or cut off."""


def stored_scores(output: Output) -> ScoreTable:
    """Return what one member gave; raise ``StoreError`` for a judgement that cannot be read."""
    records = output.records
    if not records.exists() or records.stat().st_size < _LARGE:
        return tabulated(read_records(records, Judgement))
    kept = kept_at(records)
    try:
        return _read(kept)
    except StoreError:
        table = tabulated(read_records(records, Judgement))
        if kept == kept_at(records):  # else somebody went on writing
            keep(kept, table)
        return table


def kept_at(records: Path) -> Path:
    """Return where the scores of these very judgements are kept."""
    state = records.stat()
    key = fingerprint({"version": VERSION, "size": state.st_size, "changed": state.st_mtime_ns})
    return records.with_name(f"scores-{key}.parquet")


def _read(path: Path) -> ScoreTable:
    if not path.exists():
        raise StoreError(f"{path}: not there")
    found = read_arrays(path, ("episode_id", *_NAMES, _DIGEST))
    try:
        ids, scores = tuple(found["episode_id"]), np.column_stack([found[name] for name in _NAMES]).astype(np.float32)
        own = set(found[_DIGEST]) == {_digest(ids, scores)}
    except (TypeError, ValueError):  # columns of other types
        own = False
    if not own:
        raise StoreError(f"{path}: not the scores that were written there")
    exact = scores.astype(np.float64)
    return ScoreTable(ids, exact[:, :-1], exact[:, -1])


def _digest(episodes: Sequence[str], scores: NDArray[Any]) -> str:
    """Return the hash of ids and of scores (episodes × scores in ``float32``)."""
    sha = hashlib.sha256("\n".join(episodes).encode())
    sha.update(np.ascontiguousarray(scores).tobytes())
    return sha.hexdigest()[:16]


def keep(path: Path, table: ScoreTable) -> None:
    """Write scores where they are looked for, in place of those of other judgements."""
    scores = np.column_stack([table.metrics, table.clean]).astype(np.float32)
    columns: dict[str, Any] = {"episode_id": list(table.episodes), **dict(zip(_NAMES, scores.T, strict=True))}
    columns[_DIGEST] = [_digest(table.episodes, scores)] * len(table.episodes)
    try:
        write_parquet(path, columns)
    except OSError as error:  # a workspace that may not be written costs time, no more
        log.debug("%s: not kept: %s", path, error)
        return
    for other in path.parent.glob("scores-*.parquet"):
        if other != path:
            with suppress(OSError):
                other.unlink()
