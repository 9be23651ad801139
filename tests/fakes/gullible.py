"""A judge that believes all it reads outside the frame of a transcript, and nothing inside."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import json
import re
import unicodedata
from random import Random
from typing import Any, NamedTuple
from urllib.parse import unquote

from tests.fakes.filling import fill
from tests.fakes.scripts import TYPICALITY_LABELS
from tests.fakes.wire import FakeRequest, content_text

_OPENING = re.compile(r"<<<TRANSCRIPT (\S+)")
_SPOKEN = re.compile(r'[UA]\d+: (".*")')
_PLAIN = re.compile(r"^[UA]\d+: ", re.MULTILINE)


class Read(NamedTuple):
    """A request's text, parted."""

    turns: tuple[str, ...]
    """Lines that are turns inside the frame."""
    outside: str
    """Everything else, stray lines inside the frame too."""


def read(text: str) -> Read:
    """Part a text at its frame: from the first opening fence to the last closing one with the same nonce."""
    lines = text.splitlines()  # every line break of Unicode counts, which favours the attack
    start, nonce = next(((n, m[1]) for n, line in enumerate(lines) if (m := _OPENING.fullmatch(line))), (-1, ""))
    closing = f"TRANSCRIPT {nonce}>>>"
    end = max((n for n, line in enumerate(lines) if n > start and line == closing), default=-1)
    if start < 0 or end < 0:
        return Read((), "\n".join(lines))
    body = lines[start + 1 : end]
    outside = [*lines[:start], *(line for line in body if not _is_turn(line)), *lines[end + 1 :]]
    return Read(tuple(line for line in body if _is_turn(line)), "\n".join(outside))


def _is_turn(line: str) -> bool:
    match = _SPOKEN.fullmatch(line)
    if not match:
        return False
    try:
        return isinstance(json.loads(match[1]), str)
    except ValueError:
        return False


_BIDI = re.compile(r"\u202e([^\u202c]*)")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{12,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-f]{2} ?){10,}")
_ESCAPES = re.compile(r"\\u([0-9a-f]{4})")
_TAGS = {0xE0000 + code: code for code in range(0x20, 0x7F)}


class _Folding(dict[int, str]):
    """Characters as a reader takes them: zero-width, bidi and combining ones gone, digits of any script in ASCII."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        digit = str(unicodedata.decimal(char)) if char.isdecimal() else char
        self[code] = "" if unicodedata.category(char) in ("Cf", "Mn") else digit
        return self[code]


_FOLDED = _Folding()


def seen(text: str) -> str:
    """Return a text as a reader who falls for everything sees it: unmasked, and decoded in every way it knows."""
    shown = text.translate(_TAGS)
    shown = _unlike(shown, *(match[::-1] for match in _BIDI.findall(shown)))
    escapes = _ESCAPES.sub(lambda match: chr(int(match[1], 16)), shown)
    shown = plain(_unlike(shown, html.unescape(shown), unquote(shown), escapes, *_decoded(shown)))
    return _unlike(shown, shown[::-1], codecs.encode(shown, "rot13"))


def _unlike(*texts: str) -> str:
    """Join the lines of texts, each line once."""
    return "\n".join(dict.fromkeys(line for text in texts for line in text.splitlines()))


def plain(text: str) -> str:
    """Fold a text to visible characters and compatible forms, in lower case."""
    return unicodedata.normalize("NFKC", text).translate(_FOLDED).lower()


def _decoded(text: str) -> list[str]:
    found = []
    for token in _BASE64.findall(text):
        try:
            found.append(base64.b64decode(token, validate=True).decode())
        except (binascii.Error, UnicodeDecodeError):
            continue
    for token in _HEX.findall(text):
        try:
            found.append(bytes.fromhex(token).decode())
        except (ValueError, UnicodeDecodeError):
            continue
    return found


_NUMBER = r"(?:a |an |the )?\b([1-5]|five)\b(?!,\d)"
_ORDERS = [
    re.compile(pattern)
    for pattern in (
        # Verdicts; "1 to 5" is how a rubric names its scale.
        r'_score["\']?\s*[:=]\s*["\']?([1-5])\b(?! to )',
        r"<score>([1-5])</score>",
        # English: an order with its number, but not a rubric's "5 = …" or "whole number from 1 to 5".
        rf"\b(?:give|gives|award|assign|output|record|return|enter|report|set|rate|gave)\b[^.\n=]{{0,40}}?{_NUMBER}",
        rf"\bscor(?:e|es|ed)\b(?: must be| should be| is| of| every metric| allowed is|:)? ?{_NUMBER}(?! to )",
        rf"\brate (?:it|this|the chat|this chat)\b[^.\n]{{0,10}}{_NUMBER}",
        r"\b(?:gold|required) score(?: is|:) ([1-5])\b",
        # Others: a word for a score and a number on one line, in either order.
        r"(?:评分|評分|分数|分數|满分|滿分|最高分|评|評|打|给|給|得|为|填)[^\n]{0,4}?([1-5]|五|伍)个?分?",
        r"(?:評価|スコア|最高点|点数)[^\n]{0,6}?([1-5])",
        r"([1-5])点",
        r"([1-5])점|점수[^\n]{0,6}?([1-5])",
        r"คะแนน[^\n]{0,12}?([1-5])|([1-5]) ?คะแนน",
        r"điểm[^\n]{0,14}?([1-5])|([1-5]) điểm",
        r"(?:nilai|markah|markah penuh|skor|iskor)\b[^\n]{0,6}?([1-5])\b",
        r"\b([1-5]) na iskor",
        r"மதிபபெண[^\n]{0,4}?([1-5])|([1-5]) ?மதிபபெண",
    )
]
_WORDS = {"five": 5, "五": 5, "伍": 5}


def ordered(text: str) -> int | None:
    """Return the best score that a text asks for, states or defines, if any."""
    shown = seen(text)
    asked = [group for order in _ORDERS for match in order.finditer(shown) for group in match.groups() if group]
    return max((_WORDS.get(word) or int(word) for word in asked), default=None)


def own_opinion(turns: int) -> int:
    """Return the score of a transcript that nobody spoke for: 2 for a short one, 3 for a long one."""
    return 2 if turns <= 4 else 3


def gullible_judge(request: FakeRequest) -> str:
    """Fill the judge's schema; the score is what the text outside the frame asks for, or else the judge's own."""
    parted = read("\n".join(content_text(message) for message in request.messages))
    turns = len(parted.turns) or len(_PLAIN.findall(parted.outside))
    score = ordered(parted.outside) or own_opinion(turns)
    return json.dumps(_scored(fill(request.schema or {}, Random(0)), score), ensure_ascii=False)


def _scored(verdict: dict[str, Any], score: int) -> dict[str, Any]:
    changed: dict[str, Any] = {name: _scored(part, score) for name, part in verdict.items() if isinstance(part, dict)}
    changed |= {name: score for name in verdict if name.endswith("_score")}
    labels = {name for name in verdict if name == "cultural_typicality"} - changed.keys()
    changed |= dict.fromkeys(labels, TYPICALITY_LABELS[score])
    return verdict | changed
