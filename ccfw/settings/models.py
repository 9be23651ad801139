"""Models in any role, and the judges made of them."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, PositiveFloat, PositiveInt, StringConstraints, model_validator

from ccfw.settings.node import Address, Line, Name, Node, Rate


class Accepts(Node):
    """Request parameters that the provider takes for this model; the others are not sent."""

    temperature: bool
    seed: bool
    structured: Literal["json_schema", "json_object", "none"]


class Embedded(Node):
    """A GGUF inside an installed package, served by llama.cpp in this process."""

    package: str
    gguf: str
    install: str
    """The command that installs the package."""
    context: PositiveInt
    threads: PositiveInt


class Price(Node):
    """US dollars per million tokens."""

    input: Rate
    output: Rate
    cached_input: Rate | None
    """Of prompt tokens that the provider's cache held; ``None``: as any other."""


class ModelConfig(Node):
    """A chat model in any role."""

    name: Name
    label: Line
    provider_model: str
    transport: Literal["litellm", "openai_http"]
    """``litellm`` reaches every provider; ``openai_http`` speaks OpenAI's protocol itself, for far less CPU."""
    api_base: Address | None
    api_key_env: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")] | None
    """Name of the environment variable that holds the key, never the key."""
    embedded: Embedded | None
    size: Literal["small", "large"]
    accepts: Accepts
    max_output_tokens: Annotated[int, Field(gt=0, le=10**9)]
    context_window: PositiveInt
    extra_body: dict[str, JsonValue]
    min_in_flight: PositiveInt
    """Calls at a time that are kept up however often the provider is overloaded."""
    max_in_flight: PositiveInt
    timeout_s: PositiveFloat
    deadline_s: PositiveFloat
    attempts: PositiveInt
    price: Price | None
    """``None``: litellm's price list decides, and a model that it lacks has an unknown price."""

    @model_validator(mode="after")
    def _bounds_in_order(self) -> ModelConfig:
        if self.min_in_flight > self.max_in_flight:
            raise ValueError(f"min_in_flight={self.min_in_flight} is above max_in_flight={self.max_in_flight}")
        return self

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What decides the model's replies: the part that names outputs."""
        weights = self.embedded.model_dump(include={"package", "gguf", "context"}) if self.embedded else None
        kept = {"provider_model", "api_base", "size", "accepts", "max_output_tokens", "extra_body"}
        return self.model_dump(include=kept) | {"embedded": weights}


class JudgeConfig(Node):
    """A rubric, the models that apply it, and how their scores become one."""

    name: Name
    rubric: Literal["cultureconverse"]
    aggregation: Literal["mean", "median", "majority"]
    members: Annotated[dict[Name, ModelConfig], Field(min_length=1)]


class Standard(Node):
    """The paper's simulator and judge (section 4.1), for assistants behind a key."""

    simulator: ModelConfig
    judge: JudgeConfig
