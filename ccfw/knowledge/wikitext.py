"""An article's wikitext → plain text by section, its categories, and what its writers marked as a term.

What is kept of templates, and which sections go, is ``data/kb/markup.yaml``. Parsed by mwparserfromhell after
``ccfw.knowledge.markup`` has taken out what would make parsing long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from ccfw.knowledge import markup
from ccfw.records import Record, Text

if TYPE_CHECKING:
    from mwparserfromhell.nodes import Template
    from mwparserfromhell.wikicode import Wikicode

LEAD = ""
"""The heading of the part before all headings."""
_LONGEST = 1_000_000
"""Characters of an article; the longest of the English Wikipedia has about half."""
_LONGEST_SECTION = 150_000
_LONGEST_TERM = 60
_QUOTES = re.compile(r"'{2,}")
_MARKS = str.maketrans("", "", "\ue000")
_INTERWIKI = re.compile(r"^\s*(simple|[a-z]{2,3}(?:-[a-z]{2,10}){0,2})\s*:(.+)$")
_ANY_LINK = re.compile(r"\[\[\s*([^\[\]|{}\n:]{1,40}?)\s*:\s*([^\[\]|{}\n]{1,250})")
_TEMPLATE = re.compile(r"(?<!\{)\{\{\s*([^{}|\n<>#\[\]]{1,80}?)\s*(?=[|}\n])")
Argument = int | str


class NamespaceNames(Record):
    """Local names of the three namespaces that matter to text, by language."""

    category: dict[str, tuple[Text, ...]]
    file: dict[str, tuple[Text, ...]]
    template: dict[str, tuple[Text, ...]]


class Markup(Record):
    """``data/kb/markup.yaml``."""

    namespaces: NamespaceNames
    dropped_elements: tuple[Text, ...]
    join: dict[str, tuple[Argument, ...]]
    gloss: dict[str, tuple[Argument, ...]]
    literal: dict[str, str]
    skipped_sections: dict[str, tuple[Text, ...]]

    def names(self, language: str, site: Mapping[int, str]) -> Names:
        """Return a wiki's own names of namespaces: from ``siteinfo`` where there is one, besides the table."""
        table = self.namespaces
        known = {
            "category": (14, table.category),
            "file": (6, table.file),
            "template": (10, table.template),
        }
        lower = {
            kind: frozenset(
                each.lower() for each in (*listed["en"], *listed.get(language, ()), *filter(None, (site.get(number),)))
            )
            for kind, (number, listed) in known.items()
        }
        return Names(**lower, others=frozenset(name.lower() for number, name in site.items() if number and name))


@dataclass(frozen=True)
class Names:
    """A wiki's names of namespaces, in lower case."""

    category: frozenset[str]
    file: frozenset[str]
    template: frozenset[str]
    others: frozenset[str] = frozenset()


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


@dataclass
class _Found:
    marked: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


def categories(text: str, names: Names) -> tuple[str, ...]:
    """Return the names of an article's categories, in order."""
    found = (m[2] for m in _ANY_LINK.finditer(text) if m[1].replace("_", " ").lower() in names.category)
    return tuple(dict.fromkeys(" ".join(each.replace("_", " ").split()) for each in found))


def interwiki(text: str) -> dict[str, str]:
    """Return the article's title in other languages, where the text itself says it."""
    links = (_INTERWIKI.match(f"{m[1]}:{m[2]}") for m in _ANY_LINK.finditer(text))
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
    found = _Found()
    text = _rendered(_QUOTES.sub(_italics, source), names, rules, found)
    found.marked += [piece.strip() for line in text.splitlines() for piece in line.split("\ue000")[1:-1:2]]
    text = markup.tidied(text.translate(_MARKS))
    marked = tuple(dict.fromkeys(each for each in found.marked if 0 < len(each) <= _LONGEST_TERM))
    links = tuple(dict.fromkeys(each.translate(_MARKS) for each in found.links))
    return Section(path, text, marked, links), open_tables + cut + unmatched


def _italics(match: re.Match[str]) -> str:
    return "" if len(match[0]) == 3 else "\ue000"


def _rendered(source: str, names: Names, rules: Markup, found: _Found) -> str:
    import mwparserfromhell

    return _text(mwparserfromhell.parse(source, skip_style_tags=True), names, rules, found)


def _text(code: Wikicode | None, names: Names, rules: Markup, found: _Found) -> str:
    from mwparserfromhell import nodes

    parts: list[str] = []
    for node in code.nodes if code is not None else ():
        if isinstance(node, nodes.Text):
            parts.append(str(node))
        elif isinstance(node, nodes.Wikilink):
            parts.append(_label(node, names, rules, found))
        elif isinstance(node, nodes.Template):
            parts.append(_kept(node, names, rules, found))
        elif isinstance(node, nodes.ExternalLink):
            parts.append(_text(node.title, names, rules, found))
        elif isinstance(node, nodes.HTMLEntity):
            parts.append(_character(node))
        elif isinstance(node, nodes.Tag):
            parts.append(_text(node.contents, names, rules, found))
        elif isinstance(node, nodes.Argument):
            parts.append(_text(node.default, names, rules, found))
    return "".join(parts)


def _character(node: object) -> str:
    try:
        return str(node.normalize())  # type: ignore[attr-defined]
    except (ValueError, OverflowError, AttributeError):
        return ""


def _label(node: object, names: Names, rules: Markup, found: _Found) -> str:
    """Return what a link shows; files, categories and links to other languages show nothing."""
    title = str(node.title).strip()  # type: ignore[attr-defined]
    plain = title.removeprefix(":")
    space = plain.partition(":")[0].replace("_", " ").strip().lower() if ":" in plain else ""
    if not title.startswith(":") and (space in names.category | names.file or _INTERWIKI.match(plain)):
        return ""
    label = _text(node.text, names, rules, found).strip() or plain.replace("_", " ").partition("#")[0]  # type: ignore[attr-defined]
    if not space and label:
        found.links.append(" ".join(label.split()))
    return label


def _kept(node: Template, names: Names, rules: Markup, found: _Found) -> str:
    """Return the text that a template keeps by the rules."""
    name = " ".join(str(node.name).replace("_", " ").lower().split())
    space, _, rest = name.partition(":")
    name = rest.strip() if space in names.template else space if rest and space in rules.join else name
    if name in rules.literal:
        return rules.literal[name]
    for kind, brackets in ((rules.join, False), (rules.gloss, True)):
        wanted = _rule(name, kind)
        if wanted is not None:
            texts = [_argument(node, each, names, rules, found) for each in wanted]
            return _put_together([each for each in texts if each], name, brackets, found)
    return ""


def _put_together(texts: list[str], name: str, brackets: bool, found: _Found) -> str:
    if name.startswith(("lang", "nihongo", "transl", "zh", "korean")):
        found.marked += texts
    if not brackets:
        return ", ".join(texts)
    head, *rest = texts or [""]
    return f"{head} ({', '.join(rest)})" if rest else head


def _rule(name: str, rules: Mapping[str, tuple[Argument, ...]]) -> tuple[Argument, ...] | None:
    if name in rules:
        return rules[name]
    for prefix in _prefixes(tuple(rules)):
        if name.startswith(prefix):
            return rules[f"{prefix}*"]
    return None


@lru_cache(maxsize=8)
def _prefixes(rules: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each[:-1] for each in rules if each.endswith("*"))


def _argument(node: Template, wanted: Argument, names: Names, rules: Markup, found: _Found) -> str:
    """Return an argument's text: the first that is there of those parted by ``/``."""
    for each in str(wanted).split("/"):
        name = _last(node) if each == "last" else each
        if name and node.has(name, ignore_empty=True):
            return _text(node.get(name).value, names, rules, found).strip()
    return ""


def _last(node: Template) -> str | None:
    numbered = [str(each.name).strip() for each in node.params if not each.showkey]
    return numbered[-1] if numbered else None
