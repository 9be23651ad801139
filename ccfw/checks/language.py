"""Which language a chat turn is in: its script first, a language identifier for the Latin ones, silence when in doubt.

A turn is short, names dishes and places, and often borrows a word, so every answer here may be ``None``: a turn sent
back for another try though it was right costs more than one wrong turn that a judge sees.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ccfw.checks.native import MAX_WRONG_FORM
from ccfw.checks.script import LANGUAGES, Writing, count_letters, dominant_script, han_forms, script_counts
from ccfw.checks.text import straighten, tokens

MIN_LATIN = 20
"""Letters below which Latin script tells no language: "ok sige" and "boleh" prove nothing."""
MIN_OTHER = 2
MIN_HAN_ONLY = 10
"""Han letters without a kana that make a turn not Japanese: 三十人程度 is a fine answer."""
MIN_SHARE = 0.3
"""Expected script's least share of letters. Lower than a first message's: "Grab กับ LINE MAN" is a Thai turn."""
CONFIDENCE = 0.9
MALAY = "Malay-Indonesian"
"""One family: on a line of chat the two cannot be told apart, and each borrows from the other."""

_CODES = {"en": "English", "vi": "Vietnamese", "id": MALAY, "ms": MALAY, "tl": "Filipino"}
_ONE_LANGUAGE = {
    script: name
    for name, (scripts, *_) in LANGUAGES.items()
    if len(scripts) == 1
    for script in scripts - {"Latin", "Han"}
}
_KIN_OF_HAN = frozenset({"Han", "Kana"})

# Words that hardly occur in the other four, so that two of them beside another language show a mixture.
_MARKERS = {
    "English": "the and is are what how does my for of with but should can this that they you when where if not "
    "then because have has already would which",
    MALAY: "yang dari untuk dengan tidak tak nggak gak saya aku gue kamu itu ini sudah udah dah kalau kalo tapi aja je "
    "lah nak mau macam gimana bagaimana boleh bisa dengan juga jugak ke",
    "Filipino": "ang ng mga ay ako ikaw siya kami namin natin yung yun ba opo hindi wala naman lang kasi pero kung "
    "paano pano anong rin din muna",
    "Vietnamese": "không là của và có được thì với nhưng này gì bạn mình đi thế nào rồi vậy nên người",
}
_MARKER_WORDS = {name: frozenset(words.split()) for name, words in _MARKERS.items()}
_LINK = re.compile(r"https?://\S+|\S+@\S+|[@#]\w+")
_NAME = re.compile(r"(?<=[^.!?\s])\s+[A-Z][\w'-]*")
"""A capitalised word inside a sentence: a name, which belongs to no language."""


def family(language: str) -> str:
    """Return the name under which a language is detected: Malay and Indonesian are one."""
    return MALAY if language in {"Malay", "Indonesian"} else language


@lru_cache(maxsize=1)
def _ranker() -> Callable[[str], list[tuple[str, float]]]:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(_CODES))

    def rank(text: str) -> list[tuple[str, float]]:
        return [(str(code), float(share)) for code, share in identifier.rank(text)]

    return rank


def _is_mixed(words: frozenset[str], winner: str) -> bool:
    return any(len(words & markers) >= 2 for name, markers in _MARKER_WORDS.items() if name != winner)


def _latin_language(text: str) -> str | None:
    plain = _NAME.sub("", _LINK.sub(" ", text))
    words = tokens(plain)
    if sum(map(len, words)) < MIN_LATIN:
        return None
    shares: dict[str, float] = {}
    for code, share in _ranker()(" ".join(words)):
        shares[_CODES[code]] = shares.get(_CODES[code], 0.0) + share
    best = max(shares, key=lambda name: shares[name])
    return None if shares[best] < CONFIDENCE or _is_mixed(frozenset(words), best) else best


def _chinese(text: str) -> str | None:
    simplified, traditional = (len(han_forms(text)[form]) for form in ("simplified", "traditional"))
    if simplified == traditional:
        return None
    return "Simplified Chinese" if simplified > traditional else "Traditional Chinese"


def detect_language(text: str) -> str | None:
    """Return the language of a turn, Malay and Indonesian as one; ``None`` when it is short, mixed or unclear.

    Arabic script is taken for Uyghur and Tibetan script for Tibetan, the only languages of ours in them.
    """
    counts = script_counts(straighten(text))
    script = dominant_script(text)
    if script == "Latin":
        return _latin_language(straighten(text)) if counts["Latin"] >= 0.8 * counts.total() else None
    if script in _KIN_OF_HAN:
        return "Japanese" if counts["Kana"] >= MIN_OTHER else _chinese(text)
    return _ONE_LANGUAGE.get(script or "") if counts.total() >= MIN_OTHER else None


def _wrong_script(text: str, writing: Writing) -> str | None:
    counts = script_counts(text)
    expected = sum(counts[script] for script in writing.scripts)
    latin = 0 if "Latin" in writing.scripts else counts["Latin"]
    other = counts.total() - expected - latin
    if other >= MIN_OTHER and expected < MIN_SHARE * (expected + other):
        return f"{dominant_script(text)} script"
    if latin >= MIN_LATIN and expected < MIN_SHARE * (expected + latin):
        return "Latin script"
    if writing.required and expected >= MIN_HAN_ONLY and not counts[writing.required]:
        return f"no {writing.required}"
    return None


def _wrong_form(text: str, writing: Writing) -> str | None:
    if writing.han_form is None:
        return None
    forms = han_forms(text)
    other = forms["traditional" if writing.han_form == "simplified" else "simplified"]
    mostly = len(other) >= MIN_OTHER and len(other) > MAX_WRONG_FORM * sum(map(len, forms.values()))
    return f"{other}, not in {writing.han_form} form" if mostly else None


def language_fault(text: str, expected: str) -> str | None:
    """Return what shows that a turn is not in the expected language; ``None`` when it is, or nobody could tell.

    A language that ``ccfw.checks.script`` does not list has no fault.
    """
    writing = LANGUAGES.get(expected)
    if writing is None or not count_letters(text):
        return None
    if found := _wrong_script(straighten(text), writing) or _wrong_form(text, writing):
        return found
    if "Latin" not in writing.scripts:
        return None
    found = detect_language(text)
    return None if found in {None, family(expected)} else found
