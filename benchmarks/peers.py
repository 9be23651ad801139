"""Other clients doing the same calls, each in a process of its own: ``python peers.py NAME REQUESTS.json``.

Needs nothing but the peer, so that any interpreter which has it can run this file. A line of JSON on standard input
(``base``, ``at_once``, ``calls``) asks for a round; a line of JSON on standard output says what it took.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import cycle, islice
from pathlib import Path
from typing import Any

Payload = dict[str, Any]
"""The body of one request, less its model."""
Call = Callable[[Payload], Awaitable[str]]
_KEY = "none"


class Peer:
    """A library that answers one payload at a time, with its text."""

    needs: str
    """The package without which it is not installed."""

    async def open(self, base: str) -> Call:
        """Return the call to a base URL."""
        raise NotImplementedError

    async def settle(self) -> None:
        """Wait for what the library does after its calls, which is part of their cost."""

    def round(self, base: str, payloads: list[Payload], at_once: int) -> None:
        """Send every payload."""
        self._runner().run(self._all(base, payloads, at_once))

    def _runner(self) -> asyncio.Runner:
        if not hasattr(self, "runner"):
            self.runner = asyncio.Runner()
        return self.runner

    async def _all(self, base: str, payloads: list[Payload], at_once: int) -> None:
        call, queue = await self.open(base), iter(payloads)

        async def worker() -> None:
            for payload in queue:
                if not await call(payload):
                    raise RuntimeError("an empty reply")

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(worker())
        await self.settle()


class Floor(Peer):
    """Nothing but aiohttp and orjson."""

    needs = "orjson"
    session: Any = None

    async def open(self, base: str) -> Call:
        """Share one session."""
        aiohttp, orjson = import_module("aiohttp"), import_module("orjson")
        session = self.session = self.session or aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {_KEY}"}

        async def call(payload: Payload) -> str:
            body = orjson.dumps({"model": "scripted", **payload})
            async with session.post(f"{base}/chat/completions", data=body, headers=headers) as response:
                return str(orjson.loads(await response.read())["choices"][0]["message"]["content"])

        return call


class Litellm(Peer):
    """``litellm.acompletion`` as it comes."""

    needs = "litellm"

    async def open(self, base: str) -> Call:
        """Hand litellm what a plain script would."""
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        litellm = import_module("litellm")

        async def call(payload: Payload) -> str:
            fixed = {"model": "openai/scripted", "api_base": base, "api_key": _KEY, "num_retries": 0, "max_retries": 0}
            response = await litellm.acompletion(**fixed, timeout=300, **payload)
            return str(response.choices[0].message.content)

        return call

    async def settle(self) -> None:
        """Wait for litellm's logging."""
        logging = import_module("litellm.litellm_core_utils.logging_worker")
        await asyncio.wait_for(logging.GLOBAL_LOGGING_WORKER.flush(), 60)


class OpenAI(Peer):
    """OpenAI's own client as it comes."""

    needs = "openai"

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}

    async def open(self, base: str) -> Call:
        """Share one client."""
        if base not in self.clients:
            make = import_module("openai").AsyncOpenAI
            self.clients[base] = make(base_url=base, api_key=_KEY, max_retries=0, timeout=300)
        client = self.clients[base]

        async def call(payload: Payload) -> str:
            response = await client.chat.completions.create(model="scripted", **payload)
            return str(response.choices[0].message.content)

        return call


class InspectAI(Peer):
    """inspect_ai: a task of one generation and one trivial score a sample."""

    needs = "inspect_ai"

    def round(self, base: str, payloads: list[Payload], at_once: int) -> None:
        """Evaluate a sample for each payload."""
        os.environ["SCRIPTED_API_KEY"], os.environ["SCRIPTED_BASE_URL"] = _KEY, base
        inspect, model, dataset = (import_module(f"inspect_ai{part}") for part in ("", ".model", ".dataset"))
        kinds = {"system": model.ChatMessageSystem, "user": model.ChatMessageUser}
        samples = [
            dataset.Sample(
                id=number, target="1", input=[kinds[each["role"]](content=each["content"]) for each in p["messages"]]
            )
            for number, p in enumerate(payloads)
        ]
        fixed = {key: payloads[0][key] for key in ("max_tokens", "temperature", "seed")}
        task = inspect.Task(
            dataset=dataset.MemoryDataset(samples),
            solver=import_module("inspect_ai.solver").generate(),
            scorer=import_module("inspect_ai.scorer").includes(),
            config=model.GenerateConfig(**fixed),
        )
        with tempfile.TemporaryDirectory() as folder:
            log, *_ = inspect.eval(
                task,
                model="openai-api/scripted/scripted",
                max_connections=at_once,
                max_samples=at_once,
                display="none",
                log_dir=folder,
            )
        if log.status != "success":
            raise RuntimeError(str(log.error))


PEERS: dict[str, type[Peer]] = {"floor": Floor, "litellm": Litellm, "openai": OpenAI, "inspect_ai": InspectAI}


@contextmanager
def reported() -> Iterator[None]:
    """Say on standard output what the work inside took, its child processes included."""
    gc.collect()
    before, started = _cpu(), time.perf_counter()
    yield
    print(json.dumps({"wall": time.perf_counter() - started, "cpu": _cpu() - before}), flush=True)


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main(name: str, requests: Path) -> None:
    """Make rounds as long as they are asked for."""
    payloads: list[Payload] = json.loads(requests.read_text("utf-8"))
    peer = PEERS[name]()
    for line in sys.stdin:
        asked = json.loads(line)
        chosen = list(islice(cycle(payloads), asked["calls"]))
        with reported():
            peer.round(asked["base"], chosen, asked["at_once"])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
