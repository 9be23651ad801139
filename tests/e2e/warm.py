"""Run the program in processes of its own that need not import it: each is forked from one that has."""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ccfw.checks.language import detect_language

ROOT = Path(__file__).resolve().parents[2]
_OFTEN = ("pandas", "scipy.stats", "matplotlib.pyplot", "faiss", "bm25s")
"""What the stages import when they need it. litellm and MLflow read the environment when imported, so they wait."""


class Warm:
    """A process that has imported the program, and forks itself for every run. One run at a time."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self._close)

    def run(
        self, folder: Path, arguments: Sequence[str], env: Mapping[str, str], timeout: float
    ) -> tuple[int, str, str]:
        """Return the exit code (negative after a signal), stdout and stderr of ``python -m ccfw`` in ``folder``."""
        with self._lock, tempfile.TemporaryDirectory() as kept:
            streams = [Path(kept) / name for name in ("out", "err")]
            order = {"folder": folder, "arguments": arguments, "env": dict(env), "streams": streams}
            self._say(json.dumps(order, default=str))
            code = self._end(int(self._hear()), timeout)
            out, err = (path.read_text("utf-8") for path in streams)
        return code, out, err

    def _end(self, pid: int, timeout: float) -> int:
        killed = threading.Event()

        def kill() -> None:
            killed.set()
            os.kill(pid, signal.SIGKILL)

        overdue = threading.Timer(timeout, kill)
        overdue.start()
        code = int(self._hear())
        overdue.cancel()
        overdue.join()
        if killed.is_set():
            raise subprocess.TimeoutExpired("python -m ccfw", timeout)
        return code

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def _hear(self) -> str:
        assert self._process.stdout is not None
        if line := self._process.stdout.readline():
            return line
        raise RuntimeError(f"the process to fork from ended with {self._process.wait()}; its stderr says why")

    def _close(self) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()


def _import_all() -> None:
    """Import what the program imports; the door itself stays to be run."""
    for name in ("ccfw.__main__", "ccfw.job", "ccfw.llm.openai_http", *_OFTEN):
        importlib.import_module(name)
    del sys.modules["ccfw.__main__"]
    for path in (ROOT / "ccfw" / "stages").glob("[a-z]*.py"):
        importlib.import_module(f"ccfw.stages.{path.stem}")
    detect_language("a text that is long enough to be told by a model, which is loaded once a process")
    assert threading.active_count() == 1, "a fork takes one thread along, and every lock that others hold"
    gc.collect()
    gc.freeze()


def _serve() -> dict[str, Any] | None:
    """Fork for every line that comes, and answer with the process's number and its exit code.

    Returns the order in the forked process, which is then to carry it out, and nothing when no more will come.
    """
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            return dict(json.loads(line))
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    return None


def _carry_out(order: Mapping[str, Any]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for number, path in enumerate([os.devnull, *order["streams"]]):
        opened = os.open(path, flags if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.path[0] = order["folder"]
    sys.argv[1:] = order["arguments"]
    runpy.run_module("ccfw", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _import_all()
    if taken := _serve():
        _carry_out(taken)
