"""Episodes as plain text for people: who asks, what was said, how it was judged."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ccfw.records import Episode, Judgement
from ccfw.terminal import printable
from ccfw.views import persona_summary

_WIDTH = 96


def transcript(episode: Episode, judgements: Sequence[Judgement]) -> str:
    """Write one episode with its judgements."""
    lines = [
        episode.episode_id,
        persona_summary(episode.seed.persona),
        f"{episode.domain} / {episode.subdomain}, {episode.seed.challenge_config.challenge_type.value}",
        f"assistant {episode.target_model}, user {episode.simulator_model}, {episode.language_mode.value}, "
        f"{episode.simulation_mode.value} mode",
        f"ended {episode.termination_reason.value}: {len(episode.turns)} turns, "
        f"{episode.shards_cleared} of {episode.shards_total} shards cleared",
        "",
    ]
    for number, turn in enumerate(episode.turns, 1):
        lines += [_spoken(f"U{number}", turn.user), _spoken(f"A{number}", turn.assistant), ""]
    lines += [_judged(judgement) for judgement in judgements]
    return printable("\n".join(lines)) + "\n"


def _spoken(speaker: str, text: str) -> str:
    paragraphs = text.splitlines() or ["(nothing)"]
    wrapped = [line for p in paragraphs for line in (textwrap.wrap(p, _WIDTH - 5) or [""])]
    return "\n".join(f"{speaker if i == 0 else '':<4} {line}".rstrip() for i, line in enumerate(wrapped))


def _judged(judgement: Judgement) -> str:
    if judgement.failure is not None:
        why = f"{judgement.failure.kind.value}: {' '.join(judgement.failure.detail.split())}"
        return f"{judgement.metric.value:<22} –  ({why}) [{judgement.judge}]"
    named = (*judgement.tripwires_triggered, *judgement.taboos_violated)
    broke = f" Broken: {'; '.join(named)}." if named else ""
    reasons = " ".join(judgement.reasoning.split())
    return f"{judgement.metric.value:<22} {judgement.score}  {reasons}{broke} [{judgement.judge}]"
