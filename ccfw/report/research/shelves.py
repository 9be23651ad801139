"""One output of a stage of paper 2, and what has to be the same for two to compare. Pure.

Tables are made of the stages' CSV files, whose columns follow one form: a figure, and its bounds as ``_lo`` and
``_hi``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ccfw.store import fingerprint, flat

Row = Mapping[str, Any]
"""Of a CSV: numbers as numbers, ``None`` where there is none."""
_MOST = 4
"""Settings by which one output is told from others."""
_LONGEST = 30
"""Letters of a setting that are told."""
_HASH = re.compile("[0-9a-f]{16,}")


class Shelf(NamedTuple):
    """One output of a stage of paper 2."""

    stage: str
    name: str
    """Of its folder."""
    dataset: str
    judge: str
    small_judge: bool
    content: Mapping[str, Any]
    """Everything that decided it."""
    settings: Mapping[str, Any]
    tables: Mapping[str, Sequence[Row]]
    """By name of the CSV."""


class Common(NamedTuple):
    """What the rows of one part of a table, or the series of one figure, have in common."""

    dataset: str
    judge: str
    rest: str
    """The hash of everything else."""

    @property
    def named(self) -> str:
        """Data and judge in words."""
        return ", ".join([*([self.dataset] if self.dataset else []), *([f"judge {self.judge}"] if self.judge else [])])


def hash_of(content: Any) -> str:
    """Return the hash of what decided an output, but for where models were reached."""
    return fingerprint({"": placeless(content)})


def placeless(content: Any) -> Any:
    """Leave out where models were reached: another address says nothing of the model."""
    if isinstance(content, Mapping):
        return {name: placeless(value) for name, value in content.items() if name != "api_base"}
    return [placeless(each) for each in content] if isinstance(content, list | tuple) else content


def origins(named: Sequence[str], contents: Sequence[Mapping[str, Any]], hashes: Sequence[str]) -> list[str]:
    """Return what several parts of a table rest on: their names, a short name for all that decided each, and between.

    Between the two stands in which settings those of one name differ.
    """
    found = []
    for name, content, made in zip(named, contents, hashes, strict=True):
        same = [other for told, other in zip(named, contents, strict=True) if told == name]
        terms = apart(same)[same.index(content)]
        found.append(", ".join([*([name] if name else []), *terms, f"made as {made[:8]}"]))
    return found


def apart(contents: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return for each of several contents in which settings it differs from others, in words: a few of them."""
    every = [{key: written(value) for key, value in flat(placeless(each)).items()} for each in contents]
    return [
        [f"{key} {text}" for key, text in own.items() if tells(text, [other.get(key) for other in every])][:_MOST]
        for own in every
    ]


def tells(value: str, peers: Sequence[str | None], even_the_usual: bool = False) -> bool:
    """Whether a setting tells one from others: they differ in it, and most of them do not have it so."""
    return len(set(peers)) > 1 and (even_the_usual or 2 * peers.count(value) <= len(peers))


def written(value: Any) -> str:
    """Return a setting in words; of a hash or a long text the beginning."""
    text = "null" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    if _HASH.fullmatch(text):
        return text[:8]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def mapping(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return what stands under a name if it is a mapping, and an empty one otherwise."""
    found = content.get(name)
    return found if isinstance(found, Mapping) else {}


def inside(content: Mapping[str, Any], *path: str) -> Any:
    """Return what stands at a path of names; ``None`` where there is nothing."""
    value: Any = content
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
