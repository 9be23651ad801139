"""Which ratings judges are held against, and how panels of judges are chosen."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt, StringConstraints, model_validator

from ccfw.settings.node import Mapped, Name, Node, Place, Values


class RatingColumns(Node):
    """Which column of a file of ratings holds what."""

    item: Annotated[Values, Field(min_length=1)]
    """What was rated: one column, or several that name it together."""
    rater: str | None
    metric: str | None
    score: Annotated[str, StringConstraints(min_length=1)]
    """In the wide layout with ``{rater}``, ``{metric}`` or both, where the columns are named after them."""
    region: str | None
    language: str | None
    cluster: str | None
    """What was drawn as a whole, as the seed of several dialogues; ``None``: each item by itself."""


class RatingScale(Node):
    """Between which values scores lie, and what others are."""

    low: float
    high: float
    outside: Literal["refuse", "missing"]
    """A mistake in the file, or no score and counted as such."""

    @model_validator(mode="after")
    def _in_order(self) -> RatingScale:
        if self.low >= self.high:
            raise ValueError(f"low={self.low:g} is not below high={self.high:g}")
        return self


class RatingsConfig(Node):
    """Where ratings are, by people or by judges, and how to read them (docs/align.md)."""

    name: Name
    path: Place | None
    layout: Literal["long", "wide", "label_studio", "argilla"]
    columns: RatingColumns
    raters: Mapped
    metrics: Mapped
    scale: RatingScale

    @model_validator(mode="after")
    def _each_named_once(self) -> RatingsConfig:
        for kind in ("rater", "metric"):
            column, names = getattr(self.columns, kind), getattr(self, f"{kind}s")
            in_score = f"{{{kind}}}" in self.columns.score
            if in_score == (column is not None):
                raise ValueError(f"columns.{kind} or {{{kind}}} in columns.score says who or what; exactly one of them")
            if in_score and not names:
                raise ValueError(f"{kind}s must name those whose columns columns.score={self.columns.score} stands for")
        return self


class AlignConfig(Node):
    """What human ratings are held against (stages *align* and *panel*)."""

    scores: RatingsConfig | None
    """Judges' scores in a file, the rater being the judge; ``None``: the judgements of *evaluate*."""
    costs: dict[Name, Annotated[float, Field(ge=0)]]
    """US dollars that a judge takes for one item in one metric; of *evaluate* they are known."""


class PanelConfig(Node):
    """How panels of judges are made and chosen (stage *panel*)."""

    size: Annotated[int, Field(ge=2)]
    aggregation: Literal["mean", "median", "majority"]
    best: PositiveInt
    """Panels that the table lists beside the single judges."""
    folds: Annotated[int, Field(ge=2)]
    repeats: PositiveInt
    tolerance: Annotated[float, Field(ge=0)]
    """Points that the judges of a cascade may differ by before the next is asked."""
    published: bool
    """Whether the paper's own rows stand beside."""
