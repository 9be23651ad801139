"""A card tells a whole model from a torn one, whatever stands in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ccfw.stages.model_card import Card, files_of, read_card, write_card

SHA = "0" * 64


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / "README.md").write_text("written later", "utf-8")
    card = Card(
        name="mine",
        fingerprint="f",
        settings={"epochs": 2},
        seed=0,
        trained_on=3,
        trained_on_sha256=SHA,
        trained_norms=("n1", "n2"),
        steps=1,
        trained_parameters=10,
        questions_cut=0,
        too_long=0,
        files=files_of(tmp_path),
        versions={"torch": "2"},
    )
    write_card(tmp_path, card)
    return tmp_path


def test_a_card_comes_back_as_it_was_and_does_not_speak_of_itself(model: Path) -> None:
    card = read_card(model, Card)
    assert isinstance(card, Card)
    assert card.files == {"config.json": 2, "model.safetensors": 7}
    (model / "README.md").write_text("longer than it was before", "utf-8")
    later = card.model_copy(update={"held_out": 2, "held_out_sha256": SHA, "figures": {"accuracy": {"value": 0.5}}})
    write_card(model, later)
    assert read_card(model, Card) == later


DEEP = b'{"settings": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"


@pytest.mark.parametrize("content", [b"", b"{torn", b"[]", b"{}", b"\xff", b'{"trained_norms": ["n1"]}', DEEP])
def test_a_card_that_is_none_is_torn(model: Path, content: bytes) -> None:
    (model / "card.json").write_bytes(content)
    assert read_card(model, Card) == "card.json is missing or torn"


def test_a_card_that_is_a_folder_or_names_what_no_file_is_called_is_torn(model: Path) -> None:
    card = read_card(model, Card)
    assert isinstance(card, Card)
    write_card(model, card.model_copy(update={"files": {"a\0b": 1}}))
    assert read_card(model, Card) == "a\0b is missing or torn"
    (model / "card.json").unlink()
    (model / "card.json").mkdir()
    assert read_card(model, Card) == "card.json is missing or torn"


def test_every_file_that_is_missing_or_too_short_is_named(model: Path) -> None:
    (model / "model.safetensors").write_bytes(b"wei")
    assert read_card(model, Card) == "model.safetensors is missing or torn"
    (model / "config.json").unlink()
    assert read_card(model, Card) == "config.json, model.safetensors are missing or torn"
    assert read_card(model / "nowhere", Card) == "card.json is missing or torn"
