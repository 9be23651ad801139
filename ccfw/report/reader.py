"""Conversations as a reader's page shows them: what was said, what each role could see, how it was judged. Pure.

The page adds nothing of its own: every view is built by ``ccfw.views``, and every text is named by its number among
texts that are kept once, since what is hidden repeats over turns, languages and assistants. Texts are untrusted; they
leave here with control and direction-changing characters as visible marks, and whoever shows them shows text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import orjson

from ccfw.records import Episode, Judgement, LanguageMode, Message, Metric, Scenario, Shard, SimulationMode
from ccfw.report.board import domain_label, words
from ccfw.report.reader_index import Entry, ended_label, metric_label, tier_label
from ccfw.terminal import printable
from ccfw.views import (
    REGION_NAMES,
    assistant_view,
    gold_view,
    judge_view,
    persona_summary,
    simulator_view,
)

TAGS: Mapping[str, str] = {
    "English": "en",
    "Indonesian": "id",
    "Malay": "ms",
    "Filipino": "fil",
    "Vietnamese": "vi",
    "Simplified Chinese": "zh-Hans",
    "Traditional Chinese": "zh-Hant",
    "Japanese": "ja",
    "Korean": "ko",
    "Thai": "th",
    "Tamil": "ta",
    "Tibetan": "bo",
    "Uyghur": "ug",
}
"""Names of languages → tags of BCP 47, by which a browser picks fonts and glyphs; others have none."""

PER_CHUNK = 50
"""Episodes that are parsed together when one of them is opened."""
Field = tuple[int, int | list[int]]
"""A name and a text, or a list of texts, by their numbers."""


class Held(NamedTuple):
    """An episode with all that is known of it."""

    entry: Entry
    episode: Episode
    judgements: tuple[Judgement, ...]
    """In the order in which they are shown."""
    scenario: Scenario | None
    """``None`` when the dataset no longer has it as it was."""


class Texts:
    """Texts, each kept once and known by its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._listed: list[str] = []

    def number(self, text: str) -> int:
        """Return the number of a text; it is listed as it is safe to show."""
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._listed)
            self._listed.append(printable(text))
        return found

    def numbers(self, texts: Sequence[str]) -> list[int]:
        """Return the numbers of several texts."""
        return [self.number(text) for text in texts]

    @property
    def listed(self) -> list[str]:
        """All texts in the order of their numbers."""
        return self._listed


def chunk(episodes: Sequence[Held]) -> bytes:
    """Return some conversations as one JSON object: ``texts``, and ``episodes`` that name them."""
    texts = Texts()
    shown = [_shown(held, texts) for held in episodes]
    return orjson.dumps({"texts": texts.listed, "episodes": shown})


def _shown(held: Held, texts: Texts) -> dict[str, Any]:
    episode, scenario = held.episode, held.scenario
    native = episode.language_mode is LanguageMode.NATIVE
    return {
        "id": texts.number(episode.episode_id),
        "model": texts.number(held.entry.model),
        "lang": TAGS.get(episode.seed.persona.native_language, "") if native else "en",
        "about": [(texts.number(name), texts.number(value)) for name, value in _about(held)],
        "turns": [_turn(episode, number, texts) for number in range(len(episode.turns))],
        "seen": [_seen(episode, number, scenario, texts) for number in range(len(episode.turns))] if scenario else [],
        "judge_saw": [_judge_saw(episode, metric, scenario, texts) for metric in Metric] if scenario else [],
        "plan": _plan(episode, scenario, texts),
        "judged": [_judged(judgement, texts) for judgement in held.judgements],
    }


def _about(held: Held) -> Iterator[tuple[str, str]]:
    episode, challenge = held.episode, held.episode.seed.challenge_config
    second = challenge.secondary_region
    scenario = held.scenario
    yield "Dialogue", episode.episode_id
    yield "User", persona_summary(episode.seed.persona)
    if scenario:
        yield "Situation", scenario.blueprint.scenario_instantiation.instantiated_summary.global_english
    yield "Domain", domain_label(episode.domain)
    yield "Subdomain", words(episode.subdomain)
    yield "Tier", tier_label(challenge.challenge_type)
    yield "Cross-cultural", f"with {REGION_NAMES[second]}" if second else "no"
    yield "Taboo-grounded", "yes" if challenge.taboo_grounded else "no"
    yield "Language", held.entry.language
    yield "Assistant", f"{held.entry.model} ({episode.target_model}), {episode.simulation_mode.value} mode"
    yield "Simulated user", episode.simulator_model
    yield "Ended", ended_label(episode.termination_reason)
    if episode.error:
        yield "What broke", episode.error
    yield "Shards cleared", f"{episode.shards_cleared} of {episode.shards_total}"
    yield "Replies of the simulator that were sent back", str(episode.simulator_retries)
    if episode.attempt:
        yield "Held anew", f"{episode.attempt} times, since the simulator broke the form"


def _turn(episode: Episode, number: int, texts: Texts) -> dict[str, Any]:
    turn = episode.turns[number]
    return {
        "shard": turn.shard_id,
        "user": texts.number(turn.user),
        "faults": texts.numbers(turn.faults),
        "assistant": texts.number(turn.assistant),
        "decision": turn.decision.value if turn.decision else None,
        "thinking": texts.number(turn.thinking),
    }


def _seen(episode: Episode, number: int, scenario: Scenario, texts: Texts) -> dict[str, Any]:
    """Return what the assistant saw before a turn's reply, and the simulated user after it.

    The chat that both saw is said by how many of its lines they saw.
    """
    shards = {shard.shard_id: shard for shard in scenario.interaction_sequence}
    turn = episode.turns[number]
    shard = shards.get(turn.shard_id)
    if shard is None:
        return {"lines": 2 * number + 1, "assistant": [], "simulator": []}
    chat = _history(episode, number + 1)
    gold = episode.simulation_mode is SimulationMode.GOLD
    view = gold_view(scenario, shard, chat[:-1]) if gold else assistant_view(chat[:-1])
    simulated = simulator_view(scenario, shard, shards.get(turn.shard_id + 1), chat, episode.language_mode)
    return {
        "lines": len(view.history),
        "assistant": list(_fields(_parts(view), texts)),
        "simulator": list(_fields(_parts(simulated), texts)),
    }


def _parts(view: Any) -> dict[str, Any]:
    """Return a view's parts by name, as they are: a copy of the chat for every turn would take long."""
    return {field.name: getattr(view, field.name) for field in fields(view)}


def _history(episode: Episode, turns: int) -> tuple[Message, ...]:
    lines: list[Message] = []
    for turn in episode.turns[:turns]:
        lines.append(Message.model_construct(role="user", content=turn.user))
        lines.append(Message.model_construct(role="assistant", content=turn.assistant))
    return tuple(lines)


def _judge_saw(episode: Episode, metric: Metric, scenario: Scenario, texts: Texts) -> dict[str, Any]:
    """Return the fields of one metric's judge; of the conversation only that it was there, whole."""
    view = judge_view(scenario, episode, metric)
    shown = {name: value for name, value in view.fields.items() if name != "conversation"}
    return {
        "metric": metric_label(metric),
        "conversation": "conversation" in view.fields,
        "fields": list(_fields(shown, texts)),
    }


def _fields(values: Mapping[str, Any], texts: Texts, prefix: str = "") -> Iterator[Field]:
    """Yield a view's fields but for its chat, parts of parts under both names; what is ``None`` is left out."""
    for name, value in values.items():
        label = f"{prefix}{name.replace('_', ' ')}"
        if is_dataclass(value):
            yield from _fields(_parts(value), texts, f"{label}: ")
        elif isinstance(value, Mapping):
            yield from _fields(value, texts, f"{label}: ")
        elif isinstance(value, (list, tuple)):
            if name != "history":
                yield texts.number(label), texts.numbers([_said(each) for each in value])
        elif value is not None:
            yield texts.number(label), texts.number(_said(value))


def _said(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _plan(episode: Episode, scenario: Scenario | None, texts: Texts) -> list[dict[str, Any]]:
    outcomes = {outcome.shard_id: outcome for outcome in episode.shard_outcomes}
    planned: dict[int, Shard] = {shard.shard_id: shard for shard in scenario.interaction_sequence} if scenario else {}
    shards = []
    for number in range(1, episode.shards_total + 1):
        outcome, shard = outcomes.get(number), planned.get(number)
        shards.append(
            {
                "shard": number,
                "outcome": outcome.outcome if outcome else "NOT_REACHED",
                "turns": outcome.turns if outcome else 0,
                "phase": texts.number(shard.phase_label) if shard else None,
                "fields": list(_fields(_planned(shard), texts)) if shard else [],
            }
        )
    return shards


def _planned(shard: Shard) -> dict[str, Any]:
    return {
        "goal": shard.user_instruction.current_surface_goal,
        "cues": shard.user_instruction.required_signifier_usage,
        "it ends when the assistant": shard.transition_guide.success_exit_conditions,
        "it goes on while the assistant": shard.transition_guide.failure_loop_conditions,
    }


def _judged(judgement: Judgement, texts: Texts) -> dict[str, Any]:
    failure = judgement.failure
    return {
        "metric": metric_label(judgement.metric),
        "judge": texts.number(judgement.judge),
        "score": judgement.score,
        "failure": texts.number(f"{failure.kind.value.replace('_', ' ')}: {failure.detail}") if failure else None,
        "reasoning": texts.number(judgement.reasoning),
        "tripwires": texts.numbers(judgement.tripwires_triggered),
        "taboos": texts.numbers(judgement.taboos_violated),
        "details": list(_fields(judgement.details, texts)),
        "tries": judgement.tries,
    }
