"""GRPO for real on the made-up task, whose gold reward is known."""

from __future__ import annotations

import math
import resource
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("torch")
pytest.importorskip("trl")

from ccfw.errors import RequestError
from ccfw.settings.training import GrpoConfig, LoraTerms, PolicyConfig
from ccfw.stop import Stop
from ccfw.training.answering import generate
from ccfw.training.checkpoints import CHECKPOINTS
from ccfw.training.encoding import ends_of_turn, tokens_of
from ccfw.training.grpo import Optimised, fit, optimise
from ccfw.training.guard import TrainingError
from ccfw.training.monitor import normalised
from ccfw.training.task import READINGS, Given, Missing, Question, RewardError, Task
from ccfw.training.toy import toy_task
from ccfw.training.weights import Loaded, load_causal
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
    base, given = toy_task(0.0), dict[str, Sequence[Any]]()

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
    answers = generate(loaded, task.held_out, how, {}, 0)
    lengths = [len(tokens_of(loaded.tokenizer, text)) for text, _ in answers]
    assert {truncated for _, truncated in answers} == {False, True}
    shorter = [length for length, (_, truncated) in zip(lengths, answers, strict=True) if not truncated]
    assert max(shorter) < most


def test_training_goes_on_from_a_whole_checkpoint_with_the_same_curve(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    how = config(steps=6, save_every=2)
    straight = run(tmp_path / "straight", toy_task(0.0), how)

    first = run(tmp_path / "broken", toy_task(0.0), how, After(2, tmp_path / "broken"))
    assert (first.finished, first.steps) == (False, 3)
    last = tmp_path / "broken" / CHECKPOINTS / "checkpoint-3"
    weights = (last / "model.safetensors").read_bytes()
    (last / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    caplog.clear()
    second = run(tmp_path / "broken", toy_task(0.0), how)
    assert second.finished
    assert caplog.messages[-1] == f"{last}: not whole (model.safetensors is torn); training goes on from step 2"
    for name in ("reward", "loss", "grad_norm", "completions/mean_length", "zero_variance"):
        expected = [each[name] for each in straight.curve]
        assert [each[name] for each in second.curve] == pytest.approx(expected, rel=1e-4, abs=1e-6), name


def test_a_run_that_the_monitor_ended_takes_no_other_step_after_a_kill(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    how = config(steps=5, save_every=1)
    watch = how.monitor.model_copy(update={"every": 2, "window": 1, "truncated": 1e-5})
    how = how.model_copy(update={"monitor": watch})
    first = run(tmp_path, toy_task(0.0), how)
    assert first.trip is not None
    assert (first.steps, first.trip.sign) == (1, "truncated")
    caplog.clear()
    again = run(tmp_path, toy_task(0.0), how)  # the model was not written yet: checkpoints are all there is
    assert caplog.messages == [f"grpo ends at step 1: {first.trip.reason}"]
    assert (again.steps, again.finished, again.trip) == (1, True, first.trip)
    assert (again.curve, again.looks, again.last) == (first.curve, first.looks, first.last)
    theirs = first.loaded.model.state_dict()
    assert all(bool((value == theirs[name]).all()) for name, value in again.loaded.model.state_dict().items())


class After(Stop):
    """Asks to stop in the step after a checkpoint, and may do something then."""

    def __init__(self, step: int, folder: Path, then: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self._there, self._then = folder / CHECKPOINTS / f"checkpoint-{step}", then

    @property
    def interrupted(self) -> bool:
        if self._there.is_dir():
            self._then()
        return self._there.is_dir()

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        pass


@pytest.mark.parametrize("least", [100_000, 500_000], ids=["no-weights", "no-optimizer"])
def test_a_disk_that_is_full_leaves_the_checkpoint_before(least: int, tmp_path: Path) -> None:
    """The weights take some 340 kB, what the optimizer keeps twice as much."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    stop = After(1, tmp_path, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (least, before[1])))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            run(tmp_path, toy_task(0.0), config(steps=4, save_every=1), stop)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert caught.value.filename == str(tmp_path / CHECKPOINTS / "checkpoint-2")
    assert [path.name for path in (tmp_path / CHECKPOINTS).glob("checkpoint-*")] == ["checkpoint-1"]
    assert run(tmp_path, toy_task(0.0), config(steps=2, save_every=1)).steps == 2


def test_a_model_that_draws_no_token_any_more_ends_with_the_step(tmp_path: Path) -> None:
    loaded = load_causal(POLICY.weights, "policy", 0)

    def poison() -> None:
        loaded.model.lm_head.weight.data[:] = math.nan

    class Poisoned(Stop):
        """Has the weights spoilt at the end of a step."""

        @property
        def interrupted(self) -> bool:
            poison()
            return False

        @interrupted.setter
        def interrupted(self, value: bool) -> None:
            pass

    told = "the model's probabilities of the next token are no numbers"
    with pytest.raises(TrainingError, match=f"^training step 2: {told}$"):
        fit(config(steps=5), POLICY, loaded, toy_task(0.0), tmp_path, 0, Poisoned())
    with pytest.raises(TrainingError, match=f"^training step 0: {told}$"):
        fit(config(steps=5), POLICY, loaded, toy_task(0.0), tmp_path / "again", 0, Stop())


def test_a_reward_that_is_no_number_ends_with_the_step(tmp_path: Path) -> None:
    task, asked = toy_task(0.0), 0

    def broken(keys: Any, answers: Any) -> Sequence[Given]:
        nonlocal asked
        asked += 1
        if asked == 3:  # one look, one step
            raise RewardError("grpo.reward_model gives no number")
        return task.rewards["appropriateness"](keys, answers)

    bad = replace(task, rewards={"appropriateness": broken})
    with pytest.raises(TrainingError, match=r"^training step 2: grpo\.reward_model gives no number$"):
        run(tmp_path, bad, config(steps=5))


def test_answers_that_are_too_long_are_counted_at_every_step_and_have_a_limit(tmp_path: Path) -> None:
    task = toy_task(0.0)

    def half(keys: Any, answers: Any) -> Sequence[Given]:
        found = task.rewards["appropriateness"](keys, answers)
        given = [Missing("too_long") if place % 2 else each for place, each in enumerate(found)]
        task.tally.add(READINGS, given)
        return given

    how = config(steps=5)
    watch = how.monitor.model_copy(update={"window": 2, "unrewarded": 0.4})
    found = run(tmp_path, replace(task, rewards={"appropriateness": half}), how.model_copy(update={"monitor": watch}))
    assert found.trip is not None
    assert (found.trip.sign, found.steps, found.finished) == ("unrewarded", 2, True)
    assert found.trip.reason == "unrewarded 0.5 in the mean of 2 steps, above 0.4"
    assert [(each["readings"], each["readings/too_long"], each["unrewarded"]) for each in found.curve] == [
        (96, 48, 0.5)
    ] * 2
    # 24 questions before and after, 12 of them without a reward
    assert found.asked == {"readings": 2 * 96 + 2 * 24, "readings/too_long": 2 * 48 + 2 * 12}
    assert [sum(isinstance(each.proxy, Missing) for each in part) for part in (found.first, found.last)] == [12, 12]
    assert all(each.valid for each in (*found.first, *found.last))


def test_a_run_in_which_no_answer_at_all_has_a_reward_is_ended_as_well(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    task = toy_task(0.0)

    def nothing(keys: Any, answers: Any) -> Sequence[Given]:
        given = [Missing("too_long")] * len(answers)
        task.tally.add(READINGS, given)
        return given

    how = config(steps=5)
    watch = how.monitor.model_copy(update={"window": 2, "unrewarded": 0.4})
    bad = replace(task, rewards={"appropriateness": nothing})
    found = run(tmp_path, bad, how.model_copy(update={"monitor": watch}))
    assert found.trip is not None
    assert (found.trip.sign, found.steps, len(found.curve)) == ("unrewarded", 2, 2)
    assert caplog.messages == [f"grpo ends at step 2: {found.trip.reason}"]  # nothing of what was asked and answered
    assert capsys.readouterr().out == ""


def spoilt(**changes: Any) -> Loaded:
    """Return the toy's model with something else in place."""
    loaded = load_causal(POLICY.weights, "policy", 0)
    for name, value in changes.items():
        setattr(loaded.tokenizer if name == "chat_template" else loaded.model.config, name, value)
    return loaded


PLACE = "policy.weights.scratch=toy"


@pytest.mark.parametrize(
    ("loaded", "lora", "problems"),
    [
        (
            lambda: spoilt(chat_template=None),
            LoraTerms(rank=4, alpha=1, dropout=0, modules=["zig", "q_proj"]),
            [
                "policy.lora.modules=zig: the model has no such linear layer; it has down_proj, ",
                f"{PLACE}: its tokenizer has no chat template, and a policy ",
            ],
        ),
        (
            lambda: spoilt(chat_template="{{ raise_exception('no \\x1b such role') }}"),
            None,
            [f"{PLACE}: its chat template does not take the question: no"],
        ),
        (
            lambda: spoilt(max_position_embeddings=8),
            None,
            ["grpo.max_completion_tokens=6: the model has 8 positions, and the longest question takes 3 of them"],
        ),
    ],
    ids=["no-template", "template", "positions"],
)
def test_a_policy_that_cannot_be_asked_is_refused_with_all_that_is_wrong(
    loaded: Callable[[], Loaded], lora: LoraTerms | None, problems: list[str], tmp_path: Path
) -> None:
    with pytest.raises(RequestError) as caught:
        fit(config(), POLICY.model_copy(update={"lora": lora}), loaded(), toy_task(0.0), tmp_path, 0, Stop())
    assert len(caught.value.problems) == len(problems)
    for found, wanted in zip(caught.value.problems, problems, strict=True):
        assert found.startswith(wanted)
        assert "\n" not in found


def test_a_policy_without_a_token_for_padding_is_refused_when_it_is_read(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({"<eos>": 0, "w": 1}, unk_token="w"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens(["<eos>"])
    tokens = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>")
    tokens.chat_template = "{% for m in messages %}{{ m['content'] }} <eos>{% endfor %}"
    folder = tiny.answering_policy(tmp_path / "policy")
    tokens.save_pretrained(folder)
    weights = POLICY.weights.model_copy(update={"path": str(folder), "scratch": None})
    with pytest.raises(RequestError) as caught:
        load_causal(weights, "policy", 0)
    assert caught.value.problems == (
        f"policy: transformers cannot read {folder}: the tokenizer has no token for padding that is not one of its "
        "ends; add one to it and the model",
    )


def test_a_policy_whose_loss_is_no_number_ends_with_the_step(tmp_path: Path) -> None:
    loaded = load_causal(POLICY.weights, "policy", 0)
    task = toy_task(0.0)
    steps = 0

    def poisoned(keys: Any, answers: Any) -> Sequence[Given]:
        nonlocal steps
        steps += 1
        if steps == 3:  # one look, one step
            loaded.model.lm_head.weight.data[5] = math.nan
        return task.rewards["appropriateness"](keys, answers)

    bad = Task(task.train, task.held_out, {"appropriateness": poisoned}, task.weights, task.proxy, task.gold)
    with pytest.raises(TrainingError, match=r"^training step 2: the loss is nan$"):
        fit(config(steps=5), POLICY, loaded, bad, tmp_path, 0, Stop())
