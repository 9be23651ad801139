"""A verifier's reply → log-probabilities of its three labels, from the tokens that could have stood there. Pure.

CultureForest's published code puts each label behind ``{"Answer": "`` and sums the log-probabilities of its tokens. A
chat provider gives the likeliest tokens at each place of its own reply instead. The place after that beginning tells
the labels apart by their first token; what follows a first token as ``Satis`` is all but certain.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ccfw.llm.types import Token
from ccfw.parsing import Refusal
from ccfw.records import FailureKind
from ccfw.training.cultureforest import LOG_ROUNDING

LABELS = ("Satisfy", "Neutral", "Violate")
FORM = {
    "type": "object",
    "properties": {"Answer": {"type": "string", "enum": list(LABELS)}},
    "required": ["Answer"],
    "additionalProperties": False,
}
_BEGINNING = re.compile(r'\{\s*"Answer"\s*:\s*"')
UNLISTED = 0.01
"""Share of the probability of the three labels that one which is not listed may have at most, to count as none."""


class Logs(NamedTuple):
    """Natural log-probabilities; −∞ for a label that is not among the likeliest."""

    satisfy: float
    neutral: float
    violate: float


def read_labels(tokens: Sequence[Token] | None) -> Logs:
    """Return the labels' log-probabilities where the verdict begins; the last one counts, after any thinking.

    Raises ``Refusal`` when there are no tokens or no verdict, when a number is no log-probability, and when a label
    that is not listed could have more than ``UNLISTED`` of what the three have together.
    """
    if tokens is None:
        raise Refusal(FailureKind.INCOMPLETE, "the reply came without log-probabilities")
    found = list(_BEGINNING.finditer("".join(token.text for token in tokens)))
    place = _place(tokens, found[-1].end()) if found else None
    if place is None:
        raise Refusal(FailureKind.UNPARSED, 'the reply has no {"Answer": "…"}')
    token, begun = place
    wrong = next((log for log in token.likeliest.values() if not log <= LOG_ROUNDING), None)
    if wrong is not None:
        raise Refusal(FailureKind.OUT_OF_RANGE, f"{wrong:g} is no log-probability")
    logs = {label: _summed(_beginning(label, begun, token.likeliest)) for label in LABELS}
    _check_unlisted(logs, min(token.likeliest.values(), default=-math.inf))
    return Logs(*logs.values())


def _place(tokens: Sequence[Token], end: int) -> tuple[Token, str] | None:
    """Return the token in which the label begins, and what of the beginning stands in it too."""
    start = 0
    for token in tokens:
        if start <= end < start + len(token.text):
            return token, token.text[: end - start]
        start += len(token.text)
    return None


def _beginning(label: str, begun: str, likeliest: Mapping[str, float]) -> list[float]:
    """Return the log-probabilities of the tokens that begin a label, or hold all of it."""
    rests = {token.removeprefix(begun): log for token, log in likeliest.items() if token.startswith(begun)}
    return [log for rest, log in rests.items() if rest and (label.startswith(rest) or rest.startswith(label))]


def _summed(logs: Sequence[float]) -> float:
    highest = max(logs, default=-math.inf)
    if highest == -math.inf:
        return highest
    return highest + math.log(math.fsum(math.exp(log - highest) for log in logs))


def _check_unlisted(logs: Mapping[str, float], least: float) -> None:
    missing = [label for label, log in logs.items() if log == -math.inf]
    listed = _summed([log for log in logs.values() if log != -math.inf])
    if len(missing) == len(logs):
        raise Refusal(FailureKind.INCOMPLETE, "none of the labels is among the likeliest tokens")
    if missing and math.exp(least - listed) > UNLISTED:
        names = " and ".join(missing)
        raise Refusal(FailureKind.INCOMPLETE, f"{names}: not among the likeliest tokens, and perhaps not unlikely")
