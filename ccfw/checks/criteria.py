"""Whether what a scenario is graded by says anything: words in every item, no item twice, none against another.

The paper has the evaluator measure by these lists (G.2, *Evaluator_Oracle_Context*; G.3, *independently evaluable*).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ccfw.checks.conditions import contradictions
from ccfw.checks.fields import (
    ORACLE,
    PRIVATE,
    Field,
    failure_conditions,
    numbered,
    private,
    shard_signifiers,
    success_conditions,
)
from ccfw.checks.issue import Check, Finding
from ccfw.checks.text import ALIKE, alike, normalise, tokens
from ccfw.records import Scenario

LEAST_WORDS = 2
SAME_HOP = 0.8
"""Share of content words in common from which two hops are one: each begins with what the one before ended with."""
_CHAIN = "Blueprint.Multi_Hop_Chain"


def _lists(scenario: Scenario) -> list[list[Field]]:
    """Return the lists of a blueprint that are graded or told by, criteria demanded and forbidden last."""
    blueprint, oracle = scenario.blueprint, scenario.blueprint.evaluator_oracle_context
    return [
        numbered(_CHAIN, blueprint.multi_hop_chain),
        numbered(f"{PRIVATE}.Cultural_Signifiers", blueprint.user_private_context.cultural_signifiers),
        numbered(f"{ORACLE}.Safety_Tripwires", oracle.safety_tripwires),
        numbered(f"{ORACLE}.Cultural_Taboos", oracle.cultural_taboos),
        numbered(f"{ORACLE}.Success_Criteria", oracle.success_criteria),
        numbered(f"{ORACLE}.Failure_Criteria", oracle.failure_criteria),
    ]


def item_words(scenario: Scenario) -> Iterator[Finding]:
    """Let every item of a list, and the background, say something: two words at least."""
    background = private(scenario)[-1]
    of_shards = (
        field
        for shard in scenario.interaction_sequence
        for field in (*shard_signifiers(shard), *success_conditions(shard), *failure_conditions(shard))
    )
    for field in (*(item for items in _lists(scenario) for item in items), background, *of_shards):
        if len(tokens(field.text)) < LEAST_WORDS:
            yield Finding(field.where, field.text, f"{LEAST_WORDS} words at least")


def item_repeats(scenario: Scenario) -> Iterator[Finding]:
    """Let no two items of a list of the blueprint say much the same, as two conditions of a shard may not."""
    for items in _lists(scenario):
        for earlier, later in combinations(items, 2):
            least = SAME_HOP if later.where.startswith(_CHAIN) else ALIKE
            if normalise(earlier.text) == normalise(later.text) or alike(earlier.text, later.text, least):
                yield Finding(later.where, later.text, f"something else than {earlier.text!r}")


def criterion_contradiction(scenario: Scenario) -> Iterator[Finding]:
    """Demand by no criterion what another forbids, as with the conditions of shards."""
    *_, demanded, forbidden = _lists(scenario)
    yield from contradictions(demanded, forbidden)


CHECKS: tuple[Check, ...] = (item_words, item_repeats, criterion_contradiction)
