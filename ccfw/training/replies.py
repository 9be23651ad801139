"""Files of replies to CulShield and CultureForest → what their scoring takes; every fault with its line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from ccfw.knowledge.tables import Table
from ccfw.training.cells import decimal, name_in, shown, text_in
from ccfw.training.culshield import Asked, read_reply
from ccfw.training.cultureforest import (
    CREDIT,
    LOG_ROUNDING,
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
_COUNTED = re.compile(r"0*[1-9][0-9]{0,8}")


class ReadReplies(NamedTuple):
    """What a file holds."""

    items: tuple[Any, ...]
    faults: tuple[str, ...]


def read_culshield_replies(table: Table) -> ReadReplies:
    """Read the published objects (``country``, ``answer``) with a ``reply`` to each."""
    return _read(table, ("country", "answer", "reply"), _asked)


def read_easy_replies(table: Table) -> ReadReplies:
    """Read ``question_id``, ``country``, ``answer`` and a ``reply``; several rows of one question are its samples,
    and a fault where they differ in what is right.
    """
    rights: dict[tuple[str, str], str] = {}
    return _read(table, ("question id", "country", "answer", "reply"), lambda cells: _easy(cells, rights))


def read_medium_replies(table: Table) -> ReadReplies:
    """Read ``question_id``, ``country`` and the reply to each option, ``option_1`` to ``option_4``: whole replies, or
    what was read of them; several rows of one question are its samples.
    """
    return _read(table, ("question id", "country", *(f"option {place}" for place in range(1, 5))), _medium)


def read_hard_verdicts(table: Table) -> ReadReplies:
    """Read a verifier's natural log-probabilities: ``question_id``, ``country``, ``answer`` (from 1), ``norm_id``,
    ``acceptability``, ``satisfy``, ``neutral``, ``violate``.

    One above 0 is a fault, as where probabilities stand there; so is a norm that is said to be more than one of
    acceptable and not, and a second verdict on the same.
    """
    held = _Held({}, set())
    needed = ("question id", "country", "answer", "norm id", "acceptability", *_LABELS)
    return _read(table, needed, lambda cells: held.once(_verified(cells)))


_NAMES = {"question id", "country", "norm id"}
_LABELS = ("satisfy", "neutral", "violate")


class _Held(NamedTuple):
    """What the rows before a row held."""

    acceptability: dict[str, Acceptability]
    seen: set[tuple[str, str, int, str]]

    def once(self, row: Verified) -> Verified:
        """Return a row; raise ``ValueError`` where it contradicts or repeats one before it."""
        other = self.acceptability.setdefault(row.norm_id, row.acceptability)
        if other != row.acceptability:
            raise ValueError(f"acceptability of {row.norm_id} is {row.acceptability} here, and {other} before")
        key = row.country, row.question_id, row.answer, row.norm_id
        if key in self.seen:
            raise ValueError(
                f"answer {row.answer} to {row.question_id} of {row.country} stands twice under {row.norm_id}"
            )
        self.seen.add(key)
        return row


def _read(table: Table, needed: tuple[str, ...], make: Callable[[Cells], T]) -> ReadReplies:
    faults = [f"line {line}: {fault}" for line, fault in table.faults]
    missing = [shown(name) for name in needed if name not in table.columns]
    if missing:
        names = ", ".join(shown(name) for name in needed)
        return ReadReplies((), (*faults, f"lacks {', '.join(missing)}; its columns must be {names}"))
    items = []
    for row in table.rows:
        try:
            items.append(make(_cells(row.cells, needed)))
        except ValueError as error:
            faults.append(f"line {row.line}: {error}")
    return ReadReplies(tuple(items), tuple(faults))


def _cells(cells: Mapping[str, Any], needed: tuple[str, ...]) -> Cells:
    lacking = [shown(name) for name in needed if name not in cells]
    if lacking:  # as of one JSON line among others
        raise ValueError(f"lacks {', '.join(lacking)}")
    return {name: name_in(cells, name) if name in _NAMES else text_in(cells, name) for name in needed}


def _asked(cells: Cells) -> Asked:
    right = cells["answer"].strip().casefold()
    if right not in ("yes", "no"):
        raise ValueError(f"answer is {cells['answer'][:20]!r}, and must be Yes or No")
    return Asked(cells["country"], right == "yes", cells["reply"])


def _easy(cells: Cells, rights: dict[tuple[str, str], str]) -> Marked:
    said, right = read_easy(cells["reply"]), cells["answer"].strip()
    if not right:
        raise ValueError("no answer")
    other = rights.setdefault((cells["country"], cells["question id"]), right)
    if other != right:
        raise ValueError(f"answer to {cells['question id']} is {right[:20]!r} here, and {other[:20]!r} before")
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
    logs = [_log_probability(name, cells[name]) for name in _LABELS]
    if not math.isfinite(max(logs)):
        raise ValueError("log-probabilities cannot all be −∞")
    number = cells["answer"].strip()
    if not _COUNTED.fullmatch(number):
        raise ValueError(f"answer is {number[:20]!r}, and must be a number from 1")
    return Verified(
        cells["question id"],
        cells["country"],
        int(number),
        cells["norm id"],
        cast("Acceptability", acceptability),
        *logs,
    )


def _log_probability(name: str, cell: str) -> float:
    value = -math.inf if cell.strip().casefold() in ("-inf", "-infinity") else decimal(cell)
    if value is None or value > LOG_ROUNDING:
        raise ValueError(f"{name} is {cell.strip()[:20]!r}, and must be a log-probability: a number up to 0, or -inf")
    return value
