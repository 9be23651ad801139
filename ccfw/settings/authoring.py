"""How seeds are allocated, and templates, blueprints and shards written."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PositiveInt

from ccfw.settings.node import Node, Temperature


class CrossCultural(Node):
    """Share of each tier's seeds that lead into a second region."""

    Standard_Implicit: Annotated[float, Field(ge=0, le=1)]
    Friction_Contextual: Annotated[float, Field(ge=0, le=1)]
    Friction_Normative: Annotated[float, Field(ge=0, le=1)]


class SeedsConfig(Node):
    """How seeds are allocated (``ccfw.universe.seeds``)."""

    test: Annotated[float, Field(gt=0, lt=1)]
    taboo_grounded: Annotated[float, Field(ge=0, le=1)]
    cross_cultural: CrossCultural


class TemplatesConfig(Node):
    """How new templates are asked for (stage *templates*)."""

    count: Annotated[int, Field(ge=1, le=20)]
    """Of a subdomain, in one call."""
    tries: PositiveInt
    temperature: Temperature


class BlueprintsConfig(Node):
    """How blueprints are asked for, audited and translated (stage *blueprints*)."""

    tries: PositiveInt
    """Blueprints of one seed, each asked for with all that was wrong with those before."""
    review_tries: PositiveInt
    """Verdicts, and translations back into English, that cannot be read."""
    translations: PositiveInt
    temperature: Temperature
    audit_temperature: Temperature
    translation_temperature: Temperature


class ShardsConfig(Node):
    """How shards are asked for and audited (stage *shards*)."""

    tries: PositiveInt
    """Shards of one blueprint, each asked for with all that was wrong with those before."""
    review_tries: PositiveInt
    """Verdicts that cannot be read."""
    temperature: Temperature
    audit_temperature: Temperature
