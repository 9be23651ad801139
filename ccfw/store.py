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
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from ccfw.errors import StoreError
from ccfw.records import Record

log = logging.getLogger(__name__)
R = TypeVar("R", bound=Record)

_SYNC_EVERY = 32
"""Records between two flushes to the device: a flush costs far more than a write."""


def fingerprint(content: Mapping[str, Any]) -> str:
    """Return a short hash of what decides an output."""
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that a reader, or a kill, meets the old one or the new one and nothing between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    content = text.encode()
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


class RecordFile:
    """Append-only JSON lines, the id first on each line; a line torn by a kill is dropped on opening."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_torn_line(path)
        self._file = path.open("ab")
        self._unsynced = 0

    def append(self, record: Record) -> None:
        """Add a record; it survives the process at once and the machine within a few records."""
        self._file.write(record.model_dump_json().encode() + b"\n")
        self._file.flush()
        self._unsynced += 1
        if self._unsynced >= _SYNC_EVERY:
            self._sync()

    def close(self) -> None:
        """Flush to the device and close."""
        self._sync()
        self._file.close()

    def _sync(self) -> None:
        os.fsync(self._file.fileno())
        self._unsynced = 0

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


_FIRST_VALUE = re.compile(rb'\{"[a-z_]+":"([^"\\]*(?:\\.[^"\\]*)*)"')


def done_ids(path: Path) -> set[str]:
    """Return the ids of a record file from the head of each line, without parsing the records."""
    if not path.exists():
        return set()
    ids = set()
    with path.open("rb") as file:
        for line in file:
            match = _FIRST_VALUE.match(line)
            if match and line.endswith(b"\n"):
                ids.add(_unquoted(match[1]))
    return ids


def _unquoted(text: bytes) -> str:
    return str(json.loads(b'"%b"' % text)) if b"\\" in text else text.decode()


def read_records(path: Path, kind: type[R]) -> Iterator[R]:
    """Yield the records of a file; raise ``StoreError`` with file and line for one that does not fit."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield kind.model_validate_json(line)
            except ValueError as error:
                reason = " ".join(str(error).split())[:300]
                raise StoreError(f"{path}:{number}: not a {kind.__name__} record: {reason}") from None


class Output:
    """One output folder, locked while it is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records = folder / "records.jsonl"
        self.manifest = folder / "manifest.json"
        self._lock = FileLock(folder / ".lock")

    def __enter__(self) -> Output:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            log.warning("another ccfw is writing %s: waiting for it to finish", self.folder)
            self._lock.acquire()
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
        except ValueError as error:
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
