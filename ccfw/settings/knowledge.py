"""What blueprints are grounded in, and how it is found."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt, StringConstraints

from ccfw.records import Region
from ccfw.settings.node import Address, Name, Node, Values


class EmbedderConfig(Node):
    """What turns texts into vectors."""

    kind: Literal["e5", "sentence_transformers", "api"]
    model: str
    threads: PositiveInt
    api_base: Address | None
    api_key_env: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")] | None


class RetrieverConfig(Node):
    """How evidence is found for a blueprint, and how much of it."""

    name: Name
    lexical: bool
    """Whether words in common are ranked; beside an embedder the two rankings are fused."""
    embedder: EmbedderConfig | None
    passages: Annotated[int, Field(ge=0)]
    by_scenario: Annotated[int, Field(ge=0)]
    """Of the passages, those of the scenario's query; the identity's fills the rest."""
    niche_passages: Annotated[int, Field(ge=0)]
    niche_terms: Annotated[int, Field(ge=0)]
    """Of one passage."""
    taboos: Annotated[int, Field(ge=0)]
    min_score: float | None
    """Least score, in the retriever's own measure (``ccfw.knowledge.shelf``)."""
    identity_bonus: Annotated[float, Field(ge=0)]
    """What a passage that names the persona's identity is raised by, in the same measure."""


class KbLists(Node):
    """Files of titles, as PetScan exports them, that the rules need not know."""

    regions: dict[Region, Values]
    tags: dict[str, Values]
    identities: dict[str, Values]
    """By region and code, as ``MY/Malay_Muslim``."""


class KbBuild(Node):
    """How passages are made of an encyclopaedia's dumps (``ccfw.knowledge.building``)."""

    lists: KbLists
    redirects: Literal["follow", "drop"]
    """Whether a listed title that is a redirect stands for its target; as pages redirects always go."""
    words: PositiveInt
    """In a full passage, in languages with blanks between words."""
    characters: PositiveInt
    """In a full passage, in languages without."""
    least: Annotated[float, Field(ge=0, le=1)]
    """Share of a full passage below which a section is left out; a lead never is."""
    need_topic: bool
    """Whether a passage must be about something that the rules have a tag for."""
    near_duplicate: Annotated[float, Field(gt=0, le=1)]
    rare_share: Annotated[float, Field(ge=0, le=1)]
    """Niche terms are in at most this share of the articles …"""
    rare_articles: PositiveInt
    """… or in so many, whichever is more."""
    terms: Annotated[int, Field(ge=0)]
    """Niche terms of a passage, at most."""
    licence: Annotated[str, StringConstraints(min_length=1)]


class KbConfig(Node):
    """Which passages blueprints are grounded in."""

    name: Name
    dumps: Values
    """MediaWiki dumps; none: the passages that ship."""
    taboos: Values
    """A user's own files of taboos, beside those that ship (``ccfw.knowledge.importing``)."""
    build: KbBuild | None
