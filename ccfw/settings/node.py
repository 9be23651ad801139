"""What every group of settings stands on: frozen nodes, and the kinds of values that several of them share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, StringConstraints
from pydantic_core import PydanticCustomError

from ccfw.terminal import printable


def _one_line(text: str) -> str:
    if printable(text) != text or "\n" in text or "\t" in text:
        raise PydanticCustomError("line", "must be one line without control characters")
    return text


def _asks(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("query", "says nothing")
    if any("\ud800" <= letter <= "\udfff" for letter in text):  # so a shell hands on what is no UTF-8
        raise PydanticCustomError("query", "is not readable as UTF-8 text")
    if len(text) > _LONGEST_QUERY:
        raise PydanticCustomError("query", f"has {len(text)} characters, and may have {_LONGEST_QUERY}")
    return text


_LONGEST_QUERY = 4_000


Query = Annotated[str, AfterValidator(_asks)]


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]+$")]


Line = Annotated[str, AfterValidator(_one_line)]
"""What is shown in tables and on terminals."""


Place = Annotated[str, StringConstraints(min_length=1), AfterValidator(_one_line)]
"""A file or folder; an empty one would be wherever one happens to stand."""


Address = Annotated[str, StringConstraints(min_length=1)]
"""A base URL; an empty one would be taken for none, and the provider's own server asked."""


Rate = Annotated[float, Field(ge=0, le=1e6)]
"""US dollars per million tokens; nobody asks a dollar for one."""


def _listed(value: Any) -> Any:
    """Read one value, several, or none as a list."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str | int) else value


Temperature = Annotated[float, Field(ge=0, le=2)] | None
"""Between 0 and 2, as providers take it; ``None``: the provider's own."""


Values = Annotated[tuple[Annotated[str, Field(coerce_numbers_to_str=True)], ...], BeforeValidator(_listed)]
"""Several values; empty: none."""


def _chosen(value: Any) -> Any:
    if isinstance(value, list | tuple) and not value:
        raise PydanticCustomError("empty", "empty: leave it out to take all")
    return value


Selected = Annotated[Values, BeforeValidator(_chosen), PlainSerializer(lambda values: list(values) or None)]
"""What a selection admits; none admits everything, and a list must admit something."""


class Node(BaseModel):
    """A frozen group of settings that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


StageName = Literal[
    "kb",
    "templates",
    "seeds",
    "blueprints",
    "shards",
    "simulate",
    "evaluate",
    "attack",
    "report",
    "view",
    "align",
    "panel",
    "norms",
    "scenarios",
    "refine",
    "responses",
    "preferences",
    "reward",
    "supervisor",
    "grpo",
    "triplets",
    "best_of_n",
    "norm_match",
    "external",
]


class StageConfig(Node):
    """Which stages to run, in order."""

    name: Name
    summary: str
    runs: Annotated[tuple[StageName, ...], Field(min_length=1)]


Mapped = dict[Annotated[str, Field(coerce_numbers_to_str=True)], Line | None]
"""Names in a file → names here; null leaves one out; empty takes all as they are."""
