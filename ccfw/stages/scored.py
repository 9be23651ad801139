"""What stages *triplets* and *best_of_n* share: rewards of texts by every scorer of the job, and the page they write.

A scorer is a file of rewards, a reward model, or a judge; what a model or a judge gives is stored, so that each text is
read once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ccfw.errors import RequestError
from ccfw.knowledge import tables
from ccfw.report.agreement import Table
from ccfw.report.crisp import page
from ccfw.settings import Settings
from ccfw.stages import judge_scorer
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import costs, folder_of, track
from ccfw.stages.curves import CURVE, LOOKS, curves
from ccfw.stages.judge_scorer import Answer
from ccfw.store import Output, RecordFile, digest, fingerprint, flat, read_records, write_atomically
from ccfw.training.texts import Reward, Text, read_rewards

log = logging.getLogger(__name__)
REWARDS = "rewards"
VERSION = 1
_TAKEN = {"chance", "oracle", "random"}
"""Rows of the tables of *triplets* and *best_of_n* that are no scorers."""
_FILES = {".csv", ".tsv", ".jsonl", ".json", ".yaml"}
_SHOWN = 5
TRAINED = "trained"
"""Stands for the reward model that stage *reward* trained under the same settings."""


class Scorer(NamedTuple):
    """A scorer's rewards of the texts asked for."""

    name: str
    rewards: Mapping[str, float]
    digest: str
    cut: int
    """Texts of which the question's beginning did not fit."""


def scorers(
    context: Context,
    texts: Sequence[Text],
    answers: Mapping[str, Answer],
    result: StageResult,
    wrong: Sequence[str] = (),
) -> list[Scorer]:
    """Return every scorer of the job with its rewards of texts; raise ``RequestError`` with all that is wrong.

    ``answers`` are those texts that a judge can be shown; ``wrong`` is what is wrong with the request besides. Calls,
    failures and a stop are counted into ``result``.
    """
    places = {name: _place(context, place) for name, place in context.settings.rewards.scorers.items()}
    if not places:
        how = "+rewards.scorers.<name>=<file of rewards, or a model's folder or name>"
        raise RequestError([*wrong, f"stage={result.stage}: whose rewards? {how}"])
    taken = ", ".join(sorted(_TAKEN))
    problems = [*wrong, *judge_scorer.problems(context.settings, answers)]
    problems += [
        f"rewards.scorers.{name}: is the name of a baseline, as are {taken}" for name in sorted(_TAKEN & set(places))
    ]
    files: dict[str, Scorer] = {}
    for name, place in places.items():
        path = Path(place)
        if place in judge_scorer.JUDGED:
            continue
        if path.suffix in _FILES or path.is_file():
            files[name] = _from_file(name, path, problems)
        elif is_nowhere(place):
            problems.append(f"rewards.scorers.{name}={place}: no such file or folder")
    if problems:
        raise RequestError(problems)
    found = []
    for name, place in places.items():
        if place in judge_scorer.JUDGED:
            scale = judge_scorer.JUDGED[place]
            found.append(Scorer(name, *judge_scorer.from_judge(context, name, scale, answers, result), cut=0))
        else:
            found.append(files.get(name) or from_model(context, name, place, texts))
    return found


def read_by_models(settings: Settings) -> list[str]:
    """Return the scorers of the job that are reward models, each by its key and value."""
    places = ((name, place, Path(place)) for name, place in settings.rewards.scorers.items())
    return [
        f"rewards.scorers.{name}={place}"
        for name, place, path in places
        if not (place in judge_scorer.JUDGED or path.suffix in _FILES or path.is_file() or is_nowhere(place))
    ]


def is_nowhere(place: str) -> bool:
    """Whether a place that is said as a folder's is none; any other may be a name on the Hub."""
    path = Path(place)
    return not path.is_dir() and (path.is_absolute() or place.startswith((".", "~")) or place.count("/") > 1)


def trained_norms(context: Context) -> frozenset[str]:
    """Return the norms that any scorer of the job was trained on: none of them can be compared on those."""
    from ccfw.training import scoring

    places = [_place(context, place) for place in context.settings.rewards.scorers.values()]
    return frozenset[str]().union(*map(scoring.trained_norms, places))


def _place(context: Context, place: str) -> str:
    if place != TRAINED:
        return place
    from ccfw.stages import reward

    return str(reward.folder(context) / reward.MODEL)


def _from_file(name: str, path: Path, problems: list[str]) -> Scorer:
    key = f"rewards.scorers.{name}={path}"
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{key}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}")
        return Scorer(name, {}, "", 0)
    read = read_rewards(tables.read(text))
    problems += [f"{key}: {fault}" for fault in read.faults[:_SHOWN]]
    if len(read.faults) > _SHOWN:
        problems.append(f"{key}: and {len(read.faults) - _SHOWN} faults more")
    return Scorer(name, read.rewards, digest([text]), 0)


def from_model(context: Context, name: str, place: str, texts: Sequence[Text], key: str | None = None) -> Scorer:
    """Have a reward model read the texts that it has not read yet; what is wrong or missing is said under ``key``."""
    from ccfw.training import scoring

    key = key or f"rewards.scorers.{name}"
    terms = context.settings.rewards
    content = {"model": scoring.identity(place), "max_tokens": terms.max_tokens, "version": VERSION}
    output = Output(folder_of(context, REWARDS, content), context.stop)
    wanted = {_key(each): each for each in texts}
    with output:
        stored = {each.text_id: each for each in read_records(output.records, Reward, wanted)}
        todo = {key: each for key, each in wanted.items() if key not in stored}
        if todo:
            model = scoring.load(place, max_tokens=terms.max_tokens, batch=terms.batch, key=key)
            with RecordFile(output.records) as records:
                for reward in model.rewards([each._replace(text_id=key) for key, each in todo.items()]):
                    records.append(reward)
                    stored[reward.text_id] = reward
                    context.stop.check()
        output.write_manifest(context.manifest(output, StageResult(REWARDS, output.folder), content, scorer=name))
    failures = Counter(each.failure for each in stored.values() if each.failure)
    for failure, count in failures.items():
        log.warning("%s: no reward of %d texts: %s", key, count, failure)
    given = ((each.text_id, stored[_key(each)].reward) for each in texts)  # two texts may say the same
    found = {text_id: reward for text_id, reward in given if reward is not None}
    cut = sum(each.cut > 0 for each in stored.values())
    if cut:
        log.warning("%s: the beginning of the question did not fit in %d texts", key, cut)
    return Scorer(name, found, fingerprint(content), cut)


def _key(text: Text) -> str:
    """Return what a text's reward is stored under: its content, so that an edited text is read anew."""
    return digest([text.prompt, text.answer])


def tell_missing(stage: str, every: Sequence[Scorer], ids: Collection[str], what: str) -> None:
    """Say how many texts each scorer gives no reward."""
    for scorer in every:
        missing = sum(each not in scorer.rewards for each in ids)
        if missing:
            log.warning(
                "stage=%s: rewards.scorers.%s has no reward of %d of %d %s", stage, scorer.name, missing, len(ids), what
            )


def finish(
    context: Context,
    output: Output,
    result: StageResult,
    content: Mapping[str, Any],
    title: str,
    made: Sequence[Table],
    metrics: Mapping[str, float],
    notes: Sequence[str],
    figures: Sequence[Path] = (),
    counts: Mapping[str, int] = {},
    compared: Sequence[Output] | None = None,
    label: str = "",
    more: Sequence[str] = (),
) -> None:
    """Write a stage's report, tables and manifest, and log them with what training showed, if it was training.

    The numbers of a figure stand beside it in a CSV of its name, which is logged with it. ``compared`` are the outputs
    that hold what a comparison paid for, whose cost is told, of none nothing; ``None``: the output paid for itself.
    ``label`` tells the run from others of its stage; ``more`` are other files of the folder that are logged.
    """
    manifest = context.manifest(output, result, content, counts=dict(counts), metrics=dict(metrics), label=label)
    paid, of = manifest["paid"], "in all"
    if compared is not None:
        del manifest["paid"]
        paid, of = costs(compared), "for what is compared, whichever job paid it"
    texts = {"report.md": page(title, made, paid, notes, of)} | {f"{each.name}.csv": each.csv() for each in made}
    for name, text in texts.items():
        write_atomically(output.folder / name, text)
    numbers = {path.with_suffix(".csv").name for path in figures} | {CURVE, LOOKS}
    names = dict.fromkeys([*texts, *(path.name for path in figures), *sorted(numbers), *more])
    output.write_manifest(manifest | {"files": [name for name in names if (output.folder / name).is_file()]})
    track_stored(context, output, result.stage)


def track_stored(context: Context, output: Output, stage: str) -> None:
    """Log what a stage wrote, as its manifest says, unless it is logged: a tracker may have been out at the time."""
    manifest = output.read_manifest()
    if "metrics" not in manifest or context.settings.tracking.name == "none":
        return
    content = manifest["fingerprint_of"]
    files = [*(output.folder / name for name in manifest["files"]), output.manifest]
    params = {name: "null" if value is None else str(value) for name, value in flat(content).items()}
    label = manifest.get("label", "")
    track(context, stage, "", content, manifest["metrics"], files, curves(output.folder), params, label)


def bootstrap_parts(settings: Settings) -> dict[str, Any]:
    """Return what decides intervals."""
    return {"bootstrap": settings.bootstrap.model_dump(mode="json"), "seed": settings.seed}
