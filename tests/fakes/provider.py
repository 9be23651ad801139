"""A fake LLM provider: OpenAI's chat completions over real HTTP on loopback.

As a process: ``python -m tests.fakes.provider --port 0 --latency 0.05 --script roles`` prints its base URL
and serves until SIGINT or SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from string import ascii_lowercase
from typing import Any, Self

from aiohttp import web

from tests.fakes.faults import (
    Fault,
    FaultPlan,
    Kind,
    Payload,
    Script,
    as_json,
    error_payload,
    fault_payload,
)
from tests.fakes.scripts import SCRIPTS, play_assistant
from tests.fakes.traffic import TrafficLog
from tests.fakes.wire import FakeReply, FakeRequest

__all__ = ["FakeProvider", "FakeReply", "FakeRequest", "Fault", "FaultPlan", "Script"]


class FakeProvider(TrafficLog):
    """A server on 127.0.0.1 in its own thread and event loop, up while the context is open.

    A script that raises is answered with a 500 and raised again when the context closes, so that a mistake
    in a test does not pass for a fault that the client survives.
    """

    def __init__(
        self,
        script: Script = play_assistant,
        *,
        plan: FaultPlan | None = None,
        latency: float = 0.0,
        port: int = 0,
        models: Sequence[str] = ("fake-model",),
    ) -> None:
        super().__init__()
        self.script = plan.over(script) if plan else script
        self.latency = latency
        self.port = port
        self.models = models
        self.refused_embeddings = 0
        self.embedded: list[str] = []
        self._mistakes: list[Exception] = []

    @property
    def base_url(self) -> str:
        """What a client takes as its ``api_base``."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        started: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, args=(started,), name="fake-provider", daemon=True)
        self._thread.start()
        self.port = started.result(timeout=10)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(timeout=10)
        if self._thread.is_alive():
            raise RuntimeError("the fake provider did not stop")
        if self._mistakes and kind is None:
            raise self._mistakes[0]

    def _run(self, started: Future[int]) -> None:
        try:
            asyncio.run(self._serve(started))
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)

    async def _serve(self, started: Future[int]) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        runner = web.AppRunner(self._app(), access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", self.port, backlog=4096).start()
            started.set_result(runner.addresses[0][1])
            await self._stopping.wait()
        finally:
            await runner.cleanup()

    def _app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embeddings)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/health", self._health)
        return app

    async def _models(self, _: web.Request) -> web.Response:
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "fake"} for name in self.models]
        return web.json_response({"object": "list", "data": data})

    async def _health(self, _: web.Request) -> web.Response:
        counts = {str(status): count for status, count in self.counts().items()}
        return web.json_response({"status": "ok", "counts": counts, "peak_in_flight": self.peak_in_flight})

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        body = _parsed(await http.read())
        headers = {name.lower(): value for name, value in http.headers.items()}
        request = self._enter(body, headers)
        try:
            if problem := _problem(body):
                refusal = error_payload(400, problem, "invalid_request_error", None)
                return self._send(request, refusal)
            if self.latency:
                await asyncio.sleep(self.latency)
            return await self._respond(http, request, self._ask(request))
        finally:
            self._leave()

    async def _embeddings(self, http: web.Request) -> web.Response:
        """Count letters, which makes texts alike that share words; refuse as often as ``refused_embeddings`` says."""
        body = _parsed(await http.read())
        texts = body["input"]
        if self.refused_embeddings > 0:
            self.refused_embeddings -= 1
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "0.01"})
        self.embedded += texts
        data = [
            {
                "object": "embedding",
                "index": number,
                "embedding": [float(text.count(letter)) for letter in ascii_lowercase],
            }
            for number, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return web.json_response(
            {"object": "list", "model": body["model"], "data": data[::-1], "usage": usage}  # in no promised order
        )

    def _ask(self, request: FakeRequest) -> FakeReply | Fault:
        try:
            answer = self.script(request)
        except Exception as error:  # noqa: BLE001 raised again when the server closes
            self._mistakes.append(error)
            return Fault(Kind.STATUS, 500)
        return FakeReply(answer) if isinstance(answer, str) else answer

    async def _respond(self, http: web.Request, request: FakeRequest, answer: FakeReply | Fault) -> web.StreamResponse:
        if isinstance(answer, FakeReply):
            return self._send(request, Payload(200, as_json(answer.completion(request))))
        match answer.kind:
            case Kind.STALL:
                await self._stopping.wait()
                return _hang_up(http)
            case Kind.CLOSED:
                return _hang_up(http)
            case Kind.DRIP:
                return await self._drip(http, request, answer)
            case _:
                return self._send(request, fault_payload(answer, request))

    def _send(self, request: FakeRequest, payload: Payload) -> web.Response:
        self._mark(request, payload.status)
        return web.Response(
            status=payload.status,
            body=payload.body,
            headers=payload.headers,
            content_type=payload.content_type,
        )

    async def _drip(self, http: web.Request, request: FakeRequest, fault: Fault) -> web.StreamResponse:
        body = fault_payload(fault, request).body
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        response = web.StreamResponse(headers=headers)
        self._mark(request, response.status)
        with suppress(ConnectionError):
            await response.prepare(http)
            for byte in body:
                if self._stopping.is_set():
                    return _hang_up(http)
                await response.write(bytes([byte]))
                await asyncio.sleep(fault.pause)
        return response


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _problem(body: dict[str, Any]) -> str | None:
    if not body.get("model") or not isinstance(body.get("messages"), list) or not body["messages"]:
        return "you must provide a JSON body with a model and messages"
    return "this provider does not stream" if body.get("stream") else None


def _hang_up(http: web.Request) -> web.Response:
    if http.transport is not None:
        http.transport.close()
    return web.Response()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve a named script until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.provider", description="A fake LLM provider.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each reply")
    parser.add_argument("--script", choices=sorted(SCRIPTS), default="roles")
    options = parser.parse_args(arguments)
    ending = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    with FakeProvider(SCRIPTS[options.script], latency=options.latency, port=options.port) as provider:
        print(provider.base_url, flush=True)
        signal.sigwait(ending)


if __name__ == "__main__":
    main()
