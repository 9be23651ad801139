"""What MLflow holds after training, as a user starts it: every step once, whatever is run again."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from tests.e2e.running import Run, ccfw
from tests.e2e.test_tracking import Logged, logged
from tests.training import tiny

pytestmark = [pytest.mark.train, pytest.mark.long, pytest.mark.filterwarnings("ignore")]


def run(folder: Path) -> Run:
    toy = ["grpo=toy", "policy=toy", "grpo.steps=3", "grpo.monitor.every=2", "grpo.lam=0.5"]
    uri = f"tracking.uri=sqlite:///{folder}/runs.db"
    done = ccfw(folder, "stage=grpo", *toy, "report.shown=0", "bootstrap.resamples=50", uri)
    assert done.code == 0, done.err
    return done


def points(folder: Path) -> list[tuple[str, int, float]]:
    with closing(sqlite3.connect(folder / "runs.db")) as database:
        return database.execute("SELECT key, step, value FROM metrics ORDER BY key, step").fetchall()


def own(folder: Path) -> Logged:
    (found,) = [each for each in logged(folder / "runs.db") if each.name == "grpo toy λ 0.5"]
    return found


def test_every_step_is_logged_once_and_what_a_tracker_missed_is_logged_by_the_same_line(tmp_path: Path) -> None:
    out = tmp_path / run(tmp_path).closings["grpo"]["out"]
    first = points(tmp_path)
    with (out / "curve.csv").open(encoding="utf-8") as file:
        curve = list(csv.DictReader(file))
    for name in ("loss", "reward", "completions/mean_length", "zero_variance", "truncated"):
        logged_at = [(step, value) for key, step, value in first if key == name]
        assert logged_at == [(int(row["step"]), float(row[name])) for row in curve], name
    assert [step for key, step, _ in first if key == "held_out/gold"] == [0, 2, 3]
    assert not {"frac_reward_zero_std", "completions/clipped_ratio"} & ({key for key, *_ in first} | set(curve[0]))
    found = own(tmp_path)
    assert (found.params["grpo.lam"], found.params["grpo.toy_hack"], found.params["policy.name"]) == (
        "0.5",
        "0.3",
        "toy",
    )
    names = {"curve.csv", "curve.png", "curve.svg", "looks.csv", "policies.csv", "report.md", "manifest.json"}
    names |= {"ended.csv", "card.json"}
    assert {path.name for path in found.artifacts.iterdir()} == names
    assert run(tmp_path).closings["grpo"]["skipped"] == 3
    assert points(tmp_path) == first
    (tmp_path / "runs.db").unlink()
    assert run(tmp_path).closings["grpo"]["skipped"] == 3
    assert points(tmp_path) == first


def test_a_reward_model_is_logged_under_its_name_with_its_card(tmp_path: Path) -> None:
    loaded = tiny.language_model("smollm2")
    for part in (loaded.model, loaded.tokenizer):
        part.save_pretrained(tmp_path / "weights")
    lines = [each.model_dump_json() for each in tiny.pairs(24)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    how = ["reward.pairs=pairs.jsonl", "reward.name=mine", "reward.epochs=1", "reward.top=null", "reward.held_out=0.5"]
    of = [f"reward.weights.path={tmp_path}/weights", "reward.weights.package=null", "reward.weights.gguf=null"]
    uri = f"tracking.uri=sqlite:///{tmp_path}/runs.db"
    done = ccfw(tmp_path, "stage=reward", *how, *of, "report.shown=0", "rewards.max_tokens=512", uri)
    assert done.code == 0, done.err
    (found,) = [each for each in logged(tmp_path / "runs.db") if each.tags["stage"] == "reward"]
    assert found.name == "reward mine"
    card = (found.artifacts / "card.json").read_text("utf-8")
    assert card == (tmp_path / done.closings["reward"]["out"] / "model" / "card.json").read_text("utf-8")
    assert json.loads(card)["trained_on"] == 12
