"""What is wrong with a file's records, so that its owner finds it: place, field, reason, what was given. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from pydantic import ValidationError

SHOWN = 20
"""Faults listed in one message; the rest are counted."""


def faults(where: str, error: ValidationError, spelled: Callable[[str], str] = str) -> list[str]:
    """Return one line for each fault of a record; ``spelled`` turns our name of a field into the file's."""
    lines, found = [], error.errors(include_url=False)
    within = {fault["loc"][:depth] for fault in found for depth in range(len(fault["loc"]))}
    for fault in found:
        if fault["type"] == "too_short" and fault["loc"] in within:
            continue  # a list is short of what is wrong with its items
        field = spelled(".".join(map(str, fault["loc"]))) or "the whole record"
        given = (
            ""
            if fault["type"] == "missing"
            else f"; given: {json.dumps(_said(fault['input']), ensure_ascii=False, default=str)[:80]}"
        )
        lines.append(f"{where}: {field}: {fault['msg']}{given}")
    return lines


def listed(problems: Sequence[str], more: int = 0) -> list[str]:
    """Return the first faults, and how many there are beyond those; ``more`` were counted and not kept."""
    beyond = len(problems[SHOWN:]) + more
    return [*problems[:SHOWN], *([f"… and {beyond} more"] if beyond else [])]


def _said(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
