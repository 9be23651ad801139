"""The work that the engine and the ledger are measured on: judgements of long episodes, asked as the stage asks."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from hydra import compose, initialize_config_dir

from ccfw.datasets import load
from ccfw.llm.client import Client, Meter
from ccfw.llm.ledger import Ledger
from ccfw.llm.types import ChatClient, ChatReply, ChatRequest, Usage
from ccfw.prompts import PromptSet
from ccfw.records import Episode, Judgement, Metric, Scenario
from ccfw.request import to_settings
from ccfw.resources import resource
from ccfw.settings import Settings
from ccfw.settings.models import ModelConfig
from ccfw.stages.batch import run_batch, workers
from ccfw.stages.context import StageResult
from ccfw.stages.evaluate import Bench, judgement_id
from ccfw.stop import Stop
from ccfw.store import Output
from tests.fakes.filling import prose
from tests.fakes.scripts import play_judge
from tests.fakes.wire import FakeRequest
from tests.samples import episode_of, turn

_TURNS = 8
PATIENT = {"timeout_s": 300.0, "deadline_s": 600.0}
"""A thousand calls at once through a slow library each take long."""
Item = tuple[Scenario, Episode, Metric]


@dataclass
class Work:
    """Judgements to make."""

    settings: Settings
    prompts: PromptSet
    items: list[tuple[str, Item]]

    def judge(
        self, runner: asyncio.Runner, ledger: Ledger, folder: Path, transport: ChatClient, *, calls: int, at_once: int
    ) -> Meter:
        """Make the first ``calls`` judgements into a new folder, as the stage *evaluate* does."""
        member = self.settings.model.model_copy(update={"max_in_flight": at_once} | PATIENT)
        meter = Meter()
        bench = Bench(self.settings, member, Client(member, ledger, meter, transport), self.prompts)
        result = StageResult("evaluate", folder, meter=meter)
        items = self.items[:calls]
        with Output(folder) as output, contextlib.redirect_stderr(io.StringIO()):  # no progress bar
            run_batch(
                runner,
                output,
                result,
                items,
                bench.judge,
                broken=_broken,
                kind=Judgement,
                concurrency=workers(member),
                stop=Stop(),
            )
        if result.done != calls or meter.calls + meter.cached != calls:
            raise RuntimeError(f"{result.done} of {calls} judgements were made, with {meter.calls} calls")
        return meter


def _broken(judgement: Judgement) -> str | None:
    return judgement.failure.detail if judgement.failure else None


def work(count: int) -> Work:
    """Return ``count`` judgements under the full prompts, six to an episode."""
    with initialize_config_dir(str(resource("conf")), version_base="1.3"):
        settings = to_settings(compose("config", overrides=["model=scripted", "stage=evaluate", "tracking=none"]))
    scenarios = load(settings.dataset).scenarios
    episodes = [(scenarios[i % len(scenarios)], i) for i in range(-(-count // len(Metric)))]
    items = [
        (judgement_id(held, metric), (scenario, held, metric))
        for scenario, held in ((scenario, long_episode(scenario, i)) for scenario, i in episodes)
        for metric in Metric
    ]
    return Work(settings, PromptSet(resource("prompts"), settings.prompt_style(settings.model)), items[:count])


def long_episode(scenario: Scenario, number: int) -> Episode:
    """Return an episode of eight turns whose words follow from its number."""
    rng = Random(number)  # noqa: S311 words, not secrets
    turns = tuple(turn(prose(rng, 100, 200), prose(rng, 300, 600)) for _ in range(_TURNS))
    return episode_of(scenario, turns, episode_id=f"{scenario.seed.seed_id}__EN_{number}")


class Played:
    """A transport that answers at once as the fake provider's judge would, and remembers what it was asked."""

    def __init__(self, model: ModelConfig) -> None:
        self.model = model
        self.requests: list[ChatRequest] = []
        self.replies: dict[str, ChatReply] = {}

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer a request."""
        if request.key not in self.replies:
            text = play_judge(FakeRequest(bare_arguments(self.model, request), {}, 0, 0, 0.0))
            tokens = len(json.dumps([message.content for message in request.messages])) // 4
            usage = Usage(tokens, len(text) // 4, None)
            self.replies[request.key] = ChatReply(text, "stop", False, "scripted", usage, 0.001, 0.05)
            self.requests.append(request)
        return self.replies[request.key]


def bare_arguments(model: ModelConfig, request: ChatRequest) -> dict[str, Any]:
    """Return what a plain script would hand to ``litellm.acompletion`` for the same reply."""
    return {
        "model": model.provider_model,
        "api_base": model.api_base,
        "api_key": "none",
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "max_tokens": model.max_output_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "timeout": model.timeout_s,
        "num_retries": 0,
        "max_retries": 0,
        "response_format": _response_format(request),
    }


def _response_format(request: ChatRequest) -> Mapping[str, Any]:
    schema = {"name": request.schema_name, "schema": request.schema, "strict": True}
    return {"type": "json_schema", "json_schema": schema}


def played(made: Work, runner: asyncio.Runner, folder: Path) -> Played:
    """Make all the judgements once, and return what was asked and answered."""
    transport = Played(made.settings.model)
    with Ledger(folder / "played.sqlite") as ledger:
        made.judge(runner, ledger, folder / "played", transport, calls=len(made.items), at_once=1)
    return transport
