"""A head that reads the whole answer: where it begins, what of padding counts, and who can load it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

import torch

from ccfw.stop import Stop
from ccfw.training import trunk
from ccfw.training.encoding import opening_of, render, tokens_of
from ccfw.training.pooled import PooledReward
from ccfw.training.reward import fit, save
from ccfw.training.scoring import RewardModel, load
from ccfw.training.texts import Text
from ccfw.training.weights import Loaded
from tests.training import tiny

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]
TEXTS = [Text(str(i), f"culture : japan {'w3 ' * (i % 7)}", f"{'w1 ' * (i % 5)}bow w{i} .") for i in range(32)]
OPENS = {"qwen": "<|im_start|>assistant\n", "llama": "<|end_header_id|>\n\n"}
"""What stands right before the answer, by family."""


def rewards(loaded: Loaded, batch: int, most: int = 64) -> list[float | None]:
    return [each.reward for each in RewardModel(*loaded, max_tokens=most, batch=batch).rewards(TEXTS)]


def by_hand(loaded: Loaded, text: Text, family: str) -> float:
    """Find the answer's tokens in the text itself, and take the head's output at their plain mean."""
    whole = render(loaded.tokenizer, text.prompt, text.answer)
    before = whole.rindex(OPENS[family]) + OPENS[family].index("|>") + len("|>")
    ids, start = tokens_of(loaded.tokenizer, whole), len(tokens_of(loaded.tokenizer, whole[:before]))
    with torch.inference_mode():
        states = loaded.model.base_model(input_ids=torch.tensor([ids])).last_hidden_state[0]
        return float(loaded.model.score(torch.stack(list(states[start:])).mean(dim=0))[0])


@pytest.mark.parametrize("family", OPENS)
@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_the_reward_is_the_heads_output_at_the_mean_of_the_answer_whatever_the_batch(family: str, kind: str) -> None:
    loaded = tiny.pooled(family, kind)
    expected = [by_hand(loaded, text, family) for text in TEXTS]
    assert len(set(expected)) > 20
    for batch in (1, 8, 32):
        assert rewards(loaded, batch) == pytest.approx(expected, abs=1e-5)


def test_a_chat_that_opens_a_system_turn_first_has_the_answer_in_its_third() -> None:
    tokenizer = tiny.tokenizer("qwen")
    assert opening_of(tokenizer) == (tokenizer.convert_tokens_to_ids("<|im_start|>"), 2)
    system = "{{ '<|im_start|>system\nplease<|im_end|>\n' }}"
    tokenizer.chat_template = system + tokenizer.chat_template
    assert opening_of(tokenizer) == (tokenizer.convert_tokens_to_ids("<|im_start|>"), 3)


def test_without_a_template_no_token_opens_the_answer_and_all_count() -> None:
    loaded = tiny.pooled("qwen")
    loaded.tokenizer.chat_template = None
    assert opening_of(loaded.tokenizer) == (None, 0)
    model = PooledReward(type(loaded.model.config)(loaded.model.config.text_config), loaded.model.model).eval()
    ids, mask = torch.tensor([[7, 8, 9, 0]]), torch.tensor([[1, 1, 1, 0]])
    assert model.counted(ids, mask).tolist() == [[1, 1, 1, 0]]


def test_an_answer_that_spells_the_opening_of_a_turn_is_still_read_from_its_beginning() -> None:
    loaded = tiny.pooled("qwen")
    opening = loaded.model.config.opening
    ids = torch.tensor([[opening, 9, opening, 10, 11, opening, 12]])
    assert loaded.model.counted(ids, torch.ones_like(ids)).tolist() == [[0, 0, 0, 1, 1, 1, 1]]


@pytest.mark.parametrize("trained", [0, 2])
def test_the_last_layers_read_stored_states_as_the_whole_model_reads_tokens(trained: int) -> None:
    loaded = tiny.pooled("qwen", "qwen3", layers=4)
    rows = [tokens_of(loaded.tokenizer, render(loaded.tokenizer, text.prompt, text.answer)) for text in TEXTS]
    split = trunk.Trunk(loaded.model, trained)
    split.fill(rows)
    split.check()
    padding, longest = loaded.tokenizer.pad_token_id, max(map(len, rows))
    ids = torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    with torch.inference_mode():
        found = split.top(input_ids=ids, attention_mask=mask).logits[:, 0].tolist()
    assert found == pytest.approx([by_hand(loaded, text, "qwen") for text in TEXTS], abs=1e-5)


@pytest.mark.parametrize(
    "method",
    [
        {},
        {"top": {"keep": 3, "train": 0}, "learning_rate": 3e-2},
        {"lora": {"rank": 2, "alpha": 4, "dropout": 0.0, "modules": []}},
    ],
    ids=["full", "head", "lora"],
)
def test_it_learns_is_saved_and_loaded_again_with_the_same_rewards(tmp_path: Path, method: dict[str, object]) -> None:
    config = tiny.config(**{"pooling": "answer", "epochs": 6, "learning_rate": 3e-3} | method)
    trained = fit(config, tiny.pooled(), tiny.pairs(48), tmp_path, 0, Stop())
    assert trained.curve[-1]["loss"] < 0.8 * trained.curve[0]["loss"]
    save(trained, tmp_path / "model")
    again = list(load(str(tmp_path / "model"), max_tokens=64, batch=8).rewards(TEXTS))
    assert [each.reward for each in again] == pytest.approx(rewards(trained.loaded, 8), abs=1e-5)


READ = """
import sys
from transformers import AutoModelForSequenceClassification
more = {"trust_remote_code": True} if sys.argv[2] == "trusted" else {"trust_remote_code": False}
model = AutoModelForSequenceClassification.from_pretrained(sys.argv[1], **more).eval()
import torch
print(float(model(input_ids=torch.tensor([[7, 8, 9]])).logits[0, 0]))
"""


def test_who_has_no_ccfw_is_refused_or_reads_the_same_rewards(tmp_path: Path) -> None:
    loaded = tiny.pooled()
    loaded.model.save_pretrained(tmp_path / "model")
    with torch.inference_mode():
        expected = float(loaded.model(input_ids=torch.tensor([[7, 8, 9]])).logits[0, 0])

    def elsewhere(how: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", READ, str(tmp_path / "model"), how],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "PATH": "", "HOME": str(tmp_path)},
        )

    trusted = elsewhere("trusted")
    assert float(trusted.stdout) == pytest.approx(expected, abs=1e-6), trusted.stderr
    refused = elsewhere("plain")
    assert refused.returncode != 0
    assert "trust_remote_code=True" in refused.stderr
