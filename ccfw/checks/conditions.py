"""The success conditions of the shards (paper G.3, *Success_Exit_Conditions design rules*)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ccfw.checks.fields import Field, numbered, shard_path
from ccfw.checks.issue import Check, Finding
from ccfw.checks.text import straighten, tokens
from ccfw.records import Scenario

_VERBS = (
    "acknowledges|advises|asks|avoids|clarifies|confirms|describes|explains|gives|identifies|includes|infers|"
    "proposes|provides|recognises|recognizes|recommends|refers|reminds|says|steers|suggests|tells|warns"
)
# "Suggests fruit and treats for the children" is one thing: what may be a noun needs its object.
_NOUN_LIKE = "flags|frames|highlights|lists|mentions|names|notes|offers|outlines|points|shows|states|treats|uses"
_COMPOUND = re.compile(
    rf"(?:,|\band\b|\bthen\b|;|\bplus\b) (?:also |then |\w+ly )?"
    rf"(?:(?:{_VERBS})\b|(?:{_NOUN_LIKE}) (?:an?|the|that|how|why|when|out|at least|him|her|them)\b)"
    r"|\b(?:options?|alternatives?|plan|answer) with [^,.;]+, [^,.;]+,? and \w"
    r"|\boptions? with (?:\w+ )?(?:costs?|prices?|timelines?|rationales?|reasons?|pros) and\b"
)


def _conditions(scenario: Scenario) -> Iterator[list[Field]]:
    for shard in scenario.interaction_sequence:
        where = shard_path(shard, "Transition_Guide.Success_Exit_Conditions")
        yield numbered(where, shard.transition_guide.success_exit_conditions)


def condition_actor(scenario: Scenario) -> Iterator[Finding]:
    """Let a success condition tell what the assistant does (*assistant-focused*)."""
    for field in (field for shard in _conditions(scenario) for field in shard):
        if re.match(r"(?:the )?user(?:'s)?\b", straighten(field.text).casefold()):
            yield Finding(field.where, field.text, "an act of the assistant, as 'Warns against …'")


def condition_atomic(scenario: Scenario) -> Iterator[Finding]:
    """Let a success condition test one thing (*atomic*): no second verb, and no list after *with*."""
    for field in (field for shard in _conditions(scenario) for field in shard):
        if match := _COMPOUND.search(straighten(field.text).casefold()):
            yield Finding(field.where, field.text, f"one condition, without {match.group().strip()!r}")


def condition_questions(scenario: Scenario) -> Iterator[Finding]:
    """At most one condition of a shard needs the assistant to ask (*achievable with direct advice*)."""
    for shard in _conditions(scenario):
        for field in [field for field in shard if "asks" in tokens(field.text)[:2]][1:]:
            yield Finding(field.where, field.text, "at most one condition that needs a question")


CHECKS: tuple[Check, ...] = (condition_actor, condition_atomic, condition_questions)
