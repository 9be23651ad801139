"""Stages reward and grpo as a user runs them, on a model of a few thousand weights."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from ccfw.crisp.reading import read_situations, shipped_folder
from tests.e2e.running import Run, ccfw
from tests.training import tiny

pytestmark = [pytest.mark.train, pytest.mark.long, pytest.mark.filterwarnings("ignore")]
JAPAN = [each for each in read_situations(shipped_folder()) if each.norm.culture == "Japan"]
CHEAP = (
    "tracking=none",
    "report.shown=0",
    "bootstrap.resamples=50",
    "dataset=normcompass_starter",
    "crisp.cultures=Japan",
    "rewards.max_tokens=512",
)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    loaded = tiny.language_model("smollm2")
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    return folder


def of(weights: Path, group: str) -> list[str]:
    return [f"{group}.weights.path={weights}", f"{group}.weights.package=null", f"{group}.weights.gguf=null"]


def train(folder: Path, weights: Path, *more: str) -> Run:
    how = ["reward.top=null", "reward.batch=8", "reward.micro_batch=8", *of(weights, "reward")]
    return ccfw(
        folder,
        "stage=train",
        "+rewards.scorers.tiny=trained",
        "best_of_n.candidates=triplets",
        "best_of_n.sizes=[2,3]",
        *how,
        *CHEAP,
        *more,
    )


@pytest.fixture(scope="module")
def trained(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = train(tmp_path_factory.mktemp("trained"), weights)
    assert run.code == 0, run.err
    return run


def test_a_reward_model_comes_with_its_card_and_is_not_trained_twice(weights: Path, trained: Run) -> None:
    run = trained
    closing = run.closings["reward"]
    out = run.folder / closing["out"]
    card = json.loads((out / "model" / "card.json").read_text("utf-8"))
    norms = {each.norm.norm_id for each in JAPAN}
    assert closing["done"] == card["held_out"]
    assert card["trained_on"] + card["held_out"] == 3 * len(JAPAN)
    assert set(card["trained_norms"]) < norms
    with (out / "accuracy.csv").open(encoding="utf-8") as file:
        rows = {row["group"]: row for row in csv.DictReader(file)}
    assert {"smollm2", "words alone", "longer"} <= set(rows["all"])
    assert int(rows["all"]["pairs"]) == card["held_out"]
    assert {path.name for path in out.iterdir()} >= {
        "report.md",
        "calibration.csv",
        *(f"{figure}{end}" for figure in ("margins", "calibration", "curve") for end in (".svg", ".png", ".csv")),
    }
    assert not (out / "checkpoints").exists()
    held_out = [each for each in JAPAN if each.norm.norm_id not in card["trained_norms"]]
    assert run.closings["triplets"]["done"] == len(held_out)
    again = train(run.folder, weights)
    assert again.closings["reward"] | {"done": 0} == closing | {"done": 0, "skipped": card["held_out"]}


def test_a_policy_is_optimised_for_the_reward_model_that_was_trained(weights: Path, trained: Run) -> None:
    rewarded = ["reward.top=null", "reward.batch=8", "reward.micro_batch=8", *of(weights, "reward")]
    policy = ["policy=smollm2", *of(weights, "policy"), "policy.lora.modules=[q_proj,v_proj]"]
    how = ["grpo=smollm2", "grpo.steps=2", "grpo.max_completion_tokens=6", "grpo.monitor.every=1"]
    run = ccfw(trained.folder, "stage=grpo", *rewarded, *policy, *how, *CHEAP)
    assert run.code == 0, run.err
    assert (run.closings["grpo"]["done"], run.closings["grpo"]["calls"]) == (2, 0)
    out = run.folder / run.closings["grpo"]["out"]
    with (out / "curve.csv").open(encoding="utf-8") as file:
        curve = list(csv.DictReader(file))
    assert [row["step"] for row in curve] == ["1", "2"]
    assert all(row["rewards/appropriateness/mean"] and row["kl"] for row in curve)
    with (out / "looks.csv").open(encoding="utf-8") as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["0", "1", "2"]
    assert (out / "model" / "model.safetensors").exists()


def test_a_policy_needs_a_reward_model_that_is_there(weights: Path, tmp_path: Path) -> None:
    run = ccfw(tmp_path, "stage=preferences", *CHEAP)
    assert run.code == 0
    run = ccfw(tmp_path, "stage=grpo", "grpo=smollm2", *of(weights, "policy"), *CHEAP)
    assert run.code == 2
    assert run.err.startswith("ccfw: grpo.reward_model=trained: none at ")
    assert run.err.endswith("; train it with stage=reward and the same line\n")
