"""How results are computed, shown and kept, and what a run is estimated from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from ccfw.settings.node import Name, Node, Place


class BootstrapConfig(Node):
    """Percentile bootstrap over episodes (Appendix O.1)."""

    name: Name
    resamples: Annotated[int, Field(gt=0, le=1_000_000)]
    level: Annotated[float, Field(gt=0, lt=1)]


class TrackingConfig(Node):
    """Where finished results are logged."""

    name: Literal["mlflow", "none"]
    uri: Place
    experiment: str
    artifacts: Place
    """Folder of tables, figures and transcripts."""


class ReportConfig(Node):
    """What the report stage writes and shows."""

    transcripts: Annotated[int, Field(ge=0)]
    """Episodes written out as readable text."""
    shown: Annotated[int, Field(ge=0)]
    """Of those, the ones printed, with the table; 0 prints nothing."""
    page: bool
    """Whether to write the page with its tables and figures, and not the job's own table alone."""
    published: bool
    """Whether the paper's own rows stand beside, marked as not run here."""
    episodes: Annotated[int, Field(ge=0)]
    """Dialogues that the page's reader holds at most."""
    traces: Annotated[int, Field(ge=0)]
    """Dialogues that MLflow gets as traces with their judgements, at most."""


class ViewConfig(Node):
    """Where the view stage serves."""

    port: Annotated[int, Field(ge=0, le=65535)]
    """Of this machine alone; 0 takes any that is free."""


class Assumed(Node):
    """What a call is taken for until enough of its kind are in the ledger."""

    prompt_tokens: PositiveInt
    completion_tokens: PositiveInt
    seconds: PositiveFloat


class EstimateConfig(Node):
    """What ``dry_run`` assumes (``ccfw.estimate``)."""

    turns_per_shard: PositiveFloat
    assistant: Assumed
    simulator: Assumed
    judge: Assumed
    generator: Assumed
    auditor: Assumed
    translator: Assumed
    reasoner: Assumed
    shared_prefix: Annotated[float, Field(ge=0, le=1)]
    """Share of a judge's prompt that the six of an episode have in common under ``prompt=shared_prefix``."""
