"""What stages *align* and *panel* work on: people's ratings, and judges' scores of the same items.

A judge's scores come from a file (``align.scores``), the judge being its rater, or are the stored judgements of
*evaluate* under the same settings. Reading and pairing up are done once a process, whatever number of jobs a sweep has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from ccfw.align.alignment import Baseline, Terms, baseline
from ccfw.datasets import GENERATED, Dataset, load, sources
from ccfw.errors import RequestError
from ccfw.humans.printed import brief
from ccfw.humans.reading import read_ratings
from ccfw.humans.records import Key, Ratings
from ccfw.humans.study import Column, People, column_of, people_of
from ccfw.records import Judgement, LanguageMode
from ccfw.settings import Settings
from ccfw.settings.dialogues import DatasetConfig
from ccfw.stages import evaluate, simulate, stage
from ccfw.stages.context import Context
from ccfw.stages.judged import Folder, folders, paid
from ccfw.store import Output, digest, fingerprint, read_records
from ccfw.universe.seed_id import episode_id


@dataclass(frozen=True, eq=False)
class Judge:
    """A single judge with its scores."""

    name: str
    label: str
    """As tables print it."""
    scores: Ratings
    """Holds this judge's, maybe among others'."""
    cost: float | None
    """US dollars for one item in one metric; ``None``: unknown."""


@dataclass(frozen=True, eq=False)
class Study:
    """People and judges side by side."""

    humans: Ratings
    people: People
    judges: tuple[Judge, ...]

    def column(self, judge: Judge) -> Column:
        """Return a judge's scores of the rated items."""
        return _column(self.people, judge.scores, judge.name)

    @property
    def digest(self) -> str:
        """Hash of everything that is read."""
        return digest(
            [self.humans.digest, *(each for judge in self.judges for each in (judge.name, judge.scores.digest))]
        )


def terms_of(settings: Settings) -> Terms:
    """Return how the job's intervals are made."""
    return Terms(settings.seed, settings.bootstrap.resamples, settings.bootstrap.level)


def study_of_judge(context: Context) -> Study:
    """Return the ratings and the scores of the job's judge, a ``Judge`` for each member.

    Raises ``RequestError`` with everything that is wrong with the ratings or missing of the scores.
    """
    settings, problems = context.settings, list[str]()
    humans, judges = _humans(context, problems), list[Judge]()
    try:
        judges = _from_file(settings, list(settings.judge.members)) if settings.align.scores else _evaluated(context)
    except RequestError as error:
        problems += error.problems
    return _study(humans, judges, problems)


def study_of_all(context: Context) -> Study:
    """Return the ratings and the scores of every judge that has some.

    Raises ``RequestError`` as ``study_of_judge`` does.
    """
    settings, problems = context.settings, list[str]()
    humans, judges = _humans(context, problems), list[Judge]()
    try:
        judges = _from_file(settings, None) if settings.align.scores else _all_evaluated(context)
    except RequestError as error:
        problems += error.problems
    return _study(humans, judges, problems)


def check_files(context: Context) -> None:
    """Read the files of ratings and scores; what an earlier stage of the same job may yet judge is not looked for.

    Raises ``RequestError`` with everything that is wrong with them.
    """
    settings, problems = context.settings, list[str]()
    _humans(context, problems)
    if settings.align.scores is not None:
        try:
            read_ratings(settings.align.scores, "align.scores")
        except RequestError as error:
            problems += error.problems
    if problems:
        raise RequestError(dict.fromkeys(problems))


def baseline_of(study: Study, terms: Terms) -> Baseline:
    """Return what people make of each other's ratings, worked out once a process."""
    return _baseline(study.people, terms)


_baseline = lru_cache(maxsize=4)(baseline)
_people = lru_cache(maxsize=16)(people_of)
_column = lru_cache(maxsize=256)(column_of)


def _humans(context: Context, problems: list[str]) -> Ratings | None:
    try:
        return read_ratings(context.settings.ratings, "ratings")
    except RequestError as error:
        problems += error.problems
        return None


def _study(humans: Ratings | None, judges: Sequence[Judge], problems: list[str]) -> Study:
    if problems or humans is None:
        raise RequestError(dict.fromkeys(problems))
    return Study(humans, _people(humans, judges[0].scores), tuple(judges))


# ---- from a file


def _from_file(settings: Settings, names: Sequence[str] | None) -> list[Judge]:
    config = settings.align.scores
    assert config is not None
    scores = read_ratings(config, "align.scores")
    labels = {name: member.label for name, member in settings.judge.members.items()}
    judges = dict.fromkeys((*scores.raters, *(rater for _, rater in scores.dropped)))
    wanted = names if names is not None else list(judges)
    there = ", ".join(map(brief, judges))
    problems = [
        f"judge={settings.judge.name}: no scores of {name} in align.scores.path={config.path}; there are {there}"
        for name in wanted
        if name not in judges
    ]
    if problems:
        raise RequestError(problems)
    return [Judge(name, labels.get(name, name), scores, settings.align.costs.get(name)) for name in wanted]


# ---- from stored judgements


class _Label(BaseModel):
    model_config = ConfigDict(frozen=True)
    label: str


class _Members(BaseModel):
    model_config = ConfigDict(frozen=True)
    members: dict[str, _Label]


class _Judged(BaseModel):
    model_config = ConfigDict(frozen=True)
    judge: _Members


class _Manifest(BaseModel):
    """What a manifest of *evaluate* says of its member beside what ``ccfw.stages.judged`` reads."""

    model_config = ConfigDict(frozen=True)
    settings: _Judged


def _evaluated(context: Context) -> list[Judge]:
    """Return the members of the job's judge, each with its judgements."""
    settings, known = context.settings, _know_dataset(context)
    found, problems = list[Judge](), list[str]()
    for name, member in settings.judge.members.items():
        output = context.output(evaluate.NAME, fingerprint(evaluate.parts(context, member)))
        if output.records.exists():
            found.append(_judge(context, known, name, member.label, output.folder))
        else:
            problems.append(
                f"judge={settings.judge.name}: no judgements of model={settings.model.name} by {name} with these "
                f"settings under {output.folder}; judge first with stage=evaluate and otherwise the same line, or give "
                "a file of scores: ratings@align.scores=…"
            )
    if problems:
        raise RequestError(problems)
    return found


def _all_evaluated(context: Context) -> list[Judge]:
    """Return every member of a judge that scored the job's episodes by the same rubric and in the same way."""
    settings, known = context.settings, _know_dataset(context)
    wanted = {
        "episodes": simulate.parts(context),
        "rubric": settings.judge.rubric,
        "judging": settings.judging.model_dump(mode="json"),
        "seed": settings.seed,
        "parser": evaluate.PARSER,
    }
    root = Path(settings.workspace) / settings.dataset.name
    found: dict[str, Judge] = {}
    for folder in folders(root):
        content, name = folder.manifest.content, folder.manifest.member
        same = fingerprint({key: content.get(key) for key in wanted}) == fingerprint(wanted)
        if same and _same_prompt(settings, folder) and folder.output.records.exists():
            found[name] = _judge(context, known, name, _label(folder), folder.output.folder)
    if not found:
        raise RequestError(
            [
                f"stage={settings.stage.name}: no judgements of model={settings.model.name} with these settings in "
                f"{root}; judge first with stage=evaluate, or give a file of scores: ratings@align.scores=…"
            ]
        )
    return [found[name] for name in sorted(found)]


def _same_prompt(settings: Settings, folder: Folder) -> bool:
    prompt = settings.prompt
    return folder.manifest.style in (f"{prompt.version}/{prompt.small}", f"{prompt.version}/{prompt.large}")


def _label(folder: Folder) -> str:
    try:
        manifest = _Manifest.model_validate_json(folder.output.manifest.read_bytes())
    except (ValidationError, OSError):
        return folder.manifest.member
    own = manifest.settings.judge.members.get(folder.manifest.member)
    return own.label if own else folder.manifest.member


@dataclass(frozen=True, eq=False)
class _Known:
    """A dataset, and what its dialogues are, by the ids of their episodes."""

    dataset: Dataset
    regions: Mapping[str, str]
    languages: Mapping[str, str]
    clusters: Mapping[str, str]


def _know_dataset(context: Context) -> _Known:
    """Have the job use the dataset that an earlier job of the process has read, if its files are what they were."""
    settings, config = context.settings, context.settings.dataset
    if config.name == GENERATED and config.path is None:
        config = config.model_copy(update={"path": str(stage("shards").records(context))})
    known = _known(config.model_dump_json(), str(Path(settings.workspace) / ".datasets"), _state(config))
    context.dataset = known.dataset
    return known


def _state(config: DatasetConfig) -> tuple[tuple[str, int, int], ...]:
    if config.path is None:
        return ()
    return tuple((str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in sources(config))


@lru_cache(maxsize=2)
def _known(config_json: str, kept: str, _state: tuple[tuple[str, int, int], ...]) -> _Known:
    dataset = load(DatasetConfig.model_validate_json(config_json), Path(kept))
    seeds = [outline.seed for outline in dataset.outlines]
    dialogues = [(episode_id(seed.seed_id, language), seed, language) for seed in seeds for language in LanguageMode]
    return _Known(
        dataset,
        regions={name: seed.persona.region.value for name, seed, _ in dialogues},
        languages={name: language.value for name, _, language in dialogues},
        clusters={name: seed.seed_id for name, seed, _ in dialogues},
    )


def _judge(context: Context, known: _Known, name: str, label: str, folder: Path) -> Judge:
    output = Output(folder)
    state = output.records.stat()
    scores = _judgements(known, name, str(output.records), state.st_size, state.st_mtime_ns)
    spent, count = paid(output), len(scores.scores) + len(scores.dropped)
    known_cost = spent is not None and count and not spent.unpriced_calls
    cost = spent.usd / count if spent is not None and known_cost else None
    return Judge(name, label, scores, context.settings.align.costs.get(name, cost))


@lru_cache(maxsize=64)
def _judgements(known: _Known, name: str, records: str, _size: int, _changed: int) -> Ratings:
    scores: dict[Key, dict[str, Fraction]] = {}
    dropped: dict[tuple[Key, str], str] = {}
    metrics: dict[str, None] = {}
    for judgement in read_records(Path(records), Judgement):
        key = judgement.episode_id, judgement.metric.value
        metrics.setdefault(key[1])
        if judgement.score is not None:
            scores[key] = {name: Fraction(judgement.score)}
        elif judgement.failure is not None:
            dropped[key, name] = judgement.failure.kind.value
    held = {item for item, _ in scores} | {item for (item, _), _ in dropped}
    content = [f"{item} {metric} {by[name]}" for (item, metric), by in sorted(scores.items())]
    return Ratings(
        scores=scores,
        metrics=tuple(metrics),
        raters=(name,),
        regions={item: known.regions[item] for item in held if item in known.regions},
        languages={item: known.languages[item] for item in held if item in known.languages},
        clusters={item: known.clusters[item] for item in held if item in known.clusters},
        dropped=dropped,
        digest=digest([name, *content, *(f"{key} {reason}" for key, reason in sorted(dropped.items()))]),
    )
