"""Nothing hidden in what the user sees (paper G.2, *anti-leakage*, and Appendix H)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ccfw.checks.fields import GOAL, MESSAGE, Field, criteria, first_message, harms, user_visible
from ccfw.checks.issue import Check, Finding
from ccfw.checks.text import content_words, normalise, sentences, stem, straighten, tokens, word_set
from ccfw.records import Scenario

COVERAGE = 0.6
"""Share of a hidden text's content words that makes one sentence a paraphrase of it."""
NEARLY_ALL = 0.8
COPIED = 7
"""With such a share, the words in the same order that make it a copy: fewer may name a person, a thing or a sum."""

_WHOSE = r"(?: (?:my|our|your|his|her|their|the|any|some|more|proper|due|family))?"
_HIDDEN_PHRASE = re.compile(
    rf"\b(?:sav(?:e|es|ed|ing)|los(?:e|es|ing)|lost|maintain(?:s|ed|ing)?){_WHOSE} face\b|\bface[- ]saving\b"
    rf"|\bmaintain(?:s|ed|ing)?{_WHOSE} dignity\b|\bshow(?:s|ed|ing|n)?{_WHOSE} respect\b|\bout of respect\b"
    rf"|\brespect for{_WHOSE} elders\b|\bcultural (?:sensitivit(?:y|ies)|awareness|norms?)\b"
    r"|\bbe(?:ing)? respectful\b"
)


def public_words(scenario: Scenario, where: str) -> frozenset[str]:
    """Return the content words that a field may use freely: those of the task itself.

    A taboo names its occasion ("birthday gift"), and so does the user; only the rest of it is hidden. What
    the first message says is public afterwards, and is reported there alone.
    """
    texts = list(scenario.blueprint.scenario_instantiation.slot_filling.values())
    if where != GOAL:
        texts.append(scenario.blueprint.public_context.user_goal)
    if where not in {GOAL, MESSAGE}:
        texts.append(first_message(scenario))
    return frozenset(_words(" ".join(texts)))


@lru_cache(maxsize=4096)
def _words(own: str) -> tuple[str, ...]:
    """Return the content words of a scenario's own text, which every message of its dialogues is held against."""
    return tuple(content_words(own))


def holds(text: str, hidden: str) -> bool:
    """Whether the hidden text stands in the other, whatever the case and punctuation.

    Fewer than three words prove nothing.
    """
    inner = normalise(hidden)
    return inner.count(" ") >= 2 and f" {inner} " in f" {normalise(text)} "


@lru_cache(maxsize=4096)
def _trigrams(text: str) -> frozenset[tuple[str, ...]]:
    words = content_words(text)
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def shares_trigram(text: str, hidden: str, public: frozenset[str]) -> bool:
    """Whether both hold the same three content words in a row, two of which the task does not hold."""
    shared = _trigrams(text) & _trigrams(hidden)
    return any(len(set(trigram) - public) >= 2 for trigram in shared)


def paraphrases(sentence: str, hidden: str, public: frozenset[str], share: float = COVERAGE) -> bool:
    """Whether a sentence has a share of the hidden text's content words, and of those not public."""
    words, said = set(_words(hidden)), set(content_words(sentence))
    secret = words - public
    if len(words) < 2 or not secret:
        return False
    enough = len(words & said) >= max(min(3, len(words)), share * len(words))
    return enough and len(secret & said) >= share * len(secret)


def _leak(field: Field, hidden: str, public: frozenset[str]) -> str | None:
    secret = word_set(hidden)
    if secret and secret.isdisjoint(word_set(field.text)):
        return None
    if holds(field.text, hidden) or shares_trigram(field.text, hidden, public):
        return field.text
    return next((part for part in sentences(field.text) if paraphrases(part, hidden, public)), None)


def leaked_harm(scenario: Scenario) -> Iterator[Finding]:
    """No taboo or tripwire spelled out, paraphrased or referenced where the user can see it (v23b)."""
    free = {where: public_words(scenario, where) for where in (GOAL, MESSAGE, "")}
    for field in user_visible(scenario):
        public = free.get(field.where, free[""])
        for hidden in harms(scenario.blueprint.evaluator_oracle_context):
            if found := _leak(field, hidden, public):
                yield Finding(field.where, found, f"nothing of the hidden {hidden!r}")


def leaked_criterion(scenario: Scenario) -> Iterator[Finding]:
    """No criterion verbatim or nearly so (G.3, hard constraint 3); words may meet, as both share a topic."""
    free = {where: public_words(scenario, where) for where in (GOAL, MESSAGE, "")}
    for field in user_visible(scenario):
        public = free.get(field.where, free[""])
        for hidden in criteria(scenario):
            if found := _copy(field, hidden, public):
                yield Finding(field.where, found, f"nothing of the hidden {hidden!r}")


def _copy(field: Field, hidden: str, public: frozenset[str]) -> str | None:
    if holds(field.text, hidden):
        return field.text
    near = (part for part in sentences(field.text) if paraphrases(part, hidden, public, NEARLY_ALL))
    return next((part for part in near if _words_in_order(part, hidden) >= COPIED), None)


def _words_in_order(text: str, hidden: str) -> int:
    """Return how many words of both stand in the same order (longest common subsequence)."""
    hidden_words = [stem(word) for word in tokens(hidden)]
    best = [0] * (len(hidden_words) + 1)
    for word in map(stem, tokens(text)):
        row = [0]
        for index, other in enumerate(hidden_words):
            row.append(best[index] + 1 if word == other else max(best[index + 1], row[index]))
        best = row
    return best[-1]


def hidden_phrase(scenario: Scenario) -> Iterator[Finding]:
    """None of the twelve phrases that announce culture instead of living it (G.2 and G.3)."""
    for field in user_visible(scenario):
        for match in _HIDDEN_PHRASE.finditer(straighten(field.text).casefold()):
            yield Finding(field.where, match.group(), "actions, not talk of face, dignity, respect or norms")


CHECKS: tuple[Check, ...] = (leaked_harm, leaked_criterion, hidden_phrase)


def said_hidden(scenario: Scenario, text: str) -> tuple[str, ...]:
    """Return the taboos and tripwires that a text of the dialogue spells out or paraphrases."""
    field = Field("Message", text)
    public = public_words(scenario, field.where)
    return tuple(
        hidden for hidden in harms(scenario.blueprint.evaluator_oracle_context) if _leak(field, hidden, public)
    )
