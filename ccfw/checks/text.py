"""Text as words: counting, sentences, and the content words that carry a meaning.

Stems and function words are English. Words of other languages are told as whole words, and where a script does not part
words by blanks as pairs of neighbouring letters, so that texts in them can be held against each other all the same.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

_PLAIN_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?]+(?:\s+|$)|\n+")
_LAST_WORD = re.compile(r"(?:^|[^\w.])([^\W\d_](?:[^\W\d_]|\.(?=[^\W\d_]))*)$")

# An abbreviation that what it belongs to must follow, and one that may also close a sentence.
_OPEN = """
mr mrs ms mx dr prof st fr rev hon capt col gen lt sgt gov engr atty hj ust jl e.g i.e eg ie vs cf viz
"""
_CLIPPED = """
a.m p.m etc approx no nos tel dept est inc ltd co jr sr rs rp min mins hr hrs
jan feb apr jun jul aug sep sept oct nov dec
"""

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

_OWNERS = "a an the this that these those my our your his her its their each every another any some no one two three"

# What turns a phrase into another one though it carries no meaning of its own.
_TURNING_WORDS = """
before after not no never without against until since more less fewer above below under over only also first last
"""
ALIKE = 0.5
"""Share of their content words from which two phrases say much the same."""
_LATELY = 4096
"""Texts whose words are kept: the same few are held against each other again and again."""
_SHORT = re.compile(r"[^\W\d_aeiou]*[aeiouy][^\W\d_aeiouswxy]")
"""One vowel between consonants: what is left of *wines* or *naming*, where *e* tells them from *wins* and *Nam*."""
_PLAIN_QUOTES = str.maketrans("‘’ʼ“”", "'''\"\"")
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u3164\uffa0")
"""Characters that show nothing though their category does not say so; format characters (Cf) show nothing either."""
_SELECTORS = ((0xFE00, 0xFE10), (0xE0100, 0xE01F0))
"""Of variants: they change the look of what they follow, and no word."""
_PAIRED = r"\u3005\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_SPELT = r"\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
_RUN = re.compile(rf"[{_PAIRED}{_SPELT}]+|[^{_PAIRED}{_SPELT}]+")
UNSPACED = {re.compile(rf"[{_PAIRED}]"): 2, re.compile(rf"[{_SPELT}]"): 4}
"""Letters of scripts that do not part words by blanks, and how many of them are about one word.

Han characters and kana two; Thai, Lao, Tibetan, Burmese and Khmer four, marks not counted.
"""
_HAS_UNSPACED = re.compile(rf"[{_PAIRED}{_SPELT}]")
_LOOK_ALIKES = str.maketrans("асеорхуіјѕһԁԛԝӏѵαοριυνκτχɑɡօսհ", "aceopxyijshdqwlvaopiuvktxagouh")
"""Small letters of Cyrillic, Greek, phonetic and Armenian alphabets that pass for Latin ones."""
_OTHER_ALPHABET = re.compile(r"[\u0370-\u03ff\u0400-\u052f\u0531-\u0588]")
_LETTERS = re.compile(r"[^\W\d_]+")


class _Kept(dict[int, int | None]):
    """What is left of each character when quotes are plain and nothing invisible remains, worked out once each."""

    def __missing__(self, code: int) -> int | None:
        self[code] = None if _is_unseen(chr(code)) else _PLAIN_QUOTES.get(code, code)
        return self[code]


def _is_unseen(character: str) -> bool:
    selects = any(low <= ord(character) < high for low, high in _SELECTORS)
    return selects or character in _UNSEEN or unicodedata.category(character) == "Cf"


_KEPT = _Kept()


@lru_cache(maxsize=_LATELY)
def straighten(text: str) -> str:
    """Return the text with compatibility forms folded, typographic quotes made plain and invisible characters gone.

    A joiner or a soft hyphen inside a word would make it another word to every check, and the same word to a reader.
    """
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_KEPT)


def unmasked(text: str) -> str:
    """Return the text straightened, in lower case, and with letters that pass for Latin ones made Latin.

    Words that hold another letter of such an alphabet stay as they are, so that Russian and Greek do, nearly all.
    """
    plain = straighten(text).casefold()
    if plain.isascii() or plain.translate(_LOOK_ALIKES) == plain:
        return plain
    return _LETTERS.sub(_latin, plain)


def _latin(word: re.Match[str]) -> str:
    made = word[0].translate(_LOOK_ALIKES)
    return word[0] if _OTHER_ALPHABET.search(made) else made


@lru_cache(maxsize=1)
def _marked_token() -> re.Pattern[str]:
    """Return the pattern of a word that may hold combining marks, as vowels of Thai and of India's scripts are.

    Python's class of word characters leaves them out.
    """
    marks = "".join(chr(code) for code in range(0x300, 0x1F000) if unicodedata.category(chr(code))[0] == "M")
    letter = rf"[^\W_](?:[^\W_]|[{marks}])*"
    return re.compile(rf"{letter}(?:'{letter})*")


def tokens(text: str) -> list[str]:
    """Return the words in lower case, without punctuation: ``Don’t go!`` → ``don't``, ``go``.

    Of a script that does not part words, pairs of neighbouring letters: ``入门脱鞋`` → ``入门``, ``门脱``, ``脱鞋``.
    """
    plain = unmasked(text)
    if plain.isascii():
        return _PLAIN_TOKEN.findall(plain)
    found: list[str] = _marked_token().findall(plain)
    return [part for word in found for part in _parts(word)] if _HAS_UNSPACED.search(plain) else found


def _parts(word: str) -> list[str]:
    """Return a word, or the pairs of letters of what is written without blanks."""
    parts: list[str] = []
    for run in _RUN.findall(word):
        letters = _letters(run) if _HAS_UNSPACED.match(run) else [run]
        pairs = [one + other for one, other in pairwise(letters)]
        parts += pairs or letters
    return parts


def _letters(run: str) -> list[str]:
    """Return the letters of a run, each with the marks on it."""
    letters: list[str] = []
    for character in run:
        if letters and unicodedata.category(character)[0] == "M":
            letters[-1] += character
        else:
            letters.append(character)
    return letters


@lru_cache(maxsize=_LATELY)
def normalise(text: str) -> str:
    """Return the words joined by single spaces, so that layout and punctuation do not count."""
    return " ".join(tokens(text))


@lru_cache(maxsize=1 << 13)
def unmarked(text: str) -> str:
    """Return a text in lower case and without marks on its letters, which a thumb leaves out: ``Huế`` → ``hue``."""
    plain = unicodedata.normalize("NFD", straighten(text).casefold().replace("đ", "d"))
    return "".join(char for char in plain if not unicodedata.combining(char))


def count_words(text: str) -> int:
    """Count words as a reader does: pieces between blanks that hold a letter or a digit.

    Where a script does not part words by blanks, so many of its letters as make about one word (``UNSPACED``) count as
    one; what is begun counts whole.
    """
    words = 0
    if not text.isascii() and _HAS_UNSPACED.search(text):
        for letters, size in UNSPACED.items():
            words -= -sum(char.isalnum() for char in letters.findall(text)) // size
            text = letters.sub(" ", text)
    return words + sum(any(char.isalnum() for char in piece) for piece in text.split())


def sentences(text: str) -> list[str]:
    """Split at sentence ends and line breaks, not after an abbreviation: ``at 7 p.m. with Mr. Lim`` goes on.

    *p.m.* and its like do end a sentence where a capital follows.
    """
    plain, pieces, begin = straighten(text), [], 0
    for match in _SENTENCE_END.finditer(plain):
        if match.group().strip() != "." or not _goes_on(plain[begin : match.start()], plain[match.end() :]):
            pieces.append(plain[begin : match.start()])
            begin = match.end()
    pieces.append(plain[begin:])
    return [piece.strip() for piece in pieces if piece.strip()]


def _goes_on(before: str, after: str) -> bool:
    last = _LAST_WORD.search(before)
    if last is None or not after:
        return False
    word = last[1].casefold()
    if word in _NEVER_LAST or (len(last[1]) == 1 and last[1].isupper() and last[1] != "I"):
        return True
    return word in _SELDOM_LAST and not after[0].isupper()


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Strip the common English endings, so that *serving* meets *serves* and *dishes* meets *dish*.

    A short word keeps its *e*, as in Porter's stemmer (1980, step 1b): *named* meets *name* and not *Nam*.
    """
    word = word.removesuffix("'s")
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            rest = word.removesuffix(ending)
            return f"{rest}e" if ending != "s" and _SHORT.fullmatch(rest) else rest
    return word


_NEVER_LAST, _SELDOM_LAST = frozenset(_OPEN.split()), frozenset(_CLIPPED.split())
_TURNING = frozenset(_TURNING_WORDS.split())
_THINGS = frozenset(("present", "presents", "treat", "treats"))
_DETERMINERS = frozenset(_OWNERS.split())
_STOP = frozenset(_FUNCTION_WORDS.split()) | frozenset(map(stem, _PLAIN_VERBS.split()))


def content_words(text: str) -> list[str]:
    """Return the stems of the words that carry the meaning, in order."""
    return list(_content_words(text))


@lru_cache(maxsize=_LATELY)
def _content_words(text: str) -> tuple[str, ...]:
    words = tokens(text)
    return tuple(
        stem(word)
        for index, word in enumerate(words)
        if (word not in _STOP and stem(word) not in _STOP) or _is_thing(words, index)
    )


def _is_thing(words: list[str], index: int) -> bool:
    """Whether a word that is mostly a plain verb names a thing here: *his present*, *a small treat*."""
    return words[index] in _THINGS and not _DETERMINERS.isdisjoint(words[max(0, index - 2) : index])


@lru_cache(maxsize=_LATELY)
def word_set(text: str) -> frozenset[str]:
    """Return the stems of the words that carry the meaning, each once."""
    return frozenset(content_words(text))


@lru_cache(maxsize=_LATELY)
def turns(text: str) -> frozenset[str]:
    """Return the words on which a phrase turns: *before* or *after*, *with* or *without*."""
    return _TURNING.intersection(tokens(text))


def alike(one: str, other: str, least: float = ALIKE) -> bool:
    """Whether two phrases say much the same: the same content words, or most of them and two at least (Jaccard)."""
    a, b = word_set(one), word_set(other)
    shared = len(a & b)
    if not shared or (a != b and (shared < 2 or shared < least * len(a | b))):
        return False
    return turns(one) == turns(other)
