"""Sections → passages of a stated size, in sentences, whatever the script.

Size is counted in words where words are parted by blanks, and in characters where they are not (Chinese, Japanese,
Thai, Lao, Khmer, Burmese, Tibetan); in a text of both, each part counts by its own measure.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u0fff"  # Tibetan
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kana, Han
)
UNSPACED = re.compile(f"[{_UNSPACED}]")
"""A character of a script that puts no blanks between words."""
_NO_WORD = re.compile(f"[{_UNSPACED}\u3000-\u303f\uff00-\uff65]+")
_LONGEST_WORD = 30
_REST = 0.25
_FULL = 1 + 1e-9
_END = re.compile(
    r"[。！？｡]+[」』）)”’\"]*"
    r"|[.!?…]+[\"”’)\]]*(?=\s+[^\sa-zà-ÿ])"  # a small letter goes on with the sentence
    r"|།+(?=\s)|[។၊။]+"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|No|Prof|Jr|Sr|vs|c|ca|cf|e\.g|i\.e|lit|approx|Gov|Gen|TP|TS|GS|Hj|Pg)|\b[A-Z])\.$"
)
_CUTS = (re.compile(r"[,;:，；：、།]+[”’\"」』]*"), re.compile(r"\s+|་"))
"""Where a sentence larger than a passage is cut: after a clause, else between words or syllables."""
Span = tuple[int, int]


@dataclass(frozen=True)
class Size:
    """A full passage: so many words, or so many characters of a script without blanks."""

    words: int
    characters: int

    def of(self, text: str) -> float:
        """Return how much of a full passage a text is."""
        words = _NO_WORD.sub(" ", text).split()
        count: float = len(words)
        if len(text) > _LONGEST_WORD * len(words):  # an address, or letters in a row: no word is free
            count = sum(max(1.0, len(word) / _LONGEST_WORD) for word in words)
        return len(UNSPACED.findall(text)) / self.characters + count / self.words


def passages(text: str, size: Size) -> list[str]:
    """Return a section in passages of about equal size, none more than a full one.

    Nothing is lost but the blanks at the cuts. A sentence is cut only when it is larger than a passage.
    """
    spans = [piece for span in sentence_spans(text) for piece in _fitting(text, span, size, 0)]
    weights = [size.of(text[start:end]) for start, end in spans]
    found = (text[group[0][0] : group[-1][1]].strip() for group in _settled(text, spans, weights, size))
    return [each for each in found if each]


def _settled(text: str, spans: Sequence[Span], weights: Sequence[float], size: Size) -> Iterator[list[Span]]:
    """Yield the groups of a section; a small rest goes to the group before, if it fits there."""
    groups = list(_packed(spans, weights, even=True))
    if len(groups) > 1:
        rest, joined = groups[-1], groups[-2] + groups[-1]
        if size.of(text[rest[0][0] : rest[-1][1]]) < _REST and size.of(text[joined[0][0] : joined[-1][1]]) <= _FULL:
            groups[-2:] = [joined]
    yield from groups


def sentence_spans(text: str) -> list[Span]:
    """Return where the sentences of a text begin and end, without gaps; a line break ends one.

    Thai has no mark for the end of a sentence, so that there only line breaks do.
    """
    cuts: list[int] = []
    for line in re.finditer(r"[^\n]*\n|[^\n]+$", text):
        begun = line.start()
        for match in _END.finditer(text, line.start(), line.end()):
            if not _ABBREVIATION.search(text, begun, match.end()):
                begun = match.end()
                cuts.append(begun)
        cuts.append(line.end())
    return _spans((0, len(text)), cuts)


def _spans(whole: Span, cuts: Sequence[int]) -> list[Span]:
    inside = sorted({cut for cut in cuts if whole[0] < cut < whole[1]})
    return list(zip((whole[0], *inside), (*inside, whole[1]), strict=True)) if whole[1] > whole[0] else []


def _packed(spans: Sequence[Span], weights: Sequence[float], *, even: bool) -> Iterator[list[Span]]:
    """Yield groups of neighbours, none more than full: all about as large, or each as full as it gets."""
    group: list[Span] = []
    filled, left = 0.0, sum(weights)
    for span, weight in zip(spans, weights, strict=True):
        wanted = (left + filled) / max(1, math.ceil(left + filled - _FULL + 1)) if even else _FULL
        if group and (filled + weight > _FULL or (even and filled + weight / 2 > wanted)):
            yield group
            group, filled = [], 0.0
        group.append(span)
        filled, left = filled + weight, left - weight
    if group:
        yield group


def _fitting(text: str, span: Span, size: Size, level: int) -> Iterator[Span]:
    """Yield a sentence whole, or in pieces that fit where it is larger than a passage."""
    if size.of(text[slice(*span)]) <= _FULL or span[1] - span[0] < 2:
        yield span
        return
    if level == len(_CUTS):
        middle = _letter_start(text, sum(span) // 2, span[0] + 1)
        for half in _spans(span, [middle]):
            yield from _fitting(text, half, size, level)
        return
    pieces = _spans(span, [match.end() for match in _CUTS[level].finditer(text, *span)])
    weights = [size.of(text[slice(*piece)]) for piece in pieces]
    for group in _packed(pieces, weights, even=False):
        yield from _fitting(text, (group[0][0], group[-1][1]), size, level + 1)


def _letter_start(text: str, at: int, least: int) -> int:
    """Return the nearest place before ``at`` where a letter begins, so that no mark is parted from its letter."""
    while at > least and unicodedata.category(text[at]).startswith("M"):
        at -= 1
    return at
