"""Which stage may follow another in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ccfw.job import _leads_nowhere
from ccfw.stages.context import StageResult


@pytest.mark.parametrize(
    ("stage", "done", "failed", "stopped", "ends"),
    [
        ("blueprints", 3, 1, None, False),
        ("blueprints", 3, 0, "budget=0.05: spent", True),
        ("blueprints", 0, 4, None, True),
        ("shards", 3, 0, "budget=0.05: spent", True),
        ("shards", 0, 0, "budget=0.05: spent", True),
        ("simulate", 0, 2, None, True),
        ("simulate", 1, 0, "budget=0.05: spent", False),
        ("evaluate", 0, 6, None, False),
    ],
)
def test_a_line_ends_with_a_stage_that_leaves_too_little(
    stage: str, done: int, failed: int, stopped: str | None, ends: bool
) -> None:
    result = StageResult(stage, Path("out"), done=done, failed=failed, stopped=stopped)
    assert _leads_nowhere(result) is ends
