"""Tables on disk: the only import of pandas and pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ccfw.errors import StoreError

_ROWS = 64
"""Rows of a table that are Python objects at a time, where it is read row by row."""


def write_parquet(path: Path, columns: Mapping[str, Any], categories: Sequence[str] = ()) -> None:
    """Write columns of equal length so that a reader meets the old file or the whole new one.

    ``categories`` names the columns of few values, which are kept as codes.
    """
    import pandas as pd

    frame = pd.DataFrame({name: pd.Categorical(c) if name in categories else c for name, c in columns.items()})
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    frame.to_parquet(part, index=False)
    part.replace(path)


ColumnType = Literal["text", "texts", "terms", "number", "bytes"]


def write_table(path: Path, columns: Mapping[str, Sequence[Any]], types: Mapping[str, ColumnType]) -> None:
    """Write columns with the types that they are said to have, whatever the rows hold, even none.

    The same rows make the same bytes. It is on the device when this returns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    terms = pa.list_(pa.struct([("term", pa.string()), ("native", pa.string())]))
    kinds = {"text": pa.string(), "texts": pa.list_(pa.string()), "terms": terms}
    kinds |= {"number": pa.uint64(), "bytes": pa.binary()}
    arrays = {name: pa.array(columns[name], type=kinds[kind]) for name, kind in types.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with part.open("wb") as file:
        pq.write_table(pa.table(arrays), file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read_table(path: Path, columns: Sequence[str] | None = None) -> dict[str, list[Any]]:
    """Read columns as lists; raise ``StoreError`` when the file is no table, or has no such columns."""
    table = _parquet(path, columns)
    missing = [name for name in columns or () if name not in table.column_names]
    if missing:
        raise StoreError(f"{path}: lacks the columns {', '.join(missing)}")
    found: dict[str, list[Any]] = table.to_pydict()
    return found


def _parquet(path: Path, columns: Sequence[str] | None) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:
            return pq.read_table(file, columns=list(columns) if columns is not None else None)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{path}: not a Parquet table: {' '.join(str(error).split())[:300]}") from None


class Rows:
    """A Parquet file of any columns, read some rows at a time."""

    def __init__(self, path: Path) -> None:
        """Read what the file says of itself; raise ``StoreError`` when it is no Parquet table."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path = path
        try:
            with pq.ParquetFile(path) as file:
                self.columns: tuple[str, ...] = tuple(file.schema_arrow.names)
                self.count: int = file.metadata.num_rows
        except (OSError, pa.ArrowException) as error:
            raise self._broken(error) from None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each row by the names of its columns; raise ``StoreError`` where the file is damaged."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(self._path) as file:
                for batch in file.iter_batches(_ROWS):
                    yield from batch.to_pylist()
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise self._broken(error) from None

    def _broken(self, error: Exception) -> StoreError:
        return StoreError(f"{self._path}: not a Parquet table: {' '.join(str(error).split())[:300]}")


def write_mapped(path: Path, sources: Sequence[Path], first: Mapping[str, Sequence[Any]], by: str) -> None:
    """Write the rows of Parquet tables, and before them rows given as columns, sorted by a column of text.

    The sort keeps the order of equal rows. What is written can be mapped into memory (``Mapped``). Raises
    ``StoreError`` for a source that is no such table.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    tables = [_parquet(source, list(first)) for source in sources]
    schema = tables[0].schema.remove_metadata()
    rows = pa.concat_tables([pa.table(dict(first), schema=schema), *(each.cast(schema) for each in tables)])
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with pa.OSFile(str(part), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for value in sorted(pc.unique(rows.column(by)).to_pylist()):
            writer.write_table(rows.filter(pc.equal(rows.column(by), value)))
    part.replace(path)


class Mapped:
    """A table that stays on disk: a row is read when it is asked for."""

    def __init__(self, path: Path) -> None:
        """Open what ``write_mapped`` wrote; raise ``StoreError`` when the file is none."""
        import pyarrow as pa

        try:
            self._table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            self._table.validate(full=True)  # a third of a GB takes a fifth of a second
        except (OSError, pa.ArrowException) as error:
            raise StoreError(f"{path}: not a table of passages: {' '.join(str(error).split())[:300]}") from None

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def row(self, number: int) -> dict[str, Any]:
        """Return a row by the names of its columns."""
        return {name: self._table.column(name)[number].as_py() for name in self._table.column_names}

    def counts(self, name: str) -> dict[str, int]:
        """Return how often each value of a column of text is there, in the order of first appearance."""
        found = self._table.column(name).value_counts().to_pylist()
        return {each["values"]: each["counts"] for each in found}

    def filled(self, name: str) -> dict[int, list[str]]:
        """Return the lists of a column of lists that are not empty, by row."""
        import pyarrow.compute as pc

        column = self._table.column(name)
        rows = pc.indices_nonzero(pc.list_value_length(column))
        return dict(zip(rows.to_pylist(), column.take(rows).to_pylist(), strict=True))


def read_arrays(path: Path, columns: Sequence[str]) -> dict[str, Any]:
    """Read columns of text as lists and columns of numbers as arrays; raise ``StoreError`` as ``read_table`` does."""
    table = _parquet(path, columns)
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise StoreError(f"{path}: lacks the columns {', '.join(missing)}")
    found = {name: table.column(name).combine_chunks() for name in columns}
    return {
        name: column.to_pylist() if str(column.type) in {"string", "large_string"} else column.to_numpy(False)
        for name, column in found.items()
    }
