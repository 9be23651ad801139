"""English text as words: counting, sentences, and the content words that carry a meaning."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!\bvs)[.!?]+(?:\s+|$)|\n+")

_FUNCTION_WORDS = """
a an the this that these those and or but nor if as at by for from in into of off on onto out over to up
with without within about after before between during than then there here when where while which who whom
whose what why how whether i me my mine we us our you your he him his she her it its they them their am is
are was were be been being do does did done have has had having can could may might must shall should will
would not no never always also any some all both each every other another such same own only just very too
more most much many few less least so because until since through across against toward towards under
above again once ever yet even still like likely one ones someone something anyone anything people person
"""

# Verbs of any request or of any reply: they name the act of helping, not what is hidden.
_PLAIN_VERBS = """
give serve bring offer use wear ask make take put go come get buy say tell let keep set show know think
want need try plan help recommend suggest advise propose encourage endorse treat ignore assume fail
present provide
"""

_LATELY = 4096
"""Texts whose words are kept: the same few are held against each other again and again."""
_PLAIN_QUOTES = str.maketrans("‘’ʼ“”", "'''\"\"")


def straighten(text: str) -> str:
    """Return the text with compatibility forms folded and typographic quotes made plain."""
    return unicodedata.normalize("NFKC", text).translate(_PLAIN_QUOTES)


def tokens(text: str) -> list[str]:
    """Return the words in lower case, without punctuation: ``Don’t go!`` → ``don't``, ``go``."""
    return _TOKEN.findall(straighten(text).casefold())


@lru_cache(maxsize=_LATELY)
def normalise(text: str) -> str:
    """Return the words joined by single spaces, so that layout and punctuation do not count."""
    return " ".join(tokens(text))


def count_words(text: str) -> int:
    """Count words as a reader does: pieces between blanks that hold a letter or a digit."""
    return sum(any(char.isalnum() for char in piece) for piece in text.split())


def sentences(text: str) -> list[str]:
    """Split at sentence ends and line breaks."""
    return [piece.strip() for piece in _SENTENCE_END.split(straighten(text)) if piece.strip()]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Strip the common English endings, so that *serving* meets *serves* and *dishes* meets *dish*."""
    word = word.removesuffix("'s")
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word


_STOP = frozenset(_FUNCTION_WORDS.split()) | frozenset(map(stem, _PLAIN_VERBS.split()))


def content_words(text: str) -> list[str]:
    """Return the stems of the words that carry the meaning, in order."""
    return list(_content_words(text))


@lru_cache(maxsize=_LATELY)
def _content_words(text: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in tokens(text) if word not in _STOP and stem(word) not in _STOP)
