"""What training would take: arithmetic by hand, and the paper's two experiments as a user plans them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ccfw.settings.training import GrpoConfig, PolicyConfig
from ccfw.training.planning import grpo_plan, looks, memory, reward_plan, steps_of
from tests.e2e.running import ccfw
from tests.training import tiny
from tests.training.grading import option


def test_the_last_update_of_an_epoch_may_be_of_fewer_pairs() -> None:
    assert steps_of(435, 32, 2) == 28  # 14 an epoch, the last of 19
    assert steps_of(64, 32, 2) == 4
    assert steps_of(100, 10, 0.5) == 5


def test_memory_of_full_training_is_sixteen_bytes_a_parameter_besides_activations() -> None:
    weights = tiny.config().weights
    used = memory(weights, 1e5, rows=4, tokens=10, checkpointing=False, half=False)
    assert (used.weights, used.gradients, used.optimizer) == (4e5, 4e5, 8e5)
    # 34 bytes in half precision, twice that in full, for 4 x 10 tokens of 32 in each of 3 layers
    assert used.activations == 2 * 34 * 40 * 32 * 3
    assert used.total == 16e5 + used.activations
    less = memory(weights, 1e5, rows=4, tokens=10, checkpointing=True, half=True)
    assert less.activations == 40 * 32 * (2 * 3 + 34)


def test_texts_longer_than_allowed_are_counted_and_read_as_far_as_allowed() -> None:
    pairs = [tiny.preference(1, "w " * 100, "w"), tiny.preference(2, "w", "w")]
    found = reward_plan(tiny.config(max_tokens=64, epochs=3), pairs, 7)
    assert (found.items, found.held_out, found.steps, found.cut) == (2, 7, 3, 1)
    assert found.longest > 135
    assert found.tokens < 3 * 4 * 64


@pytest.mark.parametrize(("size", "rate", "millions"), [("0_6b", "2e-05", "596.0"), ("4b", "1e-05", "4,022.0")])
def test_the_papers_reward_models_print_their_whole_plan(size: str, rate: str, millions: str, tmp_path: Path) -> None:
    run = ccfw(tmp_path, f"experiment=crisp_rm_{size}", "dry_run=true", "tracking=none")
    assert (run.code, run.err) == (0, "")
    lines = run.out.splitlines()
    name = size.replace("_", ".").upper()
    assert (
        lines[0]
        == f"reward=qwen3_{size}: Qwen/Qwen3-{name}, every parameter, {millions} of {millions} million parameters"
    )
    pairs = re.fullmatch(r"  pairs: (\d+) trained on, (\d+) held out", lines[1])
    assert pairs
    steps = 2 * -(-int(pairs[1]) // 32)
    assert lines[2] == f"  steps: {steps}, 2 epochs of 32 pairs at a time, learning rate {rate}, adamw_torch"
    assert re.fullmatch(r"  tokens: about [\d,]+; the longest text about \d+, 0 of them above 2048", lines[3])
    assert re.fullmatch(
        r"  memory: about [\d.]+ GiB on one device, [24] pairs at a time: weights [\d.]+, gradients [\d.]+, "
        r"optimizer [\d.]+, activations [\d.]+",
        lines[4],
    )
    assert lines[5].startswith("  computing: about ")
    assert not (tmp_path / "workspace" / "crisp").exists()


def test_a_plan_of_grpo_counts_answers_looks_and_what_lies_in_memory_besides() -> None:
    config = GrpoConfig.model_validate(option("grpo", "crisp") | {"steps": 21})
    policy = PolicyConfig.model_validate(option("policy", "qwen3_4b"))
    found = grpo_plan(config, policy, ["word " * 100] * 3, policy.weights)
    assert (found.answers, found.tokens, found.looks) == (21 * 16 * 8, 21 * 16 * 8 * 768, 4)  # at 0, 10, 20 and 21
    assert looks(config.model_copy(update={"steps": 20})) == 3
    assert found.prompt_tokens == 21 * 16 * (135 + 12)
    # keys and values in half precision, 36 layers of 1024 each, for 128 answers to a question of 147 tokens
    assert found.cache == 2 * 2 * 36 * 1024 * (147 + 768) * 128
    assert found.scorer == 4022e6 * 4
    assert found.memory.weights == 2 * 4022e6 * 4  # and the policy as it was


def test_the_papers_policy_prints_its_whole_plan_with_what_its_judges_would_cost(tmp_path: Path) -> None:
    run = ccfw(tmp_path, "experiment=crisp_grpo", "dry_run=true", "tracking=none")
    assert (run.code, run.err) == (0, "")
    lines = run.out.splitlines()
    assert lines[0] == "grpo=crisp policy=qwen3_4b: 4,022.0 of 4,022.0 million parameters"
    assert lines[1] == "  steps: 300, 38,400 answers, 31 looks of the monitor"
    assert re.fullmatch(r"  tokens: at most 29,491,200 generated, about [\d,]+ of questions", lines[2])
    assert re.fullmatch(
        r"  memory: about 8\d\.\d GiB on one device, one micro-batch at a time: weights 30\.0, .*", lines[3]
    )
    assert re.fullmatch(r"  besides: \d+\.\d GiB for a step's answers .*, 15\.0 GiB for the reward model", lines[4])
    supervisor, gold = (
        next(line.split() for line in lines if line.startswith(f"grpo   {role}")) for role in ("sup", "gold")
    )
    assert supervisor[:4] == ["grpo", "supervisor", "gpt5mini", "38400"]
    assert gold[:4] == ["grpo", "gold", "judge", "gpt5mini"]
    assert float(supervisor[7]) > 10  # US dollars
    assert int(gold[4]) % 31 == 0  # as many held-out questions at every look
    unpaid = ccfw(tmp_path, "experiment=crisp_grpo", "grpo.lam=0", "grpo.gold=none", "dry_run=true", "tracking=none")
    assert "calls=0..0" in unpaid.out


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ((), "judge.members.gpt5mini=gpt5mini"),
        (("grpo.gold=none",), "judge.members.gpt5mini=gpt5mini"),
        (("grpo.gold=none", "judge@rewards.judge=deepseek_v32"), "rewards.judge.members.deepseek_v32=deepseek_v32"),
    ],
)
def test_keys_of_the_judges_are_asked_for_before_anything_is_loaded(
    more: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    run = ccfw(tmp_path, "experiment=crisp_grpo", "tracking=none", *more)
    assert run.code == 2
    assert run.err.startswith(f"ccfw: {says}: the environment variable ")
    assert len(run.err.splitlines()) == 1


def test_the_papers_policy_is_optimised_for_the_papers_reward_model(tmp_path: Path) -> None:
    """``trained`` under the one experiment is what the other trains."""
    stages = [
        ccfw(tmp_path, f"experiment={each}", "stage=preferences", "tracking=none")
        for each in ("crisp_rm_4b", "crisp_grpo")
    ]
    assert [run.code for run in stages] == [0, 0]
    assert stages[0].closings["preferences"]["out"] == stages[1].closings["preferences"]["out"]
