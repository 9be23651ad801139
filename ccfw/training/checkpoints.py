"""Checkpoints of training under an output's folder: which of them are whole, and what becomes of one that is not.

A trainer writes a checkpoint file by file, so that a kill, a power cut or a full disk leaves a folder in which a file
is missing or ends too early. No weights are read here: each file says, at one end or the other, how long it must be.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

log = logging.getLogger(__name__)
CHECKPOINTS = "checkpoints"
_NAME = re.compile(r"checkpoint-(\d+)")
_STATE, _INDEX = "trainer_state.json", "*.index.json"
_NEEDED = (_STATE, "optimizer.pt", "scheduler.pt")
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "adapter_model*.bin")
_SYSTEM = re.compile(r"\(os error (\d+)\)")
_TORCH = ("inline_container", "PytorchStreamWriter")
"""What torch says when it cannot write: not why."""
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading bytes of any kind as JSON of one shape may raise."""
_PROBE = 1 << 20
"""Bytes."""


def latest_checkpoint(folder: Path) -> Path | None:
    """Return the last whole checkpoint of an output, if there is any."""
    return next((path for path in _newest_first(folder) if fault_of(path) is None), None)


def resumed_from(folder: Path) -> Path | None:
    """Return the last whole checkpoint of an output, if there is any; those after it are said, and removed.

    They would be of no use, and take the room that the next one needs.
    """
    latest = latest_checkpoint(folder)
    for path in _newest_first(folder):
        if path == latest:
            break
        instead = "training starts anew" if latest is None else f"training goes on from step {step_of(latest)}"
        log.warning("%s: not whole (%s); %s", path, fault_of(path), instead)
        shutil.rmtree(path, ignore_errors=True)
    return latest


def next_time(folder: Path) -> str:
    """Return where the same line would go on from, as it is told to whoever broke training off."""
    latest = latest_checkpoint(folder)
    if latest is None:
        return "no checkpoint is there yet, and the same line starts anew"
    return f"the same line goes on from step {step_of(latest)}"


def step_of(checkpoint: Path) -> int:
    """Return the step that a checkpoint is of."""
    return int(checkpoint.name.rpartition("-")[2])


def fault_of(checkpoint: Path) -> str | None:
    """Return why training cannot go on from a checkpoint; ``None`` if it can."""
    files = [path for path in sorted(checkpoint.glob("*")) if path.is_file()]
    there = {path.name for path in files}
    missing = [name for name in _NEEDED if name not in there]
    weights = {path.name for pattern in _WEIGHTS for path in checkpoint.glob(pattern)}
    try:
        missing += [name for index in checkpoint.glob(_INDEX) for name in _indexed(index) if name not in weights]
    except _UNREADABLE:
        return "its index cannot be read"
    if not weights:
        missing.append("weights")
    if missing:
        return f"{missing[0]} is missing"
    torn = next((path.name for path in files if not _is_whole(path)), None)
    return None if torn is None else f"{torn} is torn"


@contextmanager
def saving(folder: Path) -> Iterator[None]:
    """Remove a folder that could not be written whole.

    Raises ``OSError`` with the folder's name for what libraries raise of their own when the system takes no file.
    """
    try:
        yield
    except Exception as error:
        refusal = _refusal(error, folder)
        shutil.rmtree(folder, ignore_errors=True)
        if refusal is None:
            raise
        raise refusal from None


def _newest_first(folder: Path) -> list[Path]:
    found = [path for path in (folder / CHECKPOINTS).glob("checkpoint-*") if _NAME.fullmatch(path.name)]
    return sorted(found, key=step_of, reverse=True)


def _indexed(index: Path) -> list[str]:
    return sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))


def _is_whole(path: Path) -> bool:
    """Return whether a file has what its kind has at its end; of other kinds nothing is known."""
    try:
        if path.suffix == ".safetensors":
            return _has_all_tensors(path)
        if path.suffix in (".pt", ".pth", ".bin") and path.name != "training_args.bin":
            return zipfile.is_zipfile(path)
        if path.name == _STATE:
            return isinstance(json.loads(path.read_text("utf-8")), dict)
    except _UNREADABLE:
        return False
    return True


def _has_all_tensors(path: Path) -> bool:
    """Return whether a file of tensors is as long as its header says: 8 bytes of length, the header, the tensors."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        size = path.stat().st_size
        if size < 8 + length:
            return False
        header = json.loads(file.read(length))
    ends = [each["data_offsets"][1] for name, each in header.items() if name != "__metadata__"]
    return size == 8 + length + max(ends, default=0)


def _refusal(error: Exception, folder: Path) -> OSError | None:
    """Return why the system took no file, if that is what an error says."""
    if isinstance(error, OSError):
        return None  # it says so itself
    text = str(error)
    if found := _SYSTEM.search(text):
        return _of_system(int(found[1]), folder)
    return _probed(folder) if any(each in text for each in _TORCH) else None


def _probed(folder: Path) -> OSError | None:
    """Return what the system says of a file in a folder."""
    probe = folder / f".{os.getpid()}.part"
    try:
        with probe.open("wb") as file:
            file.write(bytes(_PROBE))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return _of_system(error.errno or 0, folder)
    finally:
        with suppress(OSError):
            probe.unlink()
    return None


def _of_system(number: int, folder: Path) -> OSError:
    return OSError(number, os.strerror(number), str(folder))
