"""The benchmarks' own files → questions to ask a model, every fault with its place. Pure.

CulShield: JSON lists of objects with ``country``, ``query_en`` and ``answer``. CultureForest: JSON lines, of each
question ``uuid``, ``Easy.Question_MCQ`` and ``Easy.Answer_Key_Shuffle``, ``Medium.Question_Judge1`` to ``4``,
``Open.Question_Open``, ``Open_End`` (the background that a verifier reads) and ``Norm_Bundle.Norms.Norm_1`` to ``3``
with ``norm_id`` and ``norm``; the country is the folder's name. Norms: one object, id → ``acceptability``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, TypeVar, cast

from ccfw.training.cells import proper, text_in
from ccfw.training.cultureforest import CREDIT, Acceptability

CULSHIELD: Literal["culshield"] = "culshield"
LEVELS = ("easy", "medium", "hard")
OPTIONS = 4
NORMS = 3
Q = TypeVar("Q", "YesNo", "Grounded")


class YesNo(NamedTuple):
    """A question of CulShield's Knowledge Coverage."""

    question_id: str
    country: str
    question: str
    answer: bool
    """``True``: yes is right."""


class Slot(NamedTuple):
    """One of the norms that a question of CultureForest is grounded in."""

    norm_id: str
    norm: str


class Grounded(NamedTuple):
    """A question of CultureForest in its three forms, each worded as it is sent."""

    question_id: str
    """Country and ``uuid``: the published code joins by country and file, so that an id need be no other country's."""
    country: str
    easy: str
    answer: str
    """The option that is right at the easy level."""
    medium: tuple[str, ...]
    """One call for each option."""
    hard: str
    background: str
    norms: tuple[Slot, ...]


class Read(NamedTuple):
    """What a file holds."""

    items: tuple[Any, ...]
    faults: tuple[str, ...]


def read_culshield(text: str) -> Read:
    """Read a file of CulShield's explicit questions."""
    return _read(_objects(text), _yes_no)


def read_cultureforest(text: str, country: str | None) -> Read:
    """Read a file of CultureForest; ``country`` is its folder's name, without one each question names its own."""
    return _read(_objects(text), lambda content: _grounded(content, country))


def read_acceptability(text: str) -> tuple[dict[str, Acceptability], tuple[str, ...]]:
    """Read of each norm whether breaking it is ever acceptable."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, (f"not JSON: {error}",)
    if not isinstance(content, dict):
        return {}, ("not one object of norms by id",)
    found: dict[str, Acceptability] = {}
    faults = []
    for name, entry in content.items():
        value = entry.get("acceptability") if isinstance(entry, dict) else None
        if isinstance(value, str) and value in CREDIT:
            found[name.strip()] = cast("Acceptability", value)
        else:
            faults.append(f"{name}: acceptability is {str(value)[:20]!r}, and must be one of {', '.join(CREDIT)}")
    return found, tuple(faults)


def chosen(questions: Sequence[Q], limit: int | None) -> list[Q]:
    """Return at most so many questions, one of each country in turn, in the order of the file."""
    by_country: dict[str, list[Q]] = {}
    for each in questions:
        by_country.setdefault(each.country, []).append(each)
    turns = [each for turn in zip_longest(*by_country.values()) for each in turn if each is not None]
    return turns[:limit]


def _objects(text: str) -> Iterable[tuple[str, Any]]:
    """Yield what a JSON list, or JSON lines, hold, each with its place; a ``ValueError`` for what is no JSON."""
    text = text.removeprefix("\ufeff")
    if text.lstrip().startswith("["):
        try:
            yield from ((f"entry {number}", each) for number, each in enumerate(json.loads(text), 1))
        except (ValueError, RecursionError) as error:
            yield "entry 1", ValueError(f"not JSON: {error}")
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line)
            except (ValueError, RecursionError) as error:
                yield f"line {number}", ValueError(f"not JSON: {error}")


def _read(objects: Iterable[tuple[str, Any]], make: Callable[[Mapping[str, Any]], Any]) -> Read:
    items: dict[str, Any] = {}
    faults = []
    for place, content in objects:
        try:
            if isinstance(content, ValueError):
                raise content
            item = make(content)
        except ValueError as error:
            faults.append(f"{place}: {error}")
            continue
        if item.question_id in items:
            faults.append(f"{place}: {item.question_id} stands twice")
        items[item.question_id] = item
    return Read(tuple(items.values()), tuple(faults))


def _yes_no(content: Any) -> YesNo:
    question, answer = (_text(content, name) for name in ("query_en", "answer"))
    country = proper("country", _text(content, "country"))
    if answer not in ("Yes", "No"):
        raise ValueError(f"answer is {answer[:20]!r}, and must be Yes or No")
    return YesNo(f"{country}::{question}", country, question, answer == "Yes")


def _grounded(content: Any, country: str | None) -> Grounded:
    names = [f"Norm_Bundle.Norms.Norm_{place}" for place in range(1, NORMS + 1)]
    place = proper("country", country if country is not None else _text(content, "country"))
    return Grounded(
        question_id=f"{place}::{proper('uuid', _text(content, 'uuid'))}",
        country=place,
        easy=_text(content, "Easy.Question_MCQ"),
        answer=_text(content, "Easy.Answer_Key_Shuffle"),
        medium=tuple(_text(content, f"Medium.Question_Judge{place}") for place in range(1, OPTIONS + 1)),
        hard=_text(content, "Open.Question_Open"),
        background=_text(content, "Open_End"),
        norms=tuple(
            Slot(proper("norm_id", _text(content, f"{name}.norm_id")), _text(content, f"{name}.norm")) for name in names
        ),
    )


def _text(content: Any, path: str) -> str:
    """Return the text at ``a.b.c``; raise ``ValueError`` where there is none."""
    for name in path.split("."):
        content = content.get(name) if isinstance(content, dict) else None
    if isinstance(content, int) and not isinstance(content, bool):
        content = str(content)
    if not isinstance(content, str) or not content.strip():
        raise ValueError(f"lacks {path}")
    return text_in({path: content}, path)
