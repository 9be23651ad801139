"""Files of replies to CulShield and CultureForest → what their scoring takes; every fault with its line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from ccfw.knowledge.tables import Table
from ccfw.training.culshield import Asked, read_reply
from ccfw.training.cultureforest import (
    CREDIT,
    MEDIUM,
    Acceptability,
    Marked,
    Verified,
    read_easy,
    read_medium,
    verdict,
)

T = TypeVar("T")
Cells = Mapping[str, str]


class ReadReplies(NamedTuple):
    """What a file holds."""

    items: tuple[Any, ...]
    faults: tuple[str, ...]


def read_culshield_replies(table: Table) -> ReadReplies:
    """Read the published objects (``country``, ``answer``) with a ``reply`` to each."""
    return _read(table, ("country", "answer", "reply"), _asked)


def read_easy_replies(table: Table) -> ReadReplies:
    """Read ``question_id``, ``country``, ``answer`` and a ``reply``; several rows of one question are its samples."""
    return _read(table, ("question id", "country", "answer", "reply"), _easy)


def read_medium_replies(table: Table) -> ReadReplies:
    """Read ``question_id``, ``country`` and the reply to each option, ``option_1`` to ``option_4``: whole replies, or
    what was read of them; several rows of one question are its samples.
    """
    return _read(table, ("question id", "country", *(f"option {place}" for place in range(1, 5))), _medium)


def read_hard_verdicts(table: Table) -> ReadReplies:
    """Read a verifier's log-probabilities: ``question_id``, ``country``, ``answer`` (from 1), ``norm_id``,
    ``acceptability``, ``satisfy``, ``neutral``, ``violate``.
    """
    return _read(table, ("question id", "country", "answer", "norm id", "acceptability", *_LABELS), _verified)


_LABELS = ("satisfy", "neutral", "violate")


def _read(table: Table, needed: tuple[str, ...], make: Callable[[Cells], T]) -> ReadReplies:
    faults = [f"line {line}: {fault}" for line, fault in table.faults]
    missing = [name.replace(" ", "_") for name in needed if name not in table.columns]
    if missing:
        names = ", ".join(name.replace(" ", "_") for name in needed)
        return ReadReplies((), (*faults, f"lacks {', '.join(missing)}; its columns must be {names}"))
    items = []
    for line, cells in _cells(table):
        try:
            items.append(make(cells))
        except ValueError as error:
            faults.append(f"line {line}: {error}")
    return ReadReplies(tuple(items), tuple(faults))


def _cells(table: Table) -> Iterator[tuple[int, Cells]]:
    for row in table.rows:
        yield row.line, {name: "" if value is None else str(value) for name, value in row.cells.items()}


def _asked(cells: Cells) -> Asked:
    right = cells["answer"].strip().casefold()
    if right not in ("yes", "no"):
        raise ValueError(f"answer is {cells['answer'][:20]!r}, and must be Yes or No")
    return Asked(cells["country"], right == "yes", cells["reply"])


def _easy(cells: Cells) -> Marked:
    said, right = read_easy(cells["reply"]), cells["answer"].strip()
    return Marked(cells["question id"], cells["country"], None if said is None else said == right)


def _medium(cells: Cells) -> Marked:
    said = [_truth(cells[f"option {place}"]) for place in range(1, 5)]
    return Marked(cells["question id"], cells["country"], verdict(said))


def _truth(cell: str) -> str | None:
    if "{" in cell:
        return read_medium(cell)
    said = cell.strip().strip("\"'*.").casefold()
    if said in MEDIUM:
        return said
    yes = read_reply(cell)
    return None if yes is None else str(yes).lower()


def _verified(cells: Cells) -> Verified:
    acceptability = cells["acceptability"].strip()
    if acceptability not in CREDIT:
        raise ValueError(f"acceptability is {acceptability[:20]!r}, and must be one of {', '.join(CREDIT)}")
    logs = [float(cells[name]) for name in _LABELS]
    if any(map(math.isnan, logs)) or not math.isfinite(max(logs)):
        raise ValueError("log-probabilities must be numbers, and not all of them −∞")
    number = int(cells["answer"])
    return Verified(
        cells["question id"],
        cells["country"],
        number,
        cells["norm id"],
        cast("Acceptability", acceptability),
        *logs,
    )
