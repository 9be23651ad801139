"""Chat turns as units that can be compared: words where blanks divide them, letters where they do not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from ccfw.checks.script import dominant_script
from ccfw.checks.text import straighten, tokens

UNDIVIDED = frozenset({"Han", "Kana", "Thai", "Tibetan", "Hangul", "Tamil"})
"""Scripts compared letter by letter. Korean and Tamil do put blanks, but their endings make one word many."""
LATIN = frozenset({"English", "Indonesian", "Malay", "Filipino", "Vietnamese"})

_QUOTED = re.compile(r'"[^"]*"|「[^」]*」|『[^』]*』|《[^》]*》|(?<!\w)\'[^\']{3,}\'(?!\w)')
_END = re.compile(r"(?<=[!?。])\s*|(?<=\.)\s+|\n+")
_COMMA = re.compile(r"[,、،]\s*")
_SHARED_ROWS = {
    "Simplified Chinese": "Chinese",
    "Traditional Chinese": "Chinese",
    "Indonesian": "Malay",
}

Table = Mapping[str, re.Pattern[str]]


def table(rows: Mapping[str, Sequence[str]]) -> Table:
    """Compile rows of alternatives by language, in the same plain typography as the lines they will meet."""
    return {language: re.compile(straighten("|".join(parts)), re.DOTALL) for language, parts in rows.items()}


def patterns(of: Table, language: str) -> list[re.Pattern[str]]:
    """Return the patterns for a language: its own first, then those for English, which gets into every chat."""
    names = dict.fromkeys((_SHARED_ROWS.get(language, language), "English"))
    return [of[name] for name in names if name in of]


def first_match(of: Table, language: str, line: str) -> str | None:
    """Return the first stretch of a line that a table knows."""
    return next((match.group() for pattern in patterns(of, language) if (match := pattern.search(line))), None)


def is_undivided(text: str) -> bool:
    """Whether a text is compared letter by letter."""
    return dominant_script(text) in UNDIVIDED


def units(text: str) -> list[str]:
    """Return a text as the units it is compared in, without punctuation."""
    if not is_undivided(text):
        return tokens(text)
    return [char for char in straighten(text).casefold() if unicodedata.category(char)[0] in "LMN"]


def shingles(text: str) -> list[tuple[str, ...]]:
    """Return every run of three words, or of four letters."""
    size = 4 if is_undivided(text) else 3
    found = units(text)
    return [tuple(found[start : start + size]) for start in range(len(found) - size + 1)]


def similarity(left: str, right: str) -> float:
    """Return how alike two texts are in their units, from 0 to 1."""
    return SequenceMatcher(None, units(left), units(right), autojunk=False).ratio()


def unquoted(text: str) -> str:
    """Return a text without what stands in quotation marks."""
    return _QUOTED.sub(" ", straighten(text))


def pieces(text: str) -> list[str]:
    """Split a text into sentences."""
    return [piece.strip() for piece in _END.split(straighten(text)) if piece.strip()]


def clauses(text: str) -> list[str]:
    """Return each sentence, and its clauses where commas divide it: people hang a question on a comma."""
    found: list[str] = []
    for piece in pieces(text):
        parts = _COMMA.split(piece)
        found += [piece, *parts] if len(parts) > 1 else [piece]
    return found
