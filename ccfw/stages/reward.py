"""Stage *reward*: pairs → a Bradley–Terry reward model, and how it orders pairs of norms that it never saw (Table 21).

Reads   the pairs that *preferences* stored under the same settings, or a file of them (``reward.pairs``).
Writes  ``crisp/reward/<fingerprint>/``: ``model/`` as every loader of Hugging Face reads it, with ``card.json`` and
        ``README.md``; ``report.md``; ``accuracy.csv`` by kind, culture and length gap; ``calibration.csv``;
        ``margins.csv``; ``curve.csv``; figures; checkpoints until it is finished.
Method  TRL's ``RewardTrainer`` on any causal language model. Beside the model stand two controls that never read the
        question: the longer answer, and a model of the words alone. The same line goes on from the last checkpoint.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from ccfw.align.alignment import ALL, Figure, Group
from ccfw.crisp.pairs import longer, triplet_pairs
from ccfw.crisp.records import Preference
from ccfw.errors import RequestError, StoreError
from ccfw.report.agreement import Table, number, percent
from ccfw.report.crisp import plain
from ccfw.report.writing import comma_separated
from ccfw.settings import Settings
from ccfw.stages import preferences, testbed
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import folder_of
from ccfw.stages.rated import terms_of
from ccfw.stages.scored import bootstrap_parts, finish, from_model
from ccfw.store import Output, digest, fingerprint, read_records, write_atomically
from ccfw.training.guard import check_installed
from ccfw.training.pairs import Calibration, Margin, accuracies, calibration
from ccfw.training.planning import reward_plan, shown_training
from ccfw.training.scoring import CARD
from ccfw.training.splitting import Split, split_by_norm, split_faults
from ccfw.training.texts import Text, question_text
from ccfw.training.wording import wording_margins

log = logging.getLogger(__name__)
NAME = "reward"
VERSION = 1
MODEL = "model"
_PARTITIONS = {"all": "", "kind": "Kind", "culture": "Culture", "length_gap": "Length"}


class Held(NamedTuple):
    """What the held-out pairs came to, by orderer: the model and the controls."""

    accuracy: Mapping[str, Mapping[Group, Figure]]
    pairs: Mapping[Group, int]
    margins: Mapping[str, Sequence[float]]
    calibration: Calibration | None
    kept: Sequence[Preference]
    """The pairs that the margins are of, in the same order."""
    unscored: int
    """Pairs of which an answer gets no reward."""


def parts(context: Context) -> dict[str, Any]:
    """Return everything that decides the reward model; its hash names the output folder."""
    settings = context.settings
    plan_only = {"save_every", "micro_batch", "pairs"}
    return {
        "reward": settings.reward.model_dump(mode="json", exclude=plan_only),
        "pairs": digest(sorted(each.model_dump_json() for each in stored_pairs(context))),
        **bootstrap_parts(settings),
        "version": VERSION,
    }


def folder(context: Context) -> Path:
    """Return where the job's reward model is, or will be."""
    return folder_of(context, NAME, parts(context))


def run(context: Context) -> StageResult:
    """Train what is not trained yet, order the held-out pairs, and write what came of it."""
    check_installed(f"stage={NAME}")
    settings, content = context.settings, parts(context)
    split = _split(context)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder, done=len(split.held_out))
    with output:
        if (output.folder / MODEL / CARD).is_file() and output.read_manifest().get("status") == "ok":
            result.done, result.skipped = 0, len(split.held_out)
            return result
        trained = _train(context, output, split)
        if not trained.finished:
            result.interrupted, result.stopped = True, "interrupted; the same line goes on from the last checkpoint"
            result.done = 0
            output.write_manifest(context.manifest(output, result, content))
            return result
        _save(trained, output.folder / MODEL)
        held = _held_out(context, output.folder / MODEL, split)
        _write(context, output, result, content, split, held, trained)
    if settings.report.shown:
        print(plain(_accuracy_table(held, settings), _notes(held, trained)), flush=True)
    return result


def plan(context: Context) -> tuple[int, int]:
    """Return the calls of the stage, none, and print what training would take."""
    settings = context.settings
    if settings.reward.pairs is None and preferences.NAME in settings.stage.runs:
        found = testbed.situations(context, NAME)
        split = _parted(
            settings, [pair for each in found if each.triplet for pair in triplet_pairs(each, each.triplet)]
        )
    else:
        split = _split(context)
    print(
        shown_training(NAME, settings.reward, reward_plan(settings.reward, split.train, len(split.held_out)), "pairs")
    )
    return 0, 0


def stored_pairs(context: Context) -> list[Preference]:
    """Return the pairs of the job; raise ``RequestError`` when there are none, or they cannot be read."""
    given = context.settings.reward.pairs
    if given is None:
        path = folder_of(context, preferences.NAME, preferences.parts(context)) / preferences.LIST
        missing = f"stage={NAME}: no pairs at {path}; make them first with stage={preferences.NAME} and the same line"
    else:
        path = Path(given)
        missing = f"reward.pairs={given}: no pairs there"
    try:
        found = list(read_records(path, Preference, whole=given is not None))
    except StoreError as error:
        raise RequestError([f"reward.pairs: {error}"]) from None
    if not found:
        raise RequestError([missing])
    return found


def _split(context: Context) -> Split[Preference]:
    return _parted(context.settings, stored_pairs(context))


def _parted(settings: Settings, pairs: Sequence[Preference]) -> Split[Preference]:
    """Return what is trained on and what is held out; raise ``RequestError`` when one of the two would be empty."""
    there = sorted({each.kind.value for each in pairs})
    unknown = [kind for kind in settings.reward.kinds if kind not in there]
    problems = [f"reward.kinds={kind}: no pair is of it; there: {', '.join(there)}" for kind in unknown]
    split = split_by_norm(pairs, settings.reward.held_out, settings.seed)
    train = tuple(each for each in split.train if not settings.reward.kinds or each.kind.value in settings.reward.kinds)
    parted = Split(train, split.held_out)
    if problems := problems or split_faults(parted, "reward.held_out", settings.reward.held_out, "pair"):
        raise RequestError(problems)
    return parted


def _train(context: Context, output: Output, split: Split[Preference]) -> Any:
    from ccfw.training.reward import train

    return train(context.settings.reward, split.train, output.folder, context.settings.seed, context.stop)


def _save(trained: Any, target: Path) -> None:
    from ccfw.training.reward import save

    save(trained, target)


def _held_out(context: Context, model: Path, split: Split[Preference]) -> Held:
    """Have the saved model read the held-out pairs, through the door by which every other stage asks it."""
    settings = context.settings
    texts = {
        (each.pair_id, name): Text(
            f"{each.pair_id}::{name}",
            question_text(each.culture, each.scenario, each.question),
            getattr(each, name),
        )
        for each in split.held_out
        for name in ("chosen", "rejected")
    }
    found = from_model(context, settings.reward.name, str(model), list(texts.values())).rewards
    given = {key: found.get(each.text_id) for key, each in texts.items()}
    pairs = [
        (each, one - other)
        for each in split.held_out
        if (one := given[each.pair_id, "chosen"]) is not None and (other := given[each.pair_id, "rejected"]) is not None
    ]
    kept = [pair for pair, _ in pairs]
    margins = {
        settings.reward.name: [margin for _, margin in pairs],
        "words alone": wording_margins(split.train, kept),
        "longer": [longer(pair) - 0.5 for pair in kept],
    }
    accuracy: dict[str, Mapping[Group, Figure]] = {}
    counts: Mapping[Group, int] = {}
    for name, values in margins.items():
        accuracy[name], counts = accuracies(list(map(Margin, kept, values)), terms_of(settings))
    unscored = len(split.held_out) - len(kept)
    return Held(accuracy, counts, margins, calibration(margins[settings.reward.name]), kept, unscored)


def _write(
    context: Context,
    output: Output,
    result: StageResult,
    content: Mapping[str, Any],
    split: Split[Preference],
    held: Held,
    trained: Any,
) -> None:
    from ccfw.training.drawing import curves, histogram
    from ccfw.training.reward import CHECKPOINTS

    settings, target = context.settings, output.folder / MODEL
    margins = held.margins[settings.reward.name]
    table, bins = _accuracy_table(held, settings), _calibration_table(held)
    figures = [
        *histogram(
            margins,
            "margin of a held-out pair: reward of the chosen less that of the rejected",
            output.folder / "margins",
        ),
        *curves(curve_series(trained.curve), "step", output.folder / "curve"),
    ]
    write_atomically(output.folder / "curve.csv", curve_csv(trained.curve))
    rows = [
        (pair.pair_id, pair.kind.value, *values)
        for pair, *values in zip(held.kept, *held.margins.values(), strict=True)
    ]
    write_atomically(output.folder / "margins.csv", comma_separated(("pair_id", "kind", *held.margins), rows))
    card = _card(settings, split, held, trained, fingerprint(content))
    write_atomically(target / "README.md", _readme(card, table))
    counts = {"train": len(split.train), "held_out": len(split.held_out), "unscored": held.unscored}
    finish(
        context,
        output,
        result,
        content,
        "Reward model",
        [table, bins],
        _metrics(held, settings),
        _notes(held, trained),
        figures,
        counts,
    )
    write_atomically(target / CARD, json.dumps(card, indent=2, ensure_ascii=False) + "\n")
    shutil.rmtree(output.folder / CHECKPOINTS, ignore_errors=True)


def _accuracy_table(held: Held, settings: Settings) -> Table:
    names = list(held.accuracy)
    rows = tuple(
        (
            f"{_PARTITIONS[group[0]]} {group[1]}".strip(),
            *(percent(held.accuracy[name][group]) for name in names),
            str(count),
        )
        for group, count in held.pairs.items()
    )
    note = (
        f"Per cent of held-out pairs whose chosen answer gets the higher reward; 50 is chance, a tie counts half. "
        f"{settings.bootstrap.level:.0%} percentile bootstrap intervals, whole norms resampled, none trained on. "
        "The controls never read the question: the words of the answers alone, learnt from the same pairs, and the "
        "longer answer. What they order too, a reward model need not have learnt from conduct."
    )
    bounds = [f"{name}{end}" for name in names for end in ("", "_lo", "_hi")]
    data = tuple(
        (*group, *(end for name in names for end in held.accuracy[name][group]), count)
        for group, count in held.pairs.items()
    )
    head = ("Held-out pairs", *names, "Pairs")
    return Table(
        "accuracy",
        "Accuracy on held-out norms",
        head,
        rows,
        note,
        data_head=("partition", "group", *bounds, "pairs"),
        data=data,
    )


def _calibration_table(held: Held) -> Table:
    found = held.calibration
    bins = found.bins if found else ()
    rows = tuple((f"≤ {end:.2f}", number(stated), number(hit), str(count)) for end, stated, hit, count in bins)
    note = "Stated: the probability that the model gives the answer it prefers. "
    if found:
        note += (
            f"Expected calibration error {found.error:.3f}, Brier score {found.brier:.3f} (0.25 knows nothing), "
            f"loss {found.loss:.3f} (0.693 knows nothing)."
        )
    return Table("calibration", "Calibration", ("Stated", "Mean stated", "Right", "Pairs"), rows, note)


def _notes(held: Held, trained: Any) -> list[str]:
    notes = [f"{held.unscored} held-out pairs have an answer without a reward."] if held.unscored else []
    if trained.cut or trained.too_long:
        notes.append(
            f"The question did not fit whole in {trained.cut} training texts; {trained.too_long} pairs were left out, "
            "since an answer alone did not fit."
        )
    return notes


def _metrics(held: Held, settings: Settings) -> dict[str, float]:
    own = held.accuracy[settings.reward.name]
    found = {
        f"accuracy/{kind}{suffix}": value
        for group, kind in [(ALL, "all"), *((group, group[1]) for group in own if group[0] == "kind")]
        for suffix, value in zip(("", "_lo", "_hi"), own[group], strict=True)
        if value is not None
    }
    for control in ("words alone", "longer"):
        value = held.accuracy[control][ALL].value
        if value is not None:
            found[f"accuracy/control_{control.replace(' ', '_')}"] = value
    if held.calibration:
        found |= {"calibration_error": held.calibration.error, "held_out_loss": held.calibration.loss}
    return found


def _card(settings: Settings, split: Split[Preference], held: Held, trained: Any, own: str) -> dict[str, Any]:
    figure = held.accuracy[settings.reward.name][ALL]
    return {
        "name": settings.reward.name,
        "fingerprint": own,
        "settings": settings.reward.model_dump(mode="json"),
        "seed": settings.seed,
        "train_pairs_sha256": digest(each.model_dump_json() for each in split.train),
        "held_out_pairs_sha256": digest(each.model_dump_json() for each in split.held_out),
        "train_pairs": len(split.train),
        "held_out_pairs": len(split.held_out),
        "trained_norms": sorted({each.norm_id for each in split.train}),
        "steps": trained.steps,
        "trained_parameters": trained.trainable,
        "questions_cut": trained.cut,
        "pairs_too_long": trained.too_long,
        "held_out_accuracy": figure._asdict(),
        "versions": {name: version(name) for name in ("torch", "transformers", "trl", "peft")},
    }


def _readme(card: Mapping[str, Any], table: Table) -> str:
    intro = (
        f"# Reward model {card['name']}\n\nA Bradley–Terry model of cultural appropriateness in situations: a sequence "
        "classifier with one output. It reads a chat of two turns: `Culture: …`, the scenario and the question; and "
        f"the answer.\n\nTrained on {card['train_pairs']} pairs ({card['train_pairs_sha256']}), held against "
        f"{card['held_out_pairs']} of other norms ({card['held_out_pairs_sha256']}). Everything else is in `{CARD}`.\n"
    )
    return f"{intro}\n{table.markdown()}"


def curve_series(curve: Sequence[Mapping[str, float]]) -> dict[str, list[tuple[float, float]]]:
    """Return what a figure of a training curve shows: points by what was logged."""
    names = ("loss", "accuracy", "margin", "mean_reward", "grad_norm", "learning_rate")
    found = {name: [(float(step), each[name]) for step, each in enumerate(curve, 1) if name in each] for name in names}
    return {name: points for name, points in found.items() if points}


def curve_csv(curve: Sequence[Mapping[str, float]]) -> str:
    """Return a training curve as CSV."""
    names = list(dict.fromkeys(name for each in curve for name in each if "runtime" not in name))
    return comma_separated(
        ["step", *names], [[place, *(each.get(name) for name in names)] for place, each in enumerate(curve, 1)]
    )
