"""Responses and the two judges of them: forms and strict readers (Tables 19, 20 and 26). Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from ccfw.crisp.records import BOUNDS, Scale
from ccfw.crisp.verdicts import failed
from ccfw.forms import MOST_CHARACTERS, TEXT, Form, an_object, read_form
from ccfw.parsing import Refusal, json_object
from ccfw.records import Failure, FailureKind

_SHORT = {"type": "string", "maxLength": 240}


class Said(NamedTuple):
    """A policy's reply."""

    answer: str
    reasoning: str


class Scored(NamedTuple):
    """A judge's reply."""

    score: int
    evidence: str
    reason: str


def response_form(small: bool) -> Form:
    """Return the form of a response; for a small model, which may run on, its texts are bounded."""
    answer, reasoning = ({"type": "string", "maxLength": most} for most in (200, 300)) if small else (TEXT, TEXT)
    return an_object({"answer": answer, "reasoning": reasoning})


def read_response(text: str) -> Said | Failure:
    """Read a policy's reply; reasoning in several paragraphs is not what was asked for."""
    content = read_form(text, response_form(small=False), lines=True)
    if isinstance(content, tuple):
        return failed(content)
    answer, reasoning = content["answer"].strip(), content["reasoning"].strip()
    if "\n\n" in reasoning:
        return Failure(kind=FailureKind.INCONSISTENT, detail="the reasoning must be one paragraph")
    return Said(answer, reasoning)


def score_form(scale: Scale, small: bool) -> Form:
    """Return the form of a judge's reply: evidence and reason before the score, which rests on them."""
    low, high = BOUNDS[scale]
    text = _SHORT if small else TEXT
    score = {"type": "integer", "enum": list(range(low, high + 1))}
    return an_object({"evidence": text, "reason": text, "score": score})


def read_score(text: str, scale: Scale) -> Scored | Failure:
    """Read a judge's reply strictly: these keys and no other, a whole number on the scale; raise ``Refusal`` if not.

    What a refusal says never repeats the reply, which may quote the text under evaluation.
    """
    content: dict[str, Any] = json_object(text)
    if set(content) != {"evidence", "reason", "score"}:
        raise Refusal(FailureKind.INCOMPLETE, "keys must be exactly evidence, reason, score")
    score, (low, high) = content["score"], BOUNDS[scale]
    if type(score) is not int:
        raise Refusal(FailureKind.UNPARSED, "score is not a whole number")
    if not low <= score <= high:
        raise Refusal(FailureKind.OUT_OF_RANGE, f"score is off the scale of {low} to {high}")
    for name in ("evidence", "reason"):
        if not isinstance(content[name], str):
            raise Refusal(FailureKind.UNPARSED, f"{name} is not a text")
        if len(content[name]) > MOST_CHARACTERS:
            raise Refusal(FailureKind.UNPARSED, f"{name} has more than {MOST_CHARACTERS} characters")
    return Scored(score, content["evidence"].strip(), content["reason"].strip())
