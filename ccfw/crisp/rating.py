"""Answers as people are given them to rate: without a word on whose they are, in an order of each rater's own. Pure."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ccfw.crisp.records import ResponseRecord, Scale, Situation
from ccfw.report.writing import comma_separated
from ccfw.selection import stratified

BYTE_ORDER_MARK = "\ufeff"
"""Without it, a spreadsheet on Windows shows every script but Latin as rubbish."""
_HEAD = ("item", "rater", "metric", "culture", "norm", "scenario", "question", "answer")
_TO_FILL = ("score", "comment")


class Rated(NamedTuple):
    """An answer that people rate."""

    situation: Situation
    response: ResponseRecord


def blind(response_id: str, seed: int) -> str:
    """Return the name under which a response is rated, which tells nothing of its policy: 12 digits of a hash."""
    return "r" + hashlib.sha256(f"{seed}\0blind\0{response_id}".encode()).hexdigest()[:12]


def drawn(answers: Iterable[Rated], items: int | None, seed: int) -> tuple[Rated, ...]:
    """Return at most so many answers that could be read, policies and cultures in turn, drawn by the seed."""
    valid = (each for each in answers if each.response.failure is None)
    strata = ((f"{each.response.policy}\0{each.response.culture}", each.response.response_id, each) for each in valid)
    return stratified(strata, seed)[:items]


def sheet(rated: Iterable[Rated], rater: str, scale: Scale, seed: int) -> str:
    """Return what one rater fills in on one scale, as CSV in the layout ``ratings=long``.

    The order is the rater's own, since what comes early is rated otherwise than what comes late. The reasoning stands
    only where it is what is rated: who reads it would forgive a wrong act that is well explained.
    """
    reasoned = scale is Scale.NORM_MATCH
    rows = []
    for situation, response in sorted(rated, key=lambda each: _place(each, rater, seed)):
        told = (situation.norm.culture, situation.norm.norm, situation.draft.scenario, situation.draft.question)
        said = (response.answer, *((response.reasoning,) if reasoned else ()))
        rows.append((blind(response.response_id, seed), rater, scale.value, *told, *said, "", ""))
    head = (*_HEAD, *(("reasoning",) if reasoned else ()), *_TO_FILL)
    return BYTE_ORDER_MARK + comma_separated(head, rows)


def _place(rated: Rated, rater: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{rater}\0{rated.response.response_id}".encode()).digest()


def key(rated: Sequence[Rated], seed: int) -> str:
    """Return whose answers the items are: what raters are not given."""
    rows = [
        (blind(each.response_id, seed), each.response_id, each.policy, each.situation_id, each.norm_id, each.culture)
        for _, each in rated
    ]
    return comma_separated(("item", "response", "policy", "situation", "norm", "culture"), sorted(rows))


class Filled(NamedTuple):
    """What stands in a sheet by now."""

    items: frozenset[str]
    begun: bool
    """Whether somebody has written a score or a comment; also of a file that is no such sheet any more."""


def filled(text: str) -> Filled:
    """Read a sheet that is there already, as a spreadsheet may have saved it."""
    lines = text.removeprefix(BYTE_ORDER_MARK)
    try:
        rows: list[Mapping[str, str]] = list(csv.DictReader(io.StringIO(lines, newline=""), strict=True))
    except csv.Error:
        return Filled(frozenset(), True)
    if not rows or not {"item", *_TO_FILL} <= set(rows[0]):
        return Filled(frozenset(), bool(lines.strip()))
    begun = any((row.get(name) or "").strip() for row in rows for name in _TO_FILL)
    return Filled(frozenset(row["item"] or "" for row in rows), begun)
