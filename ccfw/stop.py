"""Stopping a job in good order: no new call is begun, those in flight end, and what was paid for is kept."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from ccfw.errors import StoppedError

GRACE_S = 5.0
"""How long calls in flight may take to end once somebody asked to stop."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


_early: list[str] = []
"""The signal that came before a job was there to take it."""


def take_early_signals() -> None:
    """Keep a signal for the next job, so that none lands in the middle of a library; a second ends the process."""

    def first(number: int, _: FrameType | None) -> None:
        _default()
        _early.append(signal.Signals(number).name)

    for each in _SIGNALS:
        signal.signal(each, first)


def _default() -> None:
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_DFL)


@dataclass
class Stop:
    """Whether the job is to stop, and why; the first reason stays."""

    reason: str | None = None
    interrupted: bool = False
    """Whether a person or the system asked; calls in flight then have ``GRACE_S``."""
    _watchers: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = field(default_factory=list)

    def ask(self, reason: str, *, interrupted: bool = False) -> None:
        """Ask for the stop, from any thread or signal handler."""
        if self.reason is None:
            self.reason, self.interrupted = reason, interrupted
        for loop, event in tuple(self._watchers):  # whoever is told leaves the list, perhaps meanwhile
            loop.call_soon_threadsafe(event.set)

    def check(self) -> None:
        """Raise ``StoppedError`` if the stop was asked for: called before anything that costs."""
        if self.reason is not None:
            raise StoppedError(self.reason)

    async def asked(self) -> None:
        """Return when the stop is asked for."""
        entry = (asyncio.get_running_loop(), asyncio.Event())
        self._watchers.append(entry)
        try:
            if self.reason is None:
                await entry[1].wait()
        finally:
            self._watchers.remove(entry)

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Let the first Ctrl-C or SIGTERM ask for the stop, and the second end the process at once.

        After an interruption the next signal is the system's own, also when this is left.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def first(number: int, _: FrameType | None) -> None:
            _default()
            self.ask(signal.Signals(number).name, interrupted=True)

        before = {each: signal.signal(each, first) for each in _SIGNALS}
        if _early:
            self.ask(_early[0], interrupted=True)
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, signal.SIG_DFL if self.interrupted else handler)
