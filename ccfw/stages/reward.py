"""Stage *reward*: pairs → a Bradley–Terry reward model, and how it orders pairs of norms that it never saw (Table 21).

Reads   the pairs that *preferences* stored under the same settings, or a file of them (``reward.pairs``).
Writes  ``crisp/reward/<fingerprint>/``: ``model/`` as every loader of Hugging Face reads it, with ``card.json`` and
        ``README.md``; ``report.md``; ``accuracy.csv`` by kind, culture and length gap; ``calibration``, ``margins``
        and ``curve``, each as CSV and as a figure; checkpoints until it is finished.
Method  TRL's ``RewardTrainer`` on any causal language model. Beside the model stand two controls that never read the
        question: the longer answer, and a model of the words alone. The same line goes on from the last checkpoint;
        one that asks for other intervals has the model that is there reported anew (``ccfw.stages.trained``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ccfw.align.alignment import ALL, Figure, Group
from ccfw.crisp.pairs import longer, triplet_pairs
from ccfw.crisp.records import PairKind, Preference
from ccfw.errors import RequestError, StoreError
from ccfw.report.agreement import Table, number, percent
from ccfw.report.writing import comma_separated
from ccfw.settings import Settings
from ccfw.settings.training import CONTROLS, RewardConfig
from ccfw.stages import preferences, testbed, trained
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import folder_of
from ccfw.stages.rated import terms_of
from ccfw.stages.trained import OWN, Given, Held, Learner, Lesson, Told, Training, from_file, lesson
from ccfw.stop import Stop
from ccfw.store import read_records, write_atomically
from ccfw.training.pairs import Calibration, Margin, accuracies, calibration, fault_of
from ccfw.training.texts import Text, question_text
from ccfw.training.wording import wording_margins

if TYPE_CHECKING:
    from ccfw.training.reward import Trained

NAME = "reward"
MODEL = trained.MODEL
_PARTITIONS = {"culture": "Culture", "length_gap": "Length"}
_KINDS = {
    PairKind.GAP: "Outcome scores apart",
    PairKind.APPROPRIATE_GENERIC: "Appropriate > generic",
    PairKind.APPROPRIATE_OPPOSITE: "Appropriate > opposite",
    PairKind.GENERIC_OPPOSITE: "Generic > opposite",
}


class Orders(NamedTuple):
    """How the held-out pairs are ordered, by role: the model's own, and the controls."""

    margins: Mapping[str, Sequence[float]]
    accuracy: Mapping[str, Mapping[Group, Figure]]
    pairs: Mapping[Group, int]
    calibration: Calibration | None
    """Of the model."""


def folder(context: Context) -> Path:
    """Return where the job's reward model is, or will be."""
    return _training(context, stored_pairs(context)).folder


def run(context: Context) -> StageResult:
    """Train what is not trained yet, order the held-out pairs, and write what came of it."""
    return _training(context, stored_pairs(context)).run()


def plan(context: Context) -> tuple[int, int]:
    """Return the calls of the stage, none, and print what training would take."""
    settings = context.settings
    if settings.reward.pairs is None and preferences.NAME in settings.stage.runs:
        found = testbed.situations(context, NAME)
        pairs = Given([pair for each in found if each.triplet for pair in triplet_pairs(each, each.triplet)])
    else:
        pairs = stored_pairs(context)
    return _training(context, pairs).plan()


def stored_pairs(context: Context) -> Given[Preference]:
    """Return the pairs of the job; raise ``RequestError`` when there are none, or they cannot be read."""
    given = context.settings.reward.pairs
    if given is not None:
        return from_file("reward.pairs", given, Preference)
    made = context.written.get(preferences.NAME)
    path = (made or folder_of(context, preferences.NAME, preferences.parts(context))) / preferences.LIST
    try:
        found = list(read_records(path, Preference))
    except StoreError as error:
        raise RequestError([f"stage={NAME}: {error}"]) from None
    if not found:
        make = f"make them first with stage={preferences.NAME} and the same line"
        raise RequestError([f"stage={NAME}: no pairs at {path}; {make}"])
    return Given(found)


def _training(context: Context, pairs: Given[Preference]) -> Training[Preference]:
    wanted, there = context.settings.reward.kinds, sorted({each.kind.value for each in pairs.examples})
    unknown = [kind for kind in wanted if kind not in there]
    problems = [f"reward.kinds={kind}: no pair is of it; there: {', '.join(there)}" for kind in unknown]
    taught = lesson(
        LEARNER,
        context.settings,
        pairs,
        problems=problems,
        taught=lambda each: not wanted or each.kind.value in wanted,
    )
    return Training(LEARNER, context, taught)


def _fault_of(pair: Preference) -> str | None:
    fault = fault_of(pair)
    return None if fault is None else f"of kind {pair.kind.value} with {fault}"


def _texts(pair: Preference) -> tuple[Text, ...]:
    question = question_text(pair.culture, pair.scenario, pair.question)
    answers = {"chosen": pair.chosen, "rejected": pair.rejected}
    return tuple(Text(f"{pair.pair_id}::{name}", question, answer) for name, answer in answers.items())


def _train(config: RewardConfig, pairs: Sequence[Preference], target: Path, seed: int, stop: Stop) -> Trained:
    from ccfw.training.reward import train

    return train(config, pairs, target, seed, stop)


# ---- what came of it


def _tell(settings: Settings, taught: Lesson[Preference], held: Held[Preference], target: Path) -> Told:
    from ccfw.training.drawing import histogram, reliability

    found = orders(settings, taught, held)
    across = "margin of a held-out pair: reward of the chosen less that of the rejected"
    written = histogram(found.margins[OWN], across, target / "margins")
    rows = [
        (pair.pair_id, pair.kind.value, *values)
        for pair, *values in zip(held.kept, *found.margins.values(), strict=True)
    ]
    head = ("pair_id", "kind", *_names(settings, found.margins))
    write_atomically(target / "margins.csv", comma_separated(head, rows))
    if found.calibration is not None:
        written += reliability(found.calibration.bins, target / "calibration")
    tables = [_accuracy_table(found, settings), _calibration_table(found.calibration)]
    return Told(tables, {"accuracy": found.accuracy[OWN][ALL]}, _metrics(found), written)


def orders(settings: Settings, taught: Lesson[Preference], held: Held[Preference]) -> Orders:
    """Return how model and controls order the held-out pairs, each under its role."""
    words, length = CONTROLS
    margins: dict[str, Sequence[float]] = {
        OWN: [chosen - rejected for chosen, rejected in held.rewards],
        words: wording_margins(taught.split.train, held.kept),
        length: [longer(pair) - 0.5 for pair in held.kept],
    }
    terms = terms_of(settings)
    found = {role: accuracies(list(map(Margin, held.kept, values)), terms) for role, values in margins.items()}
    accuracy = {role: figures for role, (figures, _) in found.items()}
    return Orders(margins, accuracy, found[OWN][1], calibration(margins[OWN]))


def _names(settings: Settings, roles: Iterable[str]) -> list[str]:
    return [settings.reward.name if role == OWN else role for role in roles]


def _accuracy_table(found: Orders, settings: Settings) -> Table:
    names = _names(settings, found.accuracy)
    rows = tuple(
        (_heading(group), *(percent(own[group]) for own in found.accuracy.values()), str(count))
        for group, count in found.pairs.items()
    )
    note = (
        f"Per cent of held-out pairs whose chosen answer gets the higher reward; 50 is chance, a tie counts half. "
        f"{settings.bootstrap.level:.0%} percentile bootstrap intervals, whole norms resampled, none trained on. "
        "The controls never read the question: the words of the answers alone, learnt from the same pairs, and the "
        "longer answer. What they order too, a reward model need not have learnt from conduct."
    )
    bounds = [f"{name}{end}" for name in names for end in ("", "_lo", "_hi")]
    data = tuple(
        (*group, *(end for own in found.accuracy.values() for end in own[group]), count)
        for group, count in found.pairs.items()
    )
    return Table(
        "accuracy",
        "Accuracy on held-out norms",
        ("Held-out pairs", *names, "Pairs"),
        rows,
        note,
        data_head=("partition", "group", *bounds, "pairs"),
        data=data,
    )


def _heading(group: Group) -> str:
    partition, name = group
    if partition == "kind":
        return _KINDS[PairKind(name)]
    return f"{_PARTITIONS[partition]}: {name}" if partition in _PARTITIONS else "All"


def _calibration_table(found: Calibration | None) -> Table:
    bins = found.bins if found else ()
    rows = tuple((f"≤ {end:.2f}", number(stated), number(hit), str(count)) for end, stated, hit, count in bins)
    note = "Stated: the probability that the model gives the answer it prefers. "
    if found:
        note += (
            f"Expected calibration error {found.error:.3f}, Brier score {found.brier:.3f} (0.25 knows nothing), "
            f"loss {found.loss:.3f} (0.693 knows nothing)."
        )
    return Table(
        "calibration",
        "Calibration",
        ("Stated", "Mean stated", "Right", "Pairs"),
        rows,
        note,
        data_head=("stated_at_most", "mean_stated", "right", "pairs"),
        data=bins,
    )


def _metrics(found: Orders) -> dict[str, float]:
    own = found.accuracy[OWN]
    metrics = {
        f"accuracy/{group[1]}{suffix}": value
        for group in own
        if group == ALL or group[0] == "kind"
        for suffix, value in zip(("", "_lo", "_hi"), own[group], strict=True)
        if value is not None
    }
    for control in CONTROLS:
        value = found.accuracy[control][ALL].value
        if value is not None:
            metrics[f"accuracy/control_{control.replace(' ', '_')}"] = value
    if found.calibration:
        metrics |= {"calibration_error": found.calibration.error, "held_out_loss": found.calibration.loss}
    return metrics


LEARNER = Learner(
    stage=NAME,
    title="Reward model",
    about=(
        "A Bradley–Terry model of cultural appropriateness in situations: a sequence classifier with one output. It "
        "reads a chat of two turns: `Culture: …`, the scenario and the question; and the answer."
    ),
    noun="pair",
    prompt="question",
    fault_of=_fault_of,
    texts=_texts,
    train=_train,
    tell=_tell,
)
