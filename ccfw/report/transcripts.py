"""Episodes as plain text for people: who asks, what was said, how it was judged."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ccfw.records import Episode, Judgement
from ccfw.terminal import printable
from ccfw.views import persona_summary

_WIDTH = 96
_ROOM = _WIDTH - len("U1   ")
_PIECE = re.compile(rf" +|[^ ]{{1,{_ROOM}}}")
"""Spaces, or a word or as much of it as a line holds."""


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
    lines = [line for paragraph in text.splitlines() or ["(nothing)"] for line in _wrapped(paragraph)]
    return "\n".join(f"{speaker if i == 0 else '':<4} {line}".rstrip() for i, line in enumerate(lines))


def _wrapped(paragraph: str) -> list[str]:
    """Break a paragraph between words; ``textwrap`` takes a time that is quadratic in a word's length."""
    lines, line = [], ""
    for piece in _PIECE.findall(paragraph.expandtabs()):
        if len(line) + len(piece) <= _ROOM:
            line += piece
        else:
            lines += [line] if line else []
            line = piece.lstrip(" ")
    return [*lines, line]


def _judged(judgement: Judgement) -> str:
    if judgement.failure is not None:
        why = f"{judgement.failure.kind.value}: {' '.join(judgement.failure.detail.split())}"
        return f"{judgement.metric.value:<22} –  ({why}) [{judgement.judge}]"
    named = (*judgement.tripwires_triggered, *judgement.taboos_violated)
    broke = f" Broken: {'; '.join(named)}." if named else ""
    reasons = " ".join(judgement.reasoning.split())
    return f"{judgement.metric.value:<22} {judgement.score}  {reasons}{broke} [{judgement.judge}]"
