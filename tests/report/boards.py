"""Boards of scores to report on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ccfw.judging.score_table import METRICS, ScoreTable
from ccfw.records import ChallengeConfig, LanguageMode, Persona, Region, Seed, Tier
from ccfw.report.board import Assistant, Board, board
from ccfw.report.standings import Terms
from ccfw.selection import Outline
from ccfw.universe.seed_id import episode_id, seed_id

TERMS = Terms(seed=0, resamples=200, level=0.95)
BOTH = (LanguageMode.ENGLISH, LanguageMode.NATIVE)
_CODES = {Tier.STANDARD: "STANDARD", Tier.CONTEXTUAL: "TRAP__CTX", Tier.NORMATIVE: "TRAP__NORM"}


def outline(
    number: int,
    *,
    region: Region = Region.SG,
    identity: str = "Malay_Muslim",
    tier: Tier = Tier.STANDARD,
    second: Region | None = None,
    split: str = "test",
    domain: str = "1_CULINARY_PRACTICES_&_SOCIAL_CONSUMPTION",
) -> Outline:
    """Return an outline; ``number`` (below 100) tells seeds apart that are otherwise alike."""
    template = f"TPL_CUL_DINE_{number:02d}"
    persona = Persona(region=region, identity=identity, gender="Female", age_cohort="18-34", native_language="Malay")
    seed = Seed(
        seed_id=seed_id(region, identity, "Female", "18-34", template, _CODES[tier], second),  # type: ignore[arg-type]
        template_id=template,
        split="train" if split == "train" else "test",
        persona=persona,
        challenge_config=ChallengeConfig(
            challenge_group="Standard" if tier is Tier.STANDARD else "Trap",
            challenge_type=tier,
            is_cross_cultural=second is not None,
            secondary_region=second,
            taboo_grounded=tier is Tier.NORMATIVE,
        ),
    )
    return Outline(seed, domain, "Communal_Dining_Etiquette", 3)


def scored(episodes: Sequence[str], scores: Sequence[float], clean: float = 1.0) -> ScoreTable:
    """Return a table in which every metric of an episode has one score."""
    pairs = sorted(zip(episodes, scores, strict=True))
    metrics = np.array([[score] * len(METRICS) for _, score in pairs], dtype=np.float64).reshape(-1, len(METRICS))
    return ScoreTable(tuple(episode for episode, _ in pairs), metrics, np.where(np.isnan(metrics[:, 2]), np.nan, clean))


def assistant(
    label: str,
    outlines: Sequence[Outline],
    scores: Sequence[Sequence[float]],
    *,
    usd: float | None = None,
    kind: str = "",
) -> Assistant:
    """Return an assistant with a score for each outline in each language (outlines × languages, English first)."""
    ids = [episode_id(each.seed.seed_id, language) for each in outlines for language in BOTH[: len(scores[0])]]
    return Assistant(label.lower(), label, scored(ids, [s for row in scores for s in row]), set(ids), usd, kind=kind)


def laid_out(
    outlines: Sequence[Outline], assistants: Sequence[Assistant], known: Sequence[Outline] | None = None
) -> Board:
    """Return the board of some assistants."""
    return board(assistants, BOTH, outlines, known or outlines)


def alike(count: int, **more: object) -> list[Outline]:
    """Return so many seeds that differ in their templates alone."""
    return [outline(number, **more) for number in range(1, count + 1)]  # type: ignore[arg-type]
