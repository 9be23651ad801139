"""Reading what paper 2 needs from disk: the norms and situations that ship, a file of situations, files of norms."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from ccfw.crisp.norms import LAYOUTS, Rows, layout_of, read_rows, shipped_norms
from ccfw.crisp.records import CultureNorms, CultureSituations, Draft, Loss, Norm, Reason, Situation
from ccfw.errors import RequestError, StoreError
from ccfw.knowledge import tables
from ccfw.resources import resource
from ccfw.store import read_records
from ccfw.universe.reading import yaml_files, yaml_record


def shipped_folder() -> Path:
    """Return where the norms and situations that ship are."""
    return resource("data") / "crisp"


@lru_cache(maxsize=4)
def read_norms(folder: Path) -> tuple[Norm, ...]:
    """Read the norms under a folder; raise ``StoreError`` for what does not fit or stands twice."""
    found = tuple(shipped_norms(yaml_record(path, CultureNorms) for path in yaml_files(folder / "norms")))
    _unique((each.norm_id for each in found), folder / "norms")
    return found


@lru_cache(maxsize=4)
def read_situations(folder: Path) -> tuple[Situation, ...]:
    """Read the situations under a folder with the norms that they are of.

    Raises ``StoreError`` for what does not fit, stands twice, or is of no norm of its culture.
    """
    norms = {norm.norm_id: norm for norm in read_norms(folder)}
    found = []
    for path in yaml_files(folder / "situations"):
        file = yaml_record(path, CultureSituations)
        for each in file.situations:
            norm = norms.get(each.norm_id)
            if norm is None or norm.culture != file.culture:
                raise StoreError(f"{path}: {each.situation_id}: no norm {each.norm_id} of {file.culture}")
            found.append(
                Situation(
                    situation_id=each.situation_id,
                    norm=norm,
                    chronotope=each.chronotope,
                    draft=Draft.model_validate(each.model_dump(include=set(Draft.model_fields))),
                    triplet=each.triplet,
                )
            )
    _unique((each.situation_id for each in found), folder / "situations")
    return tuple(found)


def read_situation_file(path: Path, key: str) -> tuple[Situation, ...]:
    """Read situations: a folder in the form of ``data/crisp``, or the ``situations.jsonl`` of stage *refine*.

    Raises ``RequestError``, which names the setting ``key``, for what is not there or does not fit.
    """
    if not path.exists():
        raise RequestError([f"{key}={path}: no such file or folder"])
    try:
        found = read_situations(path) if path.is_dir() else tuple(read_records(_regular(path), Situation, whole=True))
    except (StoreError, OSError) as error:
        raise RequestError([f"{key}={path}: {error}"]) from None
    if not found:
        raise RequestError([f"{key}={path}: no situations there"])
    return found


def _regular(path: Path) -> Path:
    """Return the path of a file; raise ``OSError`` for a pipe or a device, which may never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "neither a file nor a folder")
    return path


def read_norm_files(paths: Iterable[str], key: str) -> Iterator[Rows]:
    """Yield the candidates of each file of norms.

    Raises ``RequestError`` with a line for each file that is not there, cannot be read to its end, has no rows, or
    whose columns are those of no source.
    """
    problems, found = [], []
    for path in map(Path, paths):
        try:
            table = tables.read(_regular(path).read_text("utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{key}={path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}")
            continue
        if table.broken:
            problems += [f"{key}={path}:{line}: {fault}; nothing of the file was taken" for line, fault in table.broken]
            continue
        layout = layout_of(table.columns)
        if layout is None:
            needed = "; ".join(f"{each.source}: {', '.join(sorted(each.columns))}" for each in LAYOUTS)
            have = ", ".join(table.columns) or "none"
            problems.append(f"{key}={path}: its columns ({have}) are those of no source; {needed}")
            continue
        if not table.rows and not table.faults:
            problems.append(f"{key}={path}: no rows below its header")
            continue
        rows = read_rows(layout, ((row.line, row.cells) for row in table.rows))
        bad = [
            (f"{layout.source}:line_{line}", Loss(reason=Reason.BAD_ROW, detail=f"line {line}: {fault}"))
            for line, fault in table.faults
        ]
        found.append(rows._replace(losses=(*rows.losses, *bad)))
    if problems:
        raise RequestError(problems)
    yield from found


def _unique(ids: Iterable[str], folder: Path) -> None:
    listed = list(ids)
    twice = sorted({each for each in listed if listed.count(each) > 1})
    if twice:
        raise StoreError(f"{folder}: stand twice: {', '.join(twice)}")
