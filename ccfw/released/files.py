"""Files of the published dataset → one file of scenarios of ours, a line each, kept as long as they do not change.

A row of a Parquet file cannot be read without its group of rows, and a blueprint and its shards may stand in two files.
So the files are read once, some rows at a time, and what they hold is written as ``dataset=files`` reads it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pydantic import ValidationError

from ccfw import __version__
from ccfw.errors import RequestError, StoreError
from ccfw.faults import SHOWN, faults, listed
from ccfw.frames import Rows
from ccfw.records import Scenario
from ccfw.released import rows
from ccfw.released.hub import SUFFIXES, Repository, snapshot
from ccfw.resources import resource
from ccfw.store import fingerprint
from ccfw.universe.reading import yaml_files, yaml_record
from ccfw.universe.records import RegionIdentities

log = logging.getLogger(__name__)
_FRESH_NS = 2_000_000_000
"""A file changed as lately as this may change again and still bear the same time."""
_NAMED = 3
"""Ids and fields that one message names; the rest are counted."""
_POINTER = b"version https://git-lfs.github.com/spec/"
_MARK = b"\xef\xbb\xbf"
_SPLIT = re.compile(r"(?<![a-z])(train|test)(?![a-z])", re.IGNORECASE)


def located(path: str) -> Path:
    """Return the file or folder that a path names: one of this machine, or a snapshot from the Hub.

    Raises ``RequestError`` for what is neither.
    """
    here = Path(path)
    if here.exists():
        return here
    if repository := Repository.of(path):
        return snapshot(repository)
    raise RequestError([f"dataset.path={path}: no such file or folder, nor organisation/name[@revision] of the Hub"])


def files(place: Path) -> tuple[Path, ...]:
    """Return the files of a place that may hold rows; nothing that is hidden, as are caches."""
    if place.is_file():
        return (place,)
    found = (path for path in place.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    return tuple(sorted(path for path in found if not any(p.startswith(".") for p in path.relative_to(place).parts)))


def converted(path: str, kept: Path | None) -> Path:
    """Return the file of scenarios that stands for the published ones at a path, and write it if it is not there.

    It is written in ``kept``, or where the system keeps what is not needed for long. Raises ``RequestError`` with every
    fault: file, row, field.
    """
    place = located(path)
    found = files(place)
    if not found:
        raise RequestError([f"dataset.path={path}: no file of the published layout ({_suffixes()}) there"])
    folder = kept if kept is not None and _is_writable(kept) else _passing()
    states = [each.stat() for each in found]
    named = [(str(each.resolve()), s.st_size, s.st_mtime_ns) for each, s in zip(found, states, strict=True)]
    about = fingerprint({"version": __version__, "schema": Scenario.model_json_schema(), "files": named})
    target = folder / f"hf-{fingerprint({'files': [name for name, *_ in named]})}-{about}.jsonl"
    newest = max(state.st_mtime_ns for state in states)
    if not target.exists() or target.stat().st_mtime_ns - newest < _FRESH_NS:
        _convert(path, place, found, target)
    return target


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _suffixes() -> str:
    return ", ".join(f"*{suffix}" for suffix in SUFFIXES)


@lru_cache(maxsize=1)
def _passing_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="ccfw-")


def _passing() -> Path:
    return Path(_passing_folder().name)


def _convert(path: str, place: Path, found: Sequence[Path], target: Path) -> None:
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".hf-", delete=False) as made:
        part = Path(made.name)
        try:
            with ExitStack() as stack:
                aside = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
                work = _Conversion(place, made, aside[0], aside[1])
                work.read(found)
                work.join()
            work.check(path)
            made.flush()
            os.fsync(made.fileno())
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    part.replace(target)
    for old in target.parent.glob(f"{target.name.rpartition('-')[0]}-*.jsonl"):
        if old != target:
            old.unlink(missing_ok=True)
    work.say(path)


class _Half(NamedTuple):
    """Where a half of a scenario waits for the other one."""

    where: str
    split: str | None
    start: int
    size: int


@dataclass
class _Conversion:
    """One walk over the files."""

    place: Path
    made: BinaryIO | Any
    blueprints: Any
    shards: Any
    problems: list[str] = field(default_factory=list)
    more: int = 0
    """Problems beyond those that are kept to be shown."""
    digests: dict[str, int] = field(default_factory=dict)
    """By seed: the hash of the scenario."""
    repeated: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    """By file: its rows of another kind."""
    told: rows.Told = field(default_factory=rows.Told)
    waiting: tuple[dict[str, _Half], dict[str, _Half]] = field(default_factory=lambda: ({}, {}))
    """Blueprints without shards and shards without a blueprint, by seed."""

    def read(self, found: Sequence[Path]) -> None:
        """Read every file, write what is whole, and put aside what is half."""
        for path in found:
            split = _split(path, self.place)
            try:
                for where, row in self._rows(path):
                    self._take(where, row, split, path)
            except (StoreError, OSError) as error:
                self._problem(str(error) if isinstance(error, StoreError) else f"{path}: not readable: {error}")

    def join(self) -> None:
        """Put the halves together that have the same seed."""
        blueprints, shards = self.waiting
        for seed_id in [seed_id for seed_id in blueprints if seed_id in shards]:
            half, other = blueprints.pop(seed_id), shards.pop(seed_id)
            script = json.loads(_held(self.shards, other))
            self._add(half.where, seed_id, json.loads(_held(self.blueprints, half)), script, half.split or other.split)

    def check(self, path: str) -> None:
        """Raise ``RequestError`` with every fault, or when there is no scenario."""
        if self.problems:
            raise RequestError(listed(self.problems, self.more))
        if not self.digests:
            raise RequestError([f"dataset.path={path}: no scenario there; {self._instead()}"])

    def say(self, path: str) -> None:
        """Say what was left out, and what stands in for what the rows lack."""
        left = {
            "fields that are not used": _listed(self.told.unused),
            "fields that others stand in for": _listed(self.told.filled),
            "rows of another kind": _listed(self.others),
            "rows that say again what another said": _listed(self.repeated),
            "blueprints without shards": _some(self.waiting[0]),
            "shards without a blueprint": _some(self.waiting[1]),
        }
        for what, listing in left.items():
            if listing:
                log.warning("dataset.path=%s: %s: %s", path, what, listing)

    def _instead(self) -> str:
        blueprints, shards = map(len, self.waiting)
        halves = (
            f"{blueprints} blueprints and {shards} shard scripts of no common Seed_ID" if blueprints or shards else ""
        )
        rest = f"{sum(self.others.values())} rows without {', '.join(sorted(rows.MARKS))}" if self.others else ""
        return "; ".join(filter(None, (halves, rest))) or "its files have no rows"

    def _rows(self, path: Path) -> Iterator[tuple[str, Any]]:
        with path.open("rb") as file:
            if file.read(len(_POINTER)) == _POINTER:
                raise StoreError(f"{path}: a pointer of Git LFS and not the file itself; git lfs pull fetches it")
        if path.suffix == ".parquet":
            return self._of_table(path)
        return self._of_lines(path) if path.suffix == ".jsonl" else self._of_json(path)

    def _of_table(self, path: Path) -> Iterator[tuple[str, Any]]:
        table = Rows(path)
        if not rows.MARKS & set(table.columns):
            if table.count:
                self.others[str(path)] += table.count
            return
        for number, row in enumerate(table, 1):
            yield f"{path}: row {number}", row

    def _of_lines(self, path: Path) -> Iterator[tuple[str, Any]]:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                text = line.removeprefix(_MARK) if number == 1 else line
                if text.strip():
                    yield from self._parsed(f"{path}:{number}", text)

    def _of_json(self, path: Path) -> Iterator[tuple[str, Any]]:
        for where, content in self._parsed(str(path), path.read_bytes().removeprefix(_MARK)):
            if isinstance(content, list):
                yield from ((f"{where}: row {number}", row) for number, row in enumerate(content, 1))
            else:
                yield where, content

    def _parsed(self, where: str, text: bytes) -> Iterator[tuple[str, Any]]:
        try:
            yield where, json.loads(text.decode())
        except UnicodeDecodeError as error:
            self._problem(f"{where}: not readable as UTF-8 text: {error}")
        except (ValueError, RecursionError) as error:
            self._problem(f"{where}: not JSON: {error}")

    def _take(self, where: str, row: Any, split: str | None, path: Path) -> None:
        try:
            found = rows.halves(row)
        except rows.RowError as error:
            self._problem(f"{where}: {error}")
            return
        if found is None:
            self.others[str(path)] += 1
        elif found.blueprint is not None and found.shards is not None:
            self._add(where, found.seed_id, found.blueprint, found.shards, split)
        elif found.blueprint is not None:
            self._put_aside(0, where, found.seed_id, found.blueprint, split)
        elif found.shards is not None:
            self._put_aside(1, where, found.seed_id, found.shards, split)
        else:
            self._problem(f"{where}: Seed_ID {found.seed_id}: neither a blueprint nor shards")

    def _put_aside(self, which: int, where: str, seed_id: str, content: Any, split: str | None) -> None:
        file, waiting = (self.blueprints, self.shards)[which], self.waiting[which]
        text = json.dumps(content, default=str).encode()
        if seed_id in waiting:
            if _held(file, waiting[seed_id]) == text:
                self.repeated[seed_id] += 1
            else:
                self._problem(f"{where}: Seed_ID {seed_id} stands at {waiting[seed_id].where} too, with other content")
            return
        start = file.seek(0, 2)
        file.write(text)
        waiting[seed_id] = _Half(where, split, start, len(text))

    def _add(self, where: str, seed_id: str, blueprint: Mapping[str, Any], shards: Any, split: str | None) -> None:
        try:
            scenario = rows.scenario(blueprint, shards, split, _languages(), self.told)
        except ValidationError as error:
            spelled = str if "Seed" in blueprint else rows.spelled
            for problem in faults(where, error, spelled):
                self._problem(problem)
            return
        line = scenario.model_dump_json(by_alias=True)
        if seed_id not in self.digests:
            self.digests[seed_id] = hash(line)
            self.made.write(line.encode() + b"\n")
        elif self.digests[seed_id] == hash(line):
            self.repeated[seed_id] += 1
        else:
            self._problem(f"{where}: Seed_ID {seed_id} stands twice in the dataset, with other content")

    def _problem(self, line: str) -> None:
        if len(self.problems) < SHOWN:
            self.problems.append(line)
        else:
            self.more += 1


def _held(file: Any, half: _Half) -> bytes:
    file.seek(half.start)
    content: bytes = file.read(half.size)
    return content


def _split(path: Path, place: Path) -> str | None:
    """Return the split that the name of a file tells, or of the folder next above it that tells one."""
    names = path.relative_to(place).parts if path != place else (path.parent.name, path.name)
    for name in reversed(names):
        if found := _SPLIT.findall(name):
            return str(found[-1]).lower()
    return None


def _listed(counted: Counter[str]) -> str:
    shown = [f"{name} ({count})" for name, count in counted.most_common(SHOWN)]
    return ", ".join(shown) + (f", … and {len(counted) - SHOWN} more" if len(counted) > SHOWN else "")


def _some(halves: Mapping[str, _Half]) -> str:
    names = ", ".join(list(halves)[:_NAMED])
    return f"{len(halves)}, left out ({names}{', …' if len(halves) > _NAMED else ''})" if halves else ""


@lru_cache(maxsize=1)
def _languages() -> Mapping[tuple[str, str], str]:
    """Return the languages of the identities that are known, by region and identity."""
    listed = [yaml_record(path, RegionIdentities) for path in yaml_files(resource("data") / "universe" / "identities")]
    return {(str(each.region), one.code): one.native_language for each in listed for one in each.identities}
