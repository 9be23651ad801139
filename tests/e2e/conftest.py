"""Runs that several tests look at, made once a session even when several workers test."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
from filelock import FileLock

T = TypeVar("T")


class Shared(Protocol):
    """Makes a thing by ``make(folder)``, or returns what was made under that name before."""

    def __call__(self, name: str, make: Callable[[Path], T]) -> T: ...


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    root.mkdir(exist_ok=True)

    def get(name: str, make: Callable[[Path], Any]) -> Any:
        folder, kept = root / name, root / f"{name}.pickle"
        with FileLock(root / f"{name}.lock"):
            if not kept.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                kept.write_bytes(pickle.dumps(make(folder)))
            return pickle.loads(kept.read_bytes())

    return get
