"""A reward model is trained once: what only the report depends on writes the report anew, and a torn model is seen."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from ccfw.crisp.records import PairKind, Preference
from ccfw.errors import RequestError
from ccfw.settings import Settings
from ccfw.stages import reward
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import write_lines
from ccfw.stop import Stop
from tests.test_settings import content
from tests.training import tiny

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]
Job = Callable[..., Settings]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return settings of a job that trains on 48 pairs, a quarter held out, in a second."""
    weights = tiny.reward_model(tmp_path / "weights")
    write_lines(tmp_path / "pairs.jsonl", tiny.pairs(48))

    def settings(level: float = 0.95, workspace: str = "workspace", **changes: Any) -> Settings:
        raw = content("scripted", workspace=str(tmp_path / workspace))
        own = {"path": str(weights), "package": None, "gguf": None}
        terms: dict[str, Any] = {
            "pooling": "last",
            "top": None,
            "epochs": 1,
            "batch": 8,
            "micro_batch": 8,
            "max_tokens": 64,
        }
        terms |= {"learning_rate": 1e-6}  # so that some pairs are ordered wrongly
        raw["reward"] |= terms | {"pairs": str(tmp_path / "pairs.jsonl"), "held_out": 0.25}
        raw["reward"] |= {"weights": raw["reward"]["weights"] | own} | changes
        raw["rewards"]["max_tokens"] = 64
        raw["bootstrap"] |= {"level": level, "resamples": 200}
        raw["report"]["shown"] = 0
        return Settings.model_validate(raw)

    return settings


def run(settings: Settings, stop: Stop | None = None) -> StageResult:
    with asyncio.Runner() as runner, closing(Context(settings, runner, stop or Stop())) as context:
        return reward.run(context)


def rows(result: StageResult, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((result.out / f"{name}.csv").read_text("utf-8").splitlines()))


def whole(result: StageResult) -> dict[str, str]:
    return next(row for row in rows(result, "accuracy") if row["group"] == "all")


def written(result: StageResult) -> Mapping[str, int]:
    """Return when the model's files were written, those aside that the report writes."""
    model = result.out / "model"
    return {
        path.name: path.stat().st_mtime_ns for path in model.iterdir() if path.name not in ("card.json", "README.md")
    }


def test_another_level_or_name_or_limit_rewrites_the_report_and_trains_nothing(job: Job) -> None:
    first = run(job())
    files, before = written(first), whole(first)
    (read,) = (first.out.parents[1] / "rewards").iterdir()
    records = (read / "records.jsonl").read_bytes()
    second = run(job(level=0.5, name="renamed", save_every=7, micro_batch=4))
    after = whole(second)
    assert (second.out, second.done, second.skipped) == (first.out, 12, 0)
    assert written(second) == files
    assert (read / "records.jsonl").read_bytes() == records
    assert after["renamed"] == before["smollm2"]
    wide, narrow = (
        float(row[f"{name}_hi"]) - float(row[f"{name}_lo"]) for name, row in (("smollm2", before), ("renamed", after))
    )
    assert narrow < wide
    assert "50% percentile bootstrap intervals" in (second.out / "report.md").read_text("utf-8")
    assert json.loads((second.out / "model" / "card.json").read_text("utf-8"))["name"] == "renamed"
    third = run(job(level=0.5, name="renamed"))
    assert (third.out, third.done, third.skipped) == (first.out, 0, 12)


def test_other_held_out_pairs_of_the_same_training_are_another_report_of_the_same_model(
    job: Job, tmp_path: Path
) -> None:
    parted = [each.model_copy(update={"split": "test" if i % 4 else "train"}) for i, each in enumerate(tiny.pairs(48))]
    write_lines(tmp_path / "pairs.jsonl", parted)
    first = run(job(held_out=None))
    files = written(first)
    write_lines(tmp_path / "pairs.jsonl", parted[:40])
    fewer = run(job(held_out=None))
    assert (first.done, fewer.done) == (36, 30)
    write_lines(tmp_path / "pairs.jsonl", [each for i, each in enumerate(parted) if i % 4 != 1])
    other = run(job(held_out=None))
    assert (other.out, other.done, written(other)) == (first.out, 24, files)
    assert fewer.out != first.out  # two pairs fewer to train on


def test_weights_are_known_by_what_they_are_and_not_by_where_they_lie(job: Job, tmp_path: Path) -> None:
    first = run(job())
    moved = tmp_path / "elsewhere"
    (tmp_path / "weights").rename(moved)
    raw = job().model_dump(mode="json")["reward"]["weights"]
    same = run(job(weights=raw | {"path": str(moved)}))
    assert (same.out, same.done) == (first.out, 0)
    other = tiny.classifier(seed=1)
    other.model.save_pretrained(moved)
    assert run(job(weights=raw | {"path": str(moved)})).out != first.out


@pytest.mark.parametrize(
    ("name", "spoilt"), [("model.safetensors", b"torn"), ("card.json", b'{"name": "mine"}')], ids=["weights", "card"]
)
def test_a_model_that_is_not_whole_is_trained_again_and_that_is_said(
    job: Job, caplog: pytest.LogCaptureFixture, name: str, spoilt: bytes
) -> None:
    first = run(job())
    before, curve, place = whole(first), (first.out / "curve.csv").read_text("utf-8"), first.out / "model" / name
    place.write_bytes(spoilt)
    with caplog.at_level(logging.WARNING):
        again = run(job())
    assert caplog.messages == [f"{first.out / 'model'}: {name} is missing or torn; the model is trained again"]
    assert (again.done, again.skipped) == (12, 0)
    assert (whole(again), (again.out / "curve.csv").read_text("utf-8")) == (before, curve)


def test_pairs_that_teach_nothing_are_left_out_counted_and_said_by_kind(
    job: Job, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def pair(number: int, chosen: str, rejected: str, kind: PairKind) -> Preference:
        return tiny.preference(100 + number, chosen, rejected).model_copy(update={"kind": kind})

    useless = [
        pair(1, "bow now", "Bow, now!", PairKind.GAP),
        pair(2, "bow now", "bow  now", PairKind.GAP),
        pair(3, "bow", " \n", PairKind.GAP),
        pair(4, "", "wave", PairKind.APPROPRIATE_OPPOSITE),
    ]
    clean = run(job())
    write_lines(tmp_path / "pairs.jsonl", [*useless[:2], *tiny.pairs(48), *useless[2:], useless[0]])
    with caplog.at_level(logging.WARNING):
        result = run(job())
    said = (
        "5 of 53 pairs are left out: 1 of kind appropriate_opposite with no chosen answer; "
        "2 of kind gap with both answers the same; 1 of kind gap with no rejected answer; "
        "1 with an id that stood there before"
    )
    assert caplog.messages == [f"stage=reward: {said}"]
    assert result.out == clean.out  # nothing else is trained on
    report = (result.out / "report.md").read_text("utf-8")
    assert f"**{said}.**" in report


def test_the_card_has_whole_hashes_of_what_was_read_and_every_figure_its_numbers(job: Job) -> None:
    result = run(job())
    card = json.loads((result.out / "model" / "card.json").read_text("utf-8"))
    assert (card["trained_on"], card["held_out"], card["steps"]) == (36, 12, 5)
    for name, inside in (("trained_on", True), ("held_out", False)):
        own = [each for each in tiny.pairs(48) if (each.norm_id in card["trained_norms"]) == inside]
        lines = "".join(each.model_dump_json() + "\n" for each in own)
        assert card[f"{name}_sha256"] == hashlib.sha256(lines.encode()).hexdigest()
    for stem in ("margins", "calibration", "curve"):
        for end in (".svg", ".png", ".csv"):
            assert (result.out / f"{stem}{end}").stat().st_size > 0
    margins = [float(row["smollm2"]) for row in rows(result, "margins")]
    share = sum(margin > 0 for margin in margins) / len(margins)
    assert float(whole(result)["smollm2"]) == pytest.approx(share, abs=1e-6)
    assert [row["step"] for row in rows(result, "curve")] == ["1", "2", "3", "4", "5"]
    assert sum(int(row["pairs"]) for row in rows(result, "calibration")) == 12


def test_an_interrupted_training_goes_on_to_the_same_model_and_the_same_table_of_its_curve(
    job: Job, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    straight = run(job(workspace="straight"))

    class AtCheckpoint(Stop):
        """Asks to stop once a checkpoint is there."""

        @property
        def interrupted(self) -> bool:
            return any((tmp_path / "workspace").glob("crisp/reward/*/checkpoints/*/trainer_state.json"))

        @interrupted.setter
        def interrupted(self, value: bool) -> None:
            pass

    caplog.clear()
    with caplog.at_level(logging.WARNING):
        first = run(job(save_every=2), AtCheckpoint(reason="SIGINT"))
    assert (first.status, first.done, first.stopped, first.interrupted) == ("partial", 0, "SIGINT", True)
    told = "stopped (SIGINT); the same line goes on from step 3"
    assert caplog.messages == [f"stage=reward: {told}"]
    manifest = json.loads((first.out / "manifest.json").read_text("utf-8"))
    assert (manifest["status"], manifest["stopped"]) == ("partial", told)
    second = run(job(save_every=2))
    assert (second.out.name, second.status) == (straight.out.name, "ok")
    assert "stopped" not in json.loads((second.out / "manifest.json").read_text("utf-8"))
    assert not (second.out / "checkpoints").exists()
    for name in ("curve.csv", "accuracy.csv"):
        assert (second.out / name).read_text("utf-8") == (straight.out / name).read_text("utf-8")


def test_a_stop_before_the_first_step_is_told_as_one_after_it(
    job: Job, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Stop()
    trunk = {"keep": 2, "train": 1}
    monkeypatch.setattr("ccfw.training.reward.keep_layers", lambda *_: stop.ask("SIGTERM", interrupted=True))
    with caplog.at_level(logging.WARNING):
        result = run(job(top=trunk), stop)
    told = "stopped (SIGTERM); no checkpoint is there yet, and the same line starts anew"
    assert (result.status, result.done) == ("partial", 0)
    assert caplog.messages == [f"stage=reward: {told}"]
    assert json.loads((result.out / "manifest.json").read_text("utf-8"))["stopped"] == told


def test_a_folder_has_no_revision(job: Job) -> None:
    weights = job().reward.weights.model_dump()
    with pytest.raises(RequestError) as raised:
        run(job(weights=weights | {"revision": "main"}))
    told = "is a folder, and only a name on the Hub has revisions"
    assert list(raised.value.problems) == [f"reward.weights.revision=main: {weights['path']} {told}"]


def test_the_readme_and_notes_count_one_as_one(job: Job, tmp_path: Path) -> None:
    long = tiny.preference(200, "bow " * 70, "wave")
    write_lines(
        tmp_path / "pairs.jsonl", [each.model_copy(update={"split": "train"}) for each in [*tiny.pairs(8), long]]
    )
    with (tmp_path / "pairs.jsonl").open("a", encoding="utf-8") as file:
        file.write(tiny.preference(201, "bow", "wave").model_copy(update={"split": "test"}).model_dump_json() + "\n")
    report = (run(job(held_out=None)).out / "report.md").read_text("utf-8")
    assert "**1 pair was left out, since an answer alone did not fit.**" in report
    assert "did not fit whole" not in report


def test_a_name_that_is_neither_a_folder_nor_on_the_hub_is_one_line(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    weights = job().reward.weights.model_dump() | {"path": "my/model"}
    with pytest.raises(RequestError) as raised:
        run(job(weights=weights))
    (line,) = raised.value.problems
    assert line.startswith("reward: my/model is no folder here, and is not to be had from the Hub: ")
    assert "\n" not in line
