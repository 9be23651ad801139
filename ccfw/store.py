"""The workspace: outputs named by content, append-only records, manifests, one writer at a time.

``workspace/<dataset>/<stage>/<fingerprint>/`` holds ``records.jsonl`` and ``manifest.json``. A changed prompt, model or
input is another fingerprint, so results of two configurations are never mixed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from codecs import BOM_UTF8
from collections.abc import Container, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

from filelock import FileLock, Timeout
from pydantic import ValidationError

from ccfw.errors import StoreError
from ccfw.records import Record
from ccfw.stop import Stop

log = logging.getLogger(__name__)
R = TypeVar("R", bound=Record)

_SYNC_EVERY = 32
"""Records between two flushes to the device: a flush costs far more than a write."""
_LOCK_POLL_S = 0.2
"""How long a signal may wait while the lock of another process is waited for."""


def fingerprint(content: Mapping[str, Any]) -> str:
    """Return a short hash of what decides an output."""
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def flat(content: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return what stands inside dictionaries under one name each, as ``model.size``; lists stay whole."""
    found: dict[str, Any] = {}
    for key, value in content.items():
        inside = isinstance(value, Mapping) and value
        found |= flat(value, f"{above}{key}.") if inside else {f"{above}{key}": value}
    return found


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader, or a kill, meets the old one or the new one and nothing between.

    Raises ``OSError`` with the file's name, and leaves nothing behind, where there is no room for it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    data = content.encode() if isinstance(content, str) else content
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.errno:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
        raise


class RecordFile:
    """Append-only JSON lines, the id first on each line; a line torn by a kill is dropped on opening."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_torn_line(path)
        self._file = path.open("ab")
        self._flusher = ThreadPoolExecutor(1, "ccfw-flush")
        self._flush: Future[None] | None = None
        self._unsynced = 0

    def append(self, record: Record) -> None:
        """Add a record; it survives the process at once and the machine within a few records.

        The device is waited for in a thread, so that an event loop is not held up; what goes wrong there is raised by
        a later append, or on closing.
        """
        self._file.write(record.model_dump_json().encode() + b"\n")
        self._file.flush()
        self._unsynced += 1
        if self._unsynced >= _SYNC_EVERY and (self._flush is None or self._flush.done()):
            self._flushed()
            self._flush = self._flusher.submit(os.fsync, self._file.fileno())
            self._unsynced = 0

    def _flushed(self) -> None:
        if self._flush is not None:
            self._flush.result()

    def close(self) -> None:
        """Flush to the device and close."""
        try:
            self._flushed()
            os.fsync(self._file.fileno())
        finally:
            self._flusher.shutdown()
            self._file.close()

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _drop_torn_line(path: Path) -> None:
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        end = size
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            log.warning("%s: the last line was torn by an interruption and is written again", path)
            file.truncate(end)


_FIRST_VALUE = re.compile(rb'[ \t]*\{[ \t]*"[a-z_]+"[ \t]*:[ \t]*"([^"\\]*(?:\\.[^"\\]*)*)"')
_FIRST_KEY = re.compile(rb'\{"[a-z_]+":"')
_READ = 1 << 18
"""Bytes read at a time: the default would be filled several times for one long line."""
_BLOCK = 1000


def done_ids(path: Path) -> set[str]:
    """Return the ids of a record file from the head of each line, without parsing the records."""
    if not path.exists():
        return set()
    with path.open("rb", buffering=_READ) as file:
        try:
            return _plain_ids(file)
        except ValueError:
            file.seek(0)
            return set(_any_ids(file))


def _plain_ids(file: BinaryIO) -> set[str]:
    """Return the ids of a file as we write them: one first key throughout, nothing escaped in an id, no line torn.

    Raises ``ValueError`` for any other file. It takes a third of the time of a match of each line.
    """
    ids: set[str] = set()
    key = _FIRST_KEY.match(file.readline())
    if key is None:
        raise ValueError
    first, start = b"\n" + key[0], key.end()
    file.seek(0)
    while heads := [line[: line.index(b'"', start)] for line in islice(file, _BLOCK)]:
        text = b"\n".join([b"", *heads])
        empty, *found = text.decode().split(first.decode())  # a head holds no line break, so only a head starts so
        if empty or len(found) < len(heads) or b"\\" in text:
            raise ValueError
        ids.update(found)
    file.seek(-1, os.SEEK_CUR)
    if file.read(1) != b"\n":
        raise ValueError
    return ids


def _any_ids(lines: Iterable[bytes]) -> Iterator[str]:
    for line in lines:
        match = _FIRST_VALUE.match(line)
        if match and line.endswith(b"\n"):
            try:
                yield str(json.loads(b'"%b"' % match[1], strict=False)) if b"\\" in match[1] else match[1].decode()
            except ValueError:  # no text: whoever reads the record says so
                continue


def read_records(path: Path, kind: type[R], ids: Container[str] | None = None, *, whole: bool = False) -> Iterator[R]:
    """Yield the records of a file, or those of some ids, in which case the others are not even parsed.

    Of several records with one id the first counts. A last line without its break was torn by a kill and is left out;
    in a ``whole`` file, which a user gave, it is a record, and a byte order mark before the first is none. Raises
    ``StoreError`` with file and line for one that does not fit.
    """
    if not path.exists():
        return
    identity, seen = next(iter(kind.model_fields)), _Seen(path)
    has_id = identity.endswith("_id")
    with path.open("rb", buffering=_READ) as file:
        for number, line in enumerate(file, 1):
            if not (whole or line.endswith(b"\n")):
                return
            if whole and number == 1:
                line = line.removeprefix(BOM_UTF8)
            if ids is None or not _is_other(line, ids):
                record = _parsed(line, kind, f"{path}:{number}")
                if not has_id or seen.is_new(getattr(record, identity), line):
                    yield record


_AMBIGUOUS: set[Path] = set()
"""Files that were said to hold two records of one id: they are read more than once."""


class _Seen:
    """The records of a file so far, to tell the first of an id from others, and to say when those differ."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._contents: dict[str, int] = {}

    def is_new(self, identity: str, line: bytes) -> bool:
        """Return whether no record before had this id."""
        content = hash(line)
        known = self._contents.get(identity)
        if known is None:
            self._contents[identity] = content
        elif known != content and self._path not in _AMBIGUOUS:
            _AMBIGUOUS.add(self._path)
            log.warning("%s: %s stands there twice with different content; the first counts", self._path, identity)
        return known is None


def _is_other(line: bytes, ids: Container[str]) -> bool:
    found = next(_any_ids((line,)), None)
    return found is not None and found not in ids


def _parsed(line: bytes, kind: type[R], where: str) -> R:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        faults = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}".removeprefix(": ") for each in found)
        reason = " ".join("; ".join(faults).split())[:300]
        raise StoreError(f"{where}: not a {kind.__name__} record: {reason}") from None


_HELD = 1024


class StoredRecords(Mapping[str, R]):
    """The records of a file by id, in the order of the ids, each parsed when it is asked for.

    For files that are larger than memory. A record that a reader asks for again soon is still there.
    """

    def __init__(self, path: Path, kind: type[R], ids: Container[str] | None = None) -> None:
        self.path, self.kind = path, kind
        self._starts = dict(sorted(_starts(path, ids)))
        self._read = lru_cache(maxsize=_HELD)(self._record)

    def __getitem__(self, identity: str) -> R:
        return self._read(identity)

    def __contains__(self, identity: object) -> bool:
        return identity in self._starts

    def __iter__(self) -> Iterator[str]:
        return iter(self._starts)

    def __len__(self) -> int:
        return len(self._starts)

    def _record(self, identity: str) -> R:
        """Read one record; raise ``StoreError`` when it does not fit, or stands there no more."""
        start = self._starts[identity]
        with self.path.open("rb") as file:
            file.seek(start)
            line = file.readline()
        if next(_any_ids((line,)), None) != identity:
            raise StoreError(f"{self.path}: changed while it was in use; run the same line again")
        return _parsed(line, self.kind, f"{self.path}: {identity}")


def _starts(path: Path, ids: Container[str] | None) -> Iterator[tuple[str, int]]:
    """Yield each id, or each of some, and where the first line that has it starts."""
    if not path.exists():
        return
    start, seen = 0, _Seen(path)
    with path.open("rb", buffering=_READ) as file:
        for line in file:
            for each in _any_ids((line,)):
                if (ids is None or each in ids) and seen.is_new(each, line):
                    yield each, start
            start += len(line)


def acquire(lock: FileLock, stop: Stop) -> None:
    """Wait for a lock that another process holds; raise ``StoppedError`` once somebody wants the job to end."""
    while True:
        try:
            lock.acquire(timeout=_LOCK_POLL_S)
        except Timeout:
            if stop.interrupted:  # a budget that is spent is no reason not to work on what is there
                stop.check()
        else:
            return


class Output:
    """One output folder, locked while it is written."""

    def __init__(self, folder: Path, stop: Stop | None = None) -> None:
        self.folder = folder
        self._stop = stop or Stop()
        self.records = folder / "records.jsonl"
        self.manifest = folder / "manifest.json"
        self._lock = FileLock(folder / ".lock")
        self.fresh = False
        """Whether no run before this one has opened it."""

    def __enter__(self) -> Output:
        self.fresh = not self.folder.exists()
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            log.warning("another ccfw is writing %s: waiting for it to finish", self.folder)
            acquire(self._lock, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def write_manifest(self, content: Mapping[str, Any]) -> None:
        """Write ``manifest.json``."""
        write_atomically(self.manifest, json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True) + "\n")

    def read_manifest(self) -> dict[str, Any]:
        """Read ``manifest.json``; empty when there is none."""
        if not self.manifest.exists():
            return {}
        try:
            content = json.loads(self.manifest.read_text("utf-8"))
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{self.manifest}: not JSON: {error}") from None
        if not isinstance(content, dict):
            raise StoreError(f"{self.manifest}: not a JSON object but {type(content).__name__}")
        return content


def digest(parts: Iterable[str]) -> str:
    """Return a short hash of texts in the given order."""
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part.encode() + b"\0")
    return sha.hexdigest()[:16]
