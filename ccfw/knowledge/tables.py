"""The text of a user's file → its rows, whichever of CSV, JSON lines or YAML it is: told by the content, not the name.

No disk. Names of columns are as ``ccfw.knowledge.places.plain`` writes them: ``Rule-of-Thumb`` is ``rule of thumb``.
YAML's aliases are refused unread: a few lines of them stand for gigabytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping
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
    broken: list[tuple[int, str]] = field(default_factory=list)
    """Those of the faults that are not of one row: after them nothing is what it seems, or nothing was read."""
    head: tuple[str, ...] = ()
    """Names of a header line."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Every name in it, in the order of first appearance."""
        return tuple(dict.fromkeys((*self.head, *(name for row in self.rows for name in row.cells))))

    def add(self, line: int, content: Any) -> None:
        """Add an entry, if it is one: a list of pairs of name and value, each name once."""
        if not isinstance(content, _Pairs):
            self.faults.append((line, "not an entry of names and values"))
            return
        names = [plain(str(name)) for name, _ in content]
        if doubled := twice(names):
            self.faults += [(line, fault) for fault in doubled]
            return
        self.rows.append(Row(line, dict(zip(names, (value for _, value in content), strict=True))))

    def fail(self, line: int, reason: str) -> None:
        """Note a fault of the file as a whole."""
        self.faults.append((line, reason))
        self.broken.append((line, reason))


class _Pairs(list[tuple[Any, Any]]):
    """An entry before its names are looked at: a dictionary would keep the last of two of one name."""


def twice(names: Iterable[str]) -> list[str]:
    """Return a fault for each name that stands more than once; columns without a name are nobody's."""
    return [f"stands twice: {name}" for name, times in Counter(names).items() if times > 1 and name]


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
            content = json.loads(line, object_pairs_hook=_Pairs)
        except (ValueError, RecursionError) as error:
            table.faults.append((number, f"not JSON: {error}"))
            continue
        table.add(number, content)


def _yaml(text: str, table: Table) -> None:
    kind = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader = kind(text)
    try:
        events = yaml.parse(text, kind) if "*" in text else ()
        alias = next((each for each in events if isinstance(each, yaml.AliasEvent)), None)
        if alias is not None:
            line = alias.start_mark.line + 1 if alias.start_mark else 1
            table.fail(line, f"alias *{alias.anchor}: write out what it stands for")
            return
        root = loader.get_single_node()
        for node in root.value if isinstance(root, yaml.SequenceNode) else ():
            _add(node, loader, table)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or " ".join(str(error).split())
        table.fail(mark.line + 1 if mark else 1, f"not YAML: {reason}")
    finally:
        loader.dispose()


def _add(node: yaml.Node, loader: Any, table: Table) -> None:
    line = node.start_mark.line + 1
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    try:
        read = [tuple(loader.construct_object(each, deep=True) for each in pair) for pair in pairs]
    except (AttributeError, LookupError, TypeError, ValueError):  # PyYAML's own, over 2001-99-99 and !!bool maybe
        table.faults.append((line, "a value is not of the kind that its form or its tag says"))
    else:
        table.add(line, _Pairs(read) if read else None)


def _csv(text: str, first: str, table: Table) -> None:
    csv.field_size_limit(_LONGEST)
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    after = 1
    try:
        for cells in reader:  # a cell may run over many lines, and one that is never closed over all that follow
            line, after = after, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not table.head:
                table.head = tuple(map(plain, cells))
                for fault in twice(table.head):
                    table.fail(line, fault)
            elif len(cells) != len(table.head):
                table.faults.append((line, f"{len(cells)} cells, and the header has {len(table.head)}"))
            else:
                table.rows.append(Row(line, dict(zip(table.head, cells, strict=True))))
    except csv.Error as error:
        table.fail(after, f"not CSV: {error}")
