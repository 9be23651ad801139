"""Scenario files → scenarios, with every fault of every file named at once.

What a file holds is its dataset's layout: scenarios, or what a stage wrote with a scenario in each line. A dataset may
hold more scenarios than memory: it keeps their outlines and reads each scenario when it is asked for. The outlines of a
large one are kept in the workspace, so that only files that changed are read whole again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from ccfw import __version__
from ccfw.errors import RequestError, StoreError
from ccfw.faults import faults, listed
from ccfw.records import Scenario, Seed
from ccfw.released import files as released
from ccfw.resources import resource
from ccfw.selection import Outline, outline
from ccfw.settings.dialogues import DatasetConfig
from ccfw.store import fingerprint, write_atomically

log = logging.getLogger(__name__)
_OTHERS = 3
"""Outputs of other settings that are named where those asked for are not there."""
_LARGE = 1 << 25
"""Bytes of scenario files from which on their outlines are kept."""
_FRESH_NS = 2_000_000_000
"""A file changed as lately as this may change again and still bear the same time."""
_PUBLISHED = {"Meta_Data", "Simulation_Script"}
"""Names that a record of the paper has and none of ours."""
_HELD = 1024
"""Scenarios that a dataset holds whole."""


class _Line(BaseModel):
    """As much of a stage's record as a dataset is made of."""

    scenario: Scenario


class Layout(NamedTuple):
    """What the files of a dataset hold."""

    pattern: str
    """Which files of a folder are its."""
    read: Callable[[bytes], Scenario]
    """Reads the text of one scenario; raises ``ValidationError`` for what is none."""
    written_by: str | None
    """The stage that writes it, a line at a time, so that the last one may be torn."""


SCENARIOS = Layout("*.json*", Scenario.model_validate_json, None)
HF = "hf"
"""The dataset in the layout of the paper's authors, from files or from the Hugging Face Hub."""
GENERATED = "generated"
"""The dataset that stage *shards* writes."""
NORMCOMPASS = "normcompass"
"""The dataset that stage *refine* writes: situations and no dialogues."""
MAKERS = ("norms", "scenarios", "refine")
"""The stages that make it, one after another."""
NORMCOMPASS_STARTER = "normcompass_starter"
SITUATIONS = (NORMCOMPASS_STARTER, NORMCOMPASS)
_LAYOUTS = {GENERATED: Layout("records.jsonl", lambda text: _Line.model_validate_json(text).scenario, "shards")}
"""By dataset; of all others the files hold scenarios."""


class Entry(NamedTuple):
    """A scenario of a dataset: its outline, the hash of its content, and where it stands."""

    outline: Outline
    digest: str
    file: int
    start: int
    size: int
    """Bytes, from ``start`` on; a file that holds one scenario is read whole."""


@dataclass(frozen=True)
class Dataset:
    """Frozen scenarios in the order of their ids, and the hash of their content."""

    name: str
    files: tuple[Path, ...]
    entries: tuple[Entry, ...]
    digest: str
    layout: Layout = SCENARIOS

    @cached_property
    def outlines(self) -> tuple[Outline, ...]:
        """What the scenarios are chosen by."""
        return tuple(entry.outline for entry in self.entries)

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """Every scenario, whole."""
        return tuple(self.by_seed().values())

    def by_seed(self) -> Mapping[str, Scenario]:
        """Return the scenarios by seed id, each read when it is asked for."""
        return self._by_seed

    @cached_property
    def _by_seed(self) -> Mapping[str, Scenario]:
        return _BySeed(self)


class _BySeed(Mapping[str, Scenario]):
    def __init__(self, dataset: Dataset) -> None:
        self._files = dataset.files
        self._layout = dataset.layout
        self._entries = {entry.outline.seed.seed_id: entry for entry in dataset.entries}
        self._read = lru_cache(maxsize=_HELD)(self._parsed)

    def __getitem__(self, seed_id: str) -> Scenario:
        return self._read(seed_id)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def _parsed(self, seed_id: str) -> Scenario:
        """Read a scenario; raise ``StoreError`` when its file is not what it was when the dataset was."""
        entry = self._entries[seed_id]
        path = self._files[entry.file]
        try:
            with path.open("rb") as file:
                file.seek(entry.start)
                scenario = self._layout.read(file.read(entry.size))
        except (OSError, ValidationError):
            scenario = None
        if scenario is None or scenario_digest(scenario) != entry.digest:
            raise StoreError(f"{path}: changed while it was in use; run the same line again")
        return scenario


def scenario_digest(scenario: Scenario) -> str:
    """Return the hash of one scenario's content."""
    return hashlib.sha256(scenario.model_dump_json(by_alias=True).encode()).hexdigest()[:16]


def load(config: DatasetConfig, kept: Path | None = None) -> Dataset:
    """Read a dataset: one JSON file a scenario, or JSON lines; a large one from its outlines, if ``kept`` holds them.

    Raises ``RequestError`` with one line per fault: file, field, what is wrong.
    """
    if config.name in SITUATIONS:
        needed = "dialogues and stage=report need dataset=starter, as where dataset= is left out"
        raise RequestError([f"dataset={config.name}: holds situations, which stages of CRISP read; {needed}"])
    folder, layout = _place(config, kept), _LAYOUTS.get(config.name, SCENARIOS)
    files = _files(folder, layout)
    if hint := _tables(folder, files, layout):
        raise RequestError([hint])
    if not files:
        raise RequestError([_nothing(config.name, folder, layout)])
    memory = _Memory.of(files, kept)
    entries = _remembered(files, layout, memory) if memory else _entries(files, layout)
    if not entries and layout.written_by is not None:
        raise RequestError([_nothing(config.name, folder, layout)])
    digest = hashlib.sha256("".join(entry.digest for entry in entries).encode()).hexdigest()[:16]
    return Dataset(config.name, files, entries, digest, layout)


def sources(config: DatasetConfig) -> tuple[Path, ...]:
    """Return the files that a dataset is read from; raise ``RequestError`` where a repository is not to be had."""
    if config.name == HF and config.path is not None:
        return released.files(released.located(config.path))
    return _files(_place(config, None), _LAYOUTS.get(config.name, SCENARIOS))


def _place(config: DatasetConfig, kept: Path | None) -> Path:
    if config.path is None:
        return resource("data") / config.name
    return released.converted(config.path, kept) if config.name == HF else Path(config.path)


def _tables(folder: Path, files: Sequence[Path], layout: Layout) -> str | None:
    """Return where Parquet files would be read that stand in the place of scenarios."""
    found = files[:1] if folder.is_file() else () if files else tuple(islice(folder.rglob("*.parquet"), 1))
    if layout is SCENARIOS and any(path.suffix == ".parquet" for path in found):
        return f"dataset.path={folder}: holds Parquet, which dataset=hf reads: dataset=hf dataset.path={folder}"
    return None


def unwritten(name: str, outlines: Iterable[Outline]) -> Dataset:
    """Return a dataset to plan with, of scenarios that are yet to be written."""
    ordered = sorted(outlines, key=lambda each: each.seed.seed_id)
    return Dataset(name, (), tuple(Entry(each, "", 0, 0, 0) for each in ordered), "unwritten")


@lru_cache(maxsize=1)
def _remembered(files: tuple[Path, ...], layout: Layout, memory: _Memory) -> tuple[Entry, ...]:
    """Read a large dataset once for the check of a request and its jobs, as long as its files stay what they are."""
    entries = memory.recalled()
    if entries is None:
        entries = _entries(files, layout)
        memory.keep(entries)
    return entries


def _entries(files: tuple[Path, ...], layout: Layout) -> tuple[Entry, ...]:
    found: dict[str, Entry] = {}
    problems: list[str] = []
    for where, number, start, text, is_torn in _texts(files, layout, problems):
        try:
            scenario = layout.read(text)
        except ValidationError as error:
            if is_torn:
                log.warning("%s: last line torn, left out", where)
            elif hint := _other_layout(text, files[number], layout):
                raise RequestError([hint]) from None
            else:
                problems.extend(faults(where, error))
            continue
        seed_id = scenario.seed.seed_id
        if seed_id in found and layout.written_by is not None:
            log.warning("%s: Seed_ID %s stands twice in the dataset; the first counts", where, seed_id)
            continue
        if seed_id in found:
            problems.append(f"{where}: Seed_ID {seed_id} stands twice in the dataset")
        found[seed_id] = Entry(outline(scenario), scenario_digest(scenario), number, start, len(text))
    if problems:
        raise RequestError(listed(problems))
    return tuple(found[key] for key in sorted(found))


def _other_layout(text: bytes, path: Path, layout: Layout) -> str | None:
    """Return where a text that a layout cannot read would be read, if it is of the other one."""
    for name, other in ((GENERATED, _LAYOUTS[GENERATED]), ("files", SCENARIOS)):
        if other is not layout:
            with suppress(ValidationError):
                other.read(text)
                what = f"records of stage={other.written_by}" if other.written_by else "scenarios"
                return f"dataset.path={path}: holds {what}: dataset={name} dataset.path={path}"
    with suppress(ValueError, RecursionError, TypeError):
        if _PUBLISHED & set(json.loads(text)):
            return f"dataset.path={path}: holds records as the paper prints them: dataset=hf dataset.path={path}"
    return None


def _files(folder: Path, layout: Layout) -> tuple[Path, ...]:
    if folder.is_file():
        return (folder,)
    found = folder.glob(layout.pattern)
    return tuple(sorted(path for path in found if path.suffix in {".json", ".jsonl"} and path.is_file()))


def _holds_scenarios(folder: Path) -> bool:
    files = _files(folder, SCENARIOS)
    with suppress(OSError, ValidationError, IndexError):
        with files[0].open("rb") as file:
            SCENARIOS.read(file.readline() if files[0].suffix == ".jsonl" else file.read())
        return True
    return False


def _nothing(name: str, folder: Path, layout: Layout) -> str:
    """Say that a dataset is not there, and where it comes from if a stage writes it."""
    if layout.written_by is None:
        return f"dataset.path={folder}: no scenario file (*.json, *.jsonl) there"
    if _holds_scenarios(folder):
        return f"dataset.path={folder}: holds scenarios: dataset=files dataset.path={folder}"
    made = f"dataset={name}: nothing at {folder}; make it first, under the same settings: stage={layout.written_by}"
    outputs = folder.parent.parent if folder.suffix else folder.parent
    others = [
        str(path) for path in sorted(outputs.glob(f"*/{layout.pattern}")) if path != folder and path.stat().st_size
    ]
    more = f" and {len(others) - _OTHERS} more" if len(others) > _OTHERS else ""
    return f"{made} (of other settings: dataset.path={', '.join(others[:_OTHERS])}{more})" if others else made


_MARK = b"\xef\xbb\xbf"


def _texts(files: Iterable[Path], layout: Layout, problems: list[str]) -> Iterator[tuple[str, int, int, bytes, bool]]:
    """Yield each scenario's place in words, the number of its file, where it starts there, and its JSON.

    Last, whether it may be the part of a line that a stage was kept from writing whole.
    """
    for number, path in enumerate(files):
        start = 0
        try:
            with path.open("rb") as file:
                for line_number, line in enumerate(file if path.suffix == ".jsonl" else [file.read()], 1):
                    is_torn = layout.written_by is not None and path.suffix == ".jsonl" and not line.endswith(b"\n")
                    line.decode(errors="replace" if is_torn else "strict")
                    begin = len(_MARK) if line_number == 1 and line.startswith(_MARK) else 0
                    if path.suffix != ".jsonl":
                        yield str(path), number, begin, line[begin:], is_torn
                    elif line[begin:].strip():
                        text = line[begin:].rstrip(b"\r\n")
                        yield f"{path}:{line_number}", number, start + begin, text, is_torn
                    start += len(line)
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{path}: not readable as UTF-8 text: {error}")


@dataclass(frozen=True)
class _Memory:
    """The outlines of a large dataset, as long as its files are what they were."""

    path: Path
    about: str
    """What the outlines hang on: the files, and what reads them."""
    newest: int

    @classmethod
    def of(cls, files: tuple[Path, ...], folder: Path | None) -> _Memory | None:
        states = [path.stat() for path in files]
        if folder is None or sum(state.st_size for state in states) < _LARGE:
            return None
        named = [[str(path.resolve()), s.st_size, s.st_mtime_ns] for path, s in zip(files, states, strict=True)]
        about = fingerprint({"version": __version__, "schema": Scenario.model_json_schema(), "files": named})
        name = fingerprint({"files": [name for name, *_ in named]})
        return cls(folder / f"{name}.jsonl", about, max(state.st_mtime_ns for state in states))

    def recalled(self) -> tuple[Entry, ...] | None:
        try:
            with self.path.open(encoding="utf-8") as file:
                if json.loads(file.readline()) != self.about:
                    return None
                return tuple(_entry(line) for line in file)
        except (OSError, ValueError, TypeError):
            return None

    def keep(self, entries: Iterable[Entry]) -> None:
        if time.time_ns() - self.newest > _FRESH_NS:
            lines = [json.dumps(self.about), *(_row(entry) for entry in entries)]
            with suppress(OSError):  # a workspace that may not be written costs time, no more
                write_atomically(self.path, "".join(f"{line}\n" for line in lines))


def _row(entry: Entry) -> str:
    seed, *rest = entry.outline
    return json.dumps([seed.model_dump_json(), rest, *entry[1:]], ensure_ascii=False)


def _entry(line: str) -> Entry:
    seed, rest, *place = json.loads(line)
    return Entry(Outline(Seed.model_validate_json(seed), *rest), *place)
