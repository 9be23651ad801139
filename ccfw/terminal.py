"""Untrusted text, made safe to show in a terminal, a log or a plain file."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """Return text that is safe to show in a terminal: control and bidi override characters become visible marks.

    So do noncharacters, of which XML, and so a figure, allows none. Line breaks and tabs stay; joiners that scripts
    need (as in Tamil or emoji) stay too.
    """
    return text.translate(_SHOWN)


def one_line(text: str) -> str:
    """Return text that is safe to show in a terminal, on one line."""
    return " ".join(printable(text).split())


class _Shown(dict[int, str]):
    """What each character is shown as, worked out once a character: texts may be megabytes long."""

    def __missing__(self, code: int) -> str:
        self[code] = _mark(chr(code))
        return self[code]


_SHOWN = _Shown()


def _mark(character: str) -> str:
    if character in "\n\t\u200c\u200d":
        return character
    code = ord(character)
    hidden = unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    return f"⟨U+{code:04X}⟩" if hidden or _is_noncharacter(code) else character


def _is_noncharacter(code: int) -> bool:
    """Whether a code stands for no character for ever; of others that are unassigned, newer systems have letters."""
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
