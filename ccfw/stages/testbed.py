"""The situations that a job asks for: those that ship, those that stage *refine* kept, or a file of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ccfw.crisp.reading import read_situation_file, read_situations, shipped_folder
from ccfw.crisp.records import SPLITS, RefineRecord, Situation
from ccfw.datasets import NORMCOMPASS, SITUATIONS
from ccfw.errors import RequestError
from ccfw.selection import stratified
from ccfw.settings import Settings
from ccfw.stages import norms, refine, scenarios
from ccfw.stages.context import Context
from ccfw.stages.crisp import chosen, folder_of, make_first, region_of
from ccfw.store import digest, read_records


def situations(context: Context, stage: str) -> tuple[Situation, ...]:
    """Return the job's situations in the stratified order, for a stage.

    ``limit`` takes so many of a dataset that ships and of a file of one's own. Of those that *refine* kept it takes the
    norms that it takes in the stages before, with all that came of each, so that nothing is made and then left out.
    Raises ``RequestError`` with every value that no situation has, when the dataset holds dialogues, and when it is not
    there.
    """
    settings = context.settings
    admitted = _admitted(everything(context, stage), settings)
    ordered = stratified(((each.norm.culture, each.situation_id, each) for each in admitted), settings.seed)
    if settings.limit is None or not _refined(settings):
        return ordered[: settings.limit]
    wanted = set(norms.chosen_rows(settings))
    return tuple(each for each in ordered if each.norm.norm_id in wanted)


def check(settings: Settings, stage: str) -> None:
    """Raise ``RequestError`` when the dataset holds dialogues, for a stage that reads situations, or no such split."""
    name, problems = settings.dataset.name, []
    if name not in SITUATIONS:
        options = " or ".join(f"dataset={each}" for each in SITUATIONS)
        problems.append(f"dataset={name}: holds no situations; stage={stage} reads {options}")
    elif refine.NAME in settings.stage.runs and not _refined(settings):
        given = f"dataset={name}" if settings.dataset.path is None else f"dataset.path={settings.dataset.path}"
        instead = f"dataset={NORMCOMPASS} reads them"
        problems.append(f"{given}: stage={stage} would not read what stage={refine.NAME} of this job makes; {instead}")
    problems += [
        f"split={each}: no such split; options: {', '.join(SPLITS)}" for each in settings.split if each not in SPLITS
    ]
    if problems:
        raise RequestError(problems)


def everything(context: Context, stage: str) -> tuple[Situation, ...]:
    """Return every situation of the dataset, for a stage; raise ``RequestError`` when it is none, or not there."""
    dataset = context.settings.dataset
    check(context.settings, stage)
    if dataset.path is not None:
        return read_situation_file(Path(dataset.path), "dataset.path")
    if not _refined(context.settings):
        return read_situations(shipped_folder())
    path = folder_of(context, refine.NAME, refine.parts(context)) / refine.LIST
    found = tuple(read_records(path, Situation))
    if not found:
        first = make_first(context.settings, refine.NAME)
        raise RequestError([f"dataset={NORMCOMPASS}: no situations at {path}; {first}"])
    return found


def _admitted(found: tuple[Situation, ...], settings: Settings) -> list[Situation]:
    facets: dict[str, tuple[Sequence[str], Callable[[Situation], str]]] = {
        "crisp.cultures": (settings.crisp.cultures, lambda each: each.norm.culture),
        "region": (settings.region, lambda each: region_of(each.norm)),
        "split": (settings.split, lambda each: each.split),
        "ids": (settings.ids, lambda each: each.situation_id),
    }
    problems: list[str] = []
    tests: list[tuple[Callable[[Situation], str], frozenset[str]]] = []
    for key, (values, value_of) in facets.items():
        options = SPLITS if key == "split" else [value_of(each) for each in found]
        try:
            wanted = chosen(values, options, key, "situation")
        except RequestError as error:
            problems += error.problems
            continue
        if wanted is not None:
            tests.append((value_of, wanted))
    if problems:
        raise RequestError(problems)
    admitted = [each for each in found if all(value_of(each) in wanted for value_of, wanted in tests)]
    if not admitted:
        raise RequestError(["no situation is all of what is asked for, though each value alone is there"])
    return admitted


def made_here(settings: Settings) -> bool:
    """Whether the job itself makes its situations, so that they need not be there beforehand."""
    return _refined(settings) and refine.NAME in settings.stage.runs


def _refined(settings: Settings) -> bool:
    """Whether the dataset is what stage *refine* kept under the job's own settings."""
    return settings.dataset.name == NORMCOMPASS and settings.dataset.path is None


def expected(context: Context, stage: str) -> int:
    """Return how many situations there are, or will be at most where this job makes them first."""
    if made_here(context.settings):
        return len(scenarios.expected(context))
    return len(situations(context, stage))


def ways(context: Context) -> Mapping[str, RefineRecord]:
    """Return how the job's situations came through refinement, by situation; none of those refined elsewhere."""
    return refine.ways(context) if _refined(context.settings) else {}


def digest_of(found: tuple[Situation, ...]) -> str:
    """Return the hash of situations' content, in whatever order they come."""
    return digest(sorted(each.model_dump_json(exclude={"split", "triplet"}) for each in found))
