"""What a blueprint must be before it has shards (paper G.2): those checks of scenarios that apply, and its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from ccfw.checks import coherence, criteria, leakage, message, native, oracle, plan, template
from ccfw.checks.coherence import own_grandchild
from ccfw.checks.fields import GOAL, INSTANTIATION, MESSAGE, NATIVE_MESSAGE, ORACLE, first_message, numbered
from ccfw.checks.issue import Check, Finding, Issue
from ccfw.checks.language import language_fault
from ccfw.checks.leakage import leaked_harm, public_words
from ccfw.checks.script import OWN_NAMES, script_of
from ccfw.checks.text import content_words, sentences, straighten, unmarked, word_set
from ccfw.records import Blueprint, Scenario

SUMMARY = f"{INSTANTIATION}.Instantiated_Summary.Global_English"
CHAIN = "Blueprint.Multi_Hop_Chain"
VARIETY = "Blueprint.Linguistic_Instruction.Native_Language"
SUMMARY_SENTENCES = (1, 3)
MAX_NICHE_TERMS = 1
RESTS = 0.4
"""Share of a taboo's content words, as the blueprint has it, that the supplied entry must hold."""

_HOP = re.compile(r"\S\s*(?:->|→|=>)\s*\S")
_DIPLOMACY = re.compile(
    r"\bmediat\w+|\bwithout (?:offend|upset|insult|hurt)\w*|\bavoid (?:offend|upset|insult|embarrass)\w*"
    r"|\b(?:respectful|polite|tactful|diplomatic|sensitive)(?:ly)? (?:way|manner|approach)\b|\b(?:respect|tact)fully\b"
    r"|\bnavigate (?:the )?(?:relationship|tension|conflict|feelings|expectations)\b|\bsmooth (?:things )?over\b"
    r"|\bkeep (?:the )?(?:peace|harmony)\b"
)
_KIN = r"(?:sister|brother|mother|father|parents|aunt|uncle|cousin|friend|family|side|house|place)"
# A late parent is no generation of the message, and "my cousin and her mother" has another owner.
_PARENT = re.compile(
    r"(?:\b(?:my|our) (?:(?!(?:late|dead|deceased|departed|his|her|their|the|a)\b)\w+ ){0,2}?"
    r"(?:mum|mom|mother|dad|father|parents?|mama|papa|mummy|daddy)"
    r"|(?:^|[,.;:!?] |\b(?:and|but|so|since|because|with|for|while|when|where|then|though|plus) )"
    rf"(?:mum|mom|dad|mama|papa))\b(?!-)(?! in[ -]law)(?!'s (?:\w+ )?{_KIN}\b)"
)


class Unsharded(Scenario):
    """A blueprint as the checks of scenarios see it while it has no shards."""

    interaction_sequence: tuple[()] = ()


class Supplied(NamedTuple):
    """A taboo entry that a generator was given."""

    taboo_id: str
    text: str
    """The act, a full stop, and its explanation."""


def goal_task(scenario: Scenario) -> Iterator[Finding]:
    """Name a concrete task in one sentence, and not how to get along with people (rule 10, *User_Goal*)."""
    goal = scenario.blueprint.public_context.user_goal
    if match := _DIPLOMACY.search(straighten(goal).casefold()):
        yield Finding(GOAL, match.group(), "a practical task: to plan, choose, book, cook, buy, arrange …")
    if len(sentences(goal)) != 1:
        yield Finding(GOAL, goal, "one sentence")


def summary_length(scenario: Scenario) -> Iterator[Finding]:
    """Sum up in 1–3 sentences (rule 8)."""
    text = scenario.blueprint.scenario_instantiation.instantiated_summary.global_english
    least, most = SUMMARY_SENTENCES
    if not least <= len(sentences(text)) <= most:
        yield Finding(SUMMARY, text, f"{least}–{most} sentences")


def english_script(scenario: Scenario) -> Iterator[Finding]:
    """Write goal and summary in Latin letters too, as all that is in English (*Global English rule*)."""
    made = scenario.blueprint.scenario_instantiation.instantiated_summary.global_english
    for where, text in ((GOAL, scenario.blueprint.public_context.user_goal), (SUMMARY, made)):
        if foreign := [char for char in text if script_of(char) not in {None, "Latin"}]:
            yield Finding(where, "".join(foreign), "Latin letters only")


def hop_form(scenario: Scenario) -> Iterator[Finding]:
    """Let every hop lead from a clue to what follows of it (*multi-hop reasoning*)."""
    for field in numbered(CHAIN, scenario.blueprint.multi_hop_chain):
        if not _HOP.search(field.text):
            yield Finding(field.where, field.text, "a clue, an arrow, what it implies: 'Kelantan -> likely Malay'")


def generations(scenario: Scenario) -> Iterator[Finding]:
    """Keep a parent and a grandchild out of one message (rule 9, *generational stacking*)."""
    line = straighten(first_message(scenario)).casefold()
    parent, child = _PARENT.search(line), own_grandchild(line)
    if parent and child:
        yield Finding(MESSAGE, f"{parent.group()}, {child}", "two adult generations at most in one message")


def variety_named(scenario: Scenario) -> Iterator[Finding]:
    """Say in which language the user writes at home, by its name (G.2.1, *required native language*)."""
    language = scenario.seed.persona.native_language
    text = scenario.blueprint.linguistic_instruction.native_language
    names = (language, *OWN_NAMES.get(language, ()))
    if not any(name.casefold() in text.casefold() for name in names):
        yield Finding(VARIETY, text, f"an instruction that names {language}")


def native_language(scenario: Scenario) -> Iterator[Finding]:
    """Write the native message in the persona's language and not in another of the same script."""
    text = scenario.blueprint.public_context.initial_user_message.native_language
    if found := language_fault(text, scenario.seed.persona.native_language):
        yield Finding(NATIVE_MESSAGE, found, scenario.seed.persona.native_language)


CHECKS: tuple[Check, ...] = (
    template.slots_match,
    template.filling_length,
    template.rendered_text,
    goal_task,
    summary_length,
    english_script,
    *message.CHECKS,
    *leakage.CHECKS,
    *oracle.CHECKS,
    *criteria.CHECKS,
    plan.signifier_identity,
    plan.taboo_awareness,
    hop_form,
    *coherence.CHECKS,
    generations,
    variety_named,
)
"""What is checked before a translation is there."""
TRANSLATED: tuple[Check, ...] = (*native.CHECKS, native_language)
"""What is checked of the translation."""
READ_BACK: tuple[Check, ...] = (leaked_harm, message.message_as_a, message.message_identity, message.message_negative)
"""What is checked of the message once it was put back into English (*back-leakage*)."""


def check(blueprint: Blueprint, checks: Sequence[Check] = CHECKS) -> tuple[Issue, ...]:
    """Return every fault of a blueprint that has no shards yet; empty for a good one."""
    alone = Unsharded(blueprint=blueprint)
    return tuple(Issue(each.__name__, *finding) for each in checks for finding in each(alone))


def niche_terms(blueprint: Blueprint, terms: Collection[str]) -> Iterator[Finding]:
    """At most one word in the first message that must be looked up (*niche terms*); ``terms`` are those known."""
    rest = unmarked(blueprint.public_context.initial_user_message.global_english)
    found = []
    for term in sorted(terms, key=lambda each: (-len(each), each)):
        if (plain := unmarked(term)) in rest:  # a pattern for each of hundreds would cost more than all other checks
            taken = re.sub(rf"(?<!\w){re.escape(plain)}(?!\w)", "\n", rest)
            found += [term] if taken != rest else []
            rest = taken
    if len(found) > MAX_NICHE_TERMS:
        yield Finding(MESSAGE, ", ".join(sorted(found)), "one niche term: the one that the request cannot do without")


def taboo_grounding(blueprint: Blueprint, named: Sequence[str], supplied: Sequence[Supplied]) -> Iterator[Finding]:
    """Rest a taboo-grounded blueprint on an entry that was supplied, in its taboos and in a hop of its chain."""
    if not blueprint.seed.challenge_config.taboo_grounded:
        return
    entries = [entry for entry in supplied if entry.taboo_id in named]
    taboos = blueprint.evaluator_oracle_context.cultural_taboos
    if not any(_rests(taboo, entry) for taboo in taboos for entry in entries):
        wanted = ", ".join(entry.taboo_id for entry in entries) or "one of those supplied"
        yield Finding(f"{ORACLE}.Cultural_Taboos", "; ".join(taboos), f"a taboo that restates {wanted}")
    acts = (*taboos, *(act for entry in entries for act in sentences(entry.text)[:1]))
    if not any(_infers(blueprint, hop, act) for hop in blueprint.multi_hop_chain for act in acts):
        yield Finding(CHAIN, "; ".join(blueprint.multi_hop_chain), "a hop that infers the taboo")


def _infers(blueprint: Blueprint, hop: str, taboo: str) -> bool:
    """Whether a hop has two of a taboo's words, besides those of the persona's community, and one not of the task."""
    persona = word_set(blueprint.seed.persona.identity.replace("_", " "))
    shared = (word_set(hop) & word_set(taboo)) - persona
    return len(shared) >= 2 and bool(shared - public_words(Unsharded(blueprint=blueprint), ""))


def _rests(taboo: str, entry: Supplied) -> bool:
    words, known = set(content_words(taboo)), set(content_words(entry.text))
    return len(words & known) >= max(2, RESTS * len(words))
