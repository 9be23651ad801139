"""Terms and files that cannot be trained by or read are refused in lines, before anything is trained."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import get_args

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast, SchedulerType, get_scheduler

from ccfw.errors import RequestError
from ccfw.settings.training import Optimizer, Pooling, Schedule
from ccfw.stop import Stop
from ccfw.training.guard import TrainingError
from ccfw.training.reward import fit
from ccfw.training.scoring import CARD, load, trained_norms
from ccfw.training.terms import too_few_positions, unknown_modules
from ccfw.training.weights import load_for_reward
from tests.training import tiny

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]
LINEAR = "down_proj, gate_proj, k_proj, o_proj, q_proj, score, up_proj, v_proj"


def refused(tmp_path: Path, **changes: object) -> list[str]:
    with pytest.raises(RequestError) as error:
        fit(tiny.config(**changes), tiny.classifier(), tiny.pairs(8), tmp_path, 0, Stop())
    return list(error.value.problems)


@pytest.mark.parametrize("optimizer", get_args(Optimizer))
def test_every_optimizer_that_is_offered_trains(tmp_path: Path, optimizer: str) -> None:
    config = tiny.config(optimizer=optimizer, epochs=1)
    trained = fit(config, tiny.classifier(), tiny.pairs(8), tmp_path, 0, Stop())
    assert (trained.steps, trained.finished) == (1, True)


@pytest.mark.parametrize("optimizer", get_args(Optimizer))
def test_no_learning_rate_that_is_taken_breaks_an_optimizer(tmp_path: Path, optimizer: str) -> None:
    config = tiny.config(optimizer=optimizer, learning_rate=100, epochs=1)
    with suppress(TrainingError):  # a loss that is no number, with its step
        assert fit(config, tiny.classifier(), tiny.pairs(16), tmp_path, 0, Stop()).finished


def test_the_schedules_offered_are_those_that_transformers_makes_of_warm_up_and_steps_alone() -> None:
    heeding_figures = {"greedy", "reduce_lr_on_plateau"}
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))])
    found = set()
    for each in SchedulerType:
        with suppress(ValueError, TypeError):  # an argument is missing
            get_scheduler(each, optimizer, num_warmup_steps=1, num_training_steps=4)
            found.add(each.value)
    assert set(get_args(Schedule)) == found - heeding_figures


def test_everything_that_the_model_cannot_be_trained_by_is_named_at_once(tmp_path: Path) -> None:
    lora = {"rank": 2, "alpha": 4, "dropout": 0.0, "modules": ["q_proj", "query", "proj"]}
    assert refused(tmp_path, lora=lora, max_tokens=512) == [
        f"reward.lora.modules=query: the model has no such linear layer; it has {LINEAR}",
        f"reward.lora.modules=proj: the model has no such linear layer; it has {LINEAR}",
        "reward.max_tokens=512: the model has 256 positions",
    ]


def test_a_module_may_be_named_with_those_around_it() -> None:
    model = tiny.classifier().model
    assert unknown_modules("reward", model, ["q_proj", "self_attn.q_proj", "model.layers.0.mlp.up_proj"]) == []
    assert too_few_positions("reward.max_tokens", model, 256) == []


def test_pairs_of_which_none_fits_are_refused(tmp_path: Path) -> None:
    long = [tiny.preference(i, "bow " * 70, "wave " * 70) for i in range(4)]
    with pytest.raises(RequestError) as error:
        fit(tiny.config(), tiny.classifier(), long, tmp_path, 0, Stop())
    assert list(error.value.problems) == ["reward.max_tokens=64: of no pair do both answers fit"]


# ---- files


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.reward_model(tmp_path_factory.mktemp("models") / "whole")


def broken(whole: Path, folder: Path, name: str, content: bytes) -> str:
    folder.mkdir()
    for path in whole.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / name).write_bytes(content)
    return str(folder)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", b""),
        ("model.safetensors", b"\x10\x00\x00\x00\x00\x00\x00\x00{torn"),
        ("config.json", b"{torn"),
        ("config.json", b"[]"),
        ("tokenizer.json", b"{torn"),
        ("tokenizer.json", b"{}"),
    ],
)
def test_a_torn_file_of_a_model_is_one_line(tmp_path: Path, whole: Path, name: str, content: bytes) -> None:
    place = broken(whole, tmp_path / "torn", name, content)
    with pytest.raises(RequestError) as error:
        load(place, max_tokens=64, batch=8, key="rewards.scorers.mine")
    (line,) = error.value.problems
    assert line.startswith(f"rewards.scorers.mine: transformers cannot read {place}: ")
    assert "\n" not in line


def lacking(whole: Path, folder: Path, lost: str) -> str:
    place = broken(whole, folder, "README.md", b"")
    kept = {name: each for name, each in load_file(whole / "model.safetensors").items() if not name.startswith(lost)}
    save_file(kept, Path(place) / "model.safetensors", metadata={"format": "pt"})
    return place


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("score.weight", "its files lack score.weight"),
        ("model.layers.1.", "its files lack model.layers.1.input_layernorm.weight and 8 more"),
    ],
)
def test_weights_that_no_file_has_are_never_drawn(tmp_path: Path, whole: Path, lost: str, said: str) -> None:
    place = lacking(whole, tmp_path / "lacking", lost)
    with pytest.raises(RequestError) as error:
        load(place, max_tokens=64, batch=8)
    assert list(error.value.problems) == [f"rewards.scorers: transformers cannot read {place}: {said}"]


@pytest.mark.parametrize("pooling", ["last", "answer"])
def test_of_weights_that_training_starts_from_only_the_head_may_be_missing(
    tmp_path: Path, whole: Path, pooling: Pooling
) -> None:
    weights = tiny.config().weights
    headless = weights.model_copy(update={"path": lacking(whole, tmp_path / "headless", "score.weight")})
    assert load_for_reward(headless, "reward", 0, pooling).model.score.weight.shape == (1, 32)
    holed = weights.model_copy(update={"path": lacking(whole, tmp_path / "holed", "model.layers.1.")})
    with pytest.raises(RequestError, match=r"its files lack (model\.)?layers\.1\.input_layernorm\.weight and 8 more"):
        load_for_reward(holed, "reward", 0, pooling)


LISTS = [b"3", b'"abc"', b'{"n": 1}', b'["n1", null, {}]', b"[" * 200_000 + b"]" * 200_000]
CARDS = [b"", b"{torn", b"[]", b"{}", b"\xff", *(b'{"trained_norms": %s}' % each for each in LISTS)]


@pytest.mark.parametrize("content", [*CARDS, None], ids=[*map(str, range(len(CARDS))), "folder"])
def test_a_card_that_does_not_say_what_was_trained_on_is_refused(tmp_path: Path, content: bytes | None) -> None:
    card = tmp_path / CARD
    if content is None:
        card.mkdir()
    else:
        card.write_bytes(content)
    with pytest.raises(RequestError) as error:
        trained_norms(str(tmp_path))
    assert list(error.value.problems) == [f"{card}: does not say which norms the model was trained on"]


def test_the_norms_of_a_card_are_read_and_none_are_known_without_one(tmp_path: Path) -> None:
    assert trained_norms(str(tmp_path)) == frozenset()
    assert trained_norms("some/name") == frozenset()
    (tmp_path / CARD).write_text('{"trained_norms": ["n1", "n2"]}', "utf-8")
    assert trained_norms(str(tmp_path)) == {"n1", "n2"}


def test_a_model_with_fewer_positions_than_texts_may_have_is_refused(whole: Path) -> None:
    with pytest.raises(RequestError) as error:
        load(str(whole), max_tokens=300, batch=8)
    assert list(error.value.problems) == [f"rewards.scorers: {whole}: max_tokens=300: the model has 256 positions"]


def test_a_tokenizer_without_a_token_for_padding_is_one_line(tmp_path: Path, whole: Path) -> None:
    made = Tokenizer(WordLevel({"<eos>": 0, "bow": 1}, unk_token="bow"))
    made.add_special_tokens(["<eos>"])
    place = broken(whole, tmp_path / "padless", "tokenizer_config.json", b"{}")
    PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>").save_pretrained(place)
    (Path(place) / "chat_template.jinja").unlink()
    with pytest.raises(RequestError) as error:
        load(place, max_tokens=64, batch=8)
    assert list(error.value.problems) == [
        f"rewards.scorers: transformers cannot read {place}: the tokenizer has no token for padding that is not one of "
        "its ends; add one to it and the model"
    ]
