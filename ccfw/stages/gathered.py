"""What was judged in a workspace: the runs that compare with each other, and those that do not, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ccfw.judging.score_table import ScoreTable, combined_table
from ccfw.judging.scoring import Aggregation
from ccfw.records import SimulationMode
from ccfw.stages import evaluate, simulate
from ccfw.stages.context import Context
from ccfw.stages.judged import Folder, folders, paid
from ccfw.stages.scores import stored_scores
from ccfw.store import Output, done_ids, fingerprint


@dataclass(frozen=True)
class Judged:
    """One assistant's stored judgements under one judge: a folder for each member."""

    model: str
    label: str
    episodes: Output
    members: tuple[Folder, ...]
    aggregation: Aggregation

    @cached_property
    def scores(self) -> ScoreTable:
        """What the members gave together."""
        return combined_table([stored_scores(folder.output) for folder in self.members], self.aggregation)

    @cached_property
    def held(self) -> set[str]:
        """The dialogues that were held to their end."""
        return done_ids(self.episodes.records)

    @property
    def order(self) -> tuple[str, str]:
        """What runs are sorted by: two settings of one model keep their order."""
        return self.label, str(self.episodes.folder)

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
        return _mode(next(iter(self.found.values())).members[0])

    @property
    def lead(self) -> Judged:
        """The job's own, or the first where it has none."""
        return self.found[self.own or min(self.found, key=lambda key: (self.found[key].label, key))]


def gathered(context: Context, own_root: Sequence[Folder]) -> Gathered | None:
    """Return what compares with the job, or with itself when the job asks for a report alone and has nothing.

    ``own_root`` are the folders of the job's dataset. ``None`` when nothing was judged that the job may show.
    """
    settings = context.settings
    wanted = _wanted(context)
    mine = fingerprint(simulate.parts(context))
    judge, aggregation = settings.judge.name, settings.judge.aggregation
    found = _compared(context, own_root, wanted, aggregation)
    if mine not in found:
        if settings.stage.name not in {"report", "view"}:
            return None
        if not found:
            wanted = _most(context, own_root)
            aggregation = "mean"
            found = _compared(context, own_root, wanted, aggregation)
            judge = next(iter(found.values())).members[0].manifest.member if found else judge
        if not found:
            return None
    used = {folder.output.folder for each in found.values() for folder in each.members}
    reference = [next(iter(found.values())).members[place].manifest.content for place in range(len(wanted))]
    rest = [folder for folder in own_root if folder.output.folder not in used]
    elsewhere = [folder for root in _other_roots(context) for folder in folders(root)]
    return Gathered(
        judge=judge,
        aggregation=aggregation,
        found=found,
        counterpart=_counterpart(context, rest, reference, aggregation),
        others=_apart([*rest, *elsewhere], reference),
        own=mine if mine in found else None,
    )


def _wanted(context: Context) -> list[str]:
    members = context.settings.judge.members.values()
    return [evaluate.comparable(evaluate.parts(context, member)) for member in members]


def _compared(
    context: Context, evaluated: Sequence[Folder], wanted: Sequence[str], aggregation: Aggregation
) -> dict[str, Judged]:
    """Return the assistants that have a folder for each of the wanted members, by the fingerprint of their episodes."""
    members: dict[str, dict[str, Folder]] = {}
    for folder in evaluated:
        if folder.manifest.comparable in wanted:
            episodes = fingerprint(folder.manifest.fingerprint_of.episodes)
            members.setdefault(episodes, {})[folder.manifest.comparable] = folder
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
        episodes, key = folder.manifest.fingerprint_of.episodes, folder.manifest.comparable
        if episodes.get("dataset") == context.dataset.digest:
            size = folder.output.records.stat().st_size if folder.output.records.exists() else 0
            _, assistants, total, _ = counts.get(key, (False, 0, 0, key))
            counts[key] = (_mode(folder) is SimulationMode.EVAL, assistants + 1, total + size, key)
    return [max(counts.values())[-1]] if counts else []


def _counterpart(
    context: Context, rest: Sequence[Folder], reference: Sequence[Mapping[str, Any]], aggregation: Aggregation
) -> dict[str, Judged]:
    """Return the same assistants under the same judge in the other mode."""
    alike = [_but_for_mode(content) for content in reference]
    wanted: dict[str, str] = {}
    for folder in rest:
        key = _but_for_mode(folder.manifest.content)
        if key in alike:
            wanted.setdefault(key, folder.manifest.comparable)
    if len(wanted) < len(set(alike)):
        return {}
    return _compared(context, rest, [wanted[key] for key in alike], aggregation)


def _but_for_mode(content: Mapping[str, Any]) -> str:
    blank = dict.fromkeys(("model", "mode", "gold_prompts"))
    return fingerprint({**content, "episodes": content["episodes"] | blank})


def _mode(folder: Folder) -> SimulationMode:
    return SimulationMode(folder.manifest.fingerprint_of.episodes.get("mode", SimulationMode.EVAL))


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
        groups.setdefault((differs(folder, reference), manifest.comparable), []).append(run)
    shown: dict[str, int] = {}
    found = []
    for (text, _), runs in sorted(groups.items()):
        shown[text] = shown.get(text, 0) + 1
        more = f" (group {shown[text]})" if shown[text] > 1 else ""
        found.append((text + more, tuple(sorted(runs, key=lambda run: run.order))))
    return tuple(found)


_EPISODES: Mapping[str, str] = {
    "dataset": "other data",
    "simulation": "other rules of the dialogue",
    "simulator_prompts": "other prompts of the simulated user",
    "styles": "other styles of the simulated user",
    "turn_checks": "other checks of turns",
    "seed": "another seed of the dialogues",
}
_JUDGING: Mapping[str, str] = {
    "prompts": "other prompts of the judge",
    "rubric": "another rubric",
    "judging": "other rules of judging",
    "seed": "another seed of judging",
    "parser": "another reading of verdicts",
}


def differs(folder: Folder, reference: Sequence[Mapping[str, Any]]) -> str:
    """Say in what a run differs from those that compare, whose members' contents are given."""
    content = folder.manifest.content
    same = [each for each in reference if each["member"] == content["member"]]
    base = same[0] if same else reference[0]
    found = []
    if not same:
        found.append(f"another judge ({folder.manifest.member})")
    elif len(reference) > 1:
        found.append(f"one member of the judge alone ({folder.manifest.member})")
    found += [text for key, text in _JUDGING.items() if content.get(key) != base.get(key)]
    episodes, other = content["episodes"], base["episodes"]
    if episodes.get("mode") != other.get("mode"):
        found.append(f"{_mode(folder).value} mode")
    if episodes.get("simulator") != other.get("simulator"):
        found.append(f"another simulated user ({(episodes.get('simulator') or {}).get('provider_model', 'unknown')})")
    found += [text for key, text in _EPISODES.items() if episodes.get(key) != other.get(key)]
    return ", ".join(found) or "other settings"
