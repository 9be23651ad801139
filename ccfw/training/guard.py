"""What ends a training run early, and the extra that training needs."""

from __future__ import annotations

from importlib.util import find_spec

from ccfw.errors import CcfwError, RequestError

_NEEDED = ("torch", "transformers", "trl", "peft", "datasets", "accelerate")


class TrainingError(CcfwError):
    """Training cannot go on from a step; what was saved before stays."""

    def __init__(self, step: int, what: str) -> None:
        self.step = step
        super().__init__(f"training step {step}: {what}")


def check_installed(*keys: str) -> None:
    """Raise ``RequestError`` when a library of the extra ``train`` is missing, for all that needs it."""
    missing = ", ".join(name for name in _NEEDED if find_spec(name) is None)
    if missing and keys:
        raise RequestError(
            f"{key}: {missing} not installed; training needs the extra: pip install 'ccfw[train]'" for key in keys
        )
