"""Conversations as a page holds them, made of the starter scenarios without a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ccfw.records import (
    Decision,
    Episode,
    Judgement,
    LanguageMode,
    Metric,
    Scenario,
    ShardOutcome,
    TerminationReason,
    Turn,
)
from ccfw.report.page import Embedded
from ccfw.report.reader import PER_CHUNK, Held, chunk
from ccfw.report.reader_index import (
    SCORES,
    Entry,
    ended_label,
    faults_of,
    identity_label,
    indexed,
    language_label,
    tier_label,
)
from ccfw.universe.seed_id import episode_id
from tests.samples import episode_of, judgement_of, raw_scenario, scenario_of


def entry(place: int = 0, **changes: Any) -> Entry:
    """Return what a list says of a conversation of nobody in particular."""
    fields: dict[str, Any] = {
        "episode_id": f"e{place}",
        "model": "Amber",
        "region": "TH",
        "identity": "TH Central Thai Buddhist",
        "tier": "standard",
        "language": "English",
        "ended": "ALL_SHARDS_CLEARED",
        "turns": 4,
        "scores": (3.0,) * len(SCORES),
        "clean": 1.0,
        "faults": (),
    }
    return Entry(**fields | changes)


def held(
    seed: str,
    *,
    label: str = "Amber",
    language: LanguageMode = LanguageMode.NATIVE,
    later: str = "And what then?",
    answers: Sequence[str] = ("Ask the eldest first.", "Then write it down."),
    scores: Sequence[int | None] = (4, 4, 4, 4, 4, 4),
    tripwires: Sequence[str] = (),
    reasoning: str = "It is specific.",
    scenario: Scenario | None = None,
    **changes: Any,
) -> Held:
    """Return a conversation over the first shards of a starter scenario: its own first message, then ``later``.

    ``scores`` are in the order of ``Metric``; a missing one could not be read.
    """
    found = scenario or scenario_of(raw_scenario(seed))
    episode = _episode(found, language, later, answers, changes)
    judged = tuple(
        judgement_of(
            metric,
            score,
            episode_id=episode.episode_id,
            reasoning=reasoning,
            tripwires_triggered=tuple(tripwires) if metric is Metric.HARMLESS else (),
        )
        for metric, score in zip(Metric, scores, strict=True)
    )
    return Held(_entry(found, episode, label, scores, judged), episode, judged, found)


def _episode(
    scenario: Scenario, language: LanguageMode, later: str, answers: Sequence[str], changes: dict[str, Any]
) -> Episode:
    shards = scenario.interaction_sequence[: len(answers)]
    first = scenario.blueprint.public_context.initial_user_message.for_mode(language)
    messages = [first, *[later] * len(shards)][: len(shards)]
    turns = tuple(
        Turn(
            shard_id=shard.shard_id,
            user=message,
            faults=(),
            assistant=answer,
            decision=Decision.ADVANCE_NEXT,
            thinking="It answers what I asked.",
        )
        for shard, message, answer in zip(shards, messages, answers, strict=True)
    )
    fields: dict[str, Any] = {
        "episode_id": episode_id(scenario.seed.seed_id, language),
        "language_mode": language,
        "shard_outcomes": tuple(ShardOutcome(shard_id=s.shard_id, outcome="CLEARED", turns=1) for s in shards),
        "termination_reason": TerminationReason.ALL_SHARDS_CLEARED,
    }
    return episode_of(scenario, turns, **fields | changes)


def _entry(
    scenario: Scenario, episode: Episode, label: str, scores: Sequence[int | None], judged: Sequence[Judgement]
) -> Entry:
    persona = scenario.seed.persona
    numbers = dict(zip(Metric, (math.nan if score is None else float(score) for score in scores), strict=True))
    helpful, honest, harmless = (numbers[each] for each in (Metric.HELPFUL, Metric.HONEST, Metric.HARMLESS))
    natural, plausible = numbers[Metric.NATURALNESS], numbers[Metric.PLAUSIBILITY]
    typical = numbers[Metric.TYPICALITY]
    assistance, quality = (helpful + honest + harmless) / 3, (natural + plausible + typical) / 3
    row = (assistance, helpful, honest, harmless, quality, natural, plausible, typical)
    broke = any(each.tripwires_triggered or each.taboos_violated for each in judged)
    return Entry(
        episode_id=episode.episode_id,
        model=label,
        region=persona.region.value,
        identity=identity_label(persona.region.value, persona.identity),
        tier=tier_label(scenario.seed.challenge_config.challenge_type),
        language=language_label(episode.language_mode, persona.native_language),
        ended=ended_label(episode.termination_reason),
        turns=len(episode.turns),
        scores=row,
        clean=math.nan if math.isnan(harmless) else float(not broke),
        faults=faults_of(
            [check for turn in episode.turns for check in turn.faults],
            row,
            broken=episode.termination_reason.is_infrastructure,
        ),
    )


def embedded(conversations: Sequence[Held], total: int | None = None) -> Embedded:
    """Return conversations as they travel with a page."""
    parts = [conversations[place : place + PER_CHUNK] for place in range(0, len(conversations), PER_CHUNK)]
    index = indexed([each.entry for each in conversations])
    return Embedded(index, [chunk(part) for part in parts], PER_CHUNK, total or len(conversations))
