"""A user's own files of taboos beside ours: read whole, every fault of every file named at once, without doubles."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from tqdm import tqdm

from ccfw.errors import RequestError, StoreError
from ccfw.frames import read_table
from ccfw.knowledge import tables
from ccfw.knowledge.doubles import without_doubles
from ccfw.knowledge.places import Atlas, Places, plain
from ccfw.knowledge.records import Taboo
from ccfw.knowledge.sources import FORMS, Form, Outcome
from ccfw.knowledge.stated import Unfit, misshapen
from ccfw.knowledge.tables import Row, Table
from ccfw.stop import Stop
from ccfw.universe.reading import read_universe, yaml_record

log = logging.getLogger(__name__)
_PARQUET = b"PAR1"
_SLOW_S = 1.0
_SHOWN = 20
"""Faults listed in one message; the rest are counted."""


def read_atlas(data: Path) -> Atlas:
    """Read the table of names and the identities that there are."""
    identities = {
        each.region: tuple(identity.code for identity in each.identities)
        for each in read_universe(data / "universe").regions
    }
    return Atlas(yaml_record(data / "kb" / "countries.yaml", Places), identities)


def with_imported(
    ours: Sequence[Taboo], paths: Iterable[str], atlas: Atlas, stop: Stop | None = None
) -> tuple[Taboo, ...]:
    """Return ours and after them those of the files that ours do not say.

    Raises ``RequestError`` with a line for each fault: file and line, what is wrong, what it may be; ``StoppedError``
    once the job is to stop.
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
    named = list(_named([each.taboo_id for each in ours], here))
    theirs = [taboo for _, taboo in named]
    kept = without_doubles(ours, theirs, partial(_watched, stop=stop or Stop()))
    log.info(
        "kb.taboos: %d read, %d of our regions, %d of them violations, %d doubles left out, %d kept",
        *(len(found), len(here), len(theirs), len(theirs) - len(kept), len(kept)),
    )
    taken = {each.taboo_id for each in kept}
    useful = {path for path, taboo in named if taboo.taboo_id in taken}
    for path in dict.fromkeys(path for path, *_ in found if path not in useful):
        outcomes = [outcome for of, _, outcome in found if of == path]
        elsewhere, accepted = outcomes.count("elsewhere"), outcomes.count("accepted")
        log.warning(
            "kb.taboos: %s: none of its %d entries is kept: %d of no region here, %d no violations, %d doubles",
            *(path, len(outcomes), elsewhere, accepted, len(outcomes) - elsewhere - accepted),
        )
    return (*ours, *kept)


def _watched(theirs: Iterable[Taboo], stop: Stop) -> Iterator[Taboo]:
    """Show how many were looked at, if it takes long enough to wonder."""
    for each in tqdm(theirs, desc="doubles", unit="", file=sys.stderr, disable=None, delay=_SLOW_S):
        stop.check()
        yield each


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
    columns = read_table(path)
    names = [plain(name) for name in columns]
    rows = zip(*columns.values(), strict=True)
    return Table(
        [Row(number, dict(zip(names, row, strict=True))) for number, row in enumerate(rows, 1)],
        [(1, fault) for fault in tables.twice(names)],
    )


def _form(path: Path, table: Table, faults: list[str]) -> Form | None:
    """Return the form that a file's columns are of; ``None`` when they are of none, or not all of it."""
    if not table.rows:
        return None
    form = next((each for each in FORMS if set(each.needs) <= set(table.columns)), None)
    if form is None:
        options = "; ".join(f"{each.name} has {', '.join(each.needs)}" for each in FORMS)
        faults.append(f"{path}: of no known form by its columns {', '.join(table.columns)}; {options}")
        return None
    strange = [name for name in table.columns if form.closed and name not in form.reads]
    for name in strange:
        line = next(row.line for row in table.rows if name in row.cells)
        faults.append(f"{path}:{line}: no such column: {name or '(unnamed)'}; there are {', '.join(form.reads)}")
    return None if strange else form


def _outcomes(path: Path, table: Table, form: Form, atlas: Atlas, faults: list[str]) -> Iterator[tuple[Row, Outcome]]:
    for row in table.rows:
        if misshapes := list(misshapen(row.cells, form.reads)):
            faults += [f"{path}:{row.line}: {fault}" for fault in misshapes]
            continue
        try:
            yield row, form.read(row.cells, path.stem, row.line, atlas)
        except Unfit as error:
            faults += [f"{path}:{row.line}: {fault}" for fault in error.faults]


def _named(taken: Iterable[str], found: Iterable[tuple[Path, Row, Outcome]]) -> Iterator[tuple[Path, Taboo]]:
    """Yield the taboos with their files; one whose name is taken is named after its file too.

    CultureBank's halves count alike.
    """
    names = set(taken)
    for path, row, outcome in found:
        if not isinstance(outcome, Taboo):
            continue
        tries = (outcome.taboo_id, f"{outcome.taboo_id}@{path.stem}", f"{outcome.taboo_id}@{path}:{row.line}")
        name = next(each for each in tries if each not in names or each == tries[-1])
        names.add(name)
        yield path, outcome.model_copy(update={"taboo_id": name})
