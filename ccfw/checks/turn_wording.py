"""How a message is written: its language, length, punctuation, and nothing of the protocol in it (paper G.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ccfw.checks.issue import Finding
from ccfw.checks.language import language_fault
from ccfw.checks.script import count_letters, dominant_script, script_counts
from ccfw.checks.turn_history import MIN_ANSWER
from ccfw.checks.turn_issue import Rule, UserTurn, finding
from ccfw.checks.turn_words import asks_back

LATIN_LENGTH = (50, 150)
"""Characters, as the paper's prompt states them."""

# 50 and 150 times the length of a native text over its English twin (first messages and summaries of data/starter:
# Chinese 0.30, Japanese 0.43, Korean 0.52, Thai 0.78, Tamil 1.29), with a tenth of room on both sides. Latin ones lie
# between 0.79 and 1.19 and keep the paper's own figures. Tibetan and Uyghur have no text there: about as long as
# English, so the paper's figures with more room.
LENGTHS: dict[str, tuple[int, int]] = {
    "Han": (13, 50),
    "Kana": (19, 71),
    "Hangul": (23, 86),
    "Thai": (35, 129),
    "Tamil": (58, 213),
    "Tibetan": (40, 180),
    "Arabic": (40, 180),
}
"""Least and most characters by script, other than Latin; Kana stands for Japanese."""

_WHOSE = r"(?: (?:my|our|your|his|her|their|the|any|some|more|proper|due|family|mum's|dad's))?"
_BANNED = re.compile(
    rf"\b(?:sav(?:e|es|ed|ing)|los(?:e|es|ing)|lost|maintain(?:s|ed|ing)?){_WHOSE} face\b(?! (?:masks?|towel|"
    rf"cream|wash|paint|id|powder)\b)"
    rf"|\bface[- ]saving\b|\bmaintain(?:s|ed|ing)?{_WHOSE} dignity\b|\bshow(?:s|ed|ing|n)?{_WHOSE} respect\b"
    r"|\bout of respect\b|\brotas?\b"
)
_DASH = re.compile(r"[—―⸺⸻]| [–‒] | --+ |[;；]")
_PROTOCOL = re.compile(
    r"</?\s*(?:thinking|think|decision|message|user|assistant|system|stop|end|s|answer|response)\s*/?>|<\|[^|"
    r">]{1,30}\|>"
    r"|#{2,}\s*\w+\s*#*|\[/?(?:STOP|END|DONE|INST|EOS|USER|ASSISTANT|AI|YOU|TRANSFER|OUT[-_ ]OF[-_ ]SCOPE)\]"
    r"|\b(?:ADVANCE_NEXT|CONTINUE_CURRENT|ALL_SHARDS_CLEARED|END_OF_\w+)\b|```|^\s*[{\[]\s*\"|\"(?:message|"
    r"decision|goal)\"\s*:"
    r"|^\s*(?:User|YOU|AI|Assistant|Human|Message)\s*:|\b(?:Relevance|Newness|Actionable|Decision):",
    re.MULTILINE,
)


def wrong_language(turn: UserTurn) -> Iterator[Finding]:
    """Write in the language of the chat, in its script (G.4, *language constraint*)."""
    if found := language_fault(turn.message, turn.language):
        yield finding(found, turn.language)


def glued_markup(turn: UserTurn) -> Iterator[Finding]:
    """Nothing of the reply's form in the message: no tag, stop word, speaker's name or JSON."""
    if match := _PROTOCOL.search(turn.message):
        yield finding(match.group(), "the message alone")


def banned_phrase(turn: UserTurn) -> Iterator[Finding]:
    """None of the phrases that the prompt forbids (G.4, *style rules*)."""
    if match := _BANNED.search(turn.line):
        yield finding(match.group(), "actions, not talk of face, dignity or respect, and no rota")


def banned_punctuation(turn: UserTurn) -> Iterator[Finding]:
    """No long dash and no semicolon (G.4, *style rules*); a dash inside a range is a hyphen's cousin."""
    if match := _DASH.search(turn.message):
        yield finding(match.group(), "no long dash or semicolon")


def _limits(text: str) -> tuple[int, int]:
    script = "Kana" if script_counts(text)["Kana"] else dominant_script(text)
    return LENGTHS.get(script or "", LATIN_LENGTH)


def _may_be_short(turn: UserTurn) -> bool:
    """Whether the assistant has just asked, or said nothing: then a word or two is a whole answer."""
    return count_letters(turn.answer) < MIN_ANSWER or asks_back(turn)


def length(turn: UserTurn) -> Iterator[Finding]:
    """50–150 characters of Latin script (G.4, *message format*), and what says as much in the message's own."""
    least, most = _limits(turn.message)
    if turn.size > most or (turn.size < least and not _may_be_short(turn)) or not count_letters(turn.message):
        yield finding(turn.message, f"{least}–{most} characters, not {turn.size}")


RULES: tuple[Rule, ...] = (wrong_language, glued_markup, banned_phrase, banned_punctuation, length)
