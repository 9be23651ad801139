"""The card beside the weights of a trained model, by which other stages know its norms, and a torn model is known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from ccfw.records import Record
from ccfw.store import write_atomically
from ccfw.training.scoring import CARD

README = "README.md"


class Whole(Record):
    """What weights were trained by, and by what files they are known to be whole."""

    name: str
    fingerprint: str
    settings: dict[str, Any]
    seed: int
    steps: int
    files: dict[str, int]
    """The model's other files and their bytes."""
    versions: dict[str, str]


C = TypeVar("C", bound=Whole)


class Card(Whole):
    """What weights were trained on and how, and what the model came to."""

    trained_on: int
    trained_on_sha256: str
    """Of the examples as lines of JSON."""
    trained_norms: tuple[str, ...]
    """Whatever compares models leaves these out."""
    trained_parameters: int
    questions_cut: int
    too_long: int
    """Examples left out, since an answer alone did not fit."""
    held_out: int | None = None
    held_out_sha256: str | None = None
    figures: dict[str, dict[str, float | None]] | None = None


class Lined(Protocol):
    """What is a line of JSON."""

    def model_dump_json(self) -> str:
        """Return it as one."""


def write_card(model: Path, card: Whole) -> None:
    """Write a card, whole or not at all."""
    content = card.model_dump(mode="json", exclude_none=True)
    write_atomically(model / CARD, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_card(model: Path, kind: type[C]) -> C | str:
    """Return the card of a model that is there whole, or what is missing or torn of it."""
    try:
        card = kind.model_validate_json((model / CARD).read_bytes())
    except (OSError, ValidationError):
        return f"{CARD} is missing or torn"
    torn = sorted(name for name, size in card.files.items() if _bytes(model / name) != size)
    if torn:
        return f"{', '.join(torn)} {'is' if len(torn) == 1 else 'are'} missing or torn"
    return card


def files_of(model: Path) -> dict[str, int]:
    """Return the files of a model that was just saved, and their bytes."""
    found = [path for path in sorted(model.iterdir()) if path.is_file() and path.name not in (CARD, README)]
    return {path.name: path.stat().st_size for path in found}


def libraries() -> dict[str, str]:
    """Return the versions of what models are trained with."""
    return {name: version(name) for name in ("torch", "transformers", "trl", "peft")}


def sha256_of(examples: Iterable[Lined]) -> str:
    """Return the SHA-256 of examples as the file of them has it, a line of JSON each."""
    return hashlib.sha256("".join(f"{each.model_dump_json()}\n" for each in examples).encode()).hexdigest()


def _bytes(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except (OSError, ValueError):  # a name that no file can have
        return None
