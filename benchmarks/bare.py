"""The bare provider library, and the provider that both sides call."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


@contextlib.contextmanager
def provider(latency: float) -> Iterator[str]:
    """Run the fake provider in a process of its own, and give its base URL."""
    command = [sys.executable, "-m", "tests.fakes.provider", "--latency", str(latency), "--script", "roles"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8") as process:  # noqa: S603 our own
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


async def calls(arguments: list[dict[str, Any]], at_once: int) -> None:
    """Call litellm and read the text, nothing more."""
    import litellm

    queue = iter(arguments)

    async def worker() -> None:
        for each in queue:
            response = await litellm.acompletion(**each)
            assert response.choices[0].message.content

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(worker())


async def settled() -> None:
    """Wait for litellm's logging of past calls, which is part of their cost."""
    from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER

    await asyncio.wait_for(GLOBAL_LOGGING_WORKER.flush(), 10)
