"""Whom a name in another's file means: countries and groups → regions and identities (``data/kb/countries.yaml``).

Pure. A name that the table does not have means none of the ten regions; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ccfw.knowledge.records import Category
from ccfw.records import Record, Region, Text

_PARTS = re.compile(r"[\s_-]+")


class Place(Record):
    """Whom a name means."""

    region: Region
    identities: tuple[Text, ...] = ()
    """Empty: all of the region."""


class Places(Record):
    """``data/kb/countries.yaml``."""

    countries: dict[str, Region]
    fillers: frozenset[str]
    groups: dict[str, Place]
    topics: dict[str, Category]


@dataclass(frozen=True)
class Atlas:
    """The table, and the identities that there are."""

    places: Places
    identities: Mapping[Region, tuple[str, ...]]

    def region(self, name: str) -> Region | None:
        """Return the region of a country's name or of a region's code."""
        code = name.strip().upper()
        return Region(code) if code in Region.__members__ else self.places.countries.get(plain(name))

    def place(self, group: str) -> Place | None:
        """Return whom a group's name means, with every identity written out."""
        words = [word for word in plain(group).split() if word not in self.places.fillers]
        name = " ".join(words)
        found = self.places.groups.get(name)
        if found is None and name in self.places.countries:
            found = Place(region=self.places.countries[name])
        return (
            Place(region=found.region, identities=found.identities or self.identities[found.region]) if found else None
        )

    def category(self, topic: str) -> Category:
        """Return the category that a topic is for certain."""
        return self.places.topics.get(plain(topic), "unknown")


def plain(name: str) -> str:
    """Return a name in lower case, with blanks for underscores and hyphens."""
    return _PARTS.sub(" ", name).strip().casefold()
