"""The text of a user's file → its rows, whichever of CSV, JSON lines or YAML it is: told by the content, not the name.

No disk. Names of columns are as ``ccfw.knowledge.places.plain`` writes them: ``Rule-of-Thumb`` is ``rule of thumb``.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from ccfw.knowledge.places import plain

_DELIMITERS = (",", ";", "\t")
_LONGEST = 1 << 24
"""Characters of a cell; Python's own limit is 131,072, and a quote that is never closed must not eat memory."""


@dataclass(frozen=True)
class Row:
    """An entry of a file, and the line on which it begins; of a Parquet file its number."""

    line: int
    cells: Mapping[str, Any]


@dataclass
class Table:
    """The rows of a file, and what of it is no row: line and reason."""

    rows: list[Row] = field(default_factory=list)
    faults: list[tuple[int, str]] = field(default_factory=list)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every name in it, in the order of first appearance."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.cells))

    def add(self, line: int, content: Any) -> None:
        """Add an entry, if it is one."""
        if isinstance(content, dict):
            self.rows.append(Row(line, {plain(str(name)): value for name, value in content.items()}))
        else:
            self.faults.append((line, "not an entry of names and values"))


def read(text: str) -> Table:
    """Read the text of a file."""
    table, text = Table(), text.removeprefix("\ufeff")
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith(("#", "---"))), "").strip()
    if first.startswith("{"):
        _json_lines(text, table)
    elif first == "-" or first.startswith(("[", "- ")):
        _yaml(text, table)
    else:
        _csv(text, first, table)
    return table


def _json_lines(text: str, table: Table) -> None:
    for number, line in enumerate(text.split("\n"), 1):  # other breaks of lines may stand inside a JSON text
        if not line.strip():
            continue
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            table.faults.append((number, f"not JSON: {error}"))
            continue
        table.add(number, content)


def _yaml(text: str, table: Table) -> None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        root = loader.get_single_node()
        for node in root.value if isinstance(root, yaml.SequenceNode) else ():
            table.add(node.start_mark.line + 1, loader.construct_object(node, deep=True))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or " ".join(str(error).split())
        table.faults.append((mark.line + 1 if mark else 1, f"not YAML: {reason}"))
    finally:
        loader.dispose()


def _csv(text: str, first: str, table: Table) -> None:
    csv.field_size_limit(_LONGEST)
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    head: list[str] = []
    try:
        for line, cells in _numbered(reader):
            if not head:
                head = [plain(cell) for cell in cells]
            elif len(cells) != len(head):
                table.faults.append((line, f"{len(cells)} cells, and the header has {len(head)}"))
            else:
                table.rows.append(Row(line, dict(zip(head, cells, strict=True))))
    except csv.Error as error:
        table.faults.append((reader.line_num, f"not CSV: {error}"))


def _numbered(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, with the line on which each begins: a cell may run over many."""
    line = 1
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield line, cells
        line = reader.line_num + 1
