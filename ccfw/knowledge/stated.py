"""Taboos in ccfw's own form, or in a plain table of a user's own: what is stated is checked, what is not is unknown.

Pure.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any, get_args

from ccfw.knowledge.places import Atlas, plain
from ccfw.knowledge.records import NOT_STATED, Category, Taboo
from ccfw.records import Region

COLUMNS = (
    *("id", "taboo id", "region", "identities", "category", "action", "explanation", "detailed explanation"),
    *("severity", "exceptions", "verify with", "source", "licence"),
)


class Unfit(Exception):  # noqa: N818 the row is refused, nothing is in error
    """A row of a user's file that cannot be taken; ``faults`` says why, every reason of it."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


_APART = re.compile(r"[;,|]")
_LONGEST = 4_000
"""Characters of a cell; what is longer is no description of an act but a file gone wrong."""
_LARGEST = 10**18
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def misshapen(cells: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """Yield a fault for each of some cells that is no text to work with, whatever it says.

    A list of texts may stand for the identities; no other cell holds more than one value.
    """
    for name in names:
        value = cells.get(name)
        listed = value if name == "identities" and isinstance(value, list) else [value]
        fault = next(filter(None, map(_misshape, listed)), None)
        if fault:
            yield f"{name}: {fault}"


def _misshape(value: Any) -> str | None:
    if value is not None and not isinstance(value, str | Number | dt.date):
        return "must be text"
    if isinstance(value, int) and abs(value) >= _LARGEST:
        return "must be text; a number of so many digits is none"
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"has {len(value):,} characters, and may have {_LONGEST:,}"
    if isinstance(value, str) and _SURROGATE.search(value):
        return "holds half a character (a lone surrogate)"
    return None


def text(cells: Mapping[str, Any], name: str) -> str:
    """Return a cell that is not ``misshapen`` as one line of text; empty where it is absent, null or not a number."""
    value = cells.get(name)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer() and name.endswith("id"):
        value = int(value)
    return " ".join(str(value).split())


def stated(cells: Mapping[str, Any], file: str, line: int, atlas: Atlas) -> Taboo:
    """Read an entry; raise ``Unfit`` with every fault. ``file`` names it where it says no source of its own."""
    faults: list[str] = []
    region = atlas.region(text(cells, "region"))
    if region is None:
        options = f"it is one of {', '.join(Region)}, or such a country's name"
        faults.append(f"region: {text(cells, 'region') or 'is empty'}; {options}")
    name = text(cells, "taboo id") or text(cells, "id")
    source = text(cells, "source") or f"{file}:{name or line}"
    content = {
        "taboo_id": name or source,
        "region": region,
        "identities": _identities(cells.get("identities"), region, atlas, faults),
        "category": _chosen(cells, "category", get_args(Category), faults),
        "action": _needed(cells, ("action",), faults),
        "detailed_explanation": _needed(cells, ("detailed explanation", "explanation"), faults),
        "severity": _chosen(cells, "severity", get_args(Taboo.model_fields["severity"].annotation), faults),
        "exceptions": text(cells, "exceptions") or NOT_STATED,
        "verify_with": text(cells, "verify with") or source,
        "source": source,
        "licence": text(cells, "licence") or NOT_STATED,
    }
    if faults:
        raise Unfit(faults)
    return Taboo.model_validate(content)


def _needed(cells: Mapping[str, Any], names: Sequence[str], faults: list[str]) -> str:
    found = next((text(cells, name) for name in names if text(cells, name)), "")
    if not found:
        faults.append(f"{names[-1]}: is empty")
    return found


def _chosen(cells: Mapping[str, Any], name: str, options: Sequence[str], faults: list[str]) -> str:
    given = text(cells, name)
    found = plain(given).replace(" ", "_") or "unknown"
    if found not in options:
        faults.append(f"{name}: {given}; it is one of {', '.join(options)}")
    return found


def _identities(given: Any, region: Region | None, atlas: Atlas, faults: list[str]) -> tuple[str, ...]:
    """Return the identities that are named, in a list or in one text; all of the region where none is."""
    listed = given if isinstance(given, list | tuple) else _APART.split(text({"": given}, ""))
    named = tuple(dict.fromkeys(each.strip() for each in map(str, listed) if each.strip()))
    if region is None:
        return named
    known = atlas.identities[region]
    faults += [f"identities: {each}; {region} has {', '.join(known)}" for each in named if each not in known]
    return named or known
