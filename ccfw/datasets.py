"""Scenario files → scenarios, with every fault of every file named at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ccfw.errors import RequestError
from ccfw.records import Scenario
from ccfw.resources import resource
from ccfw.settings import DatasetConfig

_SHOWN = 20
"""Faults listed in one message; the rest are counted."""


@dataclass(frozen=True)
class Dataset:
    """Frozen scenarios in the order of their ids, and the hash of their content."""

    name: str
    scenarios: tuple[Scenario, ...]
    digest: str

    def by_seed(self) -> dict[str, Scenario]:
        """Return the scenarios by seed id."""
        return {scenario.seed.seed_id: scenario for scenario in self.scenarios}


def scenario_digest(scenario: Scenario) -> str:
    """Return the hash of one scenario's content."""
    return hashlib.sha256(scenario.model_dump_json(by_alias=True).encode()).hexdigest()[:16]


def load(config: DatasetConfig) -> Dataset:
    """Read a dataset: one JSON file a scenario, or JSON lines.

    Raises ``RequestError`` with one line per fault: file, field, what is wrong.
    """
    folder = Path(config.path) if config.path else resource("data") / config.name
    files = _files(folder)
    if not files:
        raise RequestError([f"dataset.path={folder}: no scenario file (*.json, *.jsonl) there"])
    found: dict[str, Scenario] = {}
    problems: list[str] = []
    for where, text in _texts(files, problems):
        try:
            scenario = Scenario.model_validate_json(text)
        except ValidationError as error:
            problems.extend(_faults(where, error))
            continue
        if scenario.seed.seed_id in found:
            problems.append(f"{where}: Seed_ID {scenario.seed.seed_id} stands twice in the dataset")
        found[scenario.seed.seed_id] = scenario
    if problems:
        rest = [f"… and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
        raise RequestError([*problems[:_SHOWN], *rest])
    ordered = tuple(found[key] for key in sorted(found))
    digest = hashlib.sha256("".join(map(scenario_digest, ordered)).encode()).hexdigest()[:16]
    return Dataset(config.name, ordered, digest)


def _files(folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    return sorted(path for path in folder.glob("*.json*") if path.suffix in {".json", ".jsonl"} and path.is_file())


def _texts(files: Iterable[Path], problems: list[str]) -> Iterable[tuple[str, str]]:
    for path in files:
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{path}: not readable as UTF-8 text: {error}")
            continue
        if path.suffix == ".jsonl":
            yield from ((f"{path}:{n}", line) for n, line in enumerate(text.split("\n"), 1) if line.strip())
        else:
            yield str(path), text


def _faults(where: str, error: ValidationError) -> list[str]:
    lines = []
    for fault in error.errors(include_url=False):
        field = ".".join(map(str, fault["loc"])) or "the whole record"
        given = (
            ""
            if fault["type"] == "missing"
            else f"; given: {json.dumps(fault['input'], ensure_ascii=False, default=str)[:80]}"
        )
        lines.append(f"{where}: {field}: {fault['msg']}{given}")
    return lines
