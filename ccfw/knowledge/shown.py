"""Evidence as text: what a generator reads, and what ``stage=kb query=…`` prints. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ccfw.knowledge.records import OURS
from ccfw.knowledge.retriever import Evidence

_LEAD = 420
"""Characters of a passage that are shown."""


def context_lines(evidence: Evidence) -> Iterator[str]:
    """Yield the evidence line by line: passages with their regions, niche terms, taboos."""
    for found in evidence.passages:
        yield f"[{found.passage.title}] ({found.passage.region}) {lead(found.passage.text)}"
    if evidence.niche_terms:
        terms = (f"{each.term} ({each.native})" if each.native else each.term for each in evidence.niche_terms)
        yield f"Niche terms: {', '.join(terms)}"
    for taboo in evidence.taboos:
        yield f"Taboo [{taboo.region}] {taboo.category}: {taboo.action}. {taboo.detailed_explanation}"
        yield f"  Exceptions: {taboo.exceptions}"
        if taboo.source != OURS:
            yield f"  Source: {taboo.source}, licence: {taboo.licence}"


def lead(text: str) -> str:
    """Return the beginning of a text up to the end of a word."""
    if len(text) <= _LEAD:
        return text
    return text[:_LEAD].rsplit(" ", 1)[0] + " …"
