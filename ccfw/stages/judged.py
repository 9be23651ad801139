"""What *evaluate* left in a workspace: its folders, each known by a manifest that is read strictly."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ccfw.stages import evaluate
from ccfw.store import Output

log = logging.getLogger(__name__)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class _Member(_Part):
    model_config = ConfigDict(extra="allow")
    size: str


class _Decides(_Part):
    """What decides the judgements, whole: its hash is compared."""

    model_config = ConfigDict(extra="allow")
    episodes: dict[str, Any]
    member: _Member
    prompts: str


class _Prompt(_Part):
    version: str
    large: str
    small: str


class _Settings(_Part):
    prompt: _Prompt


class Stopped(_Part):
    """Where judging until precise enough ended."""

    n: int
    planned: int
    saved: int
    reached: bool


class Paid(_Part):
    """What the runs that made an output paid for it, as far as it is known."""

    usd: float
    unpriced_calls: int


class Manifest(_Part):
    """What is read of the manifest of an evaluate run."""

    model: str
    label: str
    member: str
    comparable: str
    stopped: Stopped | None = None
    paid: Paid | None = None
    fingerprint_of: _Decides
    settings: _Settings

    @property
    def content(self) -> dict[str, Any]:
        """Everything that decided the judgements."""
        return self.fingerprint_of.model_dump()

    @property
    def style(self) -> str:
        """The folder of prompts that the member had: ``<version>/<style>``."""
        prompt = self.settings.prompt
        return f"{prompt.version}/{prompt.small if self.fingerprint_of.member.size == 'small' else prompt.large}"


@dataclass(frozen=True)
class Folder:
    """The judgements of one member over one assistant's episodes."""

    output: Output
    manifest: Manifest


def paid(output: Output) -> Paid | None:
    """Return what an output's manifest says was paid for it; ``None`` when it says nothing that can be read."""
    try:
        return _Receipt.model_validate_json(output.manifest.read_bytes()).paid
    except (ValidationError, OSError):
        return None


class _Receipt(_Part):
    paid: Paid | None = None


def folders(root: Path) -> Iterator[Folder]:
    """Yield every folder of *evaluate* under a dataset; what is no manifest of its is named and left out."""
    for path in sorted((root / evaluate.NAME).glob("*/manifest.json")):
        try:
            yield Folder(Output(path.parent), Manifest.model_validate_json(path.read_bytes()))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            log.warning("%s: left out, not a manifest of stage=evaluate: %s", path, f"{where} {first['msg']}".strip())
        except OSError as error:
            log.warning("%s: left out: %s", path, error.strerror)
