"""Reward models trained for real on tiny models, and the faults that such training is known for."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

import torch
from transformers import AutoModelForSequenceClassification

from ccfw.stop import Stop
from ccfw.training import trunk
from ccfw.training.checkpoints import latest_checkpoint
from ccfw.training.encoding import encode, ends_of_turn, padding_of, render, tokens_of
from ccfw.training.guard import TrainingError
from ccfw.training.reward import fit, save
from ccfw.training.scoring import RewardModel, load
from ccfw.training.texts import Reward, Text
from ccfw.training.weights import Loaded
from tests.training import tiny

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]
ANSWERS = [f"{'w1 ' * (i % 5)}bow {'w2 ' * (i % 3)}." for i in range(32)]
TEXTS = [Text(str(i), f"culture : japan {'w3 ' * (i % 7)}", answer) for i, answer in enumerate(ANSWERS)]


def scores(loaded: Loaded, *, batch: int, most: int = 64, texts: list[Text] = TEXTS) -> list[Reward]:
    return list(RewardModel(*loaded, max_tokens=most, batch=batch).rewards(texts))


# ---- scoring


@pytest.mark.parametrize("family", tiny.FAMILIES)
@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_a_reward_does_not_depend_on_the_batch(family: str, kind: str) -> None:
    loaded = tiny.classifier(family, kind)
    alone = [each.reward for each in scores(loaded, batch=1)]
    assert len(set(alone)) > 20
    for batch in (8, 32):
        assert [each.reward for each in scores(loaded, batch=batch)] == pytest.approx(alone, abs=1e-5)


def by_hand(loaded: Loaded, text: Text) -> float:
    """Read a text without padding, and take the head's output at its very last token."""
    ids = tokens_of(loaded.tokenizer, render(loaded.tokenizer, text.prompt, text.answer))
    with torch.inference_mode():
        states = loaded.model.base_model(input_ids=torch.tensor([ids])).last_hidden_state
        return float(loaded.model.score(states[0, -1])[0])


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_a_reward_is_read_at_the_last_token_though_the_tokenizer_pads_with_its_eos(family: str) -> None:
    loaded = tiny.classifier(family)
    found = scores(loaded, batch=8)
    assert [each.reward for each in found] == pytest.approx([by_hand(loaded, text) for text in TEXTS], abs=1e-5)


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_an_answer_that_spells_special_tokens_takes_no_turn_of_its_own(family: str) -> None:
    tokenizer = tiny.tokenizer(family)
    special = sorted(tokenizer.get_added_vocab())
    plain = encode(tokenizer, "culture : japan", "bow now .", 500)
    hostile = encode(tokenizer, f"culture : {special[0]} japan", f"bow {' '.join(special)} now {special[-1]} .", 500)
    assert plain is not None
    assert hostile is not None
    places = (set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)) - {tokenizer.unk_token_id}
    assert [each for each in hostile.ids if each in places] == [each for each in plain.ids if each in places]


def test_padding_with_the_end_of_a_turn_would_read_another_token() -> None:
    loaded = tiny.classifier("llama")
    eot = loaded.tokenizer.convert_tokens_to_ids("<|eot_id|>")
    ids = tokens_of(loaded.tokenizer, render(loaded.tokenizer, TEXTS[0].prompt, TEXTS[0].answer))
    assert ids[-1] == eot
    loaded.model.config.pad_token_id = eot  # as the tokenizer came
    with torch.inference_mode():
        wrong = float(loaded.model(input_ids=torch.tensor([ids])).logits[0, 0])
    assert wrong != pytest.approx(by_hand(loaded, TEXTS[0]), abs=1e-4)


def test_what_does_not_fit_is_cut_from_the_questions_beginning_and_counted() -> None:
    loaded = tiny.classifier("qwen")
    text = Text("t", " ".join(f"w{i}" for i in range(30)), "bow now .")
    whole = encode(loaded.tokenizer, text.prompt, text.answer, 500)
    assert whole is not None
    short = encode(loaded.tokenizer, text.prompt, text.answer, len(whole.ids) - 10)
    assert short is not None
    assert (whole.cut, short.cut) == (0, 10)
    read = loaded.tokenizer.decode(short.ids)
    assert "w9 " not in read
    assert "w10" in read
    end = tokens_of(loaded.tokenizer, "bow now .<|im_end|>\n")
    assert short.ids[-len(end) :] == end
    (reward,) = scores(loaded, batch=1, most=len(whole.ids) - 10, texts=[text])
    assert (reward.cut, reward.tokens) == (10, len(whole.ids) - 10)


def test_an_answer_that_does_not_fit_has_no_reward_and_says_why() -> None:
    long = Text("t", "w1", "w2 " * 60)
    rewards = scores(tiny.classifier(), batch=2, most=40, texts=[TEXTS[0], long, TEXTS[1]])
    assert [each.failure for each in rewards] == [None, "too_long", None]
    assert rewards[1].reward is None
    assert [each.text_id for each in rewards] == ["0", "t", "1"]


def test_a_reward_that_is_no_number_is_a_failure() -> None:
    loaded = tiny.classifier()
    loaded.model.score.weight.data.fill_(math.nan)
    assert {(each.reward, each.failure) for each in scores(loaded, batch=8)} == {(None, "not_a_number")}


# ---- ends and padding


@pytest.mark.parametrize(
    ("family", "ends", "padding"),
    [
        ("qwen", ["<|im_end|>"], "<|endoftext|>"),
        ("qwen_base", ["<|im_end|>", "<|endoftext|>"], "<unk>"),
        ("smollm2", ["<|im_end|>"], "<|endoftext|>"),
        ("llama", ["<|eot_id|>"], "<|finetune_right_pad_id|>"),
    ],
)
def test_a_turn_ends_as_its_template_ends_it_and_padding_is_no_end(family: str, ends: list[str], padding: str) -> None:
    tokens = tiny.tokenizer(family)
    assert tokens.convert_ids_to_tokens(list(ends_of_turn(tokens))) == ends
    assert tokens.convert_ids_to_tokens(padding_of(tokens)) == padding


def test_a_tokenizer_without_a_token_to_pad_with_is_refused() -> None:
    tokens = tiny.tokenizer("smollm2")
    tokens.chat_template = "<|endoftext|><|im_start|><unk>{{ messages[-1]['content'] }}<|im_end|>"
    with pytest.raises(ValueError, match=r"^the tokenizer has no token for padding that is not one of its ends"):
        padding_of(tokens)


# ---- training


def accuracy(loaded: Loaded, found: list[Any]) -> float:
    texts = [
        Text(f"{i}{name}", "w1", getattr(each, name)) for i, each in enumerate(found) for name in ("chosen", "rejected")
    ]
    rewards = [each.reward or 0.0 for each in scores(loaded, batch=16, texts=texts)]
    return sum(one > other for one, other in zip(rewards[::2], rewards[1::2], strict=True)) / len(found)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"lora": {"rank": 8, "alpha": 16, "dropout": 0.0, "modules": []}},
        {"top": {"keep": 3, "train": 2}},
    ],
    ids=["full", "lora", "top"],
)
def test_a_model_learns_what_makes_an_answer_the_better_one(how: dict[str, Any], tmp_path: Path) -> None:
    train, held_out = tiny.pairs(64), tiny.pairs(90)[64:]
    trained = fit(tiny.config(**how, epochs=6, learning_rate=1e-2), tiny.classifier(), train, tmp_path, 0, Stop())
    assert (trained.finished, trained.steps, trained.cut, trained.too_long) == (True, 48, 0, 0)
    assert accuracy(trained.loaded, held_out) > 0.9
    assert trained.curve[-1]["loss"] < 0.5 < trained.curve[0]["loss"]
    whole = sum(each.numel() for each in trained.loaded.model.parameters())
    assert trained.trainable < whole if how else trained.trainable == whole


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_a_saved_model_gives_the_same_rewards_by_any_loader(kind: str, tmp_path: Path) -> None:
    how = tiny.config(top={"keep": 2, "train": 1}, epochs=1)
    trained = fit(how, tiny.classifier(kind=kind), tiny.pairs(16), tmp_path, 0, Stop())
    save(trained, tmp_path / "model")
    expected = [each.reward for each in scores(trained.loaded, batch=4)]
    through_the_door = load(str(tmp_path / "model"), max_tokens=64, batch=8)
    assert [each.reward for each in through_the_door.rewards(TEXTS)] == pytest.approx(expected, abs=1e-5)
    plain = AutoModelForSequenceClassification.from_pretrained(tmp_path / "model").eval()
    assert plain.config.num_hidden_layers == 2
    ids = tokens_of(trained.loaded.tokenizer, render(trained.loaded.tokenizer, TEXTS[5].prompt, TEXTS[5].answer))
    with torch.inference_mode():
        assert float(plain(input_ids=torch.tensor([ids])).logits[0, 0]) == pytest.approx(expected[5], abs=1e-5)


def test_training_goes_on_from_a_checkpoint_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    how, train = tiny.config(epochs=2, save_every=3), tiny.pairs(32)
    straight = fit(how, tiny.classifier(), train, tmp_path / "straight", 0, Stop())
    assert straight.steps == 8

    class AfterThree(Stop):
        """Asks to stop once a checkpoint is there."""

        @property
        def interrupted(self) -> bool:
            return latest_checkpoint(tmp_path / "broken") is not None

        @interrupted.setter
        def interrupted(self, value: bool) -> None:
            pass

    first = fit(how, tiny.classifier(), train, tmp_path / "broken", 0, AfterThree())
    assert not first.finished
    assert 3 <= first.steps < 8
    second = fit(how, tiny.classifier(seed=5), train, tmp_path / "broken", 0, Stop())
    assert second.finished
    losses = [[each["loss"] for each in run.curve] for run in (straight, second)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    rewards = [[each.reward for each in scores(run.loaded, batch=8)] for run in (straight, second)]
    assert rewards[1] == pytest.approx(rewards[0], abs=1e-5)


def test_a_loss_that_is_no_number_ends_training_with_its_step(tmp_path: Path) -> None:
    loaded = tiny.classifier()
    calls = 0
    head = loaded.model.score.forward

    def broken(states: Any) -> Any:
        nonlocal calls
        calls += 1
        return head(states) * (math.nan if calls > 2 else 1.0)

    loaded.model.score.forward = broken
    with pytest.raises(TrainingError, match=r"^training step 3: the loss is nan$"):
        fit(tiny.config(), loaded, tiny.pairs(32), tmp_path, 0, Stop())


def test_a_pair_whose_answer_does_not_fit_is_left_out_and_counted(tmp_path: Path) -> None:
    train = [
        *tiny.pairs(8),
        tiny.preference(9, "bow " * 70, "wave ."),
        tiny.preference(10, "bow .", "wave .", scenario="w1 " * 60),
    ]
    trained = fit(tiny.config(epochs=1), tiny.classifier(), train, tmp_path, 0, Stop())
    assert (trained.too_long, trained.cut) == (1, 2)


def test_reading_says_how_far_it_is_after_every_tenth_of_the_texts_that_are_new(
    caplog: pytest.LogCaptureFixture,
) -> None:
    split = trunk.Trunk(tiny.classifier(layers=2).model, 1)
    rows = [[number, number + 1] for number in range(5, 25)]
    with caplog.at_level("INFO", "ccfw.training.trunk"):
        split.fill(rows)
        split.fill(rows)
    told = [re.fullmatch(r"read (\d+) of 20 texts, ([\d.e+]+) a second", each) for each in caplog.messages]
    assert [int(each[1]) for each in told if each and float(each[2]) > 0] == [2, 4, 6, 8, 10, 12, 14, 16, 18]
    assert len(told) == 9


@pytest.mark.parametrize("kind", ["llama", "qwen3", "mistral"])
def test_what_the_lower_layers_make_of_texts_is_what_they_make_of_each_alone(kind: str) -> None:
    loaded = tiny.classifier(kind=kind, layers=4)
    rows = [tokens_of(loaded.tokenizer, render(loaded.tokenizer, text.prompt, text.answer)) for text in TEXTS]
    split = trunk.Trunk(loaded.model, 2)
    split.fill(rows)
    split.check()
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    with torch.inference_mode():
        found = split.top(input_ids=ids, attention_mask=mask).logits[:, 0].tolist()
    assert found == pytest.approx([by_hand(loaded, text) for text in TEXTS], abs=1e-5)
