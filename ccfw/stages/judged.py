"""What *evaluate* left in a workspace: its folders, each known by a manifest that is read strictly."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from ccfw.stages import evaluate
from ccfw.store import Output, fingerprint

log = logging.getLogger(__name__)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class _Member(_Part):
    model_config = ConfigDict(extra="allow")
    size: str


class _Episodes(_Part):
    """What of the episodes' part is looked at one by one; the rest of it only has to be the same."""

    mode: Literal["eval", "gold"] = "eval"
    dataset: str = ""
    model: dict[str, Any] | None = None
    simulator: dict[str, Any] | None = None
    simulator_prompts: str | None = None
    gold_prompts: str | None = None


def _fitting(episodes: dict[str, Any]) -> dict[str, Any]:
    try:
        _Episodes.model_validate(episodes)
    except ValidationError as error:
        first = error.errors()[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise PydanticCustomError("episodes", "{reason}", {"reason": reason}) from None
    return episodes


class _Decides(_Part):
    """What decides the judgements, whole: its hash is compared."""

    model_config = ConfigDict(extra="allow")
    episodes: Annotated[dict[str, Any], AfterValidator(_fitting)]
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

    model_config = ConfigDict(allow_inf_nan=False)
    usd: Annotated[float, Field(ge=0)]
    unpriced_calls: Annotated[int, Field(ge=0)]


class Manifest(_Part):
    """What is read of the manifest of an evaluate run."""

    model: str
    label: str
    member: str
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
    """Yield every folder of *evaluate* under a dataset, each content once.

    What is no manifest of its is named and left out; so is a copy of a folder: the one that is named by its content is
    no copy.
    """
    found: dict[str, list[Folder]] = {}
    for path in sorted((root / evaluate.NAME).glob("*/manifest.json")):
        try:
            folder = Folder(Output(path.parent), Manifest.model_validate_json(path.read_bytes()))
            found.setdefault(fingerprint(folder.manifest.content), []).append(folder)
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"]))
            log.warning("%s: left out, not a manifest of stage=evaluate: %s", path, f"{where} {fault['msg']}".strip())
        except OSError as error:
            log.warning("%s: left out: %s", path, error.strerror)
    for key, alike in found.items():
        first, *copies = sorted(alike, key=lambda folder: folder.output.folder.name != key)
        for copy in copies:
            log.warning("%s: left out, a copy of %s", copy.output.folder, first.output.folder.name)
        yield first
