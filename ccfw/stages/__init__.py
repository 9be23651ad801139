"""The stages, in pipeline order: the table of contents of ccfw."""

from __future__ import annotations

from types import ModuleType

from ccfw.stages import attack, evaluate, report, seeds, simulate

STAGES: dict[str, ModuleType] = {
    "seeds": seeds,  # personas × templates → seeds
    "simulate": simulate,  # scenarios × model × language → episodes
    "evaluate": evaluate,  # episodes × judge → six 1–5 scores, 3H, TDQ, clean
    "report": report,  # scores → tables, intervals, figure, MLflow runs
    "attack": attack,  # episodes × attacks × judge → share of attacks that raise a score
}
"""Each has ``NAME``, ``run(context) → StageResult`` and ``plan(context) → (least, most)`` calls."""
