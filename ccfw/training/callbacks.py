"""What watches over a trainer of TRL's, whichever it is: numbers that are none, an end that somebody asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback

from ccfw.stop import Stop
from ccfw.training.checkpoints import saving
from ccfw.training.guard import TrainingError
from ccfw.training.task import RewardError

_NO_PROBABILITIES = "probability tensor contains"
"""What torch says when it is to draw a token by numbers that are none."""


@contextmanager
def ending(step: int) -> Iterator[None]:
    """Raise ``TrainingError`` with the step when no token can be drawn, or a reward is no number."""
    try:
        yield
    except RewardError as error:
        raise TrainingError(step, str(error)) from None
    except RuntimeError as error:
        if _NO_PROBABILITIES not in str(error):
            raise
        raise TrainingError(step, "the model's probabilities of the next token are no numbers") from None


def guarded(trainer: type[Any]) -> type[Any]:
    """Return a kind of trainer that ends with the step at which loss, probabilities or a reward are no numbers.

    Left to itself a trainer goes on, shows a loss of 0 for such steps, and saves a model of nothing. A checkpoint that
    there is no room for is an ``OSError``, and leaves nothing behind.
    """

    class Guarded(trainer):  # type: ignore[misc]
        def training_step(self, *args: Any, **kwargs: Any) -> Any:
            with ending(self.state.global_step + 1):
                loss = super().training_step(*args, **kwargs)
            if not bool(torch.isfinite(loss.detach()).all()):
                raise TrainingError(self.state.global_step + 1, f"the loss is {float(loss.detach().mean()):g}")
            return loss

        def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
            with saving(Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"):
                super()._save_checkpoint(*args, **kwargs)

    Guarded.__name__ = Guarded.__qualname__ = trainer.__name__
    return Guarded


class Watch(TrainerCallback):  # type: ignore[misc]
    """Ends training when a gradient is no number, and after the step under way when the job is to stop."""

    def __init__(self, stop: Stop | None = None, tell: Callable[[int, dict[str, float]], None] | None = None) -> None:
        self._stop, self._tell = stop, tell

    def on_step_end(self, _args: Any, _state: Any, control: Any, **_: Any) -> Any:
        """Save and end when somebody asked the job to."""
        if self._stop is not None and self._stop.interrupted:
            control.should_save = control.should_training_stop = True
        return control

    def on_log(self, _args: Any, state: Any, _control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        """Look at what a step came to, and hand it on."""
        numbers = {name: float(value) for name, value in (logs or {}).items() if isinstance(value, int | float)}
        norm = numbers.get("grad_norm")
        if norm is not None and not math.isfinite(norm):
            raise TrainingError(state.global_step, f"the norm of the gradients is {norm:g}")
        if self._tell is not None and "loss" in numbers:
            self._tell(state.global_step, numbers)
