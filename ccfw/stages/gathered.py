"""What was judged in a workspace: the runs that compare with each other, and those that do not, with the reason."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ccfw.errors import StoreError
from ccfw.judging.score_table import ScoreTable, combined_table, tabulated
from ccfw.judging.scoring import Aggregation
from ccfw.records import SimulationMode
from ccfw.report.board import unique
from ccfw.report.tables import SMALL_JUDGE
from ccfw.selection import Outline
from ccfw.stages import evaluate, simulate
from ccfw.stages.asked import Asked, asked_of
from ccfw.stages.batch import FAILURES
from ccfw.stages.comparable import alike, but_for_mode, differs, mode_of, several_places
from ccfw.stages.context import Context
from ccfw.stages.judged import Folder, folders, paid
from ccfw.stages.scores import stored_scores
from ccfw.store import Output, done_ids, fingerprint

log = logging.getLogger(__name__)
ALONE = frozenset({"report", "view"})
"""Stages that show what is there, whosever it is."""
_LONGEST = 80
"""Letters of a setting that a reader is told."""


@dataclass(frozen=True)
class Judged:
    """One assistant's stored judgements under one judge: a folder for each member."""

    model: str
    label: str
    episodes: Output
    members: tuple[Folder, ...]
    aggregation: Aggregation

    @cached_property
    def _given(self) -> ScoreTable:
        members = [stored_scores(folder.output) for folder in self.members]
        return combined_table(members, self.aggregation) if members else tabulated(())

    @cached_property
    def scores(self) -> ScoreTable:
        """What the members gave together to the dialogues that are there."""
        there = [key for key in self._given.episodes if key in self.held]
        return self._given if len(there) == len(self._given.episodes) else self._given.rows(there)

    @property
    def lost(self) -> int:
        """How many dialogues were judged and are not there."""
        return len(self._given.episodes) - len(self.scores.episodes)

    @cached_property
    def held(self) -> set[str]:
        """The dialogues that were held to their end."""
        return done_ids(self.episodes.records)

    @cached_property
    def broken(self) -> set[str]:
        """The dialogues that infrastructure ended, and no later run mended."""
        return done_ids(self.episodes.folder / FAILURES) - self.held

    @cached_property
    def line(self) -> Asked | None:
        """What the last run of *simulate* was asked for; ``None`` where its manifest does not say."""
        return asked_of(self.episodes)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What tells it from other assistants that it compares with, the same in either mode."""
        episodes = self.members[0].manifest.fingerprint_of.episodes
        simulator = episodes.get("simulator") or {}
        return {**(episodes.get("model") or {}), "api_base of the simulated user": simulator.get("api_base")}

    @cached_property
    def model_hash(self) -> str:
        """The hash of the assistant's own settings."""
        return fingerprint(self.members[0].manifest.fingerprint_of.episodes.get("model") or {})

    def cost(self) -> float | None:
        """Return what a dialogue took in US dollars, the simulated user's part with it; ``None`` is unknown."""
        receipt, count = paid(self.episodes), len(self.held)
        return receipt.usd / count if receipt and count and not receipt.unpriced_calls else None


@dataclass(frozen=True)
class Gathered:
    """Everything that was judged, parted by what compares."""

    judge: str
    """Name of the judge of those that compare."""
    aggregation: Aggregation
    found: Mapping[str, Judged]
    """Assistants that compare, by the fingerprint of their episodes."""
    counterpart: Mapping[str, Judged]
    """The same in the other mode, if they were run in it."""
    others: tuple[tuple[str, tuple[Judged, ...]], ...]
    """All that do not compare, by what they differ in."""
    own: str | None
    """The fingerprint of the job's own episodes, if they were judged as it asks."""

    @property
    def mode(self) -> SimulationMode:
        """The mode of those that compare."""
        return mode_of(next(iter(self.found.values())).members[0])

    _lines: dict[Asked, set[str]] = field(default_factory=dict)

    def without(self, runs: Collection[Judged]) -> Gathered | None:
        """Return the same without some of the runs that compare; ``None`` when none is left."""
        found = {key: run for key, run in self.found.items() if run not in runs}
        counterpart = {key: run for key, run in self.counterpart.items() if run not in runs}
        own = self.own if self.own in found else None
        return replace(self, found=found, counterpart=counterpart, own=own) if found else None

    @cached_property
    def _kinds(self) -> dict[str, Judged]:
        """The assistants that compare, in either mode, each once, by what tells them apart.

        That is the model's settings; and where the simulated user was reached, too, for a model whose runs differ in
        nothing else.
        """
        sides = [list(side.values()) for side in (self.found, self.counterpart)]
        several = {run.model_hash for side in sides for run in side if _same_model(run, side) > 1}
        kinds: dict[str, Judged] = {}
        for run in (run for side in sides for run in side):
            kinds.setdefault(fingerprint(run.settings) if run.model_hash in several else run.model_hash, run)
        return dict(sorted(kinds.items(), key=lambda kind: (kind[1].label, *_plainness(kind[1].settings))))

    def kind(self, run: Judged) -> str:
        """Return the hash that tells an assistant from others; its runs in either mode have the same."""
        exact = fingerprint(run.settings)
        return exact if exact in self._kinds else run.model_hash

    @cached_property
    def _names(self) -> dict[str, str]:
        return dict(zip(self._kinds, unique([run.label for run in self._kinds.values()]), strict=True))

    def name(self, run: Judged) -> str:
        """Return what an assistant is called: its label, with a number where several that compare have the same."""
        return self._names.get(self.kind(run), run.label)

    def ordered(self, runs: Iterable[Judged]) -> list[Judged]:
        """Return runs by their names."""
        return sorted(runs, key=lambda run: (self.name(run), str(run.episodes.folder)))

    @property
    def _namesakes(self) -> Iterator[str]:
        """Yield a line for each label that several settings of a model share: which number is which."""
        alike: dict[str, list[str]] = {}
        for kind, run in self._kinds.items():
            alike.setdefault(run.label, []).append(kind)
        for label, kinds in alike.items():
            if len(kinds) > 1:
                every = [self._kinds[kind].settings for kind in kinds]
                keys = sorted({key for one in every for key in one if any(one[key] != it.get(key) for it in every)})
                each = (f"{self._names[kind]} has {_told(self._kinds[kind].settings, keys)}" for kind in kinds)
                yield f"Several assistants are called {label or 'nothing'}: {'; '.join(each)}."

    def asked(self, judged: Judged, outlines: Sequence[Outline]) -> set[str]:
        """Return the dialogues that an assistant's runs were asked for: by the last, and all that any of them met."""
        met = judged.held | judged.broken
        if judged.line is None:
            return met
        if judged.line not in self._lines:
            self._lines[judged.line] = judged.line.dialogues(outlines)
        return met | self._lines[judged.line]

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """What a reader must know of the judge that is shown, whoever was asked for, and of where models were reached.

        One name at several addresses may stand for two models.
        """
        contents = [folder.manifest.content for run in self.found.values() for folder in run.members]
        small = any(folder.manifest.fingerprint_of.member.size == "small" for folder in self.lead.members)
        return (
            *([SMALL_JUDGE] if small else []),
            *self._namesakes,
            *several_places("judge", [content["member"] for content in contents]),
            *several_places("simulated user", [content["episodes"].get("simulator") or {} for content in contents]),
        )

    @property
    def lead(self) -> Judged:
        """The job's own, or the first where it has none."""
        return self.found[self.own] if self.own else self.ordered(self.found.values())[0]


def _same_model(run: Judged, runs: Iterable[Judged]) -> int:
    return sum(other.model_hash == run.model_hash for other in runs)


def _plainness(settings: Mapping[str, Any]) -> tuple[int, str]:
    """Return what settings are sorted by: those that say least come first."""
    text = json.dumps(settings, sort_keys=True, ensure_ascii=False, default=str)
    return len(text), text


def _told(settings: Mapping[str, Any], keys: Iterable[str]) -> str:
    """Write some settings for a reader."""
    given = ((key, settings.get(key)) for key in keys)
    written = ((key, "none" if value is None else json.dumps(value, ensure_ascii=False)) for key, value in given)
    return ", ".join(
        f"{key} {text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'}".replace('"', "") for key, text in written
    )


def legible(runs: Iterable[Judged]) -> list[Judged]:
    """Return the runs that can be shown; each of the others is named in a line, with what is wrong with it."""
    found = []
    for run in runs:
        try:
            held, scored, lost = len(run.held), len(run.scores.episodes), run.lost
        except (StoreError, OSError) as error:
            leave_out(run, error)
            continue
        if lost and not scored:
            told = "none of the dialogues that were judged is there" if held else "the dialogues are not there"
            leave_out(run, StoreError(f"{run.episodes.records}: {told}"))
            continue
        if lost:
            text = "%s: %d of the dialogues that were judged are not there; their scores are left out"
            log.warning(text, run.episodes.records, lost)
        found.append(run)
    return found


def leave_out(run: Judged, error: StoreError | OSError) -> None:
    """Say that a run is left out, and why."""
    why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
    judges = ", ".join(folder.manifest.member for folder in run.members)
    log.warning("left out: %s, judged by %s: %s", run.label, judges or "nobody", why)


def gathered(context: Context, own_root: Sequence[Folder]) -> Gathered | None:
    """Return what compares with the job, or with itself when the job asks for a report alone and has nothing.

    ``own_root`` are the folders of the job's dataset. ``None`` when nothing was judged that the job may show.
    """
    settings = context.settings
    wanted = _wanted(context)
    mine = fingerprint(simulate.parts(context))
    judge, aggregation = settings.judge.name, settings.judge.aggregation
    found = _compared(context, own_root, wanted, aggregation)
    if mine not in found and settings.stage.name not in ALONE:
        return None
    found, rest = _parted(found, own_root)
    if mine not in found and settings.stage.name not in ALONE:
        raise unreadable()
    while not found and (wanted := _most(context, rest)):
        aggregation = "mean"
        found, rest = _parted(_compared(context, rest, wanted, aggregation), rest)
        judge = next(iter(found.values())).members[0].manifest.member if found else judge
    if not found:
        return None
    reference = [next(iter(found.values())).members[place].manifest.content for place in range(len(wanted))]
    counterpart, apart = _parted(_counterpart(context, rest, reference, aggregation), rest)
    shown = {folder.output.folder for run in counterpart.values() for folder in run.members}
    elsewhere = [folder for root in _other_roots(context) for folder in folders(root)]
    return Gathered(
        judge=judge,
        aggregation=aggregation,
        found=found,
        counterpart=counterpart,
        others=_apart(
            [*(each for each in rest if each in apart or each.output.folder in shown), *elsewhere], reference
        ),
        own=mine if mine in found else None,
    )


def unreadable() -> StoreError:
    """Return what to raise where nothing is left to report on, or nothing of the job's own."""
    return StoreError("no report: what was judged cannot be read, as said above")


def _parted(runs: Mapping[str, Judged], among: Sequence[Folder]) -> tuple[dict[str, Judged], list[Folder]]:
    """Return those of some runs that can be shown, and which folders are in none of the runs."""
    used = {folder.output.folder for run in runs.values() for folder in run.members}
    shown = legible(runs.values())
    return (
        {key: run for key, run in runs.items() if run in shown},
        [folder for folder in among if folder.output.folder not in used],
    )


def _wanted(context: Context) -> list[str]:
    members = context.settings.judge.members.values()
    return [alike(evaluate.parts(context, member)) for member in members]


def _compared(
    context: Context, evaluated: Sequence[Folder], wanted: Sequence[str], aggregation: Aggregation
) -> dict[str, Judged]:
    """Return the assistants that have a folder for each of the wanted members, by the fingerprint of their episodes."""
    members: dict[str, dict[str, Folder]] = {}
    judges = context.settings.judge.members.values()
    own = {fingerprint(evaluate.parts(context, member)) for member in judges}
    for folder in evaluated:
        key = alike(folder.manifest.content)
        if key in wanted:
            episodes = fingerprint(folder.manifest.fingerprint_of.episodes)
            there = members.setdefault(episodes, {})
            if key not in there or folder.output.folder.name in own:  # of several addresses, the job's
                there[key] = folder
    return {
        episodes: Judged(
            model=found[wanted[-1]].manifest.model,
            label=found[wanted[-1]].manifest.label,
            episodes=context.output(simulate.NAME, episodes),
            members=tuple(found[key] for key in wanted),
            aggregation=aggregation,
        )
        for episodes, found in sorted(members.items())
        if all(key in found for key in wanted)
    }


def _most(context: Context, evaluated: Sequence[Folder]) -> list[str]:
    """Return what the most assistants were judged under on the job's data: a judge alone, in eval mode if possible."""
    counts: dict[str, tuple[bool, int, int, str]] = {}
    for folder in evaluated:
        episodes, key = folder.manifest.fingerprint_of.episodes, alike(folder.manifest.content)
        if episodes.get("dataset") == context.dataset.digest:
            size = folder.output.records.stat().st_size if folder.output.records.exists() else 0
            _, assistants, total, _ = counts.get(key, (False, 0, 0, key))
            counts[key] = (mode_of(folder) is SimulationMode.EVAL, assistants + 1, total + size, key)
    return [max(counts.values())[-1]] if counts else []


def _counterpart(
    context: Context, rest: Sequence[Folder], reference: Sequence[Mapping[str, Any]], aggregation: Aggregation
) -> dict[str, Judged]:
    """Return the same assistants under the same judge in the other mode."""
    keys = [but_for_mode(content) for content in reference]
    wanted: dict[str, str] = {}
    for folder in rest:
        key, content = but_for_mode(folder.manifest.content), folder.manifest.content
        if key in keys and content["episodes"].get("mode") != reference[0]["episodes"].get("mode"):
            wanted.setdefault(key, alike(content))
    if len(wanted) < len(set(keys)):
        return {}
    return _compared(context, rest, [wanted[key] for key in keys], aggregation)


def _other_roots(context: Context) -> list[Path]:
    """Return the folders of other datasets in the workspace."""
    workspace = Path(context.settings.workspace)
    own = workspace / context.settings.dataset.name
    return [path.parent for path in sorted(workspace.glob(f"*/{evaluate.NAME}")) if path.parent != own]


def _apart(
    rest: Sequence[Folder], reference: Sequence[Mapping[str, Any]]
) -> tuple[tuple[str, tuple[Judged, ...]], ...]:
    """Group the runs that do not compare by what they differ in."""
    groups: dict[tuple[str, str], list[Judged]] = {}
    for folder in rest:
        manifest = folder.manifest
        root = folder.output.folder.parent.parent
        episodes = Output(root / simulate.NAME / fingerprint(manifest.fingerprint_of.episodes))
        run = Judged(manifest.model, manifest.label, episodes, (folder,), "mean")
        groups.setdefault((differs(folder, reference), alike(manifest.content)), []).append(run)
    shown: dict[str, int] = {}
    found = []
    for (text, _), runs in sorted(groups.items()):
        shown[text] = shown.get(text, 0) + 1
        more = f" (group {shown[text]})" if shown[text] > 1 else ""
        found.append((text + more, tuple(sorted(runs, key=lambda run: (run.label, str(run.episodes.folder))))))
    return tuple(found)
