"""The stored conversations of several assistants, as a page or a server shows them: listed, filtered, opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, islice
from typing import NamedTuple

from pydantic import ConfigDict

from ccfw.errors import StoreError
from ccfw.records import (
    Episode,
    Judgement,
    LanguageMode,
    Metric,
    Record,
    Scenario,
    SimulationMode,
    TerminationReason,
)
from ccfw.report.board import unique
from ccfw.report.page import Embedded
from ccfw.report.reader import PER_CHUNK, Held, chunk
from ccfw.report.reader_index import (
    Entry,
    Filter,
    Index,
    Ints,
    ended_label,
    faults_of,
    identity_label,
    indexed,
    language_label,
    meeting,
    tier_label,
)
from ccfw.selection import Outline
from ccfw.stages.context import Context
from ccfw.stages.gathered import Gathered, Judged, leave_out, legible
from ccfw.store import StoredRecords, read_records
from ccfw.universe.seed_id import episode_id

_METRICS = tuple(Metric)


class _Faults(Record):
    model_config = ConfigDict(frozen=True, extra="ignore")
    faults: tuple[str, ...]


class Dialogue(Record):
    """As much of an episode as a list says; the rest of its line is not even kept."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    episode_id: str
    termination_reason: TerminationReason
    turns: tuple[_Faults, ...]


class _Brief(NamedTuple):
    """What is kept of a glance: a list may be of hundreds of thousands."""

    ended: TerminationReason
    turns: int
    checks: tuple[str, ...]


def _briefs(run: Judged, keys: Container[str]) -> dict[str, _Brief]:
    return {
        found.episode_id: _Brief(
            found.termination_reason, len(found.turns), tuple(fault for turn in found.turns for fault in turn.faults)
        )
        for found in read_records(run.episodes.records, Dialogue, keys)
    }


def _runs(found: Gathered | None) -> tuple[Mapping[str, Judged], Mapping[str, Judged]]:
    return (found.found, found.counterpart) if found else ({}, {})


class _Place(NamedTuple):
    """Where a listed conversation is."""

    shelf: int
    episode: str
    outline: Outline
    language: LanguageMode


@dataclass(frozen=True)
class Reading:
    """Conversations in the order of their scenarios, those of one scenario side by side."""

    context: Context
    shelves: Sequence[Judged]
    labels: Sequence[str]
    """Of the shelves' assistants, all different."""
    planned: Sequence[tuple[Outline, LanguageMode]]
    most: int | None = None
    """How many of them at most, from the first on."""
    total: int | None = None
    """Conversations that these are a sample of; ``None``: they are all."""

    @classmethod
    def of(cls, context: Context, found: Gathered | None, unjudged: Sequence[Judged] = ()) -> Reading:
        """Return what compares, what is the same in the other mode, and what nobody judged, in every language."""
        unjudged = legible(unjudged)
        compared, other = (found.ordered(runs.values()) if found else [] for runs in _runs(found))
        modes = {mode for mode in SimulationMode if found and mode is not found.mode}
        labels = [
            *(found.name(run) for run in compared if found),
            *(f"{found.name(run)} ({mode.value} mode)" for mode in modes for run in other if found),
            *(f"{run.label} (not judged)" for run in unjudged),
        ]
        planned = [(outline, language) for outline in context.selection for language in LanguageMode]
        return cls(context, (*compared, *other, *unjudged), unique(labels), planned)

    def __len__(self) -> int:
        return len(self._places)

    @cached_property
    def _places(self) -> tuple[_Place, ...]:
        """Where each conversation is; what stands in a line but for its id is not read yet."""
        there = [run.held for run in self.shelves]
        found = (
            _Place(number, key, outline, language)
            for outline, language in self.planned
            for key in [episode_id(outline.seed.seed_id, language)]
            for number, held in enumerate(there)
            if key in held
        )
        return tuple(islice(found, self.most))

    @cached_property
    def index(self) -> Index:
        """What the list says of every conversation."""
        briefs = [self._glanced(shelf) for shelf in range(len(self.shelves))]
        scores = [_scores(run, tuple(found)) for run, found in zip(self.shelves, briefs, strict=True)]
        return indexed(
            [
                _entry(self.labels[place.shelf], place, briefs[place.shelf][place.episode], scores[place.shelf])
                for place in self._places
            ]
        )

    def sample(self, most: int) -> Reading:
        """Return the conversations of as many whole scenarios as make at most so many conversations.

        The order of scenarios is stratified by region and tier, so that any first part of it is a fair sample. Where
        the first scenario alone has more, it is the first of its conversations.
        """
        if len(self) <= most:
            return self
        sizes = Counter(place.outline.seed.seed_id for place in self._places)
        totals = zip(sizes, accumulate(sizes.values()), strict=True)
        kept = {seed for seed, total in totals if total <= most}
        fewer = [(outline, language) for outline, language in self.planned if outline.seed.seed_id in kept]
        return replace(self, planned=fewer or self.planned, most=most, total=len(self))

    def held(self, places: Sequence[int]) -> Iterator[Held]:
        """Yield some conversations with all that is known of them."""
        for number in places:
            place, entry = self._places[number], self.index.entry(number)
            episode = self._episodes(place.shelf)[place.episode]
            scenario = self._scenario(episode)
            yield Held(entry, episode, self._judgements(place), scenario)

    def chunk(self, places: Sequence[int]) -> bytes:
        """Return some conversations as the page's script reads them."""
        return chunk(list(self.held(places)))

    def chunks(self) -> Iterator[bytes]:
        """Yield all conversations in the order of the index."""
        numbers = iter(range(len(self)))
        while some := list(islice(numbers, PER_CHUNK)):
            if self.context.stop.interrupted:
                self.context.stop.check()
            yield self.chunk(some)

    def embedded(self) -> Embedded:
        """Return the conversations as they travel with a page."""
        return Embedded(self.index, list(self.chunks()), PER_CHUNK, len(self) if self.total is None else self.total)

    def damaged(self, *, whole: bool) -> list[Judged]:
        """Return the runs of whose conversations here some cannot be read; each is named in a line.

        Each record is read as far as a list needs it, or ``whole``.
        """
        found = []
        for shelf, run in enumerate(self.shelves):
            try:
                self._check(shelf, whole)
            except (StoreError, OSError) as error:
                leave_out(run, error)
                found.append(run)
        return found

    def _check(self, shelf: int, whole: bool) -> None:
        """Raise ``StoreError`` when a conversation of a shelf cannot be read."""
        glanced = self._glanced(shelf)
        for key in sorted(self._wanted[shelf]):
            if key not in glanced:
                raise StoreError(f"{self.shelves[shelf].episodes.records}: {key} cannot be read")
            if whole:
                self._episodes(shelf)[key]

    def without(self, runs: Collection[Judged]) -> Reading:
        """Return the conversations of the other runs."""
        kept = [(run, label) for run, label in zip(self.shelves, self.labels, strict=True) if run not in runs]
        return replace(self, shelves=[run for run, _ in kept], labels=[label for _, label in kept])

    def meeting(self, wanted: Filter) -> Ints:
        """Return the places of the conversations that meet a filter but for its text."""
        return meeting(self.index, wanted)

    def says(self, place: int, needle: str) -> bool:
        """Whether anyone in a conversation says something; ``needle`` is in lower case."""
        shelf, key, *_ = self._places[place]
        return any(
            needle in said.lower() for turn in self._episodes(shelf)[key].turns for said in (turn.user, turn.assistant)
        )

    def _scenario(self, episode: Episode) -> Scenario | None:
        seed = episode.seed.seed_id
        unchanged = self._digests.get(seed) == episode.scenario_hash
        return self.context.dataset.by_seed()[seed] if unchanged else None

    @cached_property
    def _digests(self) -> dict[str, str]:
        return {entry.outline.seed.seed_id: entry.digest for entry in self.context.dataset.entries}

    def _judgements(self, place: _Place) -> tuple[Judgement, ...]:
        keys = [f"{place.episode}::{metric.value}" for metric in _METRICS]
        stored = self._judged(place.shelf)
        return tuple(member[key] for key in keys for member in stored if key in member)

    @cached_property
    def _wanted(self) -> tuple[frozenset[str], ...]:
        found: list[set[str]] = [set() for _ in self.shelves]
        for place in self._places:
            found[place.shelf].add(place.episode)
        return tuple(map(frozenset, found))

    def _glanced(self, shelf: int) -> dict[str, _Brief]:
        if shelf not in self._opened_briefs:
            self._opened_briefs[shelf] = _briefs(self.shelves[shelf], self._wanted[shelf])
        return self._opened_briefs[shelf]

    @cached_property
    def _opened_briefs(self) -> dict[int, dict[str, _Brief]]:
        return {}

    def _episodes(self, shelf: int) -> StoredRecords[Episode]:
        if shelf not in self._opened_episodes:
            records = self.shelves[shelf].episodes.records
            self._opened_episodes[shelf] = StoredRecords(records, Episode, self._wanted[shelf])
        return self._opened_episodes[shelf]

    def _judged(self, shelf: int) -> tuple[StoredRecords[Judgement], ...]:
        if shelf not in self._opened_judgements:
            wanted = frozenset(f"{key}::{metric.value}" for key in self._wanted[shelf] for metric in _METRICS)
            members = [folder.output.records for folder in self.shelves[shelf].members]
            self._opened_judgements[shelf] = tuple(StoredRecords(each, Judgement, wanted) for each in members)
        return self._opened_judgements[shelf]

    @cached_property
    def _opened_episodes(self) -> dict[int, StoredRecords[Episode]]:
        return {}

    @cached_property
    def _opened_judgements(self) -> dict[int, tuple[StoredRecords[Judgement], ...]]:
        return {}


def _scores(run: Judged, keys: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    """Return the columns of each episode's scores; all missing where nothing was judged."""
    return dict(zip(keys, map(tuple, run.scores.rows(keys).columns().tolist()), strict=True))


def _entry(label: str, place: _Place, brief: _Brief, scores: Mapping[str, tuple[float, ...]]) -> Entry:
    persona, (*found, clean) = place.outline.seed.persona, scores[place.episode]
    return Entry(
        episode_id=place.episode,
        model=label,
        region=persona.region.value,
        identity=identity_label(persona.region.value, persona.identity),
        tier=tier_label(place.outline.seed.challenge_config.challenge_type),
        language=language_label(place.language, persona.native_language),
        ended=ended_label(brief.ended),
        turns=brief.turns,
        scores=tuple(found),
        clean=clean,
        faults=faults_of(brief.checks, found, broken=brief.ended.is_infrastructure),
    )
