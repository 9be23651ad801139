"""Terms and files that cannot be trained by or read are refused in lines, before anything is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from ccfw.errors import RequestError
from ccfw.stop import Stop
from ccfw.training.reward import fit
from ccfw.training.scoring import CARD, load, trained_norms
from ccfw.training.terms import too_few_positions, unknown_modules
from tests.training import tiny

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]
LINEAR = "down_proj, gate_proj, k_proj, o_proj, q_proj, score, up_proj, v_proj"


def refused(tmp_path: Path, **changes: object) -> list[str]:
    with pytest.raises(RequestError) as error:
        fit(tiny.config(**changes), tiny.classifier(), tiny.pairs(8), tmp_path, 0, Stop())
    return list(error.value.problems)


def test_every_term_that_the_libraries_do_not_know_is_named_at_once(tmp_path: Path) -> None:
    lora = {"rank": 2, "alpha": 4, "dropout": 0.0, "modules": ["q_proj", "query", "proj"]}
    first, second, *others = refused(tmp_path, optimizer="adamw_torc", schedule="lineal", lora=lora, max_tokens=512)
    assert first.startswith("reward.optimizer=adamw_torc: unknown; choose from adafactor, adagrad, adalomo, adamw_")
    assert second == (
        "reward.schedule=lineal: unknown; choose from constant, constant_with_warmup, cosine, "
        "cosine_warmup_with_min_lr, cosine_with_min_lr, cosine_with_restarts, greedy, inverse_sqrt, linear, "
        "polynomial, reduce_lr_on_plateau, warmup_stable_decay"
    )
    assert others == [
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


@pytest.mark.parametrize("content", [b"", b"{torn", b"[]", b"{}", b'{"trained_norms": 3}', b"\xff"])
def test_a_card_that_does_not_say_what_was_trained_on_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CARD).write_bytes(content)
    with pytest.raises(RequestError) as error:
        trained_norms(str(tmp_path))
    assert list(error.value.problems) == [f"{tmp_path / CARD}: does not say which norms the model was trained on"]


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
