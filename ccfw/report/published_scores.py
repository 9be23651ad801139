"""Scores that the paper publishes, as rows beside one's own (Tables 2, 10 and 17). Pure."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from ccfw.records import LanguageMode, Region, SimulationMode

Range = tuple[float, float, float]
"""A mean with the ends of its interval."""
Tiers = tuple[int, int, int]
"""Episodes: standard, contextual, normative."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedAssistant(_Part):
    """A row of Table 17."""

    label: str
    model: str
    """As ``conf/model`` names it."""
    scores: dict[str, Range]
    """By the columns of the leaderboard; ``clean`` in per cent."""


class PublishedGold(_Part):
    """A row of Table 10; without a language it is both."""

    language: LanguageMode | None
    eval_3h: float
    gold_3h: float
    eval_tdq: float
    gold_tdq: float
    clean: float
    """Points of per cent by which gold mode is above."""


class PublishedSplit(_Part):
    """A row of Table 2's upper half."""

    mode: SimulationMode
    language: LanguageMode
    episodes: Tiers


class PublishedRegion(_Part):
    """A row of its lower half."""

    region: Region
    identities: int
    episodes: Tiers


class PublishedComposition(_Part):
    """Table 2."""

    splits: tuple[PublishedSplit, ...]
    regions: tuple[PublishedRegion, ...]


class PublishedScores(_Part):
    """The tables, and what they were made with."""

    source: str
    judge: str
    """As ``conf/judge`` names it; it also played the user."""
    judge_label: str
    dialogues: int
    """Of each assistant in Table 17."""
    level: float
    table_17: tuple[PublishedAssistant, ...]
    table_10: tuple[PublishedGold, ...]
    table_2: PublishedComposition
