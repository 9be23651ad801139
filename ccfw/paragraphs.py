"""Text for a terminal, broken into lines by the columns that its characters take, in any script."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Iterator

_WIDEST, _NARROWEST = 110, 40
"""Columns of a line: longer ones are hard to read, shorter ones hold no sentence."""


def line_width() -> int:
    """Return how wide a line may be: as the terminal (or ``COLUMNS``) says, within what can be read."""
    return min(_WIDEST, max(_NARROWEST, shutil.get_terminal_size((_WIDEST, 24)).columns))


def columns(text: str) -> int:
    """Return how many columns a terminal gives a text: two to a Han character, none to a mark above a letter."""
    return sum(map(_columns, text))


def filled(text: str, width: int, indent: str = "") -> str:
    """Break a text into lines of at most ``width`` columns, each after ``indent``.

    Lines end between words, or where one would fill a line by itself, or between characters that take two columns:
    scripts with such put no blanks between words.
    """
    room = width - columns(indent)
    lines, line, used = [], "", 0
    for gap, piece in _pieces(text, room):
        more = len(gap) + columns(piece)
        if line and used + more > room:
            lines.append(line)
            line, used = piece, more - len(gap)
        else:
            line, used = line + gap + piece, used + more
    return "\n".join(f"{indent}{each}" for each in [*lines, line])


def _pieces(text: str, room: int) -> Iterator[tuple[str, str]]:
    """Yield what no line may part, each with the blank before it."""
    for number, word in enumerate(text.split()):
        gap = " " if number else ""
        if columns(word) <= room and all(_columns(each) < 2 for each in word):
            yield gap, word
            continue
        cluster = ""
        for each in word:
            if cluster and _columns(each):
                yield gap, cluster
                gap, cluster = "", ""
            cluster += each
        yield gap, cluster


def _columns(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
