"""What a query finds, written for a person at a terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ccfw.knowledge.lexical import tokens
from ccfw.knowledge.records import OURS, Passage, Taboo
from ccfw.knowledge.retriever import Answer, Found, FoundTaboo
from ccfw.knowledge.shipped import passage_text, taboo_text
from ccfw.knowledge.shown import excerpt, terms_line
from ccfw.paragraphs import filled

_INDENT = "  "
_SHORT = 3
"""Letters of words that say nothing of what a query is about beside longer ones, as ``how`` and ``the``."""


def answer_lines(query: str, answer: Answer, width: int) -> Iterator[str]:
    """Yield the answer in lines of at most ``width`` columns: passages, niche terms, taboos, a blank between two."""
    if answer.passages or answer.taboos:
        yield from filled(f"Scores are in {answer.measure}.", width).splitlines()
        yield from _nearest_only(query, answer, width)
        yield ""
    yield from _none("passage", len(answer.passages), answer, width)
    for found in answer.passages:
        yield from _entry(_of_passage(found, answer), width)
    if answer.niche_terms:
        yield from _entry([f"Niche terms: {terms_line(answer.niche_terms)}"], width)
    yield from _none("taboo", len(answer.taboos), answer, width)
    for taboo in answer.taboos:
        yield from _entry(_of_taboo(taboo), width)


def _entry(texts: Sequence[str], width: int) -> Iterator[str]:
    head, *rest = texts
    yield from filled(head, width).splitlines()
    for text in rest:
        yield from filled(text, width, _INDENT).splitlines()
    yield ""


def _of_passage(found: Found, answer: Answer) -> list[str]:
    passage = found.passage
    return [
        f"{passage.passage_id} [{passage.region}] {passage.title}: {_figure(found.score)}",
        f"Identities: {', '.join(passage.identities) or 'all of the region'}",
        excerpt(passage, answer.niche_terms),
        *_source(passage),
    ]


def _of_taboo(found: FoundTaboo) -> list[str]:
    taboo = found.taboo
    return [
        f"{taboo.taboo_id} [{taboo.region}] taboo, {taboo.category}, severity {taboo.severity}: {_figure(found.score)}",
        f"Identities: {', '.join(taboo.identities)}",
        f"{taboo.action}. {taboo.detailed_explanation}",
        f"Exceptions: {taboo.exceptions}",
        *_source(taboo),
    ]


def _figure(score: float) -> str:
    return f"{score:.2f}" if score >= 0.1 else f"{score:.4f}"


def _source(entry: Passage | Taboo) -> list[str]:
    if entry.source == OURS:
        return []
    revision = f", revision {entry.revision}" if isinstance(entry, Passage) and entry.revision else ""
    return [f"Source: {entry.source}{revision}, licence: {entry.licence}"]


def _none(kind: str, count: int, answer: Answer, width: int) -> Iterator[str]:
    """Say that nothing of a kind is there, and why."""
    if count:
        return
    least = answer.terms.min_score
    why = "is found" if least is None else f"lies above retriever.min_score={least:g}"
    if not getattr(answer.terms, f"{kind}s"):
        why = f"is shown: retriever.{kind}s=0"
    yield from _entry([f"No {kind} {why}."], width)


def _nearest_only(query: str, answer: Answer, width: int) -> Iterator[str]:
    """Say that what is found shares no word with the query: nearest by meaning is not always near."""
    words = set(tokens(query))
    asked = {word for word in words if not (word.isascii() and len(word) <= _SHORT)} or words
    texts = [passage_text(each.passage) for each in answer.passages] + [
        taboo_text(each.taboo) for each in answer.taboos
    ]
    if asked.isdisjoint(word for text in texts for word in tokens(text)):
        note = "No word of the query is in what follows: it is what lies nearest by meaning, and may be far from it."
        yield from filled(note, width).splitlines()
