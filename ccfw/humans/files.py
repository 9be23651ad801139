"""Files of ratings → records: CSV, TSV, JSON, JSON lines, Parquet. Numbers stay as they are printed."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ccfw.errors import RequestError, StoreError
from ccfw.frames import read_table
from ccfw.humans.printed import brief
from ccfw.humans.records import Row


def read_rows(path: Path, key: str) -> list[Row]:
    """Return the records of a file, or of all the files of a folder, each with where it stands.

    Raises ``RequestError``, which names the setting ``key``, for a file that is not there or cannot be read as what its
    name says, and for a folder that holds none.
    """
    if not path.is_dir():
        return _of_file(path, key)
    files = files_of(path)
    if not files:
        raise RequestError([f"{key}={path}: no file of ratings in the folder; there may be {', '.join(_READERS)}"])
    return [row._replace(where=f"{file.name}, {row.where}") for file in files for row in _of_file(file, key)]


def files_of(folder: Path) -> list[Path]:
    """Return the files of a folder that hold ratings, by their names."""
    return sorted(
        each for each in folder.iterdir() if each.suffix.lower() in _READERS and not each.name.startswith(".")
    )


def _of_file(path: Path, key: str) -> list[Row]:
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise RequestError([f"{key}={path}: not a kind of file that is read; there are {', '.join(_READERS)}"])
    try:
        return list(reader(path))
    except OSError as error:
        raise RequestError([f"{key}={path}: {error.strerror or error}"]) from None
    except (ValueError, csv.Error, RecursionError, StoreError) as error:
        raise RequestError([f"{key}={path}: not readable: {' '.join(str(error).split())[:300]}"]) from None


def _table(delimiter: str) -> Callable[[Path], Iterator[Row]]:
    def read(path: Path) -> Iterator[Row]:
        csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.DictReader(file, delimiter=delimiter, restval="", strict=True)
            names = [name for name in lines.fieldnames or () if name]
            if twice := [name for name, times in Counter(names).items() if times > 1]:
                raise ValueError(f"more than one column is named {', '.join(map(brief, twice))}")
            for cells in lines:
                if None in cells:
                    raise ValueError(f"line {lines.line_num} has more cells than the header")
                yield Row({name: value for name, value in cells.items() if name}, f"line {lines.line_num}")

    return read


def _json_lines(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _row(_parsed(line), f"line {number}")


def _json(path: Path) -> Iterator[Row]:
    content = _parsed(path.read_text("utf-8-sig"))
    records = content if isinstance(content, list) else [content]
    for number, record in enumerate(records, 1):
        yield _row(record, f"record {number}")


def _parsed(text: str) -> Any:
    return json.loads(text, parse_float=str, parse_int=str)


def _row(record: object, where: str) -> Row:
    if not isinstance(record, dict):
        raise ValueError(f"{where} is no JSON object")  # noqa: TRY004 what a reader raises on any content
    return Row(record, where)


def _parquet(path: Path) -> Iterator[Row]:
    if not path.is_file():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    columns = read_table(path)
    for number, cells in enumerate(zip(*columns.values(), strict=True), 1):
        yield Row(dict(zip(columns, cells, strict=True)), f"row {number}")


_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".csv": _table(","),
    ".tsv": _table("\t"),
    ".json": _json,
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}
