"""The same episodes under several prompts of the judge: what is stored of it, and what it took by the ledger."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ccfw.errors import PromptError, ProviderError, StoreError
from ccfw.llm.asking import ask
from ccfw.llm.client import Meter
from ccfw.llm.ledger import Ledger
from ccfw.llm.types import ChatReply, ChatRequest
from ccfw.prompts import PromptSet
from ccfw.records import Episode, FailureKind, Judgement
from ccfw.report.wordings import Key, Wording, cost
from ccfw.resources import resource
from ccfw.settings.models import ModelConfig
from ccfw.stages import evaluate, simulate
from ccfw.stages.context import Context
from ccfw.stages.evaluate import Bench, Item
from ccfw.stages.judged import Folder
from ccfw.store import StoredRecords, fingerprint, read_records
from ccfw.universe.seed_id import episode_id

log = logging.getLogger(__name__)
_OF_DIALOGUE = frozenset({"simulator_prompts", "gold_prompts"})
"""Parts of an episode's prompts: each style has its own files, which may say the same."""


def wordings(context: Context, found: Iterable[Folder]) -> list[Wording]:
    """Return what is stored under each style of prompts, for every member of the judge that was asked under several.

    Episodes are the same when the same was said in them, whatever folder they lie in.
    """
    planned = {episode_id(scenario.seed.seed_id, language) for scenario, language in context.planned}
    shelf = Shelf(context, StoredRecords(evaluate.episodes_output(context).records, Episode, planned))
    folders = list(found)
    return [
        wording
        for name, member in context.settings.judge.members.items()
        for wording in shelf.wordings(name, member, folders)
    ]


@dataclass(frozen=True)
class Shelf:
    """The job's own episodes, and those of other folders in which the same was said."""

    context: Context
    own: Mapping[str, Episode]
    _alike: dict[str, frozenset[str]] = field(default_factory=dict)

    def wordings(self, name: str, member: ModelConfig, folders: Sequence[Folder]) -> list[Wording]:
        """Return one member's styles, the job's own first; none when there is but one."""
        content = evaluate.parts(self.context, member)
        own, alike = content["prompts"], _but_for_prompts(content)
        fitting = [folder for folder in folders if _but_for_prompts(folder.manifest.content) == alike]
        if len({folder.manifest.fingerprint_of.prompts for folder in fitting}) < 2:
            return []
        parted: dict[tuple[bool, str, str], dict[Key, int | None]] = {}
        for folder in fitting:
            prompts = folder.manifest.fingerprint_of.prompts
            parted.setdefault((prompts != own, folder.manifest.style, prompts), {}).update(self._scores(folder))
        parted = {key: scores for key, scores in parted.items() if scores}
        styles = Counter(style for _, style, _ in parted)
        made = []
        for (_, style, prompts), scores in sorted(parted.items(), key=lambda part: part[0]):
            title = style if styles[style] == 1 else f"{style} {prompts}"
            episodes = {episode for episode, _ in scores}
            made.append(
                Wording(name, title, scores, cost(len(episodes), self._replies(member, style, prompts, scores)))
            )
        return made if len(made) > 1 else []

    def _scores(self, folder: Folder) -> dict[Key, int | None]:
        try:
            alike = self._in_common(fingerprint(folder.manifest.fingerprint_of.episodes))
            stored = [j for j in read_records(folder.output.records, Judgement) if j.episode_id in alike]
        except (OSError, StoreError) as error:
            log.warning("left out of the comparison of prompts: %s", error)
            return {}
        return {(judgement.episode_id, judgement.metric): judgement.score for judgement in stored}

    def _in_common(self, episodes: str) -> frozenset[str]:
        """Return the ids of a folder's episodes in which the same was said as in the job's own."""
        if episodes not in self._alike:
            output = self.context.output(simulate.NAME, episodes)
            self._alike[episodes] = frozenset(
                e.episode_id
                for e in read_records(output.records, Episode)
                if e.episode_id in self.own and _heard(e) == _heard(self.own[e.episode_id])
            )
        return self._alike[episodes]

    def _replies(self, member: ModelConfig, style: str, prompts: str, keys: Iterable[Key]) -> list[ChatReply] | None:
        """Return every reply that the judgements came from, each once; ``None`` when not all can be found again."""
        context = self.context
        try:
            wording = PromptSet(resource("prompts"), style)
        except PromptError:
            return None
        if wording.digest("judge/") != prompts or not (Path(context.settings.workspace) / "ledger.sqlite").exists():
            return None
        scenarios = context.dataset.by_seed()
        episodes = [(self.own[episode], metric) for episode, metric in keys]
        items = [(scenarios[episode.seed.seed_id], episode, metric) for episode, metric in episodes]
        bench = Bench(context.settings, member, context.client(member, Meter()), wording)
        try:
            return context.runner.run(_replayed(bench, items, _Kept(context.ledger)))
        except StoreError as error:
            log.warning("what the prompts cost is not known: %s", error)
            return None


def _but_for_prompts(content: dict[str, Any]) -> str:
    """Return the hash of what decided judgements, leaving out what words them."""
    episodes = {key: value for key, value in content["episodes"].items() if key not in _OF_DIALOGUE}
    return fingerprint(content | {"episodes": episodes, "prompts": None})


def _heard(episode: Episode) -> tuple[Any, ...]:
    """Return what a judge learns of an episode."""
    said = tuple((turn.user, turn.assistant) for turn in episode.turns)
    return said, episode.scenario_hash, episode.shard_outcomes, episode.shards_total, episode.termination_reason


@dataclass(frozen=True)
class _Kept:
    """Answers from the ledger alone, and keeps each reply once."""

    ledger: Ledger
    replies: dict[str, ChatReply] = field(default_factory=dict)

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the ledger's reply; raise ``ProviderError`` when it holds none."""
        reply = self.replies.get(request.key) or self.ledger.get(request.key)
        if reply is None:
            raise ProviderError("not in the ledger", transient=False)
        self.replies[request.key] = reply
        return reply


async def _replayed(bench: Bench, items: Sequence[Item], kept: _Kept) -> list[ChatReply] | None:
    for item in items:
        asked = await ask(kept, bench.request(item), bench.reader(item), bench.settings.judging.tries)
        if asked.failure is not None and asked.failure.kind is FailureKind.INFRASTRUCTURE:
            return None
    return list(kept.replies.values())
