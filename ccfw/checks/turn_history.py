"""A message against the chat before it: nothing starts over, comes twice, or is handed back."""

from __future__ import annotations

from collections.abc import Iterator

from ccfw.checks.issue import Finding
from ccfw.checks.script import count_letters
from ccfw.checks.text import content_words
from ccfw.checks.turn_issue import Rule, UserTurn, finding
from ccfw.checks.turn_text import clauses, is_undivided, shingles, similarity, units, unquoted
from ccfw.checks.turn_words import greeting, is_only_thanks, is_question

SAME = 0.8
"""Similarity from which two texts say the same: room for a filler word, none for another subject."""
MIN_WORDS, MIN_LETTERS = 5, 8
"""Shortest clause that can repeat: "what should i do" comes back in every honest chat."""
MIN_ANSWER = 15
"""Letters below which an answer is broken, after which asking again is what a person does."""
COPIED = 0.5
"""Share of a message's runs of words taken over from the answer: a quoted term stays far below it."""
SUMMED = 0.7


def _reopens(turn: UserTurn) -> bool:
    return bool(turn.earlier and units(turn.message)) and similarity(turn.message, turn.earlier[0]) >= SAME


def restart(turn: UserTurn) -> Iterator[Finding]:
    """Do not open the chat again: no greeting and no second opening message (Appendix G.4, role confusion)."""
    if not turn.earlier:
        return
    found = greeting(turn.message, turn.language)
    if found and count_letters(turn.answer) >= MIN_ANSWER:
        yield finding(found, "no greeting in the middle of a chat")
    elif _reopens(turn):
        yield finding(turn.message, "not the opening message again")


def _questions(text: str, language: str) -> list[str]:
    return [
        clause
        for clause in clauses(text)
        if is_question(clause, language) and len(units(clause)) >= (MIN_LETTERS if is_undivided(clause) else MIN_WORDS)
    ]


def repeated_question(turn: UserTurn) -> Iterator[Finding]:
    """Never ask again what was asked and answered (G.4, *no repetition*)."""
    if count_letters(turn.answer) < MIN_ANSWER or _reopens(turn):
        return
    asked = [question for text in turn.earlier for question in _questions(text, turn.language)]
    for question in _questions(turn.message, turn.language):
        if any(similarity(question, before) >= SAME for before in asked):
            yield finding(question, "a question not asked before")
            return


def _is_copied(message: str, answer: str) -> bool:
    runs = shingles(message)
    known = set(shingles(answer))
    least = MIN_LETTERS if is_undivided(message) else MIN_WORDS
    return len(units(message)) >= least and sum(run in known for run in runs) >= COPIED * len(runs)


def _is_summed_up(message: str, answer: str) -> bool:
    said, known = content_words(message), set(content_words(answer))
    return len(said) >= 4 and sum(word in known for word in said) >= SUMMED * len(said)


def parroting(turn: UserTurn) -> Iterator[Finding]:
    """Do not hand the advice back; a term in quotation marks may be taken up (G.4, *parroting*)."""
    own = unquoted(turn.message)
    if not turn.answer or not units(own):
        return
    summed = turn.language == "English" and not is_question(own, turn.language) and _is_summed_up(own, turn.answer)
    if summed or _is_copied(own, turn.answer):
        yield finding(turn.message, "a reaction and a question, not the answer again")


def thanks_loop(turn: UserTurn) -> Iterator[Finding]:
    """Do not thank and close twice in a row: every message moves on."""
    if turn.earlier and all(is_only_thanks(text, turn.language) for text in (turn.message, turn.earlier[-1])):
        yield finding(turn.message, "a step forward, not thanks after thanks")


RULES: tuple[Rule, ...] = (restart, repeated_question, parroting, thanks_loop)
