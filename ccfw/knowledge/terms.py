"""Niche terms: words that one must know to place a situation, found by corpus statistics.

A candidate is a run of capitalised words in mid-sentence, what an article's writers set in italics or in a template
for foreign words, a name with its own script in brackets after it, or, in a script without capitals, the label of a
link. It is a niche term when few articles use it: of all that the dumps hold, since a word that computing is full of is
rare among articles on food. Counting goes through a count-min sketch, which never counts too little, so that a common
word is never taken for a rare one, and whose memory does not grow.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ccfw.knowledge.records import NicheTerm
from ccfw.knowledge.splitting import sentence_spans

_WORD = re.compile(r"[^\W\d_][\w’'-]*")
_NATIVE_LETTER = (
    "\u0b80-\u0bff\u0e00-\u0e7f\u0f00-\u0fff\u0600-\u06ff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\uac00-\ud7af"
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u1700-\u173f\u1b00-\u1b7f\ua980-\ua9df\u1780-\u17ff"
)
_NATIVE = re.compile(f"[{_NATIVE_LETTER}][{_NATIVE_LETTER}\u3000-\u3007·・་ ]*")
_LINKED = re.compile(r"\[\[([^\[\]|#:\n]{2,40})(?=[\]|#])")
"""The target of a link: a name of several words, or a word of a script that does not part them."""
_BRACKET = re.compile(r"[(（]([^()（）\n]{1,160})[)）]")
_LATIN_HEAD = re.compile(r"(?:[^\W\d_][\w’'-]*[ -]){0,3}[^\W\d_][\w’'-]*$")
_LONGEST, _WORDS = 40, 5
_BEFORE = 80
_POSSESSIVE = re.compile(r"[’']s?$")
_ARTICLES = frozenset({"The", "A", "An"})
_ROWS = 4
_MOST_WAITING = 200_000
"""Words that are counted in memory before they are hashed."""


class Sketch:
    """How many articles hold a word, in memory that does not grow: a count-min sketch (Cormode, Muthukrishnan 2005)."""

    def __init__(self, width: int = 1 << 21) -> None:
        self.articles = 0
        """Articles whose words were counted."""
        self._counts: NDArray[np.uint32] = np.zeros((_ROWS, width), dtype=np.uint32)
        self._waiting: Counter[str] = Counter()

    def add(self, words: Iterable[str]) -> None:
        """Count an article, each of its words once."""
        self.articles += 1
        self._waiting.update(set(words))
        if len(self._waiting) > _MOST_WAITING:
            self._settle()

    def parts(self) -> tuple[bytes, memoryview]:
        """Return what, written one after the other, ``of_bytes`` goes on from; no copy is made."""
        self._settle()
        return self.articles.to_bytes(8, "little"), self._counts.astype("<u4", copy=False).data

    @classmethod
    def of_bytes(cls, content: bytes) -> Sketch:
        """Return a sketch that goes on where another was left (``parts``)."""
        made = cls(1)
        made.articles = int.from_bytes(content[:8], "little")
        made._counts = np.frombuffer(content, dtype="<u4", offset=8).astype(np.uint32).reshape(_ROWS, -1)
        return made

    def count(self, words: Sequence[str]) -> NDArray[np.uint32]:
        """Return in how many articles each word is; too many at times, too few never."""
        self._settle()
        cells = self._cells(words)
        return np.asarray(np.min([self._counts[row][cells[row]] for row in range(_ROWS)], axis=0), dtype=np.uint32)

    def _settle(self) -> None:
        """Add what waits: a word of many articles is then hashed once."""
        waiting, self._waiting = self._waiting, Counter()
        cells = self._cells(list(waiting))
        times = np.fromiter(waiting.values(), dtype=np.uint32, count=len(waiting))
        for row in range(_ROWS):
            np.add.at(self._counts[row], cells[row], times)

    def _cells(self, words: Sequence[str]) -> NDArray[np.int64]:
        digests = b"".join(hashlib.blake2b(word.encode(), digest_size=4 * _ROWS).digest() for word in words)
        hashes = np.frombuffer(digests, dtype="<u4").reshape(-1, _ROWS).T
        return np.asarray(hashes % self._counts.shape[1], dtype=np.int64)


@dataclass(frozen=True)
class Rarity:
    """What counts as rare."""

    share: float
    """At most this share of the dumps' articles use the term …"""
    articles: int
    """… or at most so many, whichever is more."""
    most: int
    """Terms of a passage, the rarest first taken."""


def counted(wikitext: str, candidates: Iterable[str]) -> frozenset[str]:
    """Return what an article adds to the sketch: its words, the names that it links to, and its candidates."""
    text = _key(wikitext)
    return frozenset((*_WORD.findall(text), *_LINKED.findall(text), *map(_key, candidates)))


def candidates(text: str, marked: Iterable[str], links: Iterable[str]) -> tuple[NicheTerm, ...]:
    """Return what may be a niche term in a passage, in the order of the text, without regard to how rare it is.

    ``marked`` and ``links`` are the article's; those count that the passage holds. A run of capitals that a link shows
    to go on, as *Ministry* in *Ministry of Education*, is a piece of a name and none.
    """
    marked, links = tuple(filter(_is_term, marked)), tuple(links)
    found = {each.term: each for each in _bracketed(text, marked)}
    runs = (each for each in _capitalised(text) if not _goes_on(each, text, links))
    plain = (*runs, *marked, *(each for each in links if _caseless(each)))
    for term in plain:
        if term in text and term not in found:
            found[term] = NicheTerm(term=term, native=None)
    natives = {each.native for each in found.values() if each.native}
    kept = (each for each in found.values() if each.native or each.term not in natives)
    return tuple(sorted(kept, key=lambda each: (text.find(each.term), each.term)))


def niche(found: Sequence[NicheTerm], sketch: Sketch, rarity: Rarity) -> tuple[NicheTerm, ...]:
    """Return the rare ones, at most so many, the rarest, in the order of the text."""
    if not found:
        return ()
    bound = max(rarity.articles, int(rarity.share * sketch.articles))
    counts = sketch.count([_key(each.term) for each in found])
    rare = [(int(count), place) for place, count in enumerate(counts) if count <= bound]
    return tuple(found[place] for place in sorted(place for _, place in sorted(rare)[: rarity.most]))


def _key(term: str) -> str:
    return term.casefold()


def _bracketed(text: str, names: Sequence[str]) -> Iterator[NicheTerm]:
    """Yield what has its own script in brackets after it: one of ``names``, the longest, or what looks like a name."""
    for match in _BRACKET.finditer(text):
        native = _NATIVE.search(match[1])
        if native:
            before = text[max(0, match.start() - _BEFORE) : match.start()].rstrip()
            known = max((name for name in names if _is_latin(name) and before.endswith(name)), key=len, default=None)
            if term := known or _head(before):
                yield NicheTerm(term=term, native=native[0].strip())


def _head(before: str) -> str | None:
    """Return the name that brackets explain: the capitalised words right before them, or else the last word."""
    words = _LATIN_HEAD.search(before)
    parts = words[0].split(" ") if words else []
    start = len(parts) - 1
    while start > 0 and parts[start][:1].isupper() and parts[start - 1][:1].isupper():
        start -= 1
    term = " ".join(part for part in parts[max(0, start) :] if part not in _ARTICLES)
    return term if _is_term(term) and _is_latin(term) else None


def _capitalised(text: str) -> Iterator[str]:
    """Yield runs of capitalised words that do not begin a sentence."""
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        first = _WORD.search(sentence)
        for run in _runs(sentence, first.end() if first else 0):
            if _is_term(run):
                yield run


def _runs(sentence: str, start: int) -> Iterator[str]:
    """Yield neighbours that begin with a capital; of capitals throughout, as initials are, never all."""
    run: list[str] = []
    end = start
    for match in _WORD.finditer(sentence, start):
        capital = match[0][0].isupper() and _is_latin(match[0])
        if run and not (capital and sentence[end : match.start()] == " "):
            yield from _named(run)
            run = []
        if capital:
            run.append(match[0])
        end = match.end()
    yield from _named(run)


def _named(run: list[str]) -> Iterator[str]:
    if any(not word.isupper() for word in run):
        yield _POSSESSIVE.sub("", " ".join(run))


def _goes_on(run: str, text: str, links: Iterable[str]) -> bool:
    """Tell whether all that a text says of a run stands in labels of links that go on with a small letter."""
    whole = re.compile(rf"(?<!\w){re.escape(run)} (\w)")
    inside = sum(text.count(label) for label in set(links) if (more := whole.search(label)) and more[1].islower())
    return inside > 0 and inside >= len(re.findall(rf"(?<!\w){re.escape(run)}(?!\w)", text))


def _is_term(term: str) -> bool:
    if not term[:1].isalpha() or len(term) > _LONGEST or len(term.split()) > _WORDS:
        return False
    return len(term) >= 3 and term[-1].isalnum() if _is_latin(term) else len(term) >= 2


def _is_latin(term: str) -> bool:
    return unicodedata.name(term[:1] or " ", "").startswith("LATIN")


def _caseless(term: str) -> bool:
    return bool(term) and _NATIVE.match(term) is not None and _is_term(term)
