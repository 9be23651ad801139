"""The tables of the chapter, made of all outputs at once. Pure.

Rows stand in one part of a table when nothing differs but what the table compares; else a break says in what they
differ: the data, the judge, or how they were made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ccfw.report.research import run_tables, runs
from ccfw.report.research.columns import with_intervals
from ccfw.report.research.kinds import KINDS, Kind
from ccfw.report.research.shelves import Row, Shelf, apart, inside
from ccfw.report.sections import TableView
from ccfw.report.writing import NONE

Cells = tuple[str, ...]
_RUNS_AFTER = "strata"
TABLES = {stage: tuple(kind.csv for kind in KINDS if kind.stage == stage) for stage in {each.stage for each in KINDS}}
"""CSV files that are read of each stage's outputs; of *external* its countries too."""
TABLES[runs.STAGE] = runs.TABLES
TABLES["external"] += ("countries",)


def tables(shelves: Sequence[Shelf]) -> tuple[TableView, ...]:
    """Return every table in which there is something."""
    return tuple(table for table in _every(shelves) if table.rows)


def _every(shelves: Sequence[Shelf]) -> Iterator[TableView]:
    for kind in KINDS:
        yield _table(kind, shelves)
        if kind.name == _RUNS_AFTER:
            yield from run_tables.tables(runs.parts(shelves))


def _table(kind: Kind, shelves: Sequence[Shelf]) -> TableView:
    rows: list[tuple[str, ...]] = []
    breaks = []
    groups = kind.groups(shelf for shelf in shelves if any(_rows(kind, shelf)))
    for origin, group in groups:
        if len(groups) > 1 or kind.judged:
            breaks.append((len(rows), origin))
        made = [[_cells(kind, row) for row in _rows(kind, shelf)] for shelf in group]
        if kind.stage == "external":  # a later output tells of the models of earlier ones too
            rows += {row[: len(kind.texts)]: row for own in made for row in own}.values()
        else:
            rows += _told_apart(kind, group, made)
    heads, texts = (
        [*(heading for heading, _ in kind.texts), *(column.heading for column in kind.columns)],
        len(kind.texts),
    )
    kept = [place for place in range(len(heads)) if place < texts or any(row[place] not in ("", NONE) for row in rows)]
    told = tuple(tuple(row[place] for place in kept) for row in rows)
    head = tuple(heads[place] for place in kept)
    cells = (cell for row in told for cell in row[texts:])
    note = with_intervals(kind.note, cells, (shelf for _, group in groups for shelf in group))
    return TableView(f"crisp_{kind.name}", kind.title, note, head, told, tuple(breaks), texts=texts)


def _told_apart(kind: Kind, group: Sequence[Shelf], made: Sequence[Sequence[Cells]]) -> Iterator[Cells]:
    """Yield the rows of outputs, each once; those of one name that differ have in it what their outputs differ in."""
    rows: dict[Cells, dict[str, Cells]] = {}
    for shelf, own in zip(group, made, strict=True):
        for row in own:
            rows.setdefault(row[: len(kind.texts)], {})[shelf.name] = row
    seen = set()  # the same stands in two outputs where only what is compared differs
    for shelf, own in zip(group, made, strict=True):
        for row in own:
            others, told = rows[row[: len(kind.texts)]], row
            if len(set(others.values())) > 1:
                more = _unlike(kind, shelf, [each for each in group if each.name in others])
                told = (", ".join([row[0], *more]), *row[1:])
            if told not in seen:
                seen.add(told)
                yield told


def _unlike(kind: Kind, shelf: Shelf, others: Sequence[Shelf]) -> list[str]:
    """Return in what an output differs from others that have a row of one name."""
    terms = apart([kind.own(each) for each in others])
    own = terms[[each.name for each in others].index(shelf.name)]
    return own if terms.count(own) == 1 else [*own, shelf.name[:6]]


def _rows(kind: Kind, shelf: Shelf) -> Iterator[Row]:
    for row in shelf.tables.get(kind.csv, ()):
        if kind.takes(row):
            yield {**row, **_named(kind, shelf, row)}


def _named(kind: Kind, shelf: Shelf, row: Row) -> dict[str, Any]:
    """Return what a row's own columns do not say: which reward model it is of."""
    if kind.stage != "reward":
        return {}
    name = str(inside(shelf.settings, "reward", "name"))
    return {"model": name} | {f"own{end}": row.get(f"{name}{end}") for end in ("", "_lo", "_hi")}


def _cells(kind: Kind, row: Row) -> Cells:
    names = (row.get(column) for _, column in kind.texts)
    texts = ("" if name is None else f"{name:g}" if isinstance(name, float) else str(name) for name in names)
    called = (kind.called.get(text, text) for text in texts)
    return (*called, *(column.shown(row) for column in kind.columns))
