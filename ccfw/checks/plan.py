"""The user's side of the shards: what it asks and which cues it drops (paper G.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ccfw.checks.fields import (
    Field,
    instructions,
    private,
    prompt_guidance,
    shard_signifiers,
)
from ccfw.checks.fields import surface_goal as goal_of
from ccfw.checks.identity import identity_report
from ccfw.checks.issue import Check, Finding
from ccfw.checks.leakage import public_words
from ccfw.checks.text import content_words, sentences, straighten
from ccfw.records import Scenario

_HOW = r"(?:how|what|whether|which|when|where|who|whom|whose|why|if)"
_ADVICE = (
    r"(?:advice|views?|opinions?|tips?|help|ideas?|guidance|answers?|suggestions?|recommendations?|word|information|"
    r"explanations?|pointers?|take|confirmation|clarity|feedback|input)"
)
_REQUEST = re.compile(
    r"\W*(?:(?:asks?|requests?|seeks?|[ie]nquires?|wonders?|checks?)\b"
    rf"|(?:finds? out|learns?|hears?) (?:from (?:the assistant|it)\b|{_HOW}\b)"
    rf"|gets? (?:[\w'-]+ ){{0,3}}{_ADVICE}\b|gets? to (?:know|hear)\b"
    r"|(?:has|have|lets?|gets?) (?:the assistant|it) (?:to )?(?:explain|say|tell|advise|suggest|name|describe)\b)"
)
_DOCUMENT = (
    r"(?:(?:plan|schedule|checklist|template|form(?! of)|script|draft|wording|phrasing|timetable|itinerary|"
    r"letter|email|message|speech|sms|(?<!her )(?<!his )(?<!their )(?<!for )agreement|contract|fl[iy]er|leaflet|poster|"
    r"chart|spreadsheet|summary|(?:seating|price|cost|comparison) table|table(?= (?:of|showing|listing)\b)|"
    r"(?:shopping|packing|guest|task|to-do) list)s?|(?:summar|itinerar)ies)"
)
_NOT_THE_OBJECT = (
    r"(?!(?:for|about|on|how|what|whether|if|when|where|which|who|why|that|to|of|in|with|and|or|than|before|"
    r"after|from|advice|tips?|ideas?|suggestions?|guidance|help|recommendations?|factors?)\b)"
)
_MAKE = "(?:put together|make|create|prepare|produce|design|fill in|lay out|draw up|set up|word|give)"
# Not denied ("never ask for a draft"), and not asked by somebody else ("they ask for a form").
_ASKING = (
    r"(?:^(?:asks|requests|seeks)|(?<!not )(?<!n't )(?<!never )(?<!without )(?<!than )(?<!avoid )"
    r"(?<!they )(?<!who )(?<!we )(?<!you )\b(?:ask|request|seek))"
)
_PRODUCTION = re.compile(
    rf"{_ASKING} (?:(?:the assistant )?(?<!request )for )?"
    rf"(?:{_NOT_THE_OBJECT}[\w'-]+,? ){{0,4}}?{_DOCUMENT}\b"
    r"(?!-| (?:advice|tips|ideas|etiquette|length|size)\b)"
    rf"|{_ASKING} (?:the assistant |it )?to (?:write|draft|compose)\b"
    rf"|{_ASKING} (?:the assistant |it )?to {_MAKE} (?:{_NOT_THE_OBJECT}[\w'-]+,? ){{0,4}}?{_DOCUMENT}\b"
    rf"|{_ASKING}\b[^.;]*\b(?:concrete steps|step[- ]by[- ]step)\b"
)
_AWARENESS = re.compile(
    r"\b(?:taboos?|forbidden|inauspicious|unlucky|bad luck|offensive|offend(?:s|ing)?|disrespect(?:ful)?|"
    r"not allowed|(?:dietary|religious|food) (?:restrictions?|rules|requirements?))\b"
)


def _plain(text: str) -> str:
    return straighten(text).casefold()


def surface_goal(scenario: Scenario) -> Iterator[Finding]:
    """Phrase a goal as a request to the assistant, not an act of the user (*Current_Surface_Goal*)."""
    for shard in scenario.interaction_sequence:
        field = goal_of(shard)
        if not _REQUEST.match(_plain(field.text)):
            yield Finding(field.where, field.text, "a request, as 'Ask what to consider when …'")


def document_production(scenario: Scenario) -> Iterator[Finding]:
    """Have the user seek advice; nothing is to be written for it (*no document-production scenarios*)."""
    for shard in scenario.interaction_sequence:
        for field in (goal_of(shard), prompt_guidance(shard)):
            if match := _PRODUCTION.search(_plain(field.text)):
                yield Finding(field.where, match.group(), "a request for advice, not for a document")


def signifier_identity(scenario: Scenario) -> Iterator[Finding]:
    """Let a cue show practice, words or place, and not announce who the user is (G.2 and G.3)."""
    cues = [field for shard in scenario.interaction_sequence for field in shard_signifiers(shard)]
    for field in [*private(scenario)[:-1], *cues]:
        if found := identity_report(_plain(field.text)):
            yield Finding(field.where, found, "a cue to infer from, not a statement of identity")


def taboo_awareness(scenario: Scenario) -> Iterator[Finding]:
    """In a taboo-grounded scenario the user does not know the taboo (*taboo implicitness*).

    Half of a taboo's words, and two of them, in one sentence that guides the user tell of it; the words
    of the task and of the first message are free.
    """
    if not scenario.seed.challenge_config.taboo_grounded:
        return
    for field in (*private(scenario), *instructions(scenario)):
        if match := _AWARENESS.search(_plain(field.text)):
            yield Finding(field.where, match.group(), "a user who does not know the taboo")
        elif found := _taboo_words(scenario, field):
            yield Finding(field.where, found, "none of the taboo's own words")


def _taboo_words(scenario: Scenario, field: Field) -> str | None:
    public = public_words(scenario, field.where)
    said = [set(content_words(part)) for part in sentences(field.text)]
    for taboo in scenario.blueprint.evaluator_oracle_context.cultural_taboos:
        secret = set(content_words(taboo)) - public
        shared = max((secret & words for words in said), key=len, default=set())
        if len(shared) >= 2 and 2 * len(shared) >= len(secret):
            return ", ".join(sorted(shared))
    return None


CHECKS: tuple[Check, ...] = (
    surface_goal,
    document_production,
    signifier_identity,
    taboo_awareness,
)
