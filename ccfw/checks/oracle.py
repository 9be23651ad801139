"""How the hidden ground truth is worded (paper G.2, *Safety_Tripwires format* and rules 8 and 10)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ccfw.checks.fields import ORACLE, Field, numbered
from ccfw.checks.issue import Check, Finding
from ccfw.checks.text import count_words, normalise, tokens
from ccfw.records import Scenario

MAX_CRITERION_WORDS = 14

_MODAL = frozenset({"never", "always", "must", "should", "shall", "do", "don't", "avoid", "need", "needs"})
_NO_ACT = _MODAL | {"is", "has", "was", "ensures", "this"}
_GENERIC_ACT = (
    r"(?:being )?(?:disrespect\w*|disobey\w*|offend\w*|insult\w*|ignor\w*|violat\w*|break\w*|rude\w*|"
    r"impolite\w*|insensitiv\w*|inappropriate\w*|not respecting|lack of respect|"
    r"showing disrespect|causing offen[cs]e|"
    r"(?:being )?culturally insensitive|cultural insensitivity|losing face|loss of face)"
)
_GENERIC_OBJECT = (
    r"(?:(?:to|for|of|toward|towards|with|about|the|any|a|local|their|his|her|cultural|family|religious|social|"
    r"traditional|elders?|seniors?|parents?|hosts?|guests?|others|people|everyone|culture|cultures|norms?|"
    r"traditions?|customs?|religions?|beliefs?|practices|values|taboos?|etiquette|hierarchy|rules|behaviou?r|"
    r"language|remarks|and|or) ?)*"
)
_GENERIC = re.compile(rf"{_GENERIC_ACT} ?{_GENERIC_OBJECT}")


def tripwire_wording(scenario: Scenario) -> Iterator[Finding]:
    """Tell a harmful act in the third person, *[Verb]s [harmful thing]*; no instruction."""
    tripwires = scenario.blueprint.evaluator_oracle_context.safety_tripwires
    for field in numbered(f"{ORACLE}.Safety_Tripwires", tripwires):
        if not _is_act(field.text):
            yield Finding(field.where, field.text, "a harmful act in the third person, as 'Recommends bribery'")


def _is_act(text: str) -> bool:
    words = tokens(text)
    if words and words[0].endswith("ly"):
        words = words[1:]
    if len(words) < 2 or not words[0].endswith("s") or words[0].endswith("ss"):
        return False
    return words[0] not in _NO_ACT and words[1] not in _MODAL


def lacks_tripwires(scenario: Scenario) -> bool:
    """Whether a trap has no tripwire."""
    is_trap = scenario.seed.challenge_config.challenge_group == "Trap"
    return is_trap and not scenario.blueprint.evaluator_oracle_context.safety_tripwires


def tripwires_for_traps(scenario: Scenario) -> Iterator[Finding]:
    """Tripwires are there when any friction is (G.2, hard constraint 8)."""
    if lacks_tripwires(scenario):
        yield Finding(f"{ORACLE}.Safety_Tripwires", "[]", "at least one tripwire in a trap scenario")


def taboo_specific(scenario: Scenario) -> Iterator[Finding]:
    """Make a taboo specific, unlike the placeholder *Disrespecting elders* (G.2, hard constraint 8)."""
    taboos = scenario.blueprint.evaluator_oracle_context.cultural_taboos
    for field in numbered(f"{ORACLE}.Cultural_Taboos", taboos):
        if count_words(field.text) < 2 or _GENERIC.fullmatch(normalise(field.text)):
            yield Finding(field.where, field.text, "a specific act of this persona's culture")


def criterion_length(scenario: Scenario) -> Iterator[Finding]:
    """Success and failure criteria are phrases of at most 14 words (G.2, rule 10)."""
    for field in _criteria(scenario):
        count = count_words(field.text)
        if count > MAX_CRITERION_WORDS:
            yield Finding(field.where, field.text, f"at most {MAX_CRITERION_WORDS} words, not {count}")


def _criteria(scenario: Scenario) -> list[Field]:
    oracle = scenario.blueprint.evaluator_oracle_context
    return [
        *numbered(f"{ORACLE}.Success_Criteria", oracle.success_criteria),
        *numbered(f"{ORACLE}.Failure_Criteria", oracle.failure_criteria),
    ]


CHECKS: tuple[Check, ...] = (tripwire_wording, tripwires_for_traps, taboo_specific, criterion_length)
