"""The ledger: every reply that was paid for, by the hash of its request, in one SQLite file.

One writer thread takes what has queued up and commits it in one transaction, so that a commit costs a share
of a flush and the event loop never waits on the disk. A reply counts as kept only once it is committed.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import threading
import time
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from filelock import FileLock

from ccfw.errors import StoreError
from ccfw.llm.types import ChatReply, Usage

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY,
    created REAL NOT NULL,
    provider_model TEXT NOT NULL,
    reply TEXT NOT NULL
)
"""
_BATCH = 256
_Item = tuple[str, str, ChatReply, "Future[None]"]


class Ledger:
    """Replies by request key; safe for many tasks of one process and for several processes."""

    def __init__(self, path: Path) -> None:
        """Open or create the ledger; raise ``StoreError`` when the file cannot be one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        try:
            with FileLock(path.with_name(f".{path.name}.lock")):  # switching a new file to WAL does not wait
                self._reader, self._connection = _connect(path), _connect(path)
                with self._reader:
                    self._reader.execute(_SCHEMA)
        except sqlite3.Error as error:
            raise StoreError(f"{path}: not usable as a call ledger: {error}") from error
        self._writer = threading.Thread(target=self._write, name="ccfw-ledger", daemon=True)
        self._writer.start()

    def get(self, key: str) -> ChatReply | None:
        """Return the kept reply of a request, marked as cached, or ``None``."""
        try:
            row = self._reader.execute("SELECT reply FROM calls WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            fields = json.loads(row[0])
            return ChatReply(**fields | {"usage": Usage(**fields["usage"]), "cached": True})
        except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
            raise StoreError(f"{self.path}: damaged: {error}; move it away to go on without what it holds") from error

    async def put(self, key: str, provider_model: str, reply: ChatReply) -> None:
        """Keep a reply; returns when it is on disk."""
        done: Future[None] = Future()
        self._queue.put((key, provider_model, reply, done))
        await asyncio.shield(asyncio.wrap_future(done))

    def close(self) -> None:
        """Commit what is queued and close the file."""
        self._queue.put(None)
        self._writer.join()
        self._connection.close()
        self._reader.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self) -> None:
        closing = False
        while not closing:
            batch: list[_Item] = []
            item = self._queue.get()
            while True:
                if item is None:
                    closing = True
                    break
                batch.append(item)
                if len(batch) >= _BATCH or self._queue.empty():
                    break
                item = self._queue.get()
            if batch:
                _commit(self._connection, batch)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def _commit(connection: sqlite3.Connection, batch: list[_Item]) -> None:
    now = time.time()
    rows = [(key, now, model, json.dumps(asdict(reply), ensure_ascii=True)) for key, model, reply, _ in batch]
    try:
        with connection:
            connection.executemany("INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?)", rows)
    except sqlite3.Error as error:
        for *_, done in batch:
            done.set_exception(StoreError(f"a paid reply could not be kept: {error}"))
        return
    for *_, done in batch:
        done.set_result(None)
