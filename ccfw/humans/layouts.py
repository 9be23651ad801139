"""The layouts of files of ratings → flat rows, and flat rows → ratings. Pure.

Label Studio's and Argilla's exports become one row for each answer to each question, with the columns that
``conf/ratings`` names; tables, long or wide, are such rows already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ccfw.humans.records import Row

Flattened = Iterator[Row]
_TYPES = {"rating": "rating", "number": "number", "choices": "choices"}
"""Kinds of Label Studio's answers that are scores, and where their value stands."""


def table(rows: Sequence[Row]) -> Flattened:
    """Return the rows of a table: they are flat."""
    yield from rows


def label_studio(tasks: Sequence[Row]) -> Flattened:
    """Flatten tasks of Label Studio's JSON export: ``annotations[].result[].value.rating``, ``number`` or ``choices``.

    Cancelled annotations and kinds of answers that hold no score (regions, texts) are left out. Columns: those of the
    task's ``data``, ``id`` of the task, ``completed_by``, ``from_name`` and ``score``.
    """
    for task in tasks:
        data = _mapping(task.cells.get("data"))
        for annotation in _listed(task.cells.get("annotations") or task.cells.get("completions")):
            if annotation.get("was_cancelled"):
                continue
            about = {"id": task.cells.get("id"), **data, "completed_by": _person(annotation.get("completed_by"))}
            for answer in _listed(annotation.get("result")):
                kind = _TYPES.get(str(answer.get("type")))
                if kind is not None:
                    value = _mapping(answer.get("value")).get(kind)
                    score = value[0] if isinstance(value, list) and len(value) == 1 else value
                    yield Row(about | {"from_name": answer.get("from_name"), "score": score}, task.where)


def argilla(records: Sequence[Row]) -> Flattened:
    """Flatten records of Argilla 2, as ``dataset.records.to_json`` writes or ``to_list(flatten=True)`` gives them.

    Only the flat form tells drafts and discarded responses, which are then left out. Columns: those of ``fields`` and
    ``metadata``, ``id``, ``user_id``, ``question`` and ``score``.
    """
    for record in records:
        cells = record.cells
        about = {**_mapping(cells.get("fields")), **_mapping(cells.get("metadata")), **_scalars(cells)}
        for question, answers in _mapping(cells.get("responses")).items():
            for answer in _listed(answers):
                found = {"question": question, "user_id": answer.get("user_id"), "score": answer.get("value")}
                yield Row(about | found, record.where)
        for name, values in cells.items():
            if name.endswith(".responses") and isinstance(values, list):
                for value, user, status in zip(values, *_beside(cells, name, len(values)), strict=False):
                    if status in (None, "submitted"):
                        found = {"question": name.removesuffix(".responses"), "user_id": user, "score": value}
                        yield Row(about | found, record.where)


FLATTEN: Mapping[str, Callable[[Sequence[Row]], Flattened]] = {
    "long": table,
    "wide": table,
    "label_studio": label_studio,
    "argilla": argilla,
}
"""What makes rows of each layout's records."""


def _beside(cells: Mapping[str, object], name: str, count: int) -> tuple[list[Any], list[Any]]:
    users, statuses = cells.get(f"{name}.users"), cells.get(f"{name}.status")
    nobody = [None] * count
    return users if isinstance(users, list) else nobody, statuses if isinstance(statuses, list) else nobody


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))


def _scalars(cells: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in cells.items() if not isinstance(value, dict | list)}


def _person(value: object) -> object:
    """Return who annotated: an id, or the address or id of a whole user."""
    if isinstance(value, dict):
        return value.get("email") or value.get("id")
    return value
