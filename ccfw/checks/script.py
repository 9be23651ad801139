"""Which script a language is written in, and which one a text is written in."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Literal, NamedTuple

HanForm = Literal["simplified", "traditional"]


class Writing(NamedTuple):
    """How a language is written."""

    scripts: frozenset[str]
    letters: tuple[int, int]
    """Letters and vowel signs of a message that carries 25–50 English words, with a wide margin."""
    han_form: HanForm | None = None
    required: str | None = None
    """A script that every message of the language holds, where the others would not tell it apart."""


_LATIN = Writing(frozenset({"Latin"}), (60, 420))
_HAN = Writing(frozenset({"Han"}), (20, 160), "simplified")

LANGUAGES: dict[str, Writing] = {
    "English": _LATIN,
    "Indonesian": _LATIN,
    "Malay": _LATIN,
    "Filipino": _LATIN,
    "Vietnamese": _LATIN,
    "Simplified Chinese": _HAN,
    "Traditional Chinese": _HAN._replace(han_form="traditional"),
    "Japanese": Writing(frozenset({"Kana", "Han"}), (30, 220), required="Kana"),
    "Korean": Writing(frozenset({"Hangul"}), (25, 200)),
    "Thai": Writing(frozenset({"Thai"}), (50, 420)),
    "Tamil": Writing(frozenset({"Tamil"}), (60, 520)),
    "Tibetan": Writing(frozenset({"Tibetan"}), (50, 480)),
    "Uyghur": Writing(frozenset({"Arabic"}), (60, 450)),
}
"""The native languages of the paper's personas (G.3) by their English names."""

OWN_NAMES: dict[str, tuple[str, ...]] = {
    "Indonesian": ("bahasa indonesia",),
    "Malay": ("bahasa melayu",),
    "Filipino": ("wikang filipino",),
    "Vietnamese": ("tiếng việt",),
    "Simplified Chinese": ("中文", "简体", "汉语", "华语", "普通话"),
    "Traditional Chinese": ("中文", "繁體", "漢語", "華語", "國語"),
    "Japanese": ("日本語",),
    "Korean": ("한국어", "한국말", "우리말"),
    "Thai": ("ภาษาไทย",),
    "Tamil": ("தமிழ்", "தமிழில்"),
    "Tibetan": ("བོད་སྐད", "བོད་ཡིག"),
    "Uyghur": ("ئۇيغۇرچە", "ئۇيغۇر تىلى"),
}
"""What a language is called in itself."""

_SCRIPT_OF_NAME = {
    "CJK": "Han",
    "IDEOGRAPHIC": "Han",
    "HIRAGANA": "Kana",
    "KATAKANA": "Kana",
    "KATAKANA-HIRAGANA": "Kana",
}
_NO_SCRIPT = {"", "MODIFIER", "FEMININE", "MASCULINE"}


@lru_cache(maxsize=1 << 14)
def script_of(char: str) -> str | None:
    """Return the script of a letter, named as Unicode does; ``None`` for anything else."""
    if not unicodedata.category(char).startswith("L"):
        return None
    name = unicodedata.name(char, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    first = name.split(" ")[0]
    return None if first in _NO_SCRIPT else _SCRIPT_OF_NAME.get(first, first.capitalize())


def script_counts(text: str) -> Counter[str]:
    """Count the letters of each script."""
    return Counter(script for char in text if (script := script_of(char)))


def dominant_script(text: str) -> str | None:
    """Return the script of most letters, the earlier seen on a tie; ``None`` without letters."""
    return next((script for script, _ in script_counts(text).most_common(1)), None)


def script_share(text: str, scripts: frozenset[str]) -> float:
    """Return the share of letters in the given scripts; 0 without letters."""
    counts = script_counts(text)
    return sum(counts[script] for script in scripts) / counts.total() if counts else 0.0


def count_letters(text: str) -> int:
    """Count letters and the vowel signs that Thai, Tamil and Tibetan write as marks."""
    return sum(unicodedata.category(char)[0] in "LM" for char in text)


def _encodes(char: str, codec: str) -> bool:
    try:
        char.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


def han_form_of(char: str) -> HanForm | None:
    """Return the one form a Han character exists in; ``None`` when it serves both, or is too rare to tell.

    The character sets decide: GB 2312 lists the simplified forms in use and Big5 the traditional ones.
    """
    if script_of(char) != "Han":
        return None
    simplified, traditional = _encodes(char, "gb2312"), _encodes(char, "big5")
    if simplified == traditional:
        return None
    return "simplified" if simplified else "traditional"


def han_forms(text: str) -> dict[HanForm, str]:
    """Return the characters that exist in one form only, by form."""
    forms: dict[HanForm, str] = {"simplified": "", "traditional": ""}
    for char in text:
        if form := han_form_of(char):
            forms[form] += char
    return forms
