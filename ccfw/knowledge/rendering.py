"""Parsed wikitext → the text that a reader sees: what of a link, a template or an entity is text.

What is kept of templates is ``data/kb/markup.yaml``. The parser is mwparserfromhell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from ccfw.records import Record, Text

if TYPE_CHECKING:
    from mwparserfromhell.nodes import Template
    from mwparserfromhell.wikicode import Wikicode

MARK = "\ue000"
"""Stands for the marks of italics while a text is rendered: a character of no script."""
INTERWIKI = re.compile(r"^\s*(simple|[a-z]{2,3}(?:-[a-z]{2,10}){0,2})\s*:(.+)$")
"""A link to an article in another language."""
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


@dataclass
class Found:
    """What is met on the way."""

    marked: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


def rendered(source: str, names: Names, rules: Markup, found: Found) -> str:
    """Return what is shown of wikitext, and note terms and labels in ``found``."""
    import mwparserfromhell

    return _text(mwparserfromhell.parse(source, skip_style_tags=True), names, rules, found)


def _text(code: Wikicode | None, names: Names, rules: Markup, found: Found) -> str:
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


def _label(node: object, names: Names, rules: Markup, found: Found) -> str:
    """Return what a link shows; files, categories and links to other languages show nothing."""
    title = str(node.title).strip()  # type: ignore[attr-defined]
    plain = title.removeprefix(":")
    space = plain.partition(":")[0].replace("_", " ").strip().lower() if ":" in plain else ""
    if not title.startswith(":") and (space in names.category | names.file or INTERWIKI.match(plain)):
        return ""
    label = _text(node.text, names, rules, found).strip() or plain.replace("_", " ").partition("#")[0]  # type: ignore[attr-defined]
    if not space and label:
        found.links.append(" ".join(label.split()))
    return label


def _kept(node: Template, names: Names, rules: Markup, found: Found) -> str:
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


def _put_together(texts: list[str], name: str, brackets: bool, found: Found) -> str:
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


def _argument(node: Template, wanted: Argument, names: Names, rules: Markup, found: Found) -> str:
    """Return an argument's text: the first that is there of those parted by ``/``."""
    for each in str(wanted).split("/"):
        name = _last(node) if each == "last" else each
        if name and node.has(name, ignore_empty=True):
            return _text(node.get(name).value, names, rules, found).strip()
    return ""


def _last(node: Template) -> str | None:
    numbered = [str(each.name).strip() for each in node.params if not each.showkey]
    return numbered[-1] if numbered else None
