"""The stages, in pipeline order: the table of contents of ccfw."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

STAGES = {
    "kb": "dumps → passages; a query → what a blueprint would be shown",
    "templates": "subdomains × generator → new templates",
    "seeds": "personas × templates → seeds",
    "blueprints": "seeds × generator → blueprints",
    "shards": "blueprints × generator → frozen scenarios",
    "simulate": "scenarios × model × language → episodes",
    "evaluate": "episodes × judge → six 1–5 scores, 3H, TDQ, clean",
    "report": "scores → tables, intervals, figure, MLflow runs",
    "view": "every stored conversation → the browser",
    "attack": "episodes × attacks × judge → share of attacks that raise a score",
    "align": "human ratings × judge → agreement with intervals, by metric and by region",
    "panel": "human ratings × all judges → Tables 3, 11, 12, 13; all panels; which to choose",
    "norms": "CulturalBench, FORK, NormAd or files of one's own → norms",
    "scenarios": "norms × generator → chronotopes → scenario, question, hidden answer",
    "refine": "situations × reasoner × verifier → kept, answered again, revised or given up",
    "responses": "situations × policies × judge → outcome 1–5, Norm Match 0–2",
    "preferences": "scored answers, triplets → pairs for a reward model",
    "reward": "pairs → a reward model, with accuracy on held-out norms",
    "supervisor": "reasonings × Norm Match by judges → a norm-grounding supervisor, on held-out norms",
    "grpo": "policy × reward model + λ · norm grounding → an optimised policy",
    "triplets": "rewards of triplets → ranking accuracies beside chance",
    "best_of_n": "scored answers × reward models → Best-of-N beside chance and the oracle",
    "norm_match": "answers by method → Norm Match, and quality by what the base policy knew",
    "external": "CulShield and CultureForest, asked or from files → scores by their own rules",
}
"""What each reads and writes."""


def stage(name: str) -> ModuleType:
    """Return a stage: ``NAME``, ``run(context) → StageResult`` and ``plan(context) → (least, most)`` calls.

    Imported when it is asked for, so that a job pays for the libraries of its own stages only.
    """
    if name not in STAGES:
        raise KeyError(f"no stage {name}; there are {', '.join(STAGES)}")
    return import_module(f"ccfw.stages.{name}")
