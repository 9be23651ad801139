"""How culturally situated data are built (paper 2, part I)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from ccfw.settings.models import ModelConfig
from ccfw.settings.node import Name, Node, Place, Temperature, Values


class CrispNormsConfig(Node):
    """How norms are collected (stage *norms*)."""

    sources: Annotated[tuple[Place, ...], Field(min_length=1)]
    """``starter``, the norms that ship, and files as published, or of one's own."""
    extraction: Literal["auto", "deterministic"]
    """``auto``: a model makes norms of questions; ``deterministic``: what states no rule is left out, and counted."""
    alike: Annotated[float, Field(gt=0, le=1)]
    """Share of content words in common (Jaccard) from which two norms of a culture are one."""
    tries: PositiveInt
    temperature: Temperature


class CrispScenariosConfig(Node):
    """How chronotopes and scenarios are asked for (stage *scenarios*)."""

    per_norm: PositiveInt
    tries: PositiveInt
    """Of a chronotope, and of a scenario, each with all that was wrong with those before."""
    temperature: Temperature
    likeness: Annotated[float, Field(gt=0, le=1)] | None
    """Cosine from which two chronotopes are one, by the retriever's embedder; ``None``: vectors are not compared."""


class CrispRefineConfig(Node):
    """How long a situation is worked on (stage *refine*)."""

    revisions: Annotated[int, Field(ge=0)]
    """Of its question."""
    reruns: Annotated[int, Field(ge=0)]
    """Of the answer to one version of the question."""
    tries: PositiveInt
    """Replies of any role that cannot be read."""
    reasoner_temperature: Temperature
    verifier_temperature: Temperature
    temperature: Temperature
    """Of planner, reviser and advisor."""


class CrispResponsesConfig(Node):
    """Whose answers are collected, and how many (stage *responses*)."""

    policies: Annotated[dict[Name, ModelConfig], BeforeValidator(lambda value: value or {})]
    """In YAML and on the command line a list of options of the model group; none: the assistant."""
    k: PositiveInt
    """Answers of each policy to each question."""
    tries: PositiveInt
    """Replies that cannot be read; above 1, the share of valid replies is no longer the policy's own."""
    temperature: Temperature


class CrispPreferencesConfig(Node):
    """What pairs are made of (stage *preferences*)."""

    min_gap: Annotated[float, Field(gt=0, le=4)]
    """Points of the outcome score, 1 to 5, between two answers that make a pair."""
    most: PositiveInt
    """Such pairs of one situation."""
    triplets: Literal["auto", "full", "rewrite", "none"]
    """``auto``: the one that ships, else a rewrite of the best answer, else a full one."""
    rewrite_from: Annotated[float, Field(ge=1, le=5)]
    """Least outcome score of an answer that is rewritten."""
    tries: PositiveInt
    temperature: Temperature


class CrispRatingConfig(Node):
    """What people are given to rate (stage *responses*)."""

    raters: Annotated[tuple[Name, ...], BeforeValidator(lambda value: value or ())]
    """A sheet each, in an order of its own; none: no sheets."""
    items: PositiveInt | None
    """At most so many answers in each sheet, the same in all; ``None``: every answer that could be read."""

    @model_validator(mode="after")
    def _each_once(self) -> CrispRatingConfig:
        if len({each.casefold() for each in self.raters}) < len(self.raters):
            raise ValueError("raters: each is named once, in whatever case; their sheets are files of these names")
        return self


class CrispConfig(Node):
    """Culturally situated data and their test bed (paper 2; docs/crisp.md)."""

    cultures: Values
    """Names in English; none takes all."""
    norms: CrispNormsConfig
    scenarios: CrispScenariosConfig
    refine: CrispRefineConfig
    responses: CrispResponsesConfig
    rating: CrispRatingConfig
    preferences: CrispPreferencesConfig
