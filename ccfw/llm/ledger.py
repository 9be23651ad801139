"""The ledger: every reply that was paid for, by the hash of its request, in one SQLite file.

One writer thread takes what has queued up and commits it in one transaction, so that a commit costs a share
of a flush and the event loop never waits on the disk. A reply counts as kept only once it is committed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType, TracebackType
from typing import Any, NamedTuple, TypeVar

import orjson
from filelock import FileLock

from ccfw.errors import StoreError
from ccfw.llm.types import ChatReply, Token, Usage
from ccfw.stop import GRACE_S, Stop
from ccfw.store import acquire

log = logging.getLogger(__name__)
T = TypeVar("T")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY,
    created REAL NOT NULL,
    provider_model TEXT NOT NULL,
    reply TEXT NOT NULL,
    role TEXT NOT NULL DEFAULT ''
)
"""
_INSERT = """
INSERT INTO calls (key, created, provider_model, reply, role) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
"""
"""The first reply stays; unlike ``OR IGNORE`` it lets nothing else pass in silence."""
_COLUMNS = {"key", "created", "provider_model", "reply", "role"}
_BATCH = 256
LEAST_FREE = 256 * 2**20
"""Bytes of free disk below which nothing new is begun, so that what is in flight can still be kept.

One reply may have 64 MB, and stands in the file and in its log.
"""
_PATIENCE_S = 60.0
"""How long another process may hold the ledger; after a stop only ``GRACE_S``."""
_TRY_S = 1.0
"""How long one try takes to find that it still does: only between two can a stop be seen."""
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class _Item(NamedTuple):
    key: str
    provider_model: str
    role: str
    reply: ChatReply
    done: asyncio.Future[None]


class Ledger:
    """Replies by request key; safe for many tasks of one process and for several processes."""

    def __init__(self, path: Path, stop: Stop | None = None) -> None:
        """Open or create the ledger; raise ``StoreError`` when the file cannot be one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.full = self._full()
        """Whether the disk has too little room left to begin anything new."""
        self._stop = stop or Stop()
        self._unkept: StoreError | None = None
        self._lost = 0
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        lock = FileLock(path.with_name(f".{path.name}.lock"))  # switching a new file to WAL does not wait
        acquire(lock, self._stop)
        try:
            self._reader = self._when_free(lambda: _connect(path))
            self._when_free(lambda: _set_up(self._reader))
            # after it: a connection does not see that a table got a column
            self._connection = self._when_free(lambda: _connect(path))
        except sqlite3.Error as error:
            raise StoreError(f"{path}: not usable as a call ledger: {error}") from error
        finally:
            lock.release()
        self._writer = threading.Thread(target=self._write, name="ccfw-ledger", daemon=True)
        self._writer.start()

    def get(self, key: str) -> ChatReply | None:
        """Return the kept reply of a request, marked as cached, or ``None``."""
        rows = self._read("SELECT reply FROM calls WHERE key = ?", key)
        try:
            return _decoded(rows[0][0]) if rows else None
        except _NO_REPLY as error:
            raise self._damaged(error) from error

    def replies(self, provider_model: str, role: str, limit: int) -> Iterator[ChatReply]:
        """Yield the latest replies of a model in a role; what is no reply is left out: whoever needs it says so."""
        query = "SELECT reply FROM calls WHERE provider_model = ? AND role = ? ORDER BY rowid DESC LIMIT ?"
        for row in self._read(query, provider_model, role, limit):
            try:
                yield _decoded(row[0])
            except _NO_REPLY:
                continue

    def count(self, provider_model: str, role: str) -> int:
        """Return how many replies of a model in a role there are."""
        query = "SELECT COUNT(*) FROM calls WHERE provider_model = ? AND role = ?"
        return int(self._read(query, provider_model, role)[0][0])

    def _read(self, query: str, *values: str | int) -> list[Any]:
        try:
            return self._when_free(lambda: self._reader.execute(query, values).fetchall())
        except sqlite3.Error as error:
            if _is_busy(error):
                raise StoreError(f"{self.path}: not readable: {error}") from error
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> StoreError:
        return StoreError(f"{self.path}: damaged: {error}; move it away to go on without what it holds")

    def _when_free(self, action: Callable[[], T]) -> T:
        """Do something with the file, again and again while another process has it; in the end raise what it raised."""
        end = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return action()
            except sqlite3.Error as error:
                if self._stop.reason is not None:
                    end = min(end, time.monotonic() + GRACE_S)
                if not _is_busy(error) or time.monotonic() >= end:
                    raise

    async def put(self, key: str, provider_model: str, reply: ChatReply, role: str = "") -> None:
        """Keep a reply; returns when it is on disk."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put(_Item(key, provider_model, role, reply, done))
        await done

    def close(self) -> None:
        """Commit what is queued, close the file, and say what could not be kept: perhaps nobody waited for it."""
        self._queue.put(None)
        self._writer.join()
        self._connection.close()
        self._reader.close()
        if self._unkept is not None:
            log.warning("%s: %s; the same line pays for what was lost again", self.path, self._unkept)

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
                _tell(batch, self._commit(batch))
                self.full = self._full()

    def _commit(self, batch: list[_Item]) -> StoreError | None:
        now = time.time()
        rows = [(item.key, now, item.provider_model, _encoded(item.reply), item.role) for item in batch]

        def insert() -> None:
            with self._connection:
                self._connection.executemany(_INSERT, rows)

        try:
            self._when_free(insert)
        except sqlite3.Error as error:
            return self._not_kept(len(batch), error)
        return None

    def _not_kept(self, replies: int, error: sqlite3.Error) -> StoreError:
        """Return the one error of all replies that could not be kept, so that whoever says it says how many."""
        self._lost += replies
        what = f"{self._lost} paid {'reply' if self._lost == 1 else 'replies'} could not be kept: {error}"
        if self._unkept is None:
            self._unkept = StoreError(what)
        self._unkept.args = (what,)
        return self._unkept

    def _full(self) -> bool:
        try:
            return shutil.disk_usage(self.path.parent).free < LEAST_FREE
        except OSError:  # somebody took the folder away: nothing can be kept
            return True


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_TRY_S, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def _set_up(connection: sqlite3.Connection) -> None:
    with connection:
        connection.execute(_SCHEMA)
        columns = connection.execute("PRAGMA table_info(calls)").fetchall()
        if "role" not in {column[1] for column in columns}:  # a ledger of ccfw 0.1 before roles were kept
            connection.execute("ALTER TABLE calls ADD COLUMN role TEXT NOT NULL DEFAULT ''")
    connection.execute(f"EXPLAIN {_INSERT}", ("", 0.0, "", "", ""))  # a table that takes no reply is found unpaid
    for _, name, _, needed, default, _ in columns:
        if needed and default is None and name not in _COLUMNS:
            raise sqlite3.DatabaseError(f"its column {name} must be filled, and ccfw does not know it")


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
    if reply.tokens is None:
        del fields["tokens"]
    else:
        fields["tokens"] = [[token.text, dict(token.likeliest)] for token in reply.tokens]
    try:
        return orjson.dumps(fields).decode()
    except TypeError:  # half a character
        return json.dumps(fields)


_NO_REPLY = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What ``_decoded`` raises when it is given something else."""
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "text": str,
    "finish_reason": str,
    "has_reasoning": bool,
    "served_model": str,
    "cost": (int, float, NoneType),
    "seconds": (int, float),
}


def _decoded(text: str) -> ChatReply:
    try:
        fields = orjson.loads(text)
    except ValueError:
        fields = json.loads(text)
    usage = fields["usage"]
    for name, kinds in _FIELDS.items():
        if not isinstance(fields[name], kinds):
            raise TypeError(f"{name} is {fields[name]!r:.80}")
    for name, tokens in usage.items():
        if not isinstance(tokens, int | NoneType):
            raise TypeError(f"{name} is {tokens!r:.80}")
    read = {"usage": Usage(**usage), "cached": True, "tokens": _tokens(fields.get("tokens"))}
    return ChatReply(**fields | read)


def _tokens(stored: Any) -> tuple[Token, ...] | None:
    if stored is None:
        return None
    for text, likeliest in stored:
        if not isinstance(text, str) or not all(isinstance(each, int | float) for each in likeliest.values()):
            raise TypeError(f"a token is {text!r:.80}")
    return tuple(Token(text, likeliest) for text, likeliest in stored)
