"""A file of scored answers → what Best-of-N chooses from, as CultureForest's or another program's. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ccfw.knowledge.tables import Table
from ccfw.training.best_of_n import Question
from ccfw.training.texts import Text

_NEEDED = ("response id", "question id", "policy", "score")
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
    missing = [name.replace(" ", "_") for name in _NEEDED if name not in table.columns]
    if missing:
        return ReadCandidates((), (*faults, f"lacks {', '.join(missing)}; its columns must be {COLUMNS}"))
    found: dict[str, Candidate] = {}
    for row in table.rows:
        cells = {name: "" if value is None else str(value).strip() for name, value in row.cells.items()}
        score = _score(cells["score"])
        empty = [name.replace(" ", "_") for name in _NEEDED[:3] if not cells.get(name)]
        if empty:
            faults.append(f"line {row.line}: no {', '.join(empty)}")
        elif cells["score"] and score is None:
            faults.append(f"line {row.line}: score is not a number")
        elif cells["response id"] in found:
            faults.append(f"line {row.line}: {cells['response id']} stands twice")
        else:
            identity, question = cells["response id"], cells["question id"]
            text = Text(identity, cells.get("prompt", ""), cells.get("answer", ""))
            found[identity] = Candidate(text, question, cells.get("cluster") or question, cells["policy"], score)
    return ReadCandidates(tuple(found.values()), tuple(faults))


def _score(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


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
