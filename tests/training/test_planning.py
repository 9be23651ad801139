"""What training would take: arithmetic by hand, and the paper's two experiments as a user plans them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ccfw.training.planning import memory, reward_plan, steps_of
from tests.e2e.running import ccfw
from tests.training import tiny


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
    assert (found.pairs, found.held_out, found.steps, found.cut) == (2, 7, 3, 1)
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
