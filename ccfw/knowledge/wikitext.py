"""An article's wikitext → plain text by section, its categories, and what its writers marked as a term.

Which sections go is in ``data/kb/markup.yaml``; what would make parsing long goes first (``ccfw.knowledge.markup``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ccfw.knowledge import markup
from ccfw.knowledge.rendering import INTERWIKI, MARK, Found, Markup, Names, rendered

_LONGEST = 1_000_000
"""Characters of an article; the longest of the English Wikipedia has about half."""
_LONGEST_SECTION = 150_000
_LONGEST_TERM = 60
_QUOTES = re.compile(r"'{2,}")
_MARKS = str.maketrans("", "", MARK)
_ANY_LINK = re.compile(r"\[\[\s*([^\[\]|{}\n:]{1,40}?)\s*:\s*([^\[\]|{}\n]{1,250})")
_TEMPLATE = re.compile(r"(?<!\{)\{\{\s*([^{}|\n<>#\[\]]{1,80}?)\s*(?=[|}\n])")


@dataclass(frozen=True)
class Section:
    """A part of an article under one heading, without the parts below it."""

    path: tuple[str, ...]
    """Its heading, after those above it; empty: the lead."""
    text: str
    marked: tuple[str, ...]
    """Words in italics or in a template for foreign words."""
    links: tuple[str, ...]
    """Labels of links to other articles."""


@dataclass(frozen=True)
class Article:
    """An article's prose."""

    sections: tuple[Section, ...]
    """The lead first, even if it is empty."""
    repairs: int
    """Places where markup was broken or boundless, and was taken out."""


def categories(text: str, names: Names) -> tuple[str, ...]:
    """Return the names of an article's categories, in order."""
    found = (m[2] for m in _ANY_LINK.finditer(text) if m[1].replace("_", " ").lower() in names.category)
    return tuple(dict.fromkeys(" ".join(each.replace("_", " ").split()) for each in found))


def interwiki(text: str) -> dict[str, str]:
    """Return the article's title in other languages, where the text itself says it."""
    links = (INTERWIKI.match(f"{m[1]}:{m[2]}") for m in _ANY_LINK.finditer(text))
    return {link[1]: link[2].strip() for link in links if link}


def templates(text: str) -> frozenset[str]:
    """Return the names of the templates that a text uses, in lower case."""
    return frozenset(" ".join(m[1].replace("_", " ").lower().split()) for m in _TEMPLATE.finditer(text))


def read_article(text: str, names: Names, rules: Markup, language: str) -> Article:
    """Return an article's prose by section."""
    repairs = int(len(text) > _LONGEST)
    text = markup.without_comments(text[:_LONGEST].translate(_MARKS))
    text = markup.without_elements(text, rules.dropped_elements)
    skipped = frozenset(each.lower() for each in (*rules.skipped_sections.get(language, ()), *_english(rules)))
    found: list[Section] = []
    for path, source in _prose(text, skipped):
        section, mended = _section(path, source, names, rules)
        repairs += mended
        if section.text or not path:
            found.append(section)
    return Article(tuple(found), repairs)


def _english(rules: Markup) -> tuple[str, ...]:
    return rules.skipped_sections.get("en", ())


def _prose(text: str, skipped: frozenset[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the sections that are not left out, with their headings; what stands below one goes with it."""
    above: list[tuple[int, str]] = []
    for level, heading, source in markup.sections(text):
        if level:
            name = markup.tidied(markup.without_tags(_QUOTES.sub("", heading)))
            above = [each for each in above if each[0] < level] + [(level, _unlinked(name))]
        path = tuple(name for _, name in above)
        if not any(name.lower() in skipped for name in path):
            yield path, source


def _unlinked(heading: str) -> str:
    return re.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]|\{\{[^{}]*\}\}", r"\1", heading).strip() or "…"


def _section(path: tuple[str, ...], source: str, names: Names, rules: Markup) -> tuple[Section, int]:
    source, open_tables = markup.without_tables(markup.converted(source))
    cut = int(len(source) > _LONGEST_SECTION)
    source, unmatched = markup.balanced(markup.without_addresses(markup.without_tags(source[:_LONGEST_SECTION])))
    found = Found()
    text = rendered(_QUOTES.sub(_italics, source), names, rules, found)
    found.marked += [piece.strip() for line in text.splitlines() for piece in line.split(MARK)[1:-1:2]]
    text = markup.tidied(text.translate(_MARKS))
    marked = tuple(dict.fromkeys(each for each in found.marked if 0 < len(each) <= _LONGEST_TERM))
    links = tuple(dict.fromkeys(each.translate(_MARKS) for each in found.links))
    return Section(path, text, marked, links), open_tables + cut + unmatched


def _italics(match: re.Match[str]) -> str:
    return "" if len(match[0]) == 3 else MARK
