"""What training would take: arithmetic by hand, and the paper's two experiments as a user plans them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ccfw.errors import RequestError
from ccfw.job import check_prerequisites
from ccfw.settings import Settings
from ccfw.settings.training import GrpoConfig, PolicyConfig, RewardConfig
from ccfw.training.planning import block, grpo_plan, looks, memory, steps_of, training_plan
from tests.e2e.running import ccfw
from tests.test_settings import content
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
    texts = [("w w w", "w " * 100), ("w w w", "w"), ("w", "w"), ("w", "w")]
    found = training_plan(tiny.config(max_tokens=64, epochs=3), texts, 2, 7)
    assert (found.items, found.held_out, found.steps, found.cut) == (2, 7, 3, 1)
    # tokens of 1, 3 and 100 words at 1.35: 2, 5 and 135; two turns of 6 each
    assert found.longest == 5 + 135 + 12
    assert found.tokens == 3 * (64 + (5 + 2 + 12) + 2 * (2 + 2 + 12))
    assert found.flops == 6 * 1e5 * found.tokens  # all parameters


WEIGHTS = {"parameters": 134.5, "layers": 30, "hidden": 576, "vocabulary": 49152}


def small(**changes: Any) -> RewardConfig:
    """Return terms for the shape of SmolLM2-135M."""
    raw = tiny.config(**changes).model_dump()
    return RewardConfig.model_validate(raw | {"weights": raw["weights"] | WEIGHTS})


def test_a_layer_is_what_is_no_embedding_shared_out() -> None:
    layer = block(small().weights)
    assert layer == pytest.approx((134.5e6 - 49152 * 576) / 30)
    # attention with 3 of 9 heads for keys and values, and a feed-forward of 1536
    assert layer == pytest.approx(2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536, rel=0.01)


@pytest.mark.parametrize(("keep", "train"), [(16, 0), (20, 2)])
def test_of_the_last_layers_only_those_kept_are_read_and_the_lower_ones_once(keep: int, train: int) -> None:
    texts = [("w", "w w w"), ("w", "w"), ("w", "w"), ("w", "w w w")]
    found = training_plan(small(top={"keep": keep, "train": train}, epochs=10, micro_batch=8), texts, 2, 1)
    layer, lengths = block(small().weights), (2 + 5 + 12, 2 + 2 + 12)
    once = sum(lengths)  # two of the four texts are the same as the others
    assert found.tokens == 10 * 2 * once
    assert found.trainable == layer * train + 576
    assert found.memory.weights == pytest.approx(4 * (49152 * 576 + keep * layer))
    assert found.memory.optimizer == 2 * found.memory.gradients == 2 * 4 * found.trainable
    assert found.memory.activations == 2 * 34 * (2 * 8 * lengths[0]) * 576 * train
    assert found.memory.states == 4 * 576 * once
    assert found.flops == pytest.approx(6 * found.trainable * found.tokens + 2 * layer * (keep - train) * once)


def test_adapters_take_less_of_a_step_back_and_nothing_is_stored() -> None:
    lora = {"rank": 8, "alpha": 16, "dropout": 0.0, "modules": ["q_proj"]}
    found = training_plan(small(lora=lora), [("w", "w")] * 2, 1, 1)
    assert found.flops == 4 * 134.5e6 * found.tokens
    assert (found.memory.states, found.memory.weights) == (0, 4 * 134.5e6)


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
    prompts = [[{"role": "system", "content": "be"}, {"role": "user", "content": "word " * 100}]] * 2
    prompts += [[{"role": "user", "content": "word " * 100}]]
    scorers = {"reward model": small(top={"keep": 15, "train": 1}), "supervisor": None}
    found = grpo_plan(config, policy, prompts, scorers)
    assert (found.answers, found.tokens, found.looks) == (21 * 16 * 8, 21 * 16 * 8 * 768, 4)  # at 0, 10, 20 and 21
    assert looks(config.model_copy(update={"steps": 20})) == 3
    # a turn has 6 tokens besides its own, the answer's too: two are 2 + 135 + 3 * 6, one is 135 + 2 * 6
    assert found.prompt_tokens == round(21 * 16 * (155 + 155 + 147) / 3)
    assert found.longest == 155
    # keys and values in half precision, 36 layers of 1024 each, for 128 answers to a question of 155 tokens
    assert found.cache == 2 * 2 * 36 * 1024 * (155 + 768) * 128
    assert found.scorers["reward model"] == pytest.approx(4 * (134.5e6 - 15 * block(small().weights)))
    assert found.scorers["supervisor"] is None
    assert found.memory.weights == 2 * 4022e6 * 4  # and the policy as it was


def test_the_papers_policy_prints_its_whole_plan_with_what_its_judges_would_cost(tmp_path: Path) -> None:
    run = ccfw(tmp_path, "experiment=crisp_grpo", "dry_run=true", "tracking=none")
    assert (run.code, run.err) == (0, "")
    lines = run.out.splitlines()
    assert lines[0] == "grpo=crisp policy=qwen3_4b: 4,022.0 of 4,022.0 million parameters"
    assert lines[1] == "  steps: 300, 38,400 answers, 31 looks of the monitor"
    asked = re.fullmatch(
        r"  tokens: at most 29,491,200 generated, about ([\d,]+) of questions, the longest about (\d+)", lines[2]
    )
    assert asked
    # the form is asked for, in some 200 words besides the question
    assert int(asked[1].replace(",", "")) / (300 * 16) > 300
    assert int(asked[2]) > 400
    assert re.fullmatch(
        r"  memory: about 8\d\.\d GiB on one device, one micro-batch at a time: weights 30\.0, .*", lines[3]
    )
    assert re.fullmatch(r"  besides: \d+\.\d GiB for a step's answers .*, 15\.0 GiB for the reward model", lines[4])
    supervisor, gold = (
        next(line.split() for line in lines if line.startswith(f"grpo   {role}")) for role in ("sup", "gold")
    )
    assert supervisor[:4] == ["grpo", "supervisor", "deepseek_v32", "38400"]
    assert gold[:4] == ["grpo", "gold", "judge", "gpt5mini"]
    assert float(supervisor[7]) > 10  # US dollars
    assert int(gold[4]) % 33 == 0  # as many held-out questions at every look, and twice for Norm Match
    first = next(line for line in lines if line.startswith("  first: "))
    assert re.fullmatch(r"  first: stage=reward: no pairs at \S+; make them first with stage=preferences .*", first)
    assert "both rewards" not in run.out
    unpaid = ccfw(tmp_path, "experiment=crisp_grpo", "grpo.lam=0", "grpo.gold=none", "dry_run=true", "tracking=none")
    assert "calls=0..0" in unpaid.out


def test_a_judge_that_rewards_and_watches_is_said_before_it_is_paid(tmp_path: Path) -> None:
    run = ccfw(tmp_path, "experiment=crisp_grpo", "judge@rewards.judge=gpt5mini", "dry_run=true", "tracking=none")
    assert run.code == 0
    assert (
        "  openai/gpt-5-mini-2025-08-07 both rewards norm grounding and gives the gold score, so that what pleases it "
        "alone is not seen; judge@rewards.judge=… names another to reward.\n"
    ) in run.out


def test_a_plan_refuses_what_the_run_would_refuse_all_at_once(tmp_path: Path) -> None:
    """All that ships is *test*: its own split leaves nothing to train on."""
    asked = ("stage=grpo", "dataset=normcompass_starter", "policy=toy", "grpo.reward_model=./nowhere")
    run = ccfw(tmp_path, *asked, "dry_run=true", "tracking=none")
    assert (run.code, run.out) == (2, "")
    assert run.err.splitlines() == [
        "ccfw: policy=toy: knows the words of the toy task alone; grpo=toy optimises it, or name another policy",
        "ccfw: grpo.reward_model=./nowhere: no such folder",
        "ccfw: grpo.held_out=null: no situation is left to train on; give a share, as 0.25",
    ]


@pytest.mark.parametrize(
    ("path", "revision", "told"),
    [
        ("./nowhere", "null", "path=./nowhere: no such folder"),
        (".", "main", "revision=main: . is a folder, and only a name on the Hub has revisions"),
    ],
)
def test_a_plan_refuses_a_policy_that_is_not_there(tmp_path: Path, path: str, revision: str, told: str) -> None:
    given = {"path": path, "package": "null", "gguf": "null", "revision": revision}
    asked = ("stage=grpo", "grpo=smollm2", "policy=smollm2", "dataset=normcompass_starter")
    weights = [f"policy.weights.{key}={value}" for key, value in given.items()]
    run = ccfw(tmp_path, *asked, *weights, "grpo.reward_model=some/name", "dry_run=true", "tracking=none")
    assert (run.code, run.err) == (2, f"ccfw: policy.weights.{told}\n")


def test_terms_that_do_not_go_together_are_told_without_the_whole_configuration(tmp_path: Path) -> None:
    asked = ("grpo.micro_batch=3", "reward.micro_batch=3", "reward.batch=4")
    run = ccfw(tmp_path, "experiment=crisp_grpo", *asked, "dry_run=true", "tracking=none")
    assert run.code == 2
    assert run.err.splitlines() == [
        "ccfw: reward: batch=4 is no multiple of micro_batch=3",
        "ccfw: grpo: questions=16 times group=8 is no multiple of micro_batch=3",
    ]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ((), ["judge.members.gpt5mini=gpt5mini", "rewards.judge.members.deepseek_v32=deepseek_v32"]),
        (("judge@rewards.judge=gpt5mini",), ["judge.members.gpt5mini=gpt5mini"]),
        (("grpo.gold=none",), ["rewards.judge.members.deepseek_v32=deepseek_v32"]),
    ],
)
def test_keys_of_the_judges_are_asked_for_before_anything_is_loaded(
    more: tuple[str, ...], says: list[str], tmp_path: Path
) -> None:
    run = ccfw(tmp_path, "experiment=crisp_grpo", "tracking=none", *more)
    assert run.code == 2
    lines = [line for line in run.err.splitlines() if "not installed" not in line]
    assert [line.partition(": the environment variable ")[0] for line in lines] == [f"ccfw: {each}" for each in says]


def test_a_job_that_lacks_what_to_train_with_is_refused_before_its_first_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every stage of a chain, and every scorer that is a model, has its line beside whatever else is wrong."""
    monkeypatch.setattr("ccfw.training.guard.find_spec", lambda name: None if name in ("torch", "trl") else object())
    raw = content("gpt5mini")
    raw["stage"] = {"name": "all", "summary": "", "runs": ["preferences", "reward", "triplets", "grpo"]}
    raw["rewards"]["scorers"] = {"mine": "trained", "file": "rewards.csv", "judge": "judge_outcome"}
    raw["grpo"]["reward_model"] = "trained"
    with pytest.raises(RequestError) as caught:
        check_prerequisites(Settings.model_validate(raw))
    lacks = "torch, trl not installed; training needs the extra: pip install 'ccfw[train]'"
    keys = ("stage=reward", "stage=grpo", "rewards.scorers.mine=trained")
    assert list(caught.value.problems)[:3] == [f"{key}: {lacks}" for key in keys]
    assert "the environment variable" in caught.value.problems[3]


def test_the_papers_policy_is_optimised_for_the_papers_reward_model(tmp_path: Path) -> None:
    """``trained`` under the one experiment is what the other trains."""
    stages = [
        ccfw(tmp_path, f"experiment={each}", "stage=preferences", "tracking=none")
        for each in ("crisp_rm_4b", "crisp_grpo")
    ]
    assert [run.code for run in stages] == [0, 0]
    assert stages[0].closings["preferences"]["out"] == stages[1].closings["preferences"]["out"]
