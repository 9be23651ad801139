"""How the fields of a shard are worded: length, script, language, and what a user would not text (paper G.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ccfw.checks.fields import (
    Field,
    directives,
    failure_conditions,
    phase_label,
    prompt_guidance,
    shard_signifiers,
    success_conditions,
    surface_goal,
)
from ccfw.checks.issue import Check, Finding
from ccfw.checks.script import LANGUAGES, script_of, script_share
from ccfw.checks.text import count_words, sentences, straighten
from ccfw.records import Scenario, Shard

MAX_LABEL, MAX_GOAL, MAX_CUE, MAX_DIRECTIVE, MAX_GUIDANCE, MAX_CONDITION = 8, 30, 25, 25, 40, 16
"""Words of each field (*keep responses concise*); the paper gives no numbers."""

_NAMES = {
    "Simplified Chinese": "chinese|mandarin",
    "Traditional Chinese": "chinese|mandarin|cantonese",
    "Indonesian": "indonesian?",
    "Malay": "malay|melayu",
    "Filipino": "filipino|tagalog",
}
"""What a language is called besides the name that the persona has for it."""
_DIALECT = re.compile(
    r"\b(?:singlish|manglish|taglish|konglish|pidgin|broken english|code[- ]?(?:switch|mix)\w*"
    r"|(?:local |regional |some )?particles?|dialect(?: words)?|lah|mixed with)\b"
)
_MIXTURE = re.compile(
    r"\b(?:singlish|manglish|taglish|konglish|code[- ]?(?:switch|mix)\w*|mixed with|mix(?:es|ing)? in"
    r"|(?:some|a few) english)\b"
)
# What is denied may be a list, but not what a comma or another turn sets apart: "not stiff, some lah".
_NEGATOR = r"\b(?:no|not|never|without|avoid(?:s|ing)?|free of|instead of|rather than|none of|nor|neither|leaves? out)"
_MODIFIER = r"(?!(?:with|but|some|plus|then|also|few|though|yet|odd)\b)[\w'-]+"
_DENIED = re.compile(rf"{_NEGATOR} (?:(?:{_MODIFIER},? )*(?:or|nor|and) )?(?:{_MODIFIER} ){{0,3}}$")
_LISTED = re.compile(rf"{_NEGATOR} (?:{_MODIFIER},? )+$")
_LIST_GOES_ON = re.compile(r"(?:,? [\w'-]+)*,? n?or\b")
_SAY = re.compile(r"\b(?:say|write|text|type|ask)s?:", re.IGNORECASE)
_QUOTED = re.compile(r"\"([^\"]*)(?:\"|$)|[「『]([^」』]*)|(?<!\w)'(?=\w)(.*?\S)'(?!\w)")
MAX_QUOTED = 6
"""Words of a quotation: a name or a saying is shorter than a line to be spoken."""
_LECTURE = re.compile(
    r"\b(?:history of|origins? of|symbolic meanings?|symbolism|meaning of (?:each|every|the (?:rites?|rituals?))"
    r"|detailed comparison|compar(?:e|ison of) (?:the )?(?:religions?|faiths?|cultures?|traditions)"
    r"|essay|lecture|encyclop\w+)\b"
)


def _lengths(shard: Shard) -> Iterator[tuple[Field, int]]:
    yield phase_label(shard), MAX_LABEL
    yield surface_goal(shard), MAX_GOAL
    yield prompt_guidance(shard), MAX_GUIDANCE
    yield from ((field, MAX_CUE) for field in shard_signifiers(shard))
    yield from ((field, MAX_DIRECTIVE) for field in directives(shard))
    yield from ((field, MAX_CONDITION) for field in (*success_conditions(shard), *failure_conditions(shard)))


def shard_length(scenario: Scenario) -> Iterator[Finding]:
    """Say it briefly, and ask in one sentence (*concise; no filler text*)."""
    for shard in scenario.interaction_sequence:
        for field, most in _lengths(shard):
            if (count := count_words(field.text)) > most:
                yield Finding(field.where, field.text, f"at most {most} words, not {count}")
        goal = surface_goal(shard)
        if len(sentences(goal.text)) > 1:
            yield Finding(goal.where, goal.text, "one sentence")


def shard_script(scenario: Scenario) -> Iterator[Finding]:
    """Write in Latin letters what is in English: all but the native directive, which may be in its language."""
    for shard in scenario.interaction_sequence:
        english = (phase_label(shard), surface_goal(shard), *shard_signifiers(shard), directives(shard)[0])
        judged = (*success_conditions(shard), *failure_conditions(shard))
        for field in (*english, prompt_guidance(shard), *judged):
            if foreign := "".join(char for char in field.text if script_of(char) not in {None, "Latin"}):
                yield Finding(field.where, foreign, "Latin letters only")


def directive_language(scenario: Scenario) -> Iterator[Finding]:
    """Name the language in which the user writes at home, or write the directive in its script."""
    language = scenario.seed.persona.native_language
    writing = LANGUAGES.get(language)
    named = re.compile(rf"\b(?:{_NAMES.get(language, '(?!)')})\b|{re.escape(language.casefold())}")
    for shard in scenario.interaction_sequence:
        _, field = directives(shard)
        own = writing is not None and "Latin" not in writing.scripts and script_share(field.text, writing.scripts) > 0.5
        if not own and not named.search(field.text.casefold()):
            yield Finding(field.where, field.text, f"a directive that names {language}")


def directive_mixture(scenario: Scenario) -> Iterator[Finding]:
    """Ask for clean international English, and for the native language alone (*NOT code-switching*)."""
    for shard in scenario.interaction_sequence:
        english, native = directives(shard)
        if found := _wanted(_DIALECT, english):
            yield Finding(english.where, found, "clean international English")
        other = scenario.seed.persona.native_language
        if other != "English" and (found := _wanted(_MIXTURE, native)):
            yield Finding(native.where, found, f"{other} alone, with nothing mixed in")


def _wanted(pattern: re.Pattern[str], field: Field) -> str | None:
    """Return what a directive asks for and does not forbid: "no local particles" forbids."""
    line = straighten(field.text).casefold()
    return next((match.group() for match in pattern.finditer(line) if not _denied(line, match)), None)


def _denied(line: str, match: re.Match[str]) -> bool:
    before = line[: match.start()]
    return bool(_DENIED.search(before) or (_LISTED.search(before) and _LIST_GOES_ON.match(line[match.end() :])))


def guidance_script(scenario: Scenario) -> Iterator[Finding]:
    """Steer the user without putting words into its mouth (*never a script, never "say:" lists*)."""
    for field in map(prompt_guidance, scenario.interaction_sequence):
        if found := _spoken(straighten(field.text)):
            yield Finding(field.where, found, "which facts to tell and what to ask, not the words")


def _spoken(text: str) -> str | None:
    if match := _SAY.search(text):
        return match.group()
    long = (match.group() for match in _QUOTED.finditer(text) if count_words(match.group()) > MAX_QUOTED)
    return next(long, None)


def lecture_request(scenario: Scenario) -> Iterator[Finding]:
    """Have the user want help with a task (*not an encyclopedia article or cultural lecture*)."""
    for shard in scenario.interaction_sequence:
        for field in (surface_goal(shard), prompt_guidance(shard)):
            if match := _LECTURE.search(straighten(field.text).casefold()):
                yield Finding(field.where, match.group(), "help with the task, no lecture")


CHECKS: tuple[Check, ...] = (
    shard_length,
    shard_script,
    directive_language,
    directive_mixture,
    guidance_script,
    lecture_request,
)
