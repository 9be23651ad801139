"""How dialogues are held and judged, and from which scenarios."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from ccfw.records import LanguageMode, Metric, SimulationMode, Tier
from ccfw.settings.node import Name, Node, Place, Temperature


class LanguageConfig(Node):
    """In which language modes episodes are held."""

    name: Name
    modes: tuple[LanguageMode, ...]


class ModeConfig(Node):
    """What the assistant sees."""

    name: SimulationMode


class TrapConfig(Node):
    """Which challenge tiers are taken."""

    name: Name
    tiers: tuple[Tier, ...]


class PromptConfig(Node):
    """Which wording each size of model gets: ``prompts/<version>/<style>``."""

    name: Name
    version: Name
    large: Name
    small: Name


class DatasetConfig(Node):
    """Where scenarios come from."""

    name: Name
    path: Place | None
    """A scenario file or a folder of them; ``None`` is the shipped set of that name."""


class Caps(Node):
    """Bounds of a dialogue in turns."""

    turns_per_shard: PositiveInt
    turns_per_episode: PositiveInt


class SimulationConfig(Node):
    """How episodes are held."""

    caps: Caps
    reply: Literal["auto", "json", "tags"]
    """The simulator's reply protocol; ``auto`` is JSON where the model takes a schema."""
    tries: PositiveInt
    deadline_s: PositiveFloat
    """Of one dialogue: after it no further call is begun, and the next run goes on from what is paid for."""
    send_back: bool
    """Whether a message out of role or language is asked for again; its faults are recorded either way."""
    assistant_temperature: Temperature
    simulator_temperature: Temperature


class JudgingConfig(Node):
    """How judgements are asked for."""

    batch: PositiveInt
    """Episodes between two looks at the intervals, when ``precision`` is set."""

    tries: PositiveInt
    temperature: Temperature


class BatchConfig(Node):
    """Whether judgements are asked for in provider batches, and how those are waited for."""

    name: Literal["none", "provider"]
    poll_s: PositiveFloat
    deadline_s: PositiveFloat
    max_requests: PositiveInt
    """In one batch; what is over goes into the next."""
    discount: Annotated[float, Field(ge=0, le=1)]
    """What a reply of a batch costs, as a share of the direct price."""
    direct_rest: bool
    """Whether what a batch does not answer is asked directly; if not, it fails until the next run."""


class AttackConfig(Node):
    """What a judge is attacked with (stage *attack*)."""

    episodes: PositiveInt
    """Episodes attacked, drawn by the seed."""
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1)]
    limit: PositiveInt | None
    """At most so many attacks of the corpus, drawn by the seed; ``None``: all."""
    prompt: Name | None
    """Style of the judge's prompts; ``None``: the one that evaluates."""
