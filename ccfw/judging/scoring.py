"""What several members of a judge say together of one thing (section 4). Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Literal

Aggregation = Literal["mean", "median", "majority"]


def combined(values: Sequence[float | None], aggregation: Aggregation) -> float | None:
    """Combine the members' scores of one thing; ``None`` when one is missing, or no majority agrees."""
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        return None
    if aggregation == "mean":
        return statistics.fmean(present)
    if aggregation == "median":
        return statistics.median(present)
    value, votes = Counter(present).most_common(1)[0]
    return value if votes * 2 > len(present) else None
