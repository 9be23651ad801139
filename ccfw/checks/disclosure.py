"""How the user's side unfolds: a little at first, something new in every shard, nothing twice (paper G.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

from ccfw.checks.fields import (
    Field,
    directives,
    first_message,
    phase_label,
    prompt_guidance,
    shard_signifiers,
    surface_goal,
)
from ccfw.checks.issue import Check, Finding
from ccfw.checks.text import alike, content_words, normalise, word_set
from ccfw.records import Scenario, Shard

MOST_AT_FIRST = 0.5
"""Share of the content words of all shards that the first one may tell."""
LEAST_LATER = 3
"""Content words that each later shard tells for the first time."""
_FILLER = frozenset(
    content_words(
        "another time times repeat repeats recall recalls remind reminds mention restate describe explain report note "
        "add return back go over earlier previous previously already said stated told given same matter point topic "
        "subject thing simply briefly short shortly little bit something else next proceed continue move stay question "
        "answer detail details fact facts word words"
    )
)
"""Words that lead back to what was told or on to a question, and tell nothing."""
_ASKING = re.compile(r"\W*\w+(?: (?:for|some|advice|guidance|tips|ideas|help|on|about|with))*\b", re.IGNORECASE)


def _told(shard: Shard) -> set[str]:
    fields = (surface_goal(shard), *shard_signifiers(shard), prompt_guidance(shard))
    return {word for field in fields for word in word_set(field.text)}


def first_disclosure(scenario: Scenario) -> Iterator[Finding]:
    """Keep most of the facts for later (*no info dump on shard 1*)."""
    told = [_told(shard) for shard in scenario.interaction_sequence]
    share = len(told[0]) / max(1, len(set().union(*told)))
    if share > MOST_AT_FIRST:
        where = "Interaction_Sequence[0].User_Instruction"
        yield Finding(where, f"{share:.0%} of what all shards tell", f"at most {MOST_AT_FIRST:.0%} in the first shard")


def later_disclosure(scenario: Scenario) -> Iterator[Finding]:
    """Have every later shard add something (*gradually disclose signifiers*): a request alone adds nothing."""
    known = set(word_set(first_message(scenario)))
    for shard in scenario.interaction_sequence:
        new = _told(shard) - word_set(surface_goal(shard).text) - known - _FILLER
        known |= _told(shard)
        if shard.shard_id > 1 and len(new) < LEAST_LATER:
            where = f"Interaction_Sequence[{shard.shard_id - 1}].User_Instruction"
            yield Finding(where, " ".join(sorted(new)) or "nothing new", "facts that no earlier shard tells")


def _repeats(fields: Iterable[Field], says: str, core: Callable[[str], str] = str) -> Iterator[Finding]:
    for earlier, later in combinations(fields, 2):
        if alike(core(earlier.text), core(later.text)):
            yield Finding(later.where, later.text, f"{says} {earlier.text!r}")


def signifier_repeats(scenario: Scenario) -> Iterator[Finding]:
    """Let each cue fall once in a scenario, whatever its words."""
    cues = [field for shard in scenario.interaction_sequence for field in shard_signifiers(shard)]
    yield from _repeats(cues, "another cue than")


def goal_repeats(scenario: Scenario) -> Iterator[Finding]:
    """Ask for something else in each shard, under a name of its own."""
    goals = map(surface_goal, scenario.interaction_sequence)
    yield from _repeats(goals, "another request than", lambda goal: _ASKING.sub("", goal, count=1))
    labels = [phase_label(shard) for shard in scenario.interaction_sequence]
    for earlier, later in combinations(labels, 2):
        if normalise(earlier.text) == normalise(later.text):
            yield Finding(later.where, later.text, "a label of its own")


def directive_repeats(scenario: Scenario) -> Iterator[Finding]:
    """Write in each shard as fits it (*notes on register and language for THIS turn*)."""
    for fields in zip(*map(directives, scenario.interaction_sequence), strict=True):
        for earlier, later in combinations(fields, 2):
            if _folded(earlier.text) == _folded(later.text):
                yield Finding(later.where, later.text, "a directive for this shard, not that of an earlier one")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


CHECKS: tuple[Check, ...] = (first_disclosure, later_disclosure, signifier_repeats, goal_repeats, directive_repeats)
