"""A user's own files of taboos beside ours: read whole, every fault of every file named at once, without doubles."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ccfw.errors import RequestError, StoreError
from ccfw.frames import read_table
from ccfw.knowledge import tables
from ccfw.knowledge.doubles import without_doubles
from ccfw.knowledge.places import Atlas, Places, plain
from ccfw.knowledge.records import Taboo
from ccfw.knowledge.sources import FORMS, Form, Outcome
from ccfw.knowledge.stated import Unfit
from ccfw.knowledge.tables import Row, Table
from ccfw.read_universe import read_universe, yaml_record

log = logging.getLogger(__name__)
_PARQUET = b"PAR1"
_SHOWN = 20
"""Faults listed in one message; the rest are counted."""


def read_atlas(data: Path) -> Atlas:
    """Read the table of names and the identities that there are."""
    identities = {
        each.region: tuple(identity.code for identity in each.identities)
        for each in read_universe(data / "universe").regions
    }
    return Atlas(yaml_record(data / "kb" / "countries.yaml", Places), identities)


def with_imported(ours: Sequence[Taboo], paths: Iterable[str], atlas: Atlas) -> tuple[Taboo, ...]:
    """Return ours and after them those of the files that ours do not say.

    Raises ``RequestError`` with a line for each fault: file and line, what is wrong, what it may be.
    """
    found: list[tuple[Path, Row, Outcome]] = []
    faults: list[str] = []
    for path in map(Path, dict.fromkeys(paths)):
        table = _table(path, faults)
        form = _form(path, table, faults)
        if form is not None:
            found += [(path, row, outcome) for row, outcome in _outcomes(path, table, form, atlas, faults)]
    if faults:
        rest = [f"… and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
        raise RequestError([*faults[:_SHOWN], *rest])
    here = [each for each in found if each[2] != "elsewhere"]
    theirs = list(_named([each.taboo_id for each in ours], here))
    kept = without_doubles(ours, theirs)
    log.info(
        "kb.taboos: %d read, %d of our regions, %d of them violations, %d doubles left out, %d kept",
        *(len(found), len(here), len(theirs), len(theirs) - len(kept), len(kept)),
    )
    return (*ours, *kept)


def _table(path: Path, faults: list[str]) -> Table:
    table = Table()
    try:
        content = path.read_bytes()
        table = _parquet(path) if content.startswith(_PARQUET) else tables.read(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        faults.append(f"{path}: neither Parquet nor readable as UTF-8 text: {error}")
    except OSError as error:
        faults.append(f"kb.taboos: {path}: {error.strerror}")
    except StoreError as error:
        faults.append(str(error))
    else:
        faults += [f"{path}:{line}: {reason}" for line, reason in table.faults]
        if not table.rows and not table.faults:
            faults.append(f"{path}: no entry in it")
    return table


def _parquet(path: Path) -> Table:
    columns = {plain(name): values for name, values in read_table(path).items()}
    rows = zip(*columns.values(), strict=True)
    return Table([Row(number, dict(zip(columns, row, strict=True))) for number, row in enumerate(rows, 1)])


def _form(path: Path, table: Table, faults: list[str]) -> Form | None:
    """Return the form that a file's columns are of."""
    if not table.rows:
        return None
    form = next((each for each in FORMS if set(each.needs) <= set(table.columns)), None)
    if form is None:
        options = "; ".join(f"{each.name} has {', '.join(each.needs)}" for each in FORMS)
        faults.append(f"{path}: of no known form by its columns {', '.join(table.columns)}; {options}")
        return None
    for name in table.columns:
        if form.only and name not in form.only:
            line = next(row.line for row in table.rows if name in row.cells)
            faults.append(f"{path}:{line}: no such column: {name or '(unnamed)'}; there are {', '.join(form.only)}")
    return form


def _outcomes(path: Path, table: Table, form: Form, atlas: Atlas, faults: list[str]) -> Iterator[tuple[Row, Outcome]]:
    for row in table.rows:
        try:
            yield row, form.read(row.cells, path.stem, row.line, atlas)
        except Unfit as error:
            faults += [f"{path}:{row.line}: {fault}" for fault in error.faults]


def _named(taken: Iterable[str], found: Iterable[tuple[Path, Row, Outcome]]) -> Iterator[Taboo]:
    """Yield the taboos; one whose name is taken is named after its file too: CultureBank's halves count alike."""
    names = set(taken)
    for path, row, outcome in found:
        if not isinstance(outcome, Taboo):
            continue
        tries = (outcome.taboo_id, f"{outcome.taboo_id}@{path.stem}", f"{outcome.taboo_id}@{path}:{row.line}")
        name = next(each for each in tries if each not in names or each == tries[-1])
        names.add(name)
        yield outcome.model_copy(update={"taboo_id": name})
