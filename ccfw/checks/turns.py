"""Deterministic checks of a simulated user's message (Appendix G.4, *every turn is parsed and validated*).

Faults of role and language send the message back. The others are recorded: they say how good the simulator is, and
sending back each of them would teach it to write what passes instead of what a person writes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ccfw.checks import turn_history, turn_plan, turn_requests, turn_role, turn_wording
from ccfw.checks.turn_issue import Rule, Severity, TurnIssue, UserTurn
from ccfw.records import Message

__all__ = ["RETRY", "RULES", "TurnIssue", "UserTurn", "check_turn", "severity"]

RULES: tuple[Rule, ...] = (
    *turn_role.RULES,
    *turn_wording.RULES,
    *turn_history.RULES,
    *turn_requests.RULES,
    *turn_plan.RULES,
)
"""Every check, in the order in which issues are listed."""
RETRY = frozenset({"role_flip", "wrong_language"})


MAX_READ = 1_000
"""Characters of a user message that are looked at: a model that runs on must not hold up the batch."""


def severity(check: str) -> Severity:
    """Return what to do about the findings of a check."""
    return "retry" if check in RETRY else "record"


def _read(text: str) -> str:
    return text.strip()[:MAX_READ]


def check_turn(
    message: str,
    history: Sequence[Message] = (),
    *,
    goals: Sequence[str] = (),
    shard: int = 0,
    language: str = "English",
) -> tuple[TurnIssue, ...]:
    """Return every fault of a user message; empty for a good one.

    ``history`` is the chat before it, ``goals`` the surface goals of all shards in order, ``shard`` the index of the
    one that the message belongs to (the next one when the simulator advanced), ``language`` a name of
    ``ccfw.checks.script``.
    """
    if goals and not 0 <= shard < len(goals):
        raise ValueError(f"shard is {shard}, but there are {len(goals)} goals")
    chat = tuple(
        line.model_copy(update={"content": _read(line.content)}) if line.role == "user" else line for line in history
    )
    turn = UserTurn(_read(message), chat, tuple(goals), shard, language, len(message.strip()))
    return tuple(TurnIssue(rule.__name__, *found, severity(rule.__name__)) for rule in RULES for found in rule(turn))
