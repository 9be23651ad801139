"""The simulated user writes as a user: it never offers help, gives advice or lays out steps (paper G.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ccfw.checks.issue import Finding
from ccfw.checks.turn_issue import Rule, UserTurn, finding
from ccfw.checks.turn_role_words import OFFER
from ccfw.checks.turn_text import first_match, pieces, unquoted
from ccfw.checks.turn_words import asks_back, is_question

_ADVICE = re.compile(
    r"(?:^|[.!]\s+)(?:then |also |next,? |first,? )?you (?:should (?!know|have)|could (?!have)|might want|"
    r"may want|'ll want)"
)
_USERS_OWN = re.compile(
    r"\b(?:i|i'm|i'll|i've|i'd|im|my|me|mine|we|we're|our|us|got it|ok(?:ay)?|noted|thx|thanks|right)\b"
)
MIN_FORMAL = 60
"""Characters from which a stiff message without its writer is an answer: "She walks with a stick." is none."""
_SELF = {
    "English": _USERS_OWN,
    "Indonesian": re.compile(r"\b(?:saya|aku|gue|gw|kami|kita)\b|(?:ku|saya)\b"),
    "Malay": re.compile(r"\b(?:saya|aku|kami|kita)\b|ku\b"),
    "Filipino": re.compile(r"\b(?:ko|ako|akin|namin|kami|amin|natin|tayo|atin)\b"),
    "Vietnamese": re.compile(r"\b(?:em|mình|tôi|con|cháu|tớ|chúng tôi)\b"),
}
"""Where the writer shows in a message."""
_ADVISING = re.compile(r"\W*(?:consider|make sure|start (?:by|with)|remember to|opt for|aim for|try to|be sure to)\b")
_DEEDS = """
start begin bring ask tell give put place set book call remember avoid keep use prepare offer arrange serve explain
let do check consider choose wear greet invite confirm send buy order thank talk speak visit promise apologise apologize
seat wrap pay
"""
_STEP = re.compile(
    r"\W*(?:(?:and|then|first(?:ly)?|second(?:ly)?|third|next|after that|finally|also|lastly|please),? )*"
    rf"(?:make sure|have (?:your|the)|{'|'.join(_DEEDS.split())})\b"
)
_CLAUSE = re.compile(r"[.,!\n]+\s*| (?:and )?then ")
_REPORTED = re.compile(
    r"\b(?:says?|said|told|tells|telling|saying|suggested|advised|thinks|kata|cakap|bilang|sabi)\b[^,.!?\n]*"
)
"""What others say, up to the next mark: mum's "you should never" is not the writer's."""
_BULLET = re.compile(r"^\s*(?:[-*•·▪]|\(?\d{1,2}[.)、])\s*\S|(?<=\s)\(?[1-9][.)] \S", re.MULTILINE)


def lists_items(text: str) -> bool:
    """Whether a message is laid out as a list."""
    return len(_BULLET.findall(text)) >= 2


def _gives_steps(line: str) -> bool:
    if "?" in line or _USERS_OWN.search(line):
        return False
    return bool(_ADVISING.match(line)) or sum(bool(_STEP.match(clause)) for clause in _CLAUSE.split(line)) >= 2


def _gives_advice(line: str) -> bool:
    return any("?" not in piece and _ADVICE.search(piece) for piece in pieces(line))


def _reads_like_an_answer(turn: UserTurn) -> bool:
    """Whether a message has every sentence capitalised and closed, and neither a question nor the writer in it.

    A person texting for help is in the message or asks something, unless the assistant has just asked.
    """
    if turn.language not in _SELF or is_question(turn.message, turn.language) or asks_back(turn):
        return False
    parts = pieces(turn.message)
    formal = bool(parts) and all(part[0].isupper() and part[-1] in ".!" for part in parts)
    return formal and len(turn.message) >= MIN_FORMAL and not _SELF[turn.language].search(turn.line)


def role_flip(turn: UserTurn) -> Iterator[Finding]:
    """Write as the one who asks: no offer of help, advice, steps or list (G.4, *giving instructions*)."""
    line = _REPORTED.sub(" ", unquoted(turn.line))
    found = first_match(OFFER, turn.language, line)
    if found is None and (_gives_advice(line) or _gives_steps(line) or _reads_like_an_answer(turn)):
        found = turn.message
    if found is None and lists_items(turn.message) and not is_question(turn.message, turn.language):
        found = turn.message
    if found is not None:
        yield finding(found, "the one who asks for help, not the one who gives it")


RULES: tuple[Rule, ...] = (role_flip,)
