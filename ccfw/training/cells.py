"""Cells of a user's file → names, texts and numbers; a ``ValueError`` says what is wrong with one. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from ccfw.knowledge.stated import misshapen
from ccfw.terminal import printable

_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_TOTALS = {"policy": ("all", "all policies"), "country": ("all", "all countries")}
TOTALLED = "the tables have the total under this name"


def decimal(text: str) -> float | None:
    """Return a finite decimal number, as ``-0.5`` or ``1e-3``; ``None`` where a text is none.

    Python's own ``float`` takes more: ``1_0``, digits of other scripts, ``nan``.
    """
    text = text.strip()
    value = float(text) if _DECIMAL.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def text_in(cells: Mapping[str, Any], name: str) -> str:
    """Return the text of a cell, of any length; empty where it is null or not there.

    Raises ``ValueError`` where it is a list or an object, or no valid Unicode, which nothing could store.
    """
    cell = cells.get(name)
    if isinstance(cell, str):
        _whole(cell, shown(name))
        return cell
    _refuse(cells, name)
    return "" if cell is None else str(cell)


def name_in(cells: Mapping[str, Any], name: str) -> str:
    """Return a cell that names something, as ``proper`` has it."""
    _refuse(cells, name)
    cell = cells.get(name)
    return proper(name, "" if cell is None else str(cell))


def proper(kind: str, text: str) -> str:
    """Return a name of a kind (``policy``, ``country``), trimmed.

    Raises ``ValueError`` where it is empty, holds what cannot be shown, or stands for the total.
    """
    text = text.strip()
    if not text:
        raise ValueError(f"no {shown(kind)}")
    _whole(text, shown(kind))
    if printable(text) != text or "\n" in text or "\t" in text:
        raise ValueError(f"{shown(kind)} holds a control character")
    if is_total(kind, text):
        raise ValueError(f"{shown(kind)} is {text!r}: {TOTALLED}")
    return text


def is_total(kind: str, name: str) -> bool:
    """Whether a name of a kind (``policy``, ``country``) is what tables and metrics call the total."""
    return name.casefold() in _TOTALS.get(kind, ())


def shown(column: str) -> str:
    """Return a column's name as files spell it."""
    return column.replace(" ", "_")


def _refuse(cells: Mapping[str, Any], name: str) -> None:
    for fault in misshapen(cells, (name,)):
        raise ValueError(f"{shown(name)}{fault.removeprefix(name)}")


def _whole(text: str, name: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: holds half a character (a lone surrogate)") from None
