"""Evidence as text, as a generator reads it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ccfw.knowledge.records import OURS, NicheTerm, Passage
from ccfw.knowledge.retriever import Evidence
from ccfw.knowledge.splitting import Span, sentence_spans

_MOST = 420
"""Characters of a passage that are shown; the paper shows a preview of the lead (G.2.2) and does not say how long."""
_LEAST_LEAD = 60
"""Characters that are kept for the beginning, so that what a passage is about stays clear."""
_WORD = 30
"""Characters from the end in which a blank is looked for; scripts without blanks are cut where the room ends."""
_CUT = " …"


def context_lines(evidence: Evidence) -> Iterator[str]:
    """Yield the evidence line by line: passages with their regions, niche terms, taboos."""
    for found in evidence.passages:
        yield f"[{found.passage.title}] ({found.passage.region}) {excerpt(found.passage, evidence.niche_terms)}"
    if evidence.niche_terms:
        yield f"Niche terms: {terms_line(evidence.niche_terms)}"
    for taboo in evidence.taboos:
        yield f"Taboo [{taboo.region}] {taboo.category}: {taboo.action}. {taboo.detailed_explanation}"
        yield f"  Exceptions: {taboo.exceptions}"
        if taboo.source != OURS:
            yield f"  Source: {taboo.source}, licence: {taboo.licence}"


def terms_line(terms: Iterable[NicheTerm]) -> str:
    """Return terms in a row, each with its native form in brackets."""
    return ", ".join(f"{each.term} ({each.native})" if each.native else each.term for each in terms)


def excerpt(passage: Passage, terms: Sequence[NicheTerm]) -> str:
    """Return the beginning of a passage, and of what follows the sentences that hold its terms among ``terms``.

    The beginning gives way to such sentences where no fewer terms are in for it. A passage without terms, or with all
    of them in its beginning, is cut at the end of a word.
    """
    text = passage.text
    if len(text) <= _MOST:
        return text
    own = [each.term.casefold() for each in terms if each in passage.niche_terms]
    spans = sentence_spans(text)
    holding = {term: [span for span in spans if term in text[slice(*span)].casefold()] for term in own}
    tries = list(_tries(text, {term: found[0] for term, found in holding.items() if found}))
    return max(reversed(tries), key=lambda shown: sum(term in shown.casefold() for term in own))


def _tries(text: str, spans: dict[str, Span]) -> Iterator[str]:
    """Yield the beginning alone, then with ever more sentences whose terms are not in yet, as long as there is room."""
    later: set[Span] = set()
    while True:
        shown = _joined(text, sorted(later))
        yield shown
        lacking = [s for term, s in spans.items() if s not in later and term not in shown.casefold()]
        fitting = (s for s in lacking if _room(text, {*later, s}) >= _LEAST_LEAD)
        found = min(fitting, key=lambda s: (s[1] - s[0], s), default=None)
        if found is None:
            return
        later.add(found)


def _room(text: str, later: Iterable[Span]) -> int:
    """Return the characters that are left to the beginning beside later sentences."""
    return _MOST - sum(len(text[slice(*span)].strip()) + len(_CUT) + 1 for span in later)


def _joined(text: str, later: Sequence[Span]) -> str:
    lead = _beginning(text, _room(text, later))
    parts, end = [lead], len(lead)
    for span in later:
        piece = text[max(span[0], end) : span[1]].strip()
        if piece:
            parts.append(f" {piece}" if span[0] <= end + 1 else f"{_CUT} {piece}")
            end = span[1]
    return "".join(parts) + (_CUT if end < len(text.rstrip()) else "")


def _beginning(text: str, most: int) -> str:
    """Return the beginning of a text up to the end of a word."""
    cut = text[:most]
    blank = cut.rfind(" ")
    return cut[:blank] if blank > most - _WORD else cut
