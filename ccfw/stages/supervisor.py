"""Stage *supervisor*: reasonings with Norm Match by judges → a small norm-grounding supervisor (paper 2, part II).

Reads   the answers and Norm Match scores that *responses* stored for the policies of the job under the same judge, or a
        file of graded reasonings (``supervisor.pairs``).
Writes  ``crisp/supervisor/<fingerprint>/``: ``model/`` with ``card.json`` and ``README.md``; ``report.md``;
        ``agreement.csv``: accuracy, error and kappa on norms that it never saw, beside the best constant;
        ``grades.jsonl``; ``scores.csv``; ``curve`` and its figure; checkpoints until it is finished.
Method  ``ccfw.training.supervising``. The norm is private to it, as it is to judges. Stage *grpo* takes it in a judge's
        place with ``grpo.supervisor=trained``. It goes on, and is told of anew, as in
        ``ccfw.stages.trained``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ccfw.align.alignment import Figure
from ccfw.crisp.records import Scale
from ccfw.errors import RequestError
from ccfw.report.agreement import Table, percent, points
from ccfw.report.writing import comma_separated
from ccfw.settings import Settings
from ccfw.settings.training import RewardConfig
from ccfw.stages import responses, testbed, trained
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import write_lines
from ccfw.stages.rated import terms_of
from ccfw.stages.trained import OWN, Given, Held, Learner, Lesson, Told, Training, from_file, lesson
from ccfw.stop import Stop
from ccfw.store import write_atomically
from ccfw.training.supervising import (
    FIGURES,
    Constants,
    Grade,
    agreement,
    constant_agreement,
    constants,
    fault_of,
    grounding,
    read_as,
)
from ccfw.training.texts import Text, norm_text

if TYPE_CHECKING:
    from ccfw.training.reward import Trained

NAME = "supervisor"
MODEL = trained.MODEL
CONSTANT = "best constant"


def folder(context: Context) -> Path:
    """Return where the job's supervisor is, or will be."""
    return _training(context).folder


def run(context: Context) -> StageResult:
    """Train what is not trained yet, have it grade the held-out reasonings, and write what came of it."""
    return _training(context).run()


def plan(context: Context) -> tuple[int, int]:
    """Return the calls of the stage, none, and print what training would take."""
    return _training(context).plan()


def grades(context: Context) -> Given[Grade]:
    """Return the graded reasonings of the job; raise ``RequestError`` when there are none, or they cannot be read."""
    given = context.settings.supervisor.pairs
    if given is not None:
        return from_file("supervisor.pairs", given, Grade)
    found = _stored(context)
    if not found:
        raise RequestError(
            [
                f"stage={NAME}: no reasonings with Norm Match under these settings; collect them with "
                f"stage={responses.NAME} and otherwise the same line, or give a file: supervisor.pairs=…"
            ]
        )
    return Given(found)


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


def _training(context: Context) -> Training[Grade]:
    return Training(LEARNER, context, lesson(LEARNER, context.settings, grades(context)))


def _fault_of(grade: Grade) -> str | None:
    fault = fault_of(grade)
    return None if fault is None else f"with {fault}"


def _texts(grade: Grade) -> tuple[Text, ...]:
    return (Text(grade.grade_id, norm_text(grade.culture, grade.norm), grade.reasoning),)


def _train(config: RewardConfig, found: Sequence[Grade], target: Path, seed: int, stop: Stop) -> Trained:
    from ccfw.training.supervisor import train

    return train(config, found, target, seed, stop)


# ---- what came of it


def _tell(settings: Settings, taught: Lesson[Grade], held: Held[Grade], target: Path) -> Told:
    rewards = [grounding(logit) for (logit,) in held.rewards]
    judge, norms = [each.score for each in held.kept], [each.norm_id for each in held.kept]
    best, terms = constants([each.score for each in taught.split.train]), terms_of(settings)
    figures = {
        OWN: agreement({OWN: rewards}, judge, norms, terms)[OWN],
        CONSTANT: constant_agreement(best, judge, norms, terms),
    }
    write_lines(target / "grades.jsonl", [*taught.split.train, *taught.split.held_out])
    rows = [
        (each.grade_id, each.norm_id, each.score, reward, read_as(reward))
        for each, reward in zip(held.kept, rewards, strict=True)
    ]
    scores = target / "scores.csv"
    write_atomically(scores, comma_separated(("grade_id", "norm_id", "judge", "reward", "read_as"), rows))
    metrics = {
        f"{who}/{name}{suffix}": value
        for who, role in (("supervisor", OWN), ("constant", CONSTANT))
        for name, figure in zip(FIGURES, figures[role], strict=True)
        for suffix, value in zip(("", "_lo", "_hi"), figure, strict=True)
        if value is not None
    }
    own = dict(zip(FIGURES, figures[OWN], strict=True))
    return Told([_table(figures, best, len(held.kept), settings)], own, metrics, [scores])


def _table(figures: Mapping[str, Sequence[Figure]], best: Constants, count: int, settings: Settings) -> Table:
    named = {settings.supervisor.name if role == OWN else role: own for role, own in figures.items()}
    rows = tuple(
        (name, percent(accuracy), points(error), points(kappa), str(count))
        for name, (accuracy, error, kappa) in named.items()
    )
    by = f"Norm Match by {settings.judge.name}" if settings.supervisor.pairs is None else "the scores of the file"
    note = (
        f"Against {by}, 0 to 2, on reasonings about norms not trained on. Exact: per cent whose nearest score is that "
        "one. Error: mean distance in points. κ: quadratic-weighted kappa. Best constant: one score for all, the best "
        f"of the grades trained on for each figure: {best.accuracy}, the commonest, for Exact; {best.mae:g}, the "
        f"median, for Error; no constant has a κ. {settings.bootstrap.level:.0%} percentile bootstrap intervals, whole "
        "norms resampled."
    )
    bounds = [f"{name}{end}" for name in FIGURES for end in ("", "_lo", "_hi")]
    return Table(
        "agreement",
        "Agreement with the judge",
        ("Grader", "Exact", "Error", "κ", "Reasonings"),
        rows,
        note,
        data_head=("grader", *bounds, "reasonings"),
        data=tuple((name, *(end for figure in own for end in figure), count) for name, own in named.items()),
    )


LEARNER = Learner(
    stage=NAME,
    title="Norm-grounding supervisor",
    about=(
        "A sequence classifier with one output, a logit: its sigmoid is the expected share of the highest Norm Match, "
        "2. It reads a chat of two turns: `Culture: …` and the norm; and the reasoning."
    ),
    noun="reasoning",
    prompt="norm",
    fault_of=_fault_of,
    texts=_texts,
    train=_train,
    tell=_tell,
    unused=("centre",),
)
