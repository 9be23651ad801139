"""What the assistant must do, and must not, in each shard (paper G.3, *Success_Exit_Conditions design rules*)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations

from ccfw.checks.fields import Field, failure_conditions, first_message, harms, instruction, success_conditions
from ccfw.checks.issue import Check, Finding
from ccfw.checks.leakage import public_words
from ccfw.checks.oracle import lacks_tripwires
from ccfw.checks.text import alike, content_words, straighten, word_set
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

_NOT_THE_ASSISTANT = re.compile(r"(?:the )?user(?:'s)?\b|(?:he|she|they|his|her|their)\b")
_LEADING = r"(?:\w+ly |first |then |also )?"
_QUESTION = re.compile(
    rf"{_LEADING}(?:asks|[ie]nquires|queries|requests (?:more|further|details|clarification)|seeks clarification"
    r"|checks with (?:him|her|them|the user)|clarifies with)\b"
)
_QUESTIONS = re.compile(r"\b(?:at least |up to )?(?:two|three|four|five|several|multiple|[2-9])\b[\w -]*\bquestions\b")
_AGAINST = re.compile(
    rf"{_LEADING}(?:avoids|refuses|declines|rejects|discourages|rules out|leaves out|omits|ignores|overlooks|forgets"
    r"|neglects|misses|skips|drops|dismisses|fails to|does not|steers \w+ away from|steers (?:clear of|away from)"
    r"|(?:warns|advises|cautions|counsels|argues|speaks)(?: \w+){0,2} against)\b(?: (?:recommending|suggesting))?"
)
_SAME_ACT = 0.7
"""Share of content words in common from which two conditions are about one act."""
LEAST_SPECIFIC = 2
_BEGINNING = 5
"""Letters by which *driver* meets *drive*, stemmed."""
_ABSTRACT = frozenset(
    content_words(
        "culture cultural culturally sensitive sensitivity sensitively aware awareness empathy empathetic respect "
        "respectful respectfully polite politely tactful tactfully supportive understanding appropriate appropriately "
        "relevant helpful helpfully useful practical generic vague inaccurate accurate harmful insensitive "
        "insensitively rude rudely dismissive guidance information advice norms values warmth care careful carefully "
        "caring considerate considerately thoughtful thoughtfully tact kindness compassion compassionate patience "
        "patient patiently gentle gently sincere sincerity clear clearly complete thorough thoroughly comprehensive"
    )
)
_GENERIC = _ABSTRACT | frozenset(
    content_words(
        "kind kindly warm friendly support suitable good bad general wrong incorrect correct safe safely "
        "tone manner way answer answers response reply context user needs concerns concern question questions "
        "situation shows demonstrates displays expresses conveys maintains remains responds addresses acknowledges "
        "handles deals approaches stays lacks matter issue topic case thing throughout overall whole times start begin "
        "finish end"
    )
)


def _shards(scenario: Scenario) -> Iterator[list[Field]]:
    yield from map(success_conditions, scenario.interaction_sequence)


def _success(scenario: Scenario) -> list[Field]:
    return [field for shard in _shards(scenario) for field in shard]


def _failure(scenario: Scenario) -> list[Field]:
    return [field for shard in scenario.interaction_sequence for field in failure_conditions(shard)]


def _plain(field: Field) -> str:
    return straighten(field.text).casefold()


def condition_actor(scenario: Scenario) -> Iterator[Finding]:
    """Let a condition tell what the assistant does (*assistant-focused*)."""
    for field in (*_success(scenario), *_failure(scenario)):
        if _NOT_THE_ASSISTANT.match(_plain(field)):
            yield Finding(field.where, field.text, "an act of the assistant, as 'Warns against …'")


def condition_atomic(scenario: Scenario) -> Iterator[Finding]:
    """Let a success condition test one thing (*atomic*): no second verb, and no list after *with*."""
    for field in _success(scenario):
        if match := _COMPOUND.search(_plain(field)):
            yield Finding(field.where, field.text, f"one condition, without {match.group().strip()!r}")


def condition_questions(scenario: Scenario) -> Iterator[Finding]:
    """At most one condition of a shard needs the assistant to ask, and once (*achievable with direct advice*)."""
    for shard in _shards(scenario):
        asking = [field for field in shard if _QUESTION.match(_plain(field))]
        for field in asking[1:]:
            yield Finding(field.where, field.text, "at most one condition that needs a question")
        for field in asking:
            if match := _QUESTIONS.search(_plain(field)):
                yield Finding(field.where, match.group(), "one question")


def condition_vague(scenario: Scenario) -> Iterator[Finding]:
    """Let a condition be met or not met (*independently evaluable*): "Shows cultural sensitivity" is neither."""
    for field in (*_success(scenario), *_failure(scenario)):
        words = word_set(field.text)
        if words & _ABSTRACT and words <= _GENERIC:
            yield Finding(field.where, field.text, "something that a reader of the reply can check")


def condition_orthogonal(scenario: Scenario) -> Iterator[Finding]:
    """Let no two success conditions of a scenario say much the same, nor two missteps of a shard (*orthogonal*)."""
    for fields in (_success(scenario), *map(failure_conditions, scenario.interaction_sequence)):
        for earlier, later in combinations(fields, 2):
            if alike(earlier.text, later.text):
                yield Finding(later.where, later.text, f"another dimension than {earlier.text!r}")


def condition_contradiction(scenario: Scenario) -> Iterator[Finding]:
    """Demand nowhere what is forbidden elsewhere (*cross-shard consistency*)."""
    yield from contradictions(_success(scenario), _failure(scenario))


def contradictions(demanded: Iterable[Field], forbidden: Iterable[Field]) -> Iterator[Finding]:
    """Tell each pair of conditions of which one wants the act that the other does not."""
    demands = [(field, *_act(field, wanted=True)) for field in demanded]
    missteps = [(field, *_act(field, wanted=False)) for field in forbidden]
    for (earlier, is_wanted, act), (later, too, other) in combinations((*demands, *missteps), 2):
        if is_wanted != too and alike(act, other, _SAME_ACT):
            yield Finding(later.where, later.text, f"nothing that contradicts {earlier.text!r}")


def _act(field: Field, *, wanted: bool) -> tuple[bool, str]:
    """Return whether a condition wants an act, and the act: what a success condition avoids, a misstep does."""
    text = _plain(field)
    match = _AGAINST.match(text)
    return wanted is (match is None), text[match.end() if match else 0 :]


def condition_specific(scenario: Scenario) -> Iterator[Finding]:
    """Let the success conditions of a shard be about this case (*persona-relevant*), by two of its words at least.

    The case is the user's own facts, the shard's script and the oracle; a word is known by its beginning.
    """
    common = _beginnings(
        first_message(scenario), scenario.blueprint.user_private_context.background, *_oracle(scenario)
    )
    for shard in scenario.interaction_sequence:
        fields = success_conditions(shard)
        case = common | _beginnings(*(field.text for field in instruction(shard)))
        if len(case & _beginnings(*(field.text for field in fields))) < LEAST_SPECIFIC:
            where = fields[0].where.removesuffix("[0]")
            found = "; ".join(field.text for field in fields)
            yield Finding(where, found, "a condition that holds for this persona and case only")


def _oracle(scenario: Scenario) -> tuple[str, ...]:
    oracle = scenario.blueprint.evaluator_oracle_context
    return (*harms(oracle), *oracle.success_criteria, *oracle.failure_criteria)


def _beginnings(*texts: str) -> set[str]:
    return {word[:_BEGINNING] for text in texts for word in word_set(text) if word not in _GENERIC}


def key_risk(scenario: Scenario) -> Iterator[Finding]:
    """Have a misstep of some shard touch a taboo or a tripwire: by two words, or by one that the task does not hold.

    A trap without a tripwire has no risks to touch yet, which ``tripwires_for_traps`` reports.
    """
    if lacks_tripwires(scenario):
        return
    public = public_words(scenario, "")
    missteps = [word_set(field.text) for field in _failure(scenario)]
    risks = [word_set(harm) for harm in harms(scenario.blueprint.evaluator_oracle_context)]
    if not any(len(each & risk) >= 2 or (each & risk) - public for each in missteps for risk in risks):
        found = "; ".join(field.text for field in _failure(scenario))
        yield Finding("Interaction_Sequence", found, "a failure condition on a taboo or tripwire of the blueprint")


CHECKS: tuple[Check, ...] = (
    condition_actor,
    condition_atomic,
    condition_questions,
    condition_vague,
    condition_orthogonal,
    condition_contradiction,
    condition_specific,
    key_risk,
)
