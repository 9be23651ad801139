"""The turn loop (section 3.7, Appendix G.4): who speaks next, which shard is open, when it ends.

``converse`` is a generator that knows no model, disk or network: it yields what it wants asked, is sent the
answer, and returns the transcript. The first user message is the blueprint's own, word for word, so that
every assistant starts from the same line.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import NamedTuple

from ccfw.records import (
    Decision,
    LanguageMode,
    Message,
    Scenario,
    Shard,
    ShardOutcome,
    SimulationMode,
    TerminationReason,
    Turn,
)
from ccfw.views import AssistantView, GoldView, SimulatorView, assistant_view, gold_view, simulator_view

View = AssistantView | GoldView | SimulatorView


class Broken(NamedTuple):
    """An answer that could not be had."""

    detail: str


class Reply(NamedTuple):
    """What the assistant said; it may be empty, and is then shown as it is."""

    text: str


class Move(NamedTuple):
    """The simulator's verdict on the last reply and its next message."""

    decision: Decision
    message: str
    thinking: str
    retries: int
    faults: tuple[str, ...] = ()
    """Names of the checks that the message fails."""


Answer = Reply | Move | Broken


@dataclass(frozen=True)
class Transcript:
    """How a dialogue went."""

    turns: tuple[Turn, ...]
    shard_outcomes: tuple[ShardOutcome, ...]
    termination_reason: TerminationReason
    error: str | None
    simulator_retries: int


@dataclass
class _State:
    """What the loop keeps between turns."""

    message: str
    faults: tuple[str, ...] = ()
    """Those of ``message``."""
    index: int = 0
    turns: list[Turn] = field(default_factory=list)
    retries: int = 0

    def history(self) -> tuple[Message, ...]:
        lines: list[Message] = []
        for turn in self.turns:
            lines.append(Message(role="user", content=turn.user))
            lines.append(Message(role="assistant", content=turn.assistant))
        return tuple(lines)

    def in_shard(self, shard: Shard) -> int:
        return sum(turn.shard_id == shard.shard_id for turn in self.turns)


def converse(
    scenario: Scenario,
    language: LanguageMode,
    mode: SimulationMode,
    *,
    turns_per_shard: int,
    turns_per_episode: int,
) -> Generator[View, Answer, Transcript]:
    """Hold one dialogue over a scenario's shards and return its transcript.

    The simulator decides after every reply. Clearing the last shard ends the dialogue without a further user
    message, which nobody would read.
    """
    shards = scenario.interaction_sequence
    state = _State(scenario.blueprint.public_context.initial_user_message.for_mode(language))
    while True:
        shard = shards[state.index]
        following = shards[state.index + 1] if state.index + 1 < len(shards) else None
        asked = (*state.history(), Message(role="user", content=state.message))
        reply = yield gold_view(scenario, shard, asked) if mode is SimulationMode.GOLD else assistant_view(asked)
        if not isinstance(reply, Reply):
            return _end(state, shards, TerminationReason.ASSISTANT_ERROR, _detail(reply))
        state.turns.append(_turn(shard, state, reply.text, None))
        move = yield simulator_view(scenario, shard, following, state.history(), language)
        if not isinstance(move, Move):
            return _end(state, shards, TerminationReason.SIMULATOR_ERROR, _detail(move))
        state.turns[-1] = _turn(shard, state, reply.text, move)
        state.retries += move.retries
        if move.decision is Decision.ADVANCE_NEXT:
            state.index += 1
            if following is None:
                return _end(state, shards, TerminationReason.ALL_SHARDS_CLEARED, None)
        if len(state.turns) >= turns_per_episode:
            return _end(state, shards, TerminationReason.TURN_CAP, None)
        if move.decision is Decision.CONTINUE_CURRENT and state.in_shard(shard) >= turns_per_shard:
            return _end(state, shards, TerminationReason.SHARD_CAP, None)
        state.message, state.faults = move.message, move.faults


def _turn(shard: Shard, state: _State, assistant: str, move: Move | None) -> Turn:
    return Turn(
        shard_id=shard.shard_id,
        user=state.message,
        faults=state.faults,
        assistant=assistant,
        decision=move.decision if move else None,
        thinking=move.thinking if move else "",
    )


def _detail(answer: Answer) -> str:
    return answer.detail if isinstance(answer, Broken) else f"an answer of the wrong kind: {type(answer).__name__}"


def _end(state: _State, shards: tuple[Shard, ...], reason: TerminationReason, error: str | None) -> Transcript:
    outcomes = [
        ShardOutcome(
            shard_id=shard.shard_id, outcome="CLEARED" if index < state.index else "OPEN", turns=state.in_shard(shard)
        )
        for index, shard in enumerate(shards)
        if state.in_shard(shard)
    ]
    return Transcript(tuple(state.turns), tuple(outcomes), reason, error, state.retries)
