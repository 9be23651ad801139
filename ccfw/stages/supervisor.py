"""Stage *supervisor*: reasonings with Norm Match by judges → a small norm-grounding supervisor (paper 2, part II).

Reads   the answers and Norm Match scores that *responses* stored for the policies of the job under the same judge, or a
        file of graded reasonings (``supervisor.pairs``).
Writes  ``crisp/supervisor/<fingerprint>/``: ``model/`` with ``card.json``; ``report.md``; ``agreement.csv``: accuracy,
        error and kappa on norms that it never saw, beside one score for all; ``grades.jsonl``; ``scores.csv``;
        ``curve.csv`` and its figure; checkpoints until it is finished.
Method  ``ccfw.training.supervising``. The norm is private to it, as it is to judges. Stage *grpo* takes it in a judge's
        place with ``grpo.supervisor=trained``. The same line goes on from the last checkpoint.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from ccfw.align.alignment import Figure
from ccfw.crisp.records import Scale
from ccfw.errors import RequestError, StoreError
from ccfw.report.agreement import Table, percent, points
from ccfw.report.crisp import plain
from ccfw.report.writing import comma_separated
from ccfw.settings import Settings
from ccfw.stages import responses, testbed
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import folder_of, write_lines
from ccfw.stages.rated import terms_of
from ccfw.stages.reward import curve_csv, curve_series
from ccfw.stages.scored import bootstrap_parts, finish, from_model
from ccfw.store import Output, digest, fingerprint, read_records, write_atomically
from ccfw.training.guard import check_installed
from ccfw.training.planning import shown_training, training_plan
from ccfw.training.scoring import CARD
from ccfw.training.splitting import Split, split_by_norm, split_faults
from ccfw.training.supervising import (
    FIGURES,
    HIGHEST,
    Grade,
    agreement,
    grounding,
    read_as,
)
from ccfw.training.texts import Text, norm_text

NAME = "supervisor"
VERSION = 1
MODEL = "model"
CONSTANT = "one score for all"


class Held(NamedTuple):
    """What the held-out reasonings came to, by grader: the supervisor, and the commonest score of training."""

    figures: Mapping[str, tuple[Figure, ...]]
    rewards: Sequence[float]
    """Of the supervisor."""
    kept: Sequence[Grade]
    """The reasonings that the rewards are of, in the same order."""
    unscored: int


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the supervisor; its hash names the output folder."""
    settings = context.settings
    unused = {"save_every", "micro_batch", "pairs", "kinds", "centre"}
    return {
        "supervisor": settings.supervisor.model_dump(mode="json", exclude=unused),
        "grades": digest(sorted(each.model_dump_json() for each in grades(context))),
        **bootstrap_parts(settings),
        "version": VERSION,
    }


def folder(context: Context) -> Path:
    """Return where the job's supervisor is, or will be."""
    return folder_of(context, NAME, parts(context))


def run(context: Context) -> StageResult:
    """Train what is not trained yet, have it grade the held-out reasonings, and write what came of it."""
    check_installed(f"stage={NAME}")
    settings, content = context.settings, parts(context)
    split = _split(context)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder, done=len(split.held_out))
    with output:
        if (output.folder / MODEL / CARD).is_file() and output.read_manifest().get("status") == "ok":
            result.done, result.skipped = 0, len(split.held_out)
            return result
        from ccfw.training.reward import save
        from ccfw.training.supervisor import train

        trained = train(settings.supervisor, split.train, output.folder, settings.seed, context.stop)
        if not trained.finished:
            result.interrupted, result.stopped = True, "interrupted; the same line goes on from the last checkpoint"
            result.done = 0
            output.write_manifest(context.manifest(output, result, content))
            return result
        save(trained, output.folder / MODEL)
        held = _held_out(context, output.folder / MODEL, split)
        table, notes = _table(held, settings), _notes(held, trained)
        _write(context, output, result, content, split, held, trained)
    if settings.report.shown:
        print(plain(table, notes), flush=True)
    return result


def plan(context: Context) -> tuple[int, int]:
    """Return the calls of the stage, none, and print what training would take."""
    config, split = context.settings.supervisor, _split(context)
    texts = [(norm_text(each.culture, each.norm), each.reasoning) for each in split.train]
    print(shown_training(NAME, config, training_plan(config, texts, len(texts), len(split.held_out)), "reasonings"))
    return 0, 0


def grades(context: Context) -> list[Grade]:
    """Return the graded reasonings of the job; raise ``RequestError`` when there are none, or they cannot be read."""
    given = context.settings.supervisor.pairs
    if given is not None:
        try:
            found = list(read_records(Path(given), Grade, whole=True))
        except StoreError as error:
            raise RequestError([f"supervisor.pairs: {error}"]) from None
        missing = f"supervisor.pairs={given}: no graded reasonings there"
    else:
        found = _stored(context)
        missing = (
            f"stage={NAME}: no reasonings with Norm Match under these settings; collect them with "
            f"stage={responses.NAME} and otherwise the same line, or give a file: supervisor.pairs=…"
        )
    if not found:
        raise RequestError([missing])
    return found


def _stored(context: Context) -> list[Grade]:
    situations = testbed.situations(context, NAME)
    by_id = {each.situation_id: each for each in situations}
    return [
        Grade(
            grade_id=key,
            norm_id=answer.norm_id,
            culture=answer.culture,
            split=by_id[answer.situation_id].split,
            norm=by_id[answer.situation_id].norm.norm,
            reasoning=answer.reasoning,
            score=score,
        )
        for policy in responses.collected(context, situations)
        for key, answer in policy.answers.items()
        if answer.failure is None and (score := policy.scores.get((key, Scale.NORM_MATCH))) is not None
    ]


def _split(context: Context) -> Split[Grade]:
    """Return what is trained on and what is held out; raise ``RequestError`` when one of the two would be empty."""
    settings, every = context.settings, grades(context)
    share = settings.supervisor.held_out
    split = split_by_norm(every, share, settings.seed)
    if problems := split_faults(split, "supervisor.held_out", share, "reasoning"):
        raise RequestError(problems)
    return split


def _held_out(context: Context, model: Path, split: Split[Grade]) -> Held:
    settings = context.settings
    texts = [Text(each.grade_id, norm_text(each.culture, each.norm), each.reasoning) for each in split.held_out]
    found = from_model(context, settings.supervisor.name, str(model), texts).rewards
    given = [found.get(each.text_id) for each in texts]
    graded = [(each, grounding(one)) for each, one in zip(split.held_out, given, strict=True) if one is not None]
    kept, rewards = [each for each, _ in graded], [one for _, one in graded]
    commonest = Counter(each.score for each in split.train).most_common(1)[0][0] / HIGHEST
    figures = agreement(
        {settings.supervisor.name: rewards, CONSTANT: [commonest] * len(kept)},
        [each.score for each in kept],
        [each.norm_id for each in kept],
        terms_of(settings),
    )
    return Held(figures, rewards, kept, len(split.held_out) - len(kept))


def _table(held: Held, settings: Settings) -> Table:
    rows = tuple(
        (name, percent(accuracy), points(error), points(kappa), str(len(held.kept)))
        for name, (accuracy, error, kappa) in held.figures.items()
    )
    note = (
        f"Against Norm Match by {settings.judge.name}, 0 to 2, on reasonings about norms not trained on. Exact: per "
        "cent whose nearest score is the judge's. Error: mean distance in points. κ: quadratic-weighted kappa; "
        f"one score for all has none. {settings.bootstrap.level:.0%} percentile bootstrap intervals, whole norms "
        "resampled."
    )
    bounds = [f"{name}{end}" for name in FIGURES for end in ("", "_lo", "_hi")]
    return Table(
        "agreement",
        "Agreement with the judge",
        ("Grader", "Exact", "Error", "κ", "Reasonings"),
        rows,
        note,
        data_head=("grader", *bounds, "reasonings"),
        data=tuple(
            (name, *(end for figure in figures for end in figure), len(held.kept))
            for name, figures in held.figures.items()
        ),
    )


def _notes(held: Held, trained: Any) -> list[str]:
    notes = [f"{held.unscored} held-out reasonings are too long to be read."] if held.unscored else []
    if trained.cut or trained.too_long:
        notes.append(
            f"The norm did not fit whole in {trained.cut} training texts; {trained.too_long} reasonings were left out, "
            "since one alone did not fit."
        )
    return notes


def _write(
    context: Context,
    output: Output,
    result: StageResult,
    content: Mapping[str, Any],
    split: Split[Grade],
    held: Held,
    trained: Any,
) -> None:
    from ccfw.training.drawing import curves
    from ccfw.training.reward import CHECKPOINTS

    settings, target = context.settings, output.folder
    write_lines(target / "grades.jsonl", [*split.train, *split.held_out])
    rows = [
        (each.grade_id, each.norm_id, each.score, reward, read_as(reward))
        for each, reward in zip(held.kept, held.rewards, strict=True)
    ]
    write_atomically(
        target / "scores.csv", comma_separated(("grade_id", "norm_id", "judge", "reward", "read_as"), rows)
    )
    write_atomically(target / "curve.csv", curve_csv(trained.curve))
    figures = curves(curve_series(trained.curve), "step", target / "curve")
    metrics = {
        f"{grader}/{name}{suffix}": value
        for grader, own in (("supervisor", settings.supervisor.name), ("constant", CONSTANT))
        for name, figure in zip(FIGURES, held.figures[own], strict=True)
        for suffix, value in zip(("", "_lo", "_hi"), figure, strict=True)
        if value is not None
    }
    counts = {"train": len(split.train), "held_out": len(split.held_out), "unscored": held.unscored}
    notes = _notes(held, trained)
    tables = [_table(held, settings)]
    finish(context, output, result, content, "Norm-grounding supervisor", tables, metrics, notes, figures, counts)
    card = {
        "name": settings.supervisor.name,
        "fingerprint": fingerprint(content),
        "settings": settings.supervisor.model_dump(mode="json"),
        "seed": settings.seed,
        "judge": settings.judge.name,
        "grades_sha256": digest(each.model_dump_json() for each in split.train),
        "held_out_grades_sha256": digest(each.model_dump_json() for each in split.held_out),
        "trained_norms": sorted({each.norm_id for each in split.train}),
        "steps": trained.steps,
        "trained_parameters": trained.trainable,
        "agreement": {
            name: figure._asdict() for name, figure in zip(FIGURES, next(iter(held.figures.values())), strict=True)
        },
        "versions": {name: version(name) for name in ("torch", "transformers", "trl", "peft")},
    }
    write_atomically(target / MODEL / CARD, json.dumps(card, indent=2, ensure_ascii=False) + "\n")
    shutil.rmtree(target / CHECKPOINTS, ignore_errors=True)
