"""To which regions an article belongs, what it is about, and whether it is a hub.

The rules are data: ``data/kb/rules.yaml``.

A category that names a region is one vote for it, the title is two. The region of most votes is taken, and one that
has at least half as many. None is taken when more than two are as good as each other, or when its votes are less than a
tenth of the categories: a war lists every country that took part.

What an article is about, its title says, or the head of a category: *Songs in Vietnamese* are songs, and *Osaka
University research* is research. Other words of categories count when two different ones say the same. What a section
is about, the nearest of its headings says that names any topic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from pydantic import Field

from ccfw.records import Record, Region, Text

Words = Mapping[str, tuple[Text, ...]]
"""Regular expressions by language."""
_TITLE = 2
_SHARE = 10
_MOST = 2
"""Regions that an article may have by its categories and title; lists may give it more."""


class Name(Record):
    """How a region is named, and where its name means something else."""

    names: Words
    but_not: Words = Field(default_factory=dict)


class Hub(Record):
    """How a kind of page that is left out is told."""

    titles: Words = Field(default_factory=dict)
    templates: Words = Field(default_factory=dict)
    categories: Words = Field(default_factory=dict)


class Heads(Record):
    """Where in a name the word stands that says what is named: first, after some small words, or last."""

    first: tuple[Text, ...]
    last: tuple[Text, ...]
    before: tuple[Text, ...]
    """Small words before a first one."""
    after: tuple[Text, ...]
    """Small words with which that begins what follows a last one."""


class Rules(Record):
    """``data/kb/rules.yaml``."""

    anywhere: tuple[Text, ...]
    heads: Heads
    regions: dict[Region, Name]
    tags: dict[str, Words]
    identities: dict[Region, dict[str, Words]]
    left_out: dict[str, Hub]


@dataclass(frozen=True)
class Lists:
    """Titles that a user's files put in a region, under a tag or with an identity, whatever the rules say."""

    regions: Mapping[Region, Set[str]] = field(default_factory=dict)
    tags: Mapping[str, Set[str]] = field(default_factory=dict)
    identities: Mapping[tuple[Region, str], Set[str]] = field(default_factory=dict)

    @property
    def all(self) -> frozenset[str]:
        """Every title."""
        return frozenset().union(*self.regions.values(), *self.tags.values(), *self.identities.values())

    def followed(self, targets: Mapping[str, str]) -> Lists:
        """Return the lists with the target of each title that is a redirect."""

        def more(titles: Set[str]) -> frozenset[str]:
            return frozenset(titles) | {targets[title] for title in titles if title in targets}

        return Lists(
            {key: more(titles) for key, titles in self.regions.items()},
            {key: more(titles) for key, titles in self.tags.items()},
            {key: more(titles) for key, titles in self.identities.items()},
        )


@dataclass(frozen=True)
class Place:
    """Where an article belongs."""

    regions: tuple[Region, ...]
    tags: tuple[str, ...]
    identities: Mapping[Region, tuple[str, ...]]


Pattern = re.Pattern[str]


class Classifier:
    """The rules of one language, compiled."""

    def __init__(self, rules: Rules, language: str, lists: Lists) -> None:
        self.known = any(language in each.names for each in rules.regions.values())
        """Whether the rules know the language; if not, only lists put an article anywhere."""
        self.lists = lists
        whole = language not in rules.anywhere
        self._names = {region: _compiled(each.names, language, whole) for region, each in rules.regions.items()}
        self._not = {region: _compiled(each.but_not, language, whole) for region, each in rules.regions.items()}
        self._tags = {tag: _compiled(words, language, whole) for tag, words in rules.tags.items()}
        self._identities = {
            region: {code: _compiled(words, language, whole) for code, words in codes.items()}
            for region, codes in rules.identities.items()
        }
        self._head = _head(rules.heads, language)
        self._hubs = {
            kind: (
                _whole(hub.titles, language),
                _whole(hub.templates, language),
                _compiled(hub.categories, language, whole),
            )
            for kind, hub in rules.left_out.items()
        }

    def hub(self, title: str, categories: Sequence[str], templates: Iterable[str]) -> str | None:
        """Return the kind of hub that a page is: a country, a list, a year, a portal, a disambiguation."""
        for kind, (titles, names, inside) in self._hubs.items():
            if titles and titles.fullmatch(title):
                return kind
            if names and any(names.fullmatch(each) for each in templates):
                return kind
            if inside and any(inside.search(each) for each in categories):
                return kind
        return None

    def place(self, title: str, categories: Sequence[str]) -> Place:
        """Return the regions, tags and identities of an article."""
        listed = tuple(region for region, titles in self.lists.regions.items() if title in titles)
        regions = tuple(dict.fromkeys((*listed, *self._voted(title, categories))))
        texts = (title, *categories)
        tags = [tag for tag, titles in self.lists.tags.items() if title in titles]
        return Place(
            regions=regions,
            tags=tuple(dict.fromkeys((*tags, *self._tags_of(title, categories)))),
            identities={region: self.identities(region, texts, title) for region in regions},
        )

    def tags(self, headings: Sequence[str]) -> tuple[str, ...]:
        """Return the tags of a section with these headings, its own last."""
        for heading in reversed(headings):
            found = tuple(tag for tag, pattern in self._tags.items() if _any(pattern, [heading]))
            if found:
                return found
        return ()

    def _tags_of(self, title: str, categories: Sequence[str]) -> Iterator[str]:
        for tag, pattern in self._tags.items():
            if pattern is None:
                continue
            said = [match for each in categories for match in pattern.finditer(each)]
            if pattern.search(title) or any(map(self._head, said)) or len({match[0].casefold() for match in said}) > 1:
                yield tag

    def identities(self, region: Region, texts: Sequence[str], title: str | None = None) -> tuple[str, ...]:
        """Return the communities of a region that texts name, or that lists put a title under."""
        listed = [code for (r, code), titles in self.lists.identities.items() if r == region and title in titles]
        named = [code for code, pattern in self._identities.get(region, {}).items() if _any(pattern, texts)]
        return tuple(dict.fromkeys((*listed, *named)))

    def _voted(self, title: str, categories: Sequence[str]) -> tuple[Region, ...]:
        votes = {
            region: sum(self._says(region, each) for each in categories) + _TITLE * self._says(region, title)
            for region in self._names
        }
        most = max(votes.values(), default=0)
        if most * _SHARE < len(categories):
            return ()
        best = [region for region in votes if most and 2 * votes[region] >= most]
        best.sort(key=lambda region: -votes[region])
        return () if len(best) > _MOST and votes[best[_MOST]] == most else tuple(best[:_MOST])

    def _says(self, region: Region, text: str) -> bool:
        names, elsewhere = self._names[region], self._not[region]
        return names is not None and names.search(elsewhere.sub("", text) if elsewhere else text) is not None


def _head(heads: Heads, language: str) -> Callable[[re.Match[str]], bool]:
    """Return what tells whether a word found in a name is its head; of a language without a rule any word is."""
    if language in heads.first:
        before = re.compile(rf"(?:(?:{'|'.join(heads.before)})\s+)?", re.IGNORECASE)
        return lambda word: before.fullmatch(word.string, 0, word.start()) is not None
    if language in heads.last:
        after = re.compile(rf"\W*|\s+(?:{'|'.join(heads.after)})\b.*|\s*\(.*", re.IGNORECASE)
        return lambda word: after.fullmatch(word.string, word.end()) is not None
    return lambda _: True


def _any(pattern: Pattern | None, texts: Sequence[str]) -> bool:
    return pattern is not None and any(pattern.search(each) for each in texts)


def _compiled(words: Words, language: str, whole: bool = True) -> Pattern | None:
    listed = words.get(language, ())
    if not listed:
        return None
    joined = "|".join(listed)
    return re.compile(rf"(?<!\w)(?:{joined})(?!\w)" if whole else joined, re.IGNORECASE)


def _whole(words: Words, language: str) -> Pattern | None:
    listed = (*words.get(language, ()), *(words.get("en", ()) if language != "en" else ()))
    return re.compile("|".join(f"(?:{each})" for each in listed), re.IGNORECASE) if listed else None
