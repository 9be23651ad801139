"""The pages of MediaWiki's export format, any version of it, with or without ``siteinfo``: a pure reader of XML.

It holds one page at a time. A page's last revision counts, as dumps of current pages have one only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from xml.parsers import expat

_LONGEST = 4 << 20
"""Characters of a page's text that are kept; MediaWiki takes at most 2 MB."""
_LONGEST_REDIRECT = 1000
"""Characters; a longer text that begins so is an article with a list at its head."""
_LONGEST_TITLE = 1000
"""Characters, far above MediaWiki's 255 bytes and the longest name of a namespace."""
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Of a language or a database; another is not taken up."""
_PAGE = {"title", "ns", "id"}
_REVISION = {"id": "revision", "timestamp": "timestamp", "text": "text"}
_WIKI = re.compile(r"^([a-z][a-z_]*?)wiki(?=[^a-z]|$)")
_LANGUAGES = {"simple": "en", "zh_yue": "yue", "zh_classical": "lzh", "zh_min_nan": "nan", "": "und"}
_XML_LANG = "http://www.w3.org/XML/1998/namespace lang"
_REDIRECT = re.compile(r"\s*#\s*[^\W\d_]+\s*:?\s*\[\[\s*:?\s*([^\]|#\n]+)")


class Refused(Exception):  # noqa: N818 it never leaves this package: ``Dump`` makes a ``StoreError`` of it
    """What the file holds is not read on purpose."""


@dataclass(frozen=True)
class Site:
    """The wiki that a dump is of."""

    name: str = "wiki"
    """As its database is named: ``viwiki``."""
    language: str = "und"
    namespaces: Mapping[int, str] = field(default_factory=dict)
    """Local names by number; empty without ``siteinfo``."""

    @classmethod
    def of_file_name(cls, name: str) -> Site:
        """Read wiki and language from a name such as ``viwiki-20260101-pages-articles.xml.bz2``."""
        match = _WIKI.match(name)
        return cls(match[0], _language(match[1])) if match else cls()


def _language(code: str) -> str:
    return _LANGUAGES.get(code, code.replace("_", "-"))


@dataclass(frozen=True)
class Page:
    """A page as it stands in the dump."""

    title: str
    namespace: int
    id: int
    revision: str
    timestamp: str
    redirect: str | None
    """The target's title, if the page is only a redirect."""
    text: str
    language: str
    cut: bool = False
    """Whether the text was longer than any wiki admits, and the rest is left out."""
    malformed: bool = False
    """Whether title or numbers are none that a wiki gives; they are then empty and 0."""


class PageReader:
    """Handlers for expat: hand each page over when its end tag is met."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.root = False
        """Whether the root element was seen, so that it is a dump."""
        self.closed = False
        self._path: list[str] = []
        self._fields: dict[str, str] = {}
        self._redirect: str | None = None
        self._parts: list[str] | None = None
        self._length = 0
        self._namespace: int | None = 0

    def parser(self, give: Callable[[Page], Any]) -> expat.XMLParserType:
        """Return a parser that hands every whole page to ``give``."""
        self._give = give
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.buffer_size = 1 << 16
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = _no_doctype
        return parser

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        self._path.append(local)
        match self._path:
            case [_]:
                self._open(local, attributes)
            case [_, "page"]:
                self._fields, self._redirect = {}, None
            case [_, "page", "redirect"]:
                self._redirect = attributes.get("title")
            case [_, "siteinfo", "namespaces", "namespace"]:
                self._namespace = _number(attributes.get("key", "0"))
                self._take()
            case [_, "page", _] if local in _PAGE:
                self._take()
            case [_, "page", "revision", _] if local in _REVISION:
                self._take()
            case [_, "siteinfo", "dbname"]:
                self._take()

    def _open(self, local: str, attributes: dict[str, str]) -> None:
        if local != "mediawiki":
            raise Refused(f"not a MediaWiki dump: its root is <{local}>")
        self.root = True
        language = attributes.get(_XML_LANG, "")
        if _NAME.fullmatch(language):
            self.site = replace(self.site, language=language)

    def _take(self) -> None:
        self._parts, self._length = [], 0

    def _characters(self, data: str) -> None:
        if self._parts is not None:
            if self._length <= _LONGEST:
                self._parts.append(data)
            self._length += len(data)

    def _end(self, _: str) -> None:
        local = self._path.pop()
        if self._parts is not None:
            self._keep(local, "".join(self._parts)[:_LONGEST])
            self._parts = None
        elif local == "page" and len(self._path) == 1:
            self._give(self._page())
        self.closed = not self._path

    def _keep(self, local: str, text: str) -> None:
        match self._path:
            case [_, "page"]:
                self._fields[local] = text
            case [_, "page", "revision"]:
                self._fields[_REVISION[local]] = text
                if local == "text":
                    self._fields["cut"] = "cut" if self._length > _LONGEST else ""
            case [_, "siteinfo", "namespaces"] if self._namespace is not None:
                self.site = replace(self.site, namespaces={**self.site.namespaces, self._namespace: text})
            case [_, "siteinfo"] if _NAME.fullmatch(text):
                self._named(text)

    def _named(self, database: str) -> None:
        match = _WIKI.match(database)
        known = self.site.language if self.site.language != "und" else _language(match[1] if match else "")
        self.site = replace(self.site, name=database, language=known)

    def _page(self) -> Page:
        kept = self._fields
        title, text = kept.get("title", "").strip(), kept.get("text", "")
        titled = 0 < len(title) <= _LONGEST_TITLE
        number, revision = _number(kept.get("id", "")), _number(kept.get("revision", "0"))
        namespace = self._namespace_of(title, kept.get("ns", "")) if titled else 0
        return Page(
            title=title if titled else "",
            namespace=namespace or 0,
            id=number or 0,
            revision=str(revision or ""),
            timestamp=kept.get("timestamp", ""),
            redirect=self._redirect or redirect_target(text),
            text=text,
            language=self.site.language,
            cut=bool(kept.get("cut")),
            malformed=not titled or None in (number, revision, namespace),
        )

    def _namespace_of(self, title: str, number: str) -> int | None:
        """Return the namespace's number, ``None`` when it is none; exports before 0.6 leave it to the title."""
        if number.strip():
            return _number(number)
        prefix, colon, _ = title.partition(":")
        named = [key for key, name in self.site.namespaces.items() if name and name == prefix]
        return named[0] if colon and named else 0


def _number(text: str) -> int | None:
    """Return a number of as many digits as any wiki needs; ``None`` for what is none."""
    return int(text) if _NUMBER.fullmatch(text.strip()) else None


def redirect_target(text: str) -> str | None:
    """Return where a text redirects to, in any language's word for it; exports before 0.4 say it nowhere else."""
    match = _REDIRECT.match(text) if len(text) < _LONGEST_REDIRECT else None
    return match[1].strip().replace("_", " ") if match else None


def _no_doctype(*_: Any) -> None:
    raise Refused("holds a DOCTYPE, which no MediaWiki dump does and an entity bomb needs; it is not read")
