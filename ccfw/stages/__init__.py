"""The stages, in pipeline order: the table of contents of ccfw."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

STAGES = {
    "kb": "dumps → passages; a query → what a blueprint would be shown",
    "templates": "subdomains × generator → new templates",
    "seeds": "personas × templates → seeds",
    "blueprints": "seeds × generator → blueprints",
    "simulate": "scenarios × model × language → episodes",
    "evaluate": "episodes × judge → six 1–5 scores, 3H, TDQ, clean",
    "report": "scores → tables, intervals, figure, MLflow runs",
    "attack": "episodes × attacks × judge → share of attacks that raise a score",
}
"""What each reads and writes."""


def stage(name: str) -> ModuleType:
    """Return a stage: ``NAME``, ``run(context) → StageResult`` and ``plan(context) → (least, most)`` calls.

    Imported when it is asked for, so that a job pays for the libraries of its own stages only.
    """
    if name not in STAGES:
        raise KeyError(f"no stage {name}; there are {', '.join(STAGES)}")
    return import_module(f"ccfw.stages.{name}")
