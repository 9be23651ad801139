"""What the knowledge bases hold (section 3.5, Appendix D)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ccfw.records import PaperRecord, Record, Region, Text

OURS = "ccfw"
"""Source of what was written for this project."""
NOT_STATED = "not stated in the source"
"""Stands where a user's file says nothing: nothing is invented for it."""

Category = Literal[
    "food_and_drink",
    "gifts_and_money",
    "body_and_touch",
    "speech_and_address",
    "dress",
    "sacred_places",
    "festivals_and_calendar",
    "death_and_mourning",
    "birth_and_family",
    "marriage_and_courtship",
    "home_and_space",
    "work_and_business",
    "numbers_colours_symbols",
    "travel_and_public_space",
    "health_and_care",
    "law_and_regulation",
    "unknown",
]
"""What a taboo is about; ``unknown`` only where a user's file does not say."""


class NicheTerm(Record):
    """A word that one must know to place a situation."""

    term: Text
    native: Text | None


class Passage(PaperRecord):
    """A piece of text about a region."""

    passage_id: Text
    region: Region
    title: Text
    tags: tuple[Text, ...]
    identities: tuple[Text, ...]
    """Identities of the region that it touches; empty: everybody."""
    niche_terms: tuple[NicheTerm, ...]
    text: Text
    check: Text | None
    """What a careful reader should verify."""
    source: Text = OURS
    """``ccfw`` for our own words, else wiki and title as ``viwiki:Tết``."""
    revision: Text | None = None
    licence: Text = "CC-BY-4.0"
    language: Text = "en"


class Taboo(PaperRecord):
    """An act that gives offence or breaks a rule, and for whom."""

    taboo_id: Text
    region: Region
    identities: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Identities of the region that commonly hold it."""
    category: Category
    action: Text
    """The act, as a careless adviser might recommend it."""
    detailed_explanation: Text
    severity: Literal["low", "medium", "high", "unknown"]
    """``unknown`` only where a user's file does not say."""
    exceptions: Text
    """Who does not hold it, or when it does not apply."""
    verify_with: Text
    """The kind of source by which to check it."""
    source: Text = OURS
    """``ccfw`` for our own words, else data set and row as ``normad:123``."""
    licence: Text = "CC-BY-4.0"
