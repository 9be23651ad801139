"""What stages *reward* and *supervisor* share: a classifier learns from some norms, and is held against the others.

The folder is named by what decides the weights, and by nothing else. What decides the report besides (what is held out,
how intervals are made) stands in the manifest: when that changes, the model that is there reads the held-out texts,
those that it has not read yet, and report, tables and card are written anew.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from ccfw.align.alignment import Figure
from ccfw.errors import RequestError, StoppedError, StoreError
from ccfw.records import Record
from ccfw.report.agreement import Table, counted
from ccfw.report.crisp import plain
from ccfw.settings import Settings
from ccfw.settings.training import Pooling, RewardConfig, WeightsConfig
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import folder_of
from ccfw.stages.model_card import README, Card, Lined, files_of, libraries, read_card, sha256_of, write_card
from ccfw.stages.scored import bootstrap_parts, finish, from_model, is_nowhere, track_stored
from ccfw.stages.training_curve import curve_csv, curve_series
from ccfw.stop import Stop
from ccfw.store import Output, digest, fingerprint, read_records, write_atomically
from ccfw.training.checkpoints import CHECKPOINTS, next_time, saving
from ccfw.training.guard import check_installed
from ccfw.training.planning import shown_training, training_plan
from ccfw.training.scoring import CARD, origin
from ccfw.training.splitting import OfNorm, Split, sorted_out, split_by_norm, split_faults
from ccfw.training.texts import Text

if TYPE_CHECKING:
    from ccfw.training.reward import Trained

log = logging.getLogger(__name__)
VERSION = 2
"""Raised when the same examples would give other weights, or the same weights other figures."""
MODEL = "model"
OWN = "own"
"""The role of the trained model among what it is compared with."""
_CURVE = "curve"
_OF_THE_PLAN = ("parameters", "layers", "hidden", "key_width", "vocabulary")
_NOT_OF_THE_WEIGHTS = ("name", "save_every", "micro_batch", "gradient_checkpointing", "pairs", "kinds", "held_out")
"""Terms that weights do not depend on, but for what is trained on, which has a hash of its own."""
_HEADS: Mapping[Pooling, str] = {
    "last": "Its head reads the last token's state: `AutoModelForSequenceClassification` of transformers loads it.",
    "answer": (
        "Its head reads the mean over the answer's tokens, by code that lies beside the weights: "
        "`AutoModelForSequenceClassification` of transformers loads it with `trust_remote_code=True`."
    ),
}


class Example(OfNorm, Lined, Protocol):
    """What a classifier learns from: a pair, a graded reasoning."""


T = TypeVar("T", bound=Example)
R = TypeVar("R", bound=Record)
E = TypeVar("E")


class Given(NamedTuple, Generic[E]):
    """The examples of a job, before any is looked at."""

    examples: Sequence[E]
    repeated: int = 0
    """Records of a file whose id stood there before; the first of an id counts."""


class Lesson(NamedTuple, Generic[T]):
    """What is trained on and what is held out, and what could be neither."""

    split: Split[T]
    left_out: tuple[str, ...]
    """How many examples nothing can be learnt from, and why; a sentence, or none."""


class Held(NamedTuple, Generic[T]):
    """What the trained model makes of the examples held out."""

    kept: Sequence[T]
    """Those of which every text has a reward."""
    rewards: Sequence[tuple[float, ...]]
    """Of their texts, in the same order."""
    unscored: int
    """The others."""


class Told(NamedTuple):
    """What a stage has to say of its model."""

    tables: Sequence[Table]
    """The first is shown on the terminal, and stands in the README."""
    figures: Mapping[str, Figure]
    """Those of the card."""
    metrics: Mapping[str, float]
    written: Sequence[Path]
    """Beside the tables."""


@dataclass(frozen=True)
class Learner(Generic[T]):
    """What a stage has of its own."""

    stage: str
    """Its name, and the key of its settings."""
    title: str
    about: str
    """What the model is and what it reads, for its README."""
    noun: str
    """What it learns from."""
    prompt: str
    """What stands before an answer, and is cut where both are too long."""
    fault_of: Callable[[T], str | None]
    """Why nothing can be learnt from an example."""
    texts: Callable[[T], tuple[Text, ...]]
    """What the model reads of an example."""
    train: Callable[[RewardConfig, Sequence[T], Path, int, Stop], Trained]
    tell: Callable[[Settings, Lesson[T], Held[T], Path], Told]
    """Works out tables and figures, and writes into the folder what lies beside them."""
    unused: tuple[str, ...] = ()
    """Terms that this kind of training does not know."""

    @property
    def nouns(self) -> str:
        """Several of what it learns from."""
        return f"{self.noun}s"

    def config(self, settings: Settings) -> RewardConfig:
        """Return the terms of training."""
        found: RewardConfig = getattr(settings, self.stage)
        return found


# ---- what is learnt from


def from_file(key: str, given: str, kind: type[R]) -> Given[R]:
    """Return the records of a file that a request names; raise ``RequestError`` for one that has none."""
    path = Path(given)
    if not path.is_file():
        raise RequestError([f"{key}={given}: {'a folder, and no file' if path.is_dir() else 'no such file'}"])
    try:
        found = list(read_records(path, kind, whole=True))
        with path.open("rb") as lines:
            repeated = sum(1 for _ in lines) - len(found)
    except StoreError as error:
        raise RequestError([f"{key}: {error}"]) from None
    except OSError as error:
        raise RequestError([f"{key}={given}: {error.strerror}"]) from None
    if not found:
        raise RequestError([f"{key}={given}: the file is empty"])
    return Given(found, repeated)


def lesson(
    learner: Learner[T],
    settings: Settings,
    given: Given[T],
    *,
    problems: Sequence[str] = (),
    taught: Callable[[T], bool] = lambda _: True,
) -> Lesson[T]:
    """Part examples by norm; ``taught`` says which of those not held out are trained on.

    Raises ``RequestError`` with ``problems`` and all that is wrong besides.
    """
    config, (examples, repeated) = learner.config(settings), given
    sound, faulty = sorted_out(examples, learner.fault_of)
    unused = {**faulty, "with an id that stood there before": repeated}
    said = "; ".join(f"{count} {why}" for why, count in unused.items() if count)
    split = split_by_norm(sound, config.held_out, settings.seed)
    split = Split(tuple(filter(taught, split.train)), split.held_out)
    found = [*problems, *weights_faults(f"{learner.stage}.weights", config.weights)]
    if examples and not sound:
        found.append(f"stage={learner.stage}: nothing can be learnt from any of the {learner.nouns}: {said}")
    elif not problems:
        found += split_faults(split, f"{learner.stage}.held_out", config.held_out, learner.noun)
    if found:
        raise RequestError(found)
    count, every = sum(unused.values()), len(examples) + repeated
    left_out = f"{count} of {every} {learner.nouns} {'is' if count == 1 else 'are'} left out: {said}."
    return Lesson(split, (left_out,) if count else ())


def weights_faults(key: str, weights: WeightsConfig) -> list[str]:
    """Return a line where weights' path is said as a folder's and is none, or is one and has a revision."""
    place, revision = weights.path, weights.revision
    if place is None:
        return []
    if is_nowhere(place):
        return [f"{key}.path={place}: no such folder"]
    if revision is not None and Path(place).is_dir():
        return [f"{key}.revision={revision}: {place} is a folder, and only a name on the Hub has revisions"]
    return []


# ---- the course


@dataclass(frozen=True)
class Training(Generic[T]):
    """One job's training, report and all."""

    learner: Learner[T]
    context: Context
    lesson: Lesson[T]

    @property
    def _settings(self) -> Settings:
        return self.context.settings

    @property
    def _config(self) -> RewardConfig:
        return self.learner.config(self._settings)

    @property
    def folder(self) -> Path:
        """Where the model is, or will be."""
        return folder_of(self.context, self.learner.stage, self._deciding())

    def _deciding(self) -> dict[str, Any]:
        """Return everything that decides the weights; its hash names the folder."""
        unused: dict[str, Any] = dict.fromkeys((*_NOT_OF_THE_WEIGHTS, *self.learner.unused), True)
        terms = self._config.model_dump(mode="json", exclude=unused | {"weights": dict.fromkeys(_OF_THE_PLAN, True)})
        terms["weights"]["path"] = origin(self._config.weights)
        trained_on = digest(each.model_dump_json() for each in self.lesson.split.train)
        return {
            self.learner.stage: terms | {"trained_on": trained_on},
            "seed": self._settings.seed,
            "version": VERSION,
        }

    def _content(self) -> dict[str, Any]:
        """Return everything that decides what is written: the weights, and the report."""
        deciding, stage = self._deciding(), self.learner.stage
        report = {
            "held_out": digest(each.model_dump_json() for each in self.lesson.split.held_out),
            "left_out": list(self.lesson.left_out),
            "max_tokens": self._settings.rewards.max_tokens,
            **bootstrap_parts(self._settings),
        }
        return deciding | {stage: {"name": self._config.name} | deciding[stage], "report": report}

    def plan(self) -> tuple[int, int]:
        """Return the calls of the stage, none, and print what training would take."""
        learner, (train, held_out) = self.learner, self.lesson.split
        texts = [(text.prompt, text.answer) for each in train for text in learner.texts(each)]
        made = training_plan(self._config, texts, len(train), len(held_out))
        print("\n  ".join([shown_training(learner.stage, self._config, made, learner.nouns), *self.lesson.left_out]))
        return 0, 0

    def run(self) -> StageResult:
        """Train what is not trained yet, have it read what is held out, and write what came of it."""
        stage, content = self.learner.stage, self._content()
        check_installed(f"stage={stage}")
        output = Output(self.folder, self.context.stop)
        result, held_out = StageResult(stage, output.folder), len(self.lesson.split.held_out)
        for each in self.lesson.left_out:
            log.warning("stage=%s: %s", stage, each.removesuffix("."))
        with output:
            card, written = _whole_card(output), output.read_manifest()
            if card is not None and written.get("status") == "ok" and written.get("fingerprint_of") == content:
                result.skipped = held_out
                track_stored(self.context, output, stage)
                return result
            if card is None:
                try:
                    trained = self._train(output.folder)
                except StoppedError as stopped:  # before the first step
                    return broken_off(self.context, output, result, content, str(stopped))
                if not trained.finished:
                    return broken_off(self.context, output, result, content, self.context.stop.reason)
                card = self._keep(trained, output.folder)
            result.done = held_out
            self._report(card, output, result, content)
        return result

    def _train(self, target: Path) -> Trained:
        return self.learner.train(self._config, self.lesson.split.train, target, self._settings.seed, self.context.stop)

    def _keep(self, trained: Trained, target: Path) -> Card:
        """Write a model with its curve, and its card last; checkpoints are then of no use."""
        from ccfw.training.drawing import curves
        from ccfw.training.reward import save

        model, train = target / MODEL, self.lesson.split.train
        (model / CARD).unlink(missing_ok=True)
        with saving(model):
            save(trained, model)
        write_atomically(target / f"{_CURVE}.csv", curve_csv(trained.curve))
        curves(curve_series(trained.curve), "step", target / _CURVE)
        card = Card(
            name=self._config.name,
            fingerprint=fingerprint(self._deciding()),
            settings=self._config.model_dump(mode="json"),
            seed=self._settings.seed,
            trained_on=len(train),
            trained_on_sha256=sha256_of(train),
            trained_norms=tuple(sorted({each.norm_id for each in train})),
            steps=trained.steps,
            trained_parameters=trained.trainable,
            questions_cut=trained.cut,
            too_long=trained.too_long,
            files=files_of(model),
            versions=libraries(),
        )
        write_card(model, card)
        shutil.rmtree(target / CHECKPOINTS, ignore_errors=True)
        return card

    def _report(self, card: Card, output: Output, result: StageResult, content: Mapping[str, Any]) -> None:
        """Write report, tables, figures, README and card from what the model makes of the examples held out."""
        target, held_out = output.folder, self.lesson.split.held_out
        held = self._read(target / MODEL)
        told = self.learner.tell(self._settings, self.lesson, held, target)
        notes = self._notes(card, held)
        card = card.model_copy(
            update={
                "name": self._config.name,
                "held_out": len(held_out),
                "held_out_sha256": sha256_of(held_out),
                "figures": {name: figure._asdict() for name, figure in told.figures.items()},
            }
        )
        write_atomically(target / MODEL / README, self._readme(card, told.tables[0]))
        write_card(target / MODEL, card)
        curve = [path for end in (".svg", ".png") if (path := target / f"{_CURVE}{end}").is_file()]
        counts = {"train": card.trained_on, "held_out": len(held_out), "unscored": held.unscored}
        finish(
            self.context,
            output,
            result,
            content,
            self.learner.title,
            told.tables,
            told.metrics,
            notes,
            [*told.written, *curve],
            counts,
            label=self._config.name,
            more=[f"{MODEL}/{CARD}"],
        )
        if self._settings.report.shown:
            print(plain(told.tables[0], notes), flush=True)

    def _read(self, model: Path) -> Held[T]:
        """Have the saved model read what is held out, through the door by which every other stage asks it."""
        held_out, terms = self.lesson.split.held_out, f"rewards.max_tokens={self._settings.rewards.max_tokens}"
        texts = [self.learner.texts(each) for each in held_out]
        every = [text for own in texts for text in own]
        key = f"stage={self.learner.stage}"
        rewards = from_model(self.context, self._config.name, str(model), every, key).rewards
        kept = [
            (each, tuple(rewards[text.text_id] for text in own))
            for each, own in zip(held_out, texts, strict=True)
            if all(text.text_id in rewards for text in own)
        ]
        if not kept:
            what = f"the model gives no {self.learner.noun} held out a reward"
            raise RequestError([f"stage={self.learner.stage}: {what} ({terms})"])
        return Held([each for each, _ in kept], [own for _, own in kept], len(held_out) - len(kept))

    def _notes(self, card: Card, held: Held[T]) -> list[str]:
        nouns, notes = self.learner.nouns, list(self.lesson.left_out)
        if held.unscored:
            have = "has" if held.unscored == 1 else "have"
            notes.append(f"{held.unscored} of the {nouns} held out {have} a text without a reward.")
        if card.questions_cut:
            texts = counted(card.questions_cut, "training text")
            notes.append(f"The {self.learner.prompt} did not fit whole in {texts}.")
        if card.too_long:
            left_out, were = counted(card.too_long, self.learner.noun), "was" if card.too_long == 1 else "were"
            notes.append(f"{left_out} {were} left out, since an answer alone did not fit.")
        return notes

    def _readme(self, card: Card, table: Table) -> str:
        own = counted(card.trained_on, self.learner.noun)
        trained = f"Trained on {own}, held against {card.held_out} of other norms."
        about = f"{self.learner.about} {_HEADS[self._config.pooling]}"
        return (
            f"# {self.learner.title} {card.name}\n\n{about}\n\n{trained} SHA-256 of either, as lines of "
            f"JSON:\n\n- `{card.trained_on_sha256}`\n- `{card.held_out_sha256}`\n\nEverything else is in `{CARD}`.\n\n"
            f"{table.markdown()}"
        )


def broken_off(
    context: Context, output: Output, result: StageResult, content: Mapping[str, Any], reason: str | None
) -> StageResult:
    """Leave a training that goes on another time: why, and from where, is said in log and manifest alike."""
    result.stopped, result.interrupted = reason or "interrupted", context.stop.interrupted
    words = f"stopped ({result.stopped}); {next_time(output.folder)}"
    output.write_manifest(context.manifest(output, result, content, stopped=words))
    log.warning("stage=%s: %s", result.stage, words)
    return result


def _whole_card(output: Output) -> Card | None:
    """Return the card of a model that is there whole; ``None`` where it is to be trained, which is said if it was."""
    model = output.folder / MODEL
    if not (model / CARD).exists() and output.read_manifest().get("status") != "ok":
        return None
    found = read_card(model, Card)
    if isinstance(found, Card):
        return found
    log.warning("%s: %s; the model is trained again", model, found)
    return None
