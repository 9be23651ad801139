"""A file of scored answers → what Best-of-N chooses from, as CultureForest's or another program's. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ccfw.knowledge.tables import Table
from ccfw.training.best_of_n import Question
from ccfw.training.cells import decimal, name_in, shown, text_in
from ccfw.training.texts import Text

_NEEDED = ("response id", "question id", "policy", "score")
_LARGEST = 1e6
"""Of scores, either side of 0: sums of far larger ones overflow."""
COLUMNS = "response_id, question_id, policy, score; cluster, prompt and answer where models are to read them"


class Candidate(NamedTuple):
    """One stored answer."""

    text: Text
    question_id: str
    cluster: str
    policy: str
    score: float | None
    """By the outcome judge; ``None``: not scored, or the answer could not be read."""


class ReadCandidates(NamedTuple):
    """A file of answers."""

    candidates: tuple[Candidate, ...]
    faults: tuple[str, ...]


def read_candidates(table: Table) -> ReadCandidates:
    """Read a table of answers; an empty score is an answer without one."""
    faults = [f"line {line}: {fault}" for line, fault in table.faults]
    missing = [shown(name) for name in _NEEDED if name not in table.columns]
    if missing:
        return ReadCandidates((), (*faults, f"lacks {', '.join(missing)}; its columns must be {COLUMNS}"))
    found: dict[str, Candidate] = {}
    for row in table.rows:
        try:
            read = _candidate(row.cells)
        except ValueError as error:
            faults.append(f"line {row.line}: {error}")
            continue
        if found.setdefault(read.text.text_id, read) is not read:
            faults.append(f"line {row.line}: {read.text.text_id} stands twice")
    return ReadCandidates(tuple(found.values()), tuple(faults))


def _candidate(cells: Mapping[str, Any]) -> Candidate:
    empty = [shown(name) for name in _NEEDED[:3] if not text_in(cells, name).strip()]
    if empty:
        raise ValueError(f"no {', '.join(empty)}")
    identity, question, policy = (name_in(cells, name) for name in _NEEDED[:3])
    cluster = name_in(cells, "cluster") if text_in(cells, "cluster").strip() else question
    prompt, answer = (text_in(cells, name).strip() for name in ("prompt", "answer"))
    return Candidate(Text(identity, prompt, answer), question, cluster, policy, _score(text_in(cells, "score")))


def _score(cell: str) -> float | None:
    if not cell.strip():
        return None
    value = decimal(cell)
    if value is None:
        raise ValueError("score is not a number")
    if abs(value) > _LARGEST:
        raise ValueError(f"score is {cell.strip()[:20]}, and must lie between −{_LARGEST:,.0f} and {_LARGEST:,.0f}")
    return value


def questions_of(
    candidates: Sequence[Candidate], rewards: Mapping[str, Mapping[str, float]]
) -> tuple[list[Question], dict[str, int]]:
    """Return each policy's questions with the answers that all scorers can choose from, and how many answers are left
    out: those without a score, and those that a scorer (name → text id → reward) gives no reward.
    """
    scored = [each for each in candidates if each.score is not None]
    whole = [each for each in scored if all(each.text.text_id in own for own in rewards.values())]
    grouped: dict[tuple[str, str], list[Candidate]] = {}
    for each in whole:
        grouped.setdefault((each.policy, each.question_id), []).append(each)
    questions = [
        Question(
            question,
            own[0].cluster,
            policy,
            tuple(each.score for each in own if each.score is not None),
            {name: tuple(given[each.text.text_id] for each in own) for name, given in rewards.items()},
        )
        for (policy, question), own in grouped.items()
    ]
    counts = {
        "answers": len(candidates),
        "not_scored": len(candidates) - len(scored),
        "without_reward": len(scored) - len(whole),
        "chosen_from": len(whole),
    }
    return questions, counts
