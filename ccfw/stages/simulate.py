"""Stage *simulate*: hold dialogues (section 3.7).

Reads   the dataset's frozen scenarios.
Writes  ``simulate/<fingerprint>/records.jsonl``, one ``Episode`` a line; broken ones in ``failures.jsonl``.
Method  the simulated user speaks and decides from its own view, the assistant answers from the chat (or, in
        gold mode, from what Table 1 grants it); ``ccfw.dialogue`` says who speaks next and when it ends.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ccfw.checks.turns import TurnIssue, check_turn
from ccfw.datasets import scenario_digest
from ccfw.dialogue import Answer, Broken, Move, Reply, Transcript, View, converse
from ccfw.errors import ProviderError
from ccfw.llm.asking import ask, build_request, unusable
from ccfw.llm.client import Client
from ccfw.parsing import CORE_SIMULATOR_KEYS, SIMULATOR_KEYS, SimulatorReply, read_simulator, visible
from ccfw.prompts import PromptSet
from ccfw.records import (
    Decision,
    Episode,
    Failure,
    FailureKind,
    LanguageMode,
    Message,
    Scenario,
    SimulationMode,
    TerminationReason,
)
from ccfw.settings import Settings
from ccfw.settings.models import ModelConfig
from ccfw.stages.batch import run_batch, workers
from ccfw.stages.context import Context, StageResult
from ccfw.store import Output, done_ids, fingerprint, read_records
from ccfw.universe.seed_id import episode_id
from ccfw.views import AssistantView, GoldView, SimulatorView, chat_lines, view_fields

NAME = "simulate"
STYLES_VERSION = 1
"""Raised when a directive's wording or drawing changes, or how a region asks for help (``ccfw.styles``)."""
CHECKS_VERSION = 1
"""Raised when a turn that was sent back would pass now, or the other way round (``ccfw.checks.turns``)."""
_NO_REPLY = "[no reply]"
"""Stands for an empty reply in the assistant's own history, where providers take no empty message."""


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides an episode; its hash names the output folder."""
    settings = context.settings
    gold = settings.mode.name is SimulationMode.GOLD
    return {
        "dataset": context.dataset.digest,
        "model": settings.model.identity,
        "simulator": settings.simulator.identity,
        "mode": settings.mode.name.value,
        "simulation": settings.simulation.model_dump(mode="json", exclude={"deadline_s"}),
        "simulator_prompts": context.prompts(settings.simulator).digest("simulator"),
        "gold_prompts": context.prompts(settings.model).digest("assistant_gold") if gold else None,
        "styles": STYLES_VERSION,
        "turn_checks": CHECKS_VERSION,
        "seed": settings.seed,
    }


def run(context: Context) -> StageResult:
    """Hold every dialogue that was asked for and is not there yet."""
    settings = context.settings
    content = parts(context)
    output = context.output(NAME, fingerprint(content))
    result = StageResult(NAME, output.folder)
    cast = Cast(
        settings=settings,
        assistant=context.client(settings.model, result.meter),
        simulator=context.client(settings.simulator, result.meter),
        assistant_prompts=context.prompts(settings.model),
        simulator_prompts=context.prompts(settings.simulator),
    )
    scenarios = context.dataset.by_seed()

    async def hold(item: tuple[str, LanguageMode, int]) -> Episode:
        seed_id, language, attempt = item
        return await cast.hold((scenarios[seed_id], language, attempt))

    with output:
        attempts = _attempts(output)
        planned = [(episode_id(s.seed.seed_id, language), s.seed.seed_id, language) for s, language in context.planned]
        items = [(key, (seed_id, language, attempts.get(key, 0))) for key, seed_id, language in planned]
        try:
            run_batch(
                context.runner,
                output,
                result,
                items,
                hold,
                broken=_broken,
                kind=Episode,
                concurrency=workers(settings.model),
                stop=context.stop,
            )
        finally:
            output.write_manifest(context.manifest(output, result, content))
    return result


def plan(context: Context) -> tuple[int, int]:
    """Return the least and the most calls that the stage would make, given what is stored."""
    caps, tries = context.settings.simulation.caps, context.settings.simulation.tries
    have = done_ids(context.output(NAME, fingerprint(parts(context))).records)
    least = most = 0
    for scenario, language in context.planned:
        if episode_id(scenario.seed.seed_id, language) in have:
            continue
        shards = scenario.shards
        least += 2 * min(shards, caps.turns_per_episode)
        most += (1 + tries) * min(shards * caps.turns_per_shard, caps.turns_per_episode)
    return least, most


def missing(context: Context) -> int:
    """Return how many of the dialogues that the job asks for are not there yet."""
    have = done_ids(context.output(NAME, fingerprint(parts(context))).records)
    return sum(episode_id(scenario.seed.seed_id, language) not in have for scenario, language in context.planned)


def _broken(episode: Episode) -> str | None:
    return episode.error or "unknown" if episode.termination_reason.is_infrastructure else None


def _attempts(output: Output) -> dict[str, int]:
    """Return which attempt is next for each dialogue that broke before.

    A simulator that broke its form would do so again from the ledger's replies, so its next attempt asks anew; a
    provider's failure left nothing in the ledger, so the same attempt goes on where it stopped.
    """
    return {
        e.episode_id: e.attempt + (e.termination_reason is TerminationReason.SIMULATOR_ERROR)
        for e in read_records(output.folder / "failures.jsonl", Episode)
    }


@dataclass(frozen=True)
class Cast:
    """The two speakers with their prompts."""

    settings: Settings
    assistant: Client
    simulator: Client
    assistant_prompts: PromptSet
    simulator_prompts: PromptSet

    async def hold(self, item: tuple[Scenario, LanguageMode, int]) -> Episode:
        """Hold one dialogue; whatever breaks ends as an episode that says so."""
        scenario, language, attempt = item
        settings = self.settings
        dialogue = converse(scenario, language, settings.mode.name, **settings.simulation.caps.model_dump())
        view = next(dialogue)
        end = time.monotonic() + settings.simulation.deadline_s
        late = Broken(f"the dialogue was not over within its deadline of {settings.simulation.deadline_s:g} s")
        while True:
            answer = await self._answer(view, scenario, attempt) if time.monotonic() < end else late
            try:
                view = dialogue.send(answer)
            except StopIteration as end:
                return _episode(scenario, language, settings, end.value, attempt)

    async def _answer(self, view: View, scenario: Scenario, attempt: int) -> Answer:
        return await (self._move(view, scenario, attempt) if isinstance(view, SimulatorView) else self._reply(view))

    async def _reply(self, view: AssistantView | GoldView) -> Answer:
        settings = self.settings
        request = build_request(
            settings.model,
            assistant_messages(view, self.assistant_prompts),
            role="assistant",
            temperature=settings.simulation.assistant_temperature,
            seed=settings.seed,
        )
        try:
            reply = await self.assistant.complete(request)
        except ProviderError as error:
            return Broken(str(error))
        fault = unusable(reply)
        if fault and fault.kind is FailureKind.EMPTY_AFTER_THINKING:
            return Broken(f"{fault.kind.value}: {fault.detail}; raise model.max_output_tokens")
        return Reply(visible(reply.text))

    async def _move(self, view: SimulatorView, scenario: Scenario, attempt: int) -> Answer:
        settings = self.settings
        model = settings.simulator
        protocol = reply_protocol(settings, model)
        keys = CORE_SIMULATOR_KEYS if model.size == "small" else SIMULATOR_KEYS
        request = build_request(
            model,
            simulator_messages(view, self.simulator_prompts, protocol),
            role="simulator",
            temperature=settings.simulation.simulator_temperature,
            seed=settings.seed,
            schema_name="simulator" if protocol == "json" else None,
            schema=simulator_schema(keys) if protocol == "json" else None,
            replicate=attempt,
        )
        reader = Reader(view, scenario, protocol, keys, settings.simulation.send_back)
        asked = await ask(self.simulator, request, reader.read, settings.simulation.tries)
        unanswered = asked.failure is not None and asked.failure.kind is FailureKind.INFRASTRUCTURE
        reply = asked.value or reader.out_of_role
        if reply is None or unanswered:  # an outage must not make a refused message final
            return Broken(f"{asked.failure.kind.value}: {asked.failure.detail}" if asked.failure else "no reply")
        return Move(reply.decision, reply.message, reply.thinking, asked.tries - 1, reader.faults(reply))


@dataclass
class Reader:
    """Reads the simulator's replies to one view, and sends back those that are out of role or language.

    The last of those is kept: a message that no try could mend is said as it is, and its faults are recorded.
    """

    view: SimulatorView
    scenario: Scenario
    protocol: str
    keys: tuple[str, ...]
    send_back: bool
    out_of_role: SimulatorReply | None = None

    def read(self, text: str) -> SimulatorReply | Failure:
        """Read a reply; a failure where another try is wanted."""
        reply = read_simulator(text, self.protocol, self.keys)
        again = [issue for issue in self._issues(reply) if issue.severity == "retry"]
        if not again or not self.send_back:
            return reply
        self.out_of_role = reply
        rules = "; ".join(dict.fromkeys(f"{issue.check}: {issue.says}" for issue in again))
        return Failure(kind=FailureKind.OUT_OF_ROLE, detail=rules)

    def faults(self, reply: SimulatorReply) -> tuple[str, ...]:
        """Return the names of the checks that a reply's message fails."""
        return tuple(dict.fromkeys(issue.check for issue in self._issues(reply)))

    def _issues(self, reply: SimulatorReply) -> tuple[TurnIssue, ...]:
        goals = [shard.user_instruction.current_surface_goal for shard in self.scenario.interaction_sequence]
        shard = self.view.intent.shard_id - 1 + (reply.decision is Decision.ADVANCE_NEXT)
        if shard == len(goals):
            return ()  # the last shard is cleared: nobody reads the message
        return check_turn(reply.message, self.view.history, goals=goals, shard=shard, language=self.view.language)


def reply_protocol(settings: Settings, model: ModelConfig) -> str:
    """Return how the simulator wraps its reply: as asked for, or JSON where the model takes a schema."""
    if settings.simulation.reply != "auto":
        return settings.simulation.reply
    return "json" if model.accepts.structured == "json_schema" else "tags"


def assistant_messages(view: AssistantView | GoldView, prompts: PromptSet) -> tuple[Message, ...]:
    """Build the assistant's messages: the chat alone, or under the gold teacher's instructions."""
    chat = tuple(m if m.content else m.model_copy(update={"content": _NO_REPLY}) for m in view.history)
    if isinstance(view, GoldView):
        return (*prompts.render("assistant_gold", view_fields(view)), *chat)
    return chat


def simulator_messages(view: SimulatorView, prompts: PromptSet, protocol: str) -> tuple[Message, ...]:
    """Build the simulator's messages."""
    fields = view_fields(view) | {"chat": chat_lines(view.history), "protocol": protocol}
    return prompts.render("simulator", fields | {"last_answer": view.history[-1].content})


def simulator_schema(keys: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the JSON schema of the simulator's reply; the short form bounds the message, since small models run on."""
    bounds = {"maxLength": 160} if keys == CORE_SIMULATOR_KEYS else {}
    properties: dict[str, Any] = {key: {"type": "string"} for key in keys}
    properties["decision"] = {"type": "string", "enum": [decision.value for decision in Decision]}
    properties["message"] = {"type": "string"} | bounds
    return {"type": "object", "properties": properties, "required": list(keys), "additionalProperties": False}


def _episode(
    scenario: Scenario, language: LanguageMode, settings: Settings, transcript: Transcript, attempt: int
) -> Episode:
    template = scenario.blueprint.scenario_instantiation.parent_template
    return Episode(
        episode_id=episode_id(scenario.seed.seed_id, language),
        scenario_hash=scenario_digest(scenario),
        seed=scenario.seed,
        domain=template.domain,
        subdomain=template.subdomain,
        target_model=settings.model.name,
        simulator_model=settings.simulator.name,
        language_mode=language,
        simulation_mode=settings.mode.name,
        termination_reason=transcript.termination_reason,
        error=transcript.error,
        shards_total=len(scenario.interaction_sequence),
        shard_outcomes=transcript.shard_outcomes,
        turns=transcript.turns,
        simulator_retries=transcript.simulator_retries,
        attempt=attempt,
    )
