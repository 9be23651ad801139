"""GRPO for real on the made-up task, whose gold reward is known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("torch")
pytest.importorskip("trl")

from ccfw.settings.training import GrpoConfig, PolicyConfig
from ccfw.stop import Stop
from ccfw.training.encoding import ends_of_turn, tokens_of
from ccfw.training.grpo import Optimised, fit, generate, optimise
from ccfw.training.guard import TrainingError
from ccfw.training.monitor import normalised
from ccfw.training.reward import latest_checkpoint
from ccfw.training.task import Question, Task
from ccfw.training.toy import toy_task
from ccfw.training.weights import load_causal
from tests.samples import ROOT
from tests.training import tiny

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]


def option(group: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "conf" / group / "toy.yaml").read_text("utf-8"))
    return loaded


POLICY = PolicyConfig.model_validate(option("policy"))


def config(**changes: Any) -> GrpoConfig:
    return GrpoConfig.model_validate(option("grpo") | changes)


def run(folder: Path, task: Task, how: GrpoConfig, stop: Stop | None = None, seed: int = 0) -> Optimised:
    return optimise(how, POLICY, task, folder, seed, stop or Stop())


def test_without_a_hack_the_gold_reward_rises_well_above_its_start(tmp_path: Path) -> None:
    found = run(tmp_path, toy_task(0.0), config(toy_hack=0.0, steps=80))
    assert (found.steps, found.trip, found.finished) == (80, None, True)
    golds = [look.gold for look in found.looks]
    assert golds[0] < 0.4
    assert golds[-1] > golds[0] + 0.4
    assert len(found.curve) == 80


def test_the_planted_hack_is_flagged_and_ends_the_run(tmp_path: Path) -> None:
    found = run(tmp_path, toy_task(0.3), config())
    assert found.trip is not None
    assert found.trip.sign == "gold_gap"
    assert found.steps < 120
    assert found.looks[-1].proxy > found.looks[0].proxy + 0.5
    assert found.looks[-1].gold < max(look.gold for look in found.looks) - 0.15


def test_every_step_shows_rewards_lengths_and_the_signs(tmp_path: Path) -> None:
    base = toy_task(0.0)
    halves: Any = dict(base.rewards)
    halves["norm_grounding"] = lambda keys, answers: [len(answer.split()) / 10 for answer in answers]
    task = Task(
        base.train, base.held_out, halves, {"appropriateness": 1.0, "norm_grounding": 0.5}, base.proxy, base.gold
    )
    found = run(tmp_path, task, config(steps=3, beta=0.1))
    wanted = {
        *("rewards/appropriateness/mean", "rewards/norm_grounding/mean", "kl", "completions/mean_length"),
        *("truncated", "zero_variance", "repetition", "length_correlation", "grad_norm"),
    }
    assert wanted <= set(found.curve[-1])
    assert all(math.isfinite(each["rewards/norm_grounding/mean"]) for each in found.curve)
    assert [look.step for look in found.looks] == [0, 3]
    assert len(found.first) == len(found.last) == 24


def test_a_reward_of_large_spread_does_not_drown_another(tmp_path: Path) -> None:
    """Advantages are the same however large one reward is: each is normalised by itself."""
    base = toy_task(0.0)
    losses = []
    for scale in (1.0, 1000.0):
        rewards: Any = {
            "appropriateness": base.rewards["appropriateness"],
            "loud": lambda keys, answers, scale=scale: [scale * len(answer.split()) for answer in answers],
        }
        task = Task(base.train, base.held_out, rewards, {"appropriateness": 1.0, "loud": 1.0}, base.proxy, base.gold)
        found = run(tmp_path / str(scale), task, config(steps=4))
        losses.append(
            [each["rewards/appropriateness/mean"] for each in found.curve] + [each["grad_norm"] for each in found.curve]
        )
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)


def test_a_missing_reward_moves_nothing_and_the_others_count_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the trainer learns from is what the signs are of: rewards normalised apart, nothing for a missing one."""
    from trl import GRPOTrainer

    advantages: list[float] = []
    score = GRPOTrainer._generate_and_score_completions

    def seen(self: Any, inputs: Any) -> Any:
        made = score(self, inputs)
        advantages.extend(made["advantages"].tolist())
        return made

    monkeypatch.setattr(GRPOTrainer, "_generate_and_score_completions", seen)
    base, given = toy_task(0.0), dict[str, list[float | None]]()

    def length(keys: Any, answers: Any) -> list[float | None]:
        found = [None if place % 8 < 7 and place % 3 else float(len(a.split())) for place, a in enumerate(answers)]
        if len(answers) == 96:
            given["length"], given["right"] = found, base.rewards["appropriateness"](keys, answers)
        return found

    rewards: Any = {"appropriateness": base.rewards["appropriateness"], "length": length}
    task = Task(base.train, base.held_out, rewards, {"appropriateness": 1.0, "length": 0.5}, base.proxy, base.gold)
    found = run(tmp_path, task, config(steps=1))
    right, long = (normalised([math.nan if x is None else x for x in given[name]], 8) for name in ("right", "length"))
    whole = [one + 0.5 * other for one, other in zip(right, long, strict=True)]
    mean = sum(whole) / len(whole)
    spread = (sum((x - mean) ** 2 for x in whole) / (len(whole) - 1)) ** 0.5
    assert advantages == pytest.approx([(x - mean) / spread for x in whole], abs=2e-3)
    assert found.curve[0]["rewards/length/mean"] == pytest.approx(
        sum(there := [x for x in given["length"] if x is not None]) / len(there), rel=1e-5
    )


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_answers_end_where_the_family_ends_a_turn_and_only_others_are_cut_off(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trl import GRPOTrainer

    rows: list[list[int]] = []
    calculate = GRPOTrainer._calculate_rewards

    def seen(self: Any, inputs: Any, prompts: Any, completions: Any, ids: Any) -> Any:
        rows.extend(ids)
        return calculate(self, inputs, prompts, completions, ids)

    monkeypatch.setattr(GRPOTrainer, "_calculate_rewards", seen)
    loaded, most = tiny.language_model(family), 100
    ends = set(ends_of_turn(loaded.tokenizer))
    question = Question("q", ({"role": "user", "content": "w1 w2"},))
    rewards: Any = {"length": lambda keys, answers: [float(len(answer)) for answer in answers]}
    task = Task((question,) * 4, (question,) * 32, rewards, {"length": 1.0}, "length", None)
    how = config(steps=1, questions=4, micro_batch=32, max_completion_tokens=most)
    found = fit(how, POLICY, loaded, task, tmp_path, 0, Stop())
    cut = [not ends & set(row) for row in rows]
    assert 0 < sum(cut) < len(rows) == 32
    for row, whole in zip(rows, cut, strict=True):
        assert len(row) == most if whole else (row[-1] in ends and not ends & set(row[:-1]))
    assert found.curve[0]["truncated"] == pytest.approx(sum(cut) / 32)
    answers = generate(loaded.tokenizer, loaded.model, task.held_out, how, {}, 0)
    lengths = [len(tokens_of(loaded.tokenizer, text)) for text, _ in answers]
    assert {truncated for _, truncated in answers} == {False, True}
    shorter = [length for length, (_, truncated) in zip(lengths, answers, strict=True) if not truncated]
    assert max(shorter) < most


def test_training_goes_on_from_a_checkpoint_with_the_same_curve(tmp_path: Path) -> None:
    how = config(steps=6, save_every=3)
    straight = run(tmp_path / "straight", toy_task(0.0), how)

    class AfterThree(Stop):
        """Asks to stop once a checkpoint is there."""

        @property
        def interrupted(self) -> bool:
            return latest_checkpoint(tmp_path / "broken") is not None

        @interrupted.setter
        def interrupted(self, value: bool) -> None:
            pass

    first = run(tmp_path / "broken", toy_task(0.0), how, AfterThree())
    assert (first.finished, 3 <= first.steps < 6) == (False, True)
    second = run(tmp_path / "broken", toy_task(0.0), how)
    assert second.finished
    for name in ("reward", "loss", "grad_norm", "completions/mean_length", "zero_variance"):
        expected = [each[name] for each in straight.curve]
        assert [each[name] for each in second.curve] == pytest.approx(expected, rel=1e-4, abs=1e-6), name


def test_a_policy_whose_loss_is_no_number_ends_with_the_step(tmp_path: Path) -> None:
    loaded = load_causal(POLICY.weights, "policy", 0)
    task = toy_task(0.0)
    steps = 0

    def poisoned(keys: Any, answers: Any) -> list[float | None]:
        nonlocal steps
        steps += 1
        if steps == 3:  # one look, one step
            loaded.model.lm_head.weight.data[5] = math.nan
        return task.rewards["appropriateness"](keys, answers)

    bad = Task(task.train, task.held_out, {"appropriateness": poisoned}, task.weights, task.proxy, task.gold)
    with pytest.raises(TrainingError, match=r"^training step 2: the loss is nan$"):
        fit(config(steps=5), POLICY, loaded, bad, tmp_path, 0, Stop())
