"""What a reward model reads, and rewards as a file holds them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ccfw.crisp.records import Scale, Situation
from ccfw.knowledge.tables import Table
from ccfw.records import Record
from ccfw.training.cells import decimal, name_in, text_in

_IDS = ("text id", "response id", "item", "id")
_REWARDS = ("reward", "score")


class Text(NamedTuple):
    """An answer to a question, under an id of its own."""

    text_id: str
    """The response's, or ``<situation>::<role>`` of a triplet."""
    prompt: str
    answer: str


class Reward(Record):
    """What one model gives one text, or why it gives nothing."""

    text_id: str
    reward: float | None
    tokens: int
    """That the model read."""
    cut: int
    """Tokens of the question that did not fit and were left out, from its beginning; of the answer none ever is."""
    failure: str | None
    """``too_long``: the answer alone does not fit; ``not_a_number``."""


def question_text(culture: str, scenario: str, question: str) -> str:
    """Return a question as policies and reward models are given it: no norm, no hidden answer."""
    return f"Culture: {culture}\n\n{scenario}\n\n{question}"


def situation_text(situation: Situation) -> str:
    """Return a situation's question."""
    draft = situation.draft
    return question_text(situation.norm.culture, draft.scenario, draft.question)


def norm_text(culture: str, norm: str) -> str:
    """Return what a norm-grounding supervisor reads a reasoning against; no policy is ever given it."""
    return f"Culture: {culture}\n\nNorm: {norm}"


class Read(NamedTuple):
    """A file of rewards."""

    rewards: Mapping[str, float]
    faults: tuple[str, ...]
    """One line each: where and what."""


def read_rewards(table: Table) -> Read:
    """Read a table of rewards: a column of ids (``text_id``, ``response_id``, ``item`` or ``id``) and ``reward`` or
    ``score``; of a judge's file with several metrics the outcome counts, as *responses* writes ``scores.csv``.
    """
    columns = table.columns
    name = next((each for each in _IDS if each in columns), None)
    value = next((each for each in _REWARDS if each in columns), None)
    faults = [f"line {line}: {fault}" for line, fault in table.faults]
    if name is None or value is None:
        have = ", ".join(columns) or "none"
        return Read({}, (*faults, f"needs a column of ids ({', '.join(_IDS)}) and reward or score; it has {have}"))
    found: dict[str, float] = {}
    for row in table.rows:
        try:
            read = _reward(row.cells, name, value)
        except ValueError as error:
            faults.append(f"line {row.line}: {error}")
            continue
        if read is not None and found.setdefault(*read) != read[1]:
            faults.append(f"line {row.line}: {read[0]} stands twice with different rewards")
    return Read(found, tuple(faults))


def _reward(cells: Mapping[str, Any], name: str, value: str) -> tuple[str, float] | None:
    """Return an id with its reward; ``None`` where the row has none that counts."""
    if (text_in(cells, "metric") or Scale.OUTCOME) != Scale.OUTCOME:
        return None
    cell = text_in(cells, value)
    if not cell.strip():
        return None  # a failure that the file names so
    identity, reward = name_in(cells, name), decimal(cell)
    if reward is None:
        raise ValueError(f"{value} is not a number")
    return identity, reward
