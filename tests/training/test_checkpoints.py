"""Checkpoints that a kill or a full disk left behind: training goes on from the last one that is whole."""

from __future__ import annotations

import io
import json
import logging
import struct
import zipfile
from pathlib import Path

import pytest

from ccfw.training.checkpoints import fault_of, latest_checkpoint, next_time, resumed_from, saving


def tensors(**lengths: int) -> bytes:
    """Return a file of tensors of bytes, as the format has it: length of the header, header, content."""
    header, start = {}, 0
    for name, length in lengths.items():
        header[name] = {"dtype": "U8", "shape": [length], "data_offsets": [start, start + length]}
        start += length
    text = json.dumps({"__metadata__": {"format": "pt"}} | header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(start)


def archive() -> bytes:
    """Return what torch saves: an archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", b"x" * 100)
    return file.getvalue()


WHOLE = {
    "model.safetensors": tensors(a=40, b=60),
    "optimizer.pt": archive(),
    "scheduler.pt": archive(),
    "rng_state.pth": archive(),
    "trainer_state.json": b'{"global_step": 3, "log_history": []}',
    "README.md": b"",
}


def checkpoint(folder: Path, step: int, **changed: bytes | None) -> Path:
    """Write a checkpoint, with some files changed or left out."""
    path = folder / "checkpoints" / f"checkpoint-{step}"
    path.mkdir(parents=True)
    for name, content in (WHOLE | changed).items():
        if content is not None:
            (path / name).write_bytes(content)
    return path


def test_a_whole_checkpoint_has_no_fault(tmp_path: Path) -> None:
    assert fault_of(checkpoint(tmp_path, 3)) is None
    adapters = {"model.safetensors": None, "adapter_model.safetensors": tensors(a=1)}
    assert fault_of(checkpoint(tmp_path, 4, **adapters)) is None


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "README.md"])
@pytest.mark.parametrize("cut", [0, 1, 20])
def test_a_file_that_ends_too_early_is_named(name: str, cut: int, tmp_path: Path) -> None:
    content = WHOLE[name]
    path = checkpoint(tmp_path, 3, **{name: content[: len(content) - 1 - cut]})
    assert fault_of(path) == f"{name} is torn"


@pytest.mark.parametrize("name", ["optimizer.pt", "scheduler.pt", "trainer_state.json"])
def test_a_file_that_was_never_written_is_named(name: str, tmp_path: Path) -> None:
    assert fault_of(checkpoint(tmp_path, 3, **{name: None})) == f"{name} is missing"


def test_weights_in_parts_are_whole_when_all_parts_are_there(tmp_path: Path) -> None:
    index = json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}).encode()
    parts = {"model.safetensors": None, "model.safetensors.index.json": index, "model-1.safetensors": tensors(a=1)}
    assert fault_of(checkpoint(tmp_path, 3, **parts)) == "model-2.safetensors is missing"
    assert fault_of(checkpoint(tmp_path, 6, **parts, **{"model-2.safetensors": tensors(b=1)})) is None
    assert fault_of(checkpoint(tmp_path, 9, **parts | {"model.safetensors.index.json": b"[1"})) == (
        "its index cannot be read"
    )


@pytest.mark.parametrize("content", [b"", b"\xff" * 9, b"\x02\0\0\0\0\0\0\0[]", b"\xff\xff\xff\xff\xff\xff\xff\x7f{}"])
def test_bytes_of_any_kind_are_no_weights(content: bytes, tmp_path: Path) -> None:
    assert fault_of(checkpoint(tmp_path, 3, **{"model.safetensors": content})) == "model.safetensors is torn"


def test_training_goes_on_from_the_last_whole_one_and_says_what_became_of_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for step in (20, 100):
        checkpoint(tmp_path, step)
    torn = checkpoint(tmp_path, 120, **{"optimizer.pt": b"half"})
    assert latest_checkpoint(tmp_path) == torn.with_name("checkpoint-100")
    assert next_time(tmp_path) == "the same line goes on from step 100"
    with caplog.at_level(logging.WARNING):
        assert resumed_from(tmp_path) == torn.with_name("checkpoint-100")
    assert caplog.messages == [f"{torn}: not whole (optimizer.pt is torn); training goes on from step 100"]
    assert sorted(path.name for path in torn.parent.iterdir()) == ["checkpoint-100", "checkpoint-20"]
    caplog.clear()
    assert resumed_from(tmp_path) == torn.with_name("checkpoint-100")
    assert caplog.messages == []


def test_without_a_whole_one_training_starts_anew_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert resumed_from(tmp_path) is None
    assert next_time(tmp_path) == "no checkpoint is there yet, and the same line starts anew"
    torn = checkpoint(tmp_path, 3, **{"trainer_state.json": None})
    with caplog.at_level(logging.WARNING):
        assert resumed_from(tmp_path) is None
    assert caplog.messages == [f"{torn}: not whole (trainer_state.json is missing); training starts anew"]


def test_what_cannot_be_written_is_an_error_of_the_system_and_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint-3"
    folder.mkdir()
    told = "Error while serializing: I/O error: No space left on device (os error 28)"
    with pytest.raises(OSError, match="No space left on device") as caught, saving(folder):
        raise RuntimeError(told)
    assert (caught.value.errno, caught.value.filename, folder.exists()) == (28, str(folder), False)


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^a mistake$"), saving(tmp_path / "model"):
        raise ValueError("a mistake")
    with pytest.raises(PermissionError), saving(tmp_path / "model"):
        raise PermissionError(13, "Permission denied", "there")
