"""Figures of agreement that the paper publishes, as rows beside one's own (Tables 3 and 11 to 13). Pure."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Agreement(_Part):
    """Figures without intervals."""

    within_one: float
    """In per cent."""
    mae: float
    bias: float | None = None


class PublishedJudge(Agreement):
    """A row of Table 11."""

    judge: str
    """As ``conf/judge`` names it."""
    label: str | None = None


class PublishedPanel(Agreement):
    """One of the best ensembles of Table 11."""

    members: tuple[str, ...]


class PublishedGroup(Agreement):
    """A row of Table 12 or 13."""

    group: str
    hh_within_one: float
    """Of any two humans, in per cent."""
    hh_mae: float


class Table3(_Part):
    """Human agreement."""

    human_pairs: Agreement
    judge: PublishedJudge


class Table11(_Part):
    """Judges and the best ensembles."""

    judges: tuple[PublishedJudge, ...]
    panels: tuple[PublishedPanel, ...]
    best_panel_minus_best_judge: Agreement

    def label(self, judge: str) -> str:
        """Return a judge as the paper's tables name it; its own name if they do not."""
        return next((each.label for each in self.judges if each.judge == judge and each.label), judge)


class GroupTable(_Part):
    """Table 12 or 13."""

    rows: tuple[PublishedGroup, ...]
    overall: PublishedGroup | None = None


class Published(_Part):
    """The tables, and where they are from."""

    source: str
    dialogues: int
    ratings_per_item: int
    annotators: int
    table_3: Table3
    table_11: Table11
    table_12: GroupTable
    table_13: GroupTable
