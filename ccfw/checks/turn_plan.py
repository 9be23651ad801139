"""A message against the plan: it wants what its own shard wants, neither more nor what comes later.

Goals are written in English, so these two rules speak of English chats only.
"""

from __future__ import annotations

from collections.abc import Iterator

from ccfw.checks.issue import Finding
from ccfw.checks.text import content_words, stem
from ccfw.checks.turn_issue import Rule, UserTurn, finding

MIN_SHARED = 2
MIN_SHARE = 0.4
"""Share of a goal's own words that make a message ask for it."""

# Words of every goal: they say that something is asked, not what.
_ACT = """
ask request seek learn find advice advise guidance suggestion best good right way thing first without time day
"""
_ASKING = frozenset(map(stem, _ACT.split()))


def own_words(goals: tuple[str, ...], index: int) -> frozenset[str]:
    """Return the content words of one goal that no other goal has."""
    words = [frozenset(content_words(goal)) - _ASKING for goal in goals]
    return words[index].difference(*(other for place, other in enumerate(words) if place != index))


def _shared(turn: UserTurn, index: int) -> int:
    return len(own_words(turn.goals, index) & set(content_words(turn.message)))


def _asks_for(turn: UserTurn, index: int) -> bool:
    return _shared(turn, index) >= max(MIN_SHARED, MIN_SHARE * len(own_words(turn.goals, index)))


def _later(turn: UserTurn) -> str | None:
    """Return a later goal that the message asks for; an opening, which the blueprint wrote, may point at all."""
    if turn.language != "English" or not turn.earlier:
        return None
    later = range(turn.shard + 1, len(turn.goals))
    return next((turn.goals[index] for index in later if _asks_for(turn, index)), None)


def skips_ahead(turn: UserTurn) -> Iterator[Finding]:
    """Do not ask for what a later shard brings."""
    if (goal := _later(turn)) and _shared(turn, turn.shard) < MIN_SHARED:
        yield finding(turn.message, f"what this shard is about, not yet {goal!r}")


def merges_shards(turn: UserTurn) -> Iterator[Finding]:
    """Do not ask for this shard's goal and a later one in one message."""
    if (goal := _later(turn)) and _shared(turn, turn.shard) >= MIN_SHARED:
        yield finding(turn.message, f"one goal at a time, not also {goal!r}")


RULES: tuple[Rule, ...] = (skips_ahead, merges_shards)
