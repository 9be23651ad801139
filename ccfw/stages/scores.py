"""The scores of an evaluate folder as a table: read from its judgements once, and from Parquet from then on."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

import numpy as np

from ccfw.errors import StoreError
from ccfw.frames import read_arrays, write_parquet
from ccfw.judging.score_table import METRICS, ScoreTable, tabulated
from ccfw.records import Judgement
from ccfw.store import Output, fingerprint, read_records

log = logging.getLogger(__name__)

VERSION = 1
"""Raised when a judgement comes to another score or flag."""
_LARGE = 1 << 22
"""Bytes of judgements from which on their scores are kept: what is smaller is read as fast."""
_NAMES = (*(metric.value for metric in METRICS), "clean")


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
    found = read_arrays(path, ("episode_id", *_NAMES))
    scores = np.column_stack([found[name] for name in _NAMES]).astype(np.float64)
    return ScoreTable(tuple(found["episode_id"]), scores[:, :-1], scores[:, -1])


def keep(path: Path, table: ScoreTable) -> None:
    """Write scores where they are looked for, in place of those of other judgements."""
    columns = {"episode_id": list(table.episodes)}
    arrays = dict(zip(_NAMES, (*table.metrics.T, table.clean), strict=True))
    try:
        write_parquet(path, columns | {name: array.astype(np.float32) for name, array in arrays.items()})
    except OSError as error:  # a workspace that may not be written costs time, no more
        log.debug("%s: not kept: %s", path, error)
        return
    for other in path.parent.glob("scores-*.parquet"):
        if other != path:
            with suppress(OSError):
                other.unlink()
