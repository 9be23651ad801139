"""The ledger: every reply that was paid for, by the hash of its request, in one SQLite file.

One writer thread takes what has queued up and commits it in one transaction, so that a commit costs a share
of a flush and the event loop never waits on the disk. A reply counts as kept only once it is committed.
"""

from __future__ import annotations

import asyncio
import json
import queue
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import orjson
from filelock import FileLock

from ccfw.errors import StoreError
from ccfw.llm.types import ChatReply, Usage

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY,
    created REAL NOT NULL,
    provider_model TEXT NOT NULL,
    reply TEXT NOT NULL,
    role TEXT NOT NULL DEFAULT ''
)
"""
_BATCH = 256
LEAST_FREE = 64 * 2**20
"""Bytes of free disk below which nothing new is begun, so that what is in flight can still be kept."""


class _Item(NamedTuple):
    key: str
    provider_model: str
    role: str
    reply: ChatReply
    done: asyncio.Future[None]


class Ledger:
    """Replies by request key; safe for many tasks of one process and for several processes."""

    def __init__(self, path: Path) -> None:
        """Open or create the ledger; raise ``StoreError`` when the file cannot be one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.full = self._full()
        """Whether the disk has too little room left to begin anything new."""
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        try:
            with FileLock(path.with_name(f".{path.name}.lock")):  # switching a new file to WAL does not wait
                self._reader = _connect(path)
                _set_up(self._reader)
                self._connection = _connect(path)  # after it: a connection does not see that a table got a column
        except sqlite3.Error as error:
            raise StoreError(f"{path}: not usable as a call ledger: {error}") from error
        self._writer = threading.Thread(target=self._write, name="ccfw-ledger", daemon=True)
        self._writer.start()

    def get(self, key: str) -> ChatReply | None:
        """Return the kept reply of a request, marked as cached, or ``None``."""
        try:
            row = self._reader.execute("SELECT reply FROM calls WHERE key = ?", (key,)).fetchone()
            return None if row is None else _decoded(row[0])
        except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
            raise StoreError(f"{self.path}: damaged: {error}; move it away to go on without what it holds") from error

    def replies(self, provider_model: str, role: str, limit: int) -> Iterator[ChatReply]:
        """Yield the latest replies of a model in a role."""
        query = "SELECT reply FROM calls WHERE provider_model = ? AND role = ? ORDER BY rowid DESC LIMIT ?"
        for row in self._reader.execute(query, (provider_model, role, limit)):
            yield _decoded(row[0])

    def count(self, provider_model: str, role: str) -> int:
        """Return how many replies of a model in a role there are."""
        query = "SELECT COUNT(*) FROM calls WHERE provider_model = ? AND role = ?"
        return int(self._reader.execute(query, (provider_model, role)).fetchone()[0])

    async def put(self, key: str, provider_model: str, reply: ChatReply, role: str = "") -> None:
        """Keep a reply; returns when it is on disk."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put(_Item(key, provider_model, role, reply, done))
        await done

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
                _tell(batch, _commit(self._connection, batch))
                self.full = self._full()

    def _full(self) -> bool:
        return shutil.disk_usage(self.path.parent).free < LEAST_FREE


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def _set_up(connection: sqlite3.Connection) -> None:
    with connection:
        connection.execute(_SCHEMA)
        columns = {row[1] for row in connection.execute("PRAGMA table_info(calls)")}
        if "role" not in columns:  # a ledger of ccfw 0.1 before roles were kept
            connection.execute("ALTER TABLE calls ADD COLUMN role TEXT NOT NULL DEFAULT ''")


def _commit(connection: sqlite3.Connection, batch: list[_Item]) -> StoreError | None:
    now = time.time()
    rows = [(item.key, now, item.provider_model, _encoded(item.reply), item.role) for item in batch]
    try:
        with connection:
            connection.executemany("INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?)", rows)
    except sqlite3.Error as error:
        return StoreError(f"a paid reply could not be kept: {error}")
    return None


def _tell(batch: list[_Item], error: StoreError | None) -> None:
    """Wake everybody who waits for a commit, with one wake-up a loop."""
    loops = {item.done.get_loop() for item in batch}
    for loop in loops:
        waiting = [item.done for item in batch if item.done.get_loop() is loop]
        try:
            loop.call_soon_threadsafe(_resolve, waiting, error)
        except RuntimeError:  # the loop is closed: nobody waits, and the reply is kept
            continue


def _resolve(waiting: list[asyncio.Future[None]], error: StoreError | None) -> None:
    for done in waiting:
        if done.done():
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)


def _encoded(reply: ChatReply) -> str:
    fields: dict[str, Any] = vars(reply) | {"usage": vars(reply.usage)}
    try:
        return orjson.dumps(fields).decode()
    except TypeError:  # half a character
        return json.dumps(fields)


def _decoded(text: str) -> ChatReply:
    try:
        fields = orjson.loads(text)
    except ValueError:
        fields = json.loads(text)
    return ChatReply(**fields | {"usage": Usage(**fields["usage"]), "cached": True})
