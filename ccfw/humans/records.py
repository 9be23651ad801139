"""What is read of a file of ratings, and the table that it becomes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

Key = tuple[str, str]
"""What is rated: an item (a dialogue, a story) in a metric."""


class Row(NamedTuple):
    """One record of a file, flat: cells by the names of their columns, and where it stands."""

    cells: Mapping[str, object]
    where: str
    """``line 17`` or ``task 3``, as a message says it."""


class Rating(NamedTuple):
    """One score that somebody gave."""

    item: str
    rater: str
    """A person, or a judge."""
    metric: str
    score: Fraction
    region: str
    language: str
    cluster: str
    """What was drawn as a whole, such as the seed of several dialogues; the item itself where nothing is named."""
    where: str


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings that passed every check, or judges' scores of the same kind."""

    scores: Mapping[Key, Mapping[str, Fraction]]
    """By what is rated and rater, in the order of the file."""
    metrics: tuple[str, ...]
    """In the order in which the mapping gives them, or else in which the file does."""
    raters: tuple[str, ...]
    regions: Mapping[str, str]
    """By item; items without one are not in it, as in the next two."""
    languages: Mapping[str, str]
    clusters: Mapping[str, str]
    dropped: Mapping[tuple[Key, str], str]
    """Why a rater has no score of something, where the file says so."""
    digest: str
    """Hash of the content."""
