"""The fake provider's files and batches: OpenAI's endpoints, scripted to end well or badly.

``BatchProvider`` answers the lines of a batch by the script that answers chats; ``requests`` holds the chats alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

from aiohttp import web

from tests.fakes.faults import Fault, Script, error_payload, fault_payload
from tests.fakes.provider import FakeProvider, FakeReply, FakeRequest
from tests.fakes.scripts import play_assistant
from tests.fakes.wire import CREATED

_INVALID = "invalid_request_error"


@dataclass(frozen=True)
class BatchPlan:
    """How every batch goes; lines are counted from 0 in the input file's order."""

    polls: int = 1
    """Looks at which a batch is still in progress."""
    ending: Literal["completed", "expired", "failed"] = "completed"
    answered: float = 1.0
    """Share of the lines, from the first, that an expired or cancelled batch has answered."""
    errored: frozenset[int] = frozenset()
    """Lines that end in the error file with status 500."""
    doubled: frozenset[int] = frozenset()
    """Lines that stand twice in the output, the second time with another text."""
    silent: frozenset[int] = frozenset()
    """Lines that stand in no file."""
    stray: tuple[str, ...] = ()
    """Lines of the output as they are, besides the answers."""
    shuffled: bool = False
    cancels: bool = True
    """Whether a cancelled batch ends."""


@dataclass
class FakeBatch:
    """One batch."""

    id: str
    file: str
    status: str
    polls: int = 0
    output_file: str | None = None
    error_file: str | None = None


@dataclass
class BatchTraffic:
    """What the file and batch endpoints were asked, in order: method and path without the version."""

    calls: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    """The bearer tokens."""


class BatchProvider(FakeProvider):
    """A fake provider with files and batches."""

    def __init__(self, script: Script = play_assistant, batch_plan: BatchPlan | None = None, **options: Any) -> None:
        super().__init__(script, **options)
        self.batch_plan = batch_plan or BatchPlan()
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, FakeBatch] = {}
        self.traffic = BatchTraffic()
        self.faults: dict[str, list[Fault]] = {}
        """By call, such as ``POST /batches``: faults that strike after the call has had its effect."""

    def calls(self, name: str) -> int:
        """Return how often a call was made, such as ``POST /files``."""
        return self.traffic.calls.count(name)

    def lines(self, batch: FakeBatch) -> list[dict[str, Any]]:
        """Return the input lines of a batch."""
        return [json.loads(line) for line in self.files[batch.file].splitlines()]

    def _app(self) -> web.Application:
        app = super()._app()
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{id}/content", self._content)
        app.router.add_post("/v1/batches", self._create)
        app.router.add_get("/v1/batches", self._list)
        app.router.add_get("/v1/batches/{id}", self._retrieve)
        app.router.add_post("/v1/batches/{id}/cancel", self._cancel)
        return app

    def _said(self, http: web.Request, name: str, content: Mapping[str, Any] | bytes) -> web.Response:
        self.traffic.calls.append(name)
        self.traffic.keys.add(http.headers.get("Authorization", "").removeprefix("Bearer "))
        planned = self.faults.get(name)
        if planned:
            payload = fault_payload(planned.pop(0), FakeRequest({}, {}, 0, 0, 0.0))
            return web.Response(status=payload.status, body=payload.body, content_type=payload.content_type)
        if isinstance(content, bytes):
            return web.Response(body=content, content_type="application/jsonl")
        return web.json_response(content)

    def _unknown(self, http: web.Request, name: str) -> web.Response:
        self.traffic.calls.append(name)
        payload = error_payload(404, f"No such object: {http.match_info['id']}", _INVALID, None)
        return web.Response(status=404, body=payload.body, content_type=payload.content_type)

    async def _upload(self, http: web.Request) -> web.Response:
        form = await http.post()
        part = form["file"]
        assert isinstance(part, web.FileField)
        content = part.file.read()
        name = self._store(content)
        about = {"object": "file", "bytes": len(content), "created_at": CREATED, "filename": part.filename}
        return self._said(http, "POST /files", {"id": name, "purpose": form["purpose"], "status": "processed", **about})

    async def _content(self, http: web.Request) -> web.Response:
        name = http.match_info["id"]
        if name not in self.files:
            return self._unknown(http, "GET /files")
        return self._said(http, "GET /files", self.files[name])

    async def _create(self, http: web.Request) -> web.Response:
        asked = await http.json()
        assert (asked["endpoint"], asked["completion_window"]) == ("/v1/chat/completions", "24h")
        assert asked["input_file_id"] in self.files
        batch = FakeBatch(f"batch_{len(self.batches)}", asked["input_file_id"], "validating")
        self.batches[batch.id] = batch
        return self._said(http, "POST /batches", _shown(batch))

    async def _list(self, http: web.Request) -> web.Response:
        data = [_shown(batch) for batch in reversed(self.batches.values())]
        return self._said(http, "GET /batches", {"object": "list", "data": data, "has_more": False})

    async def _retrieve(self, http: web.Request) -> web.Response:
        batch = self.batches.get(http.match_info["id"])
        if batch is None:
            return self._unknown(http, "GET /batches/id")
        self._advance(batch)
        return self._said(http, "GET /batches/id", _shown(batch))

    async def _cancel(self, http: web.Request) -> web.Response:
        batch = self.batches[http.match_info["id"]]
        batch.status = "cancelling"
        return self._said(http, "POST /batches/id/cancel", _shown(batch))

    def _store(self, content: bytes) -> str:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return name

    def _advance(self, batch: FakeBatch) -> None:
        """Take a batch one look further."""
        plan = self.batch_plan
        if batch.status == "cancelling" and plan.cancels:
            self._end(batch, "cancelled")
        elif batch.status in ("validating", "in_progress"):
            batch.polls += 1
            batch.status = "in_progress"
            if batch.polls > plan.polls:
                self._end(batch, plan.ending)

    def _end(self, batch: FakeBatch, status: str) -> None:
        batch.status = status
        if status == "failed":
            return
        plan, lines = self.batch_plan, self.lines(batch)
        most = len(lines) if status == "completed" else int(len(lines) * plan.answered)
        output, errors = list(plan.stray), []
        for number, line in enumerate(lines):
            if number in plan.silent:
                continue
            if number >= most:
                error = {"code": "batch_expired", "message": "This request could not be executed in time."}
                errors.append(_line(line, None, error))
            elif number in plan.errored:
                failed = {"error": {"message": "The server had an error.", "type": "server_error"}}
                errors.append(_line(line, {"status_code": 500, "request_id": "r", "body": failed}, None))
            else:
                output.append(_line(line, self._answered(line["body"]), None))
                if number in plan.doubled:
                    output.append(_line(line, self._answered(line["body"], "the second time"), None))
        if plan.shuffled:
            Random(0).shuffle(output)
        batch.output_file = self._store("\n".join(output).encode() + b"\n") if output else None
        batch.error_file = self._store("\n".join(errors).encode() + b"\n") if errors else None

    def _answered(self, body: Mapping[str, Any], text: str | None = None) -> dict[str, Any]:
        request = FakeRequest(body, {}, 0, 0, time.monotonic())
        answer = self._ask(request) if text is None else FakeReply(text)
        if isinstance(answer, FakeReply):
            return {"status_code": 200, "request_id": "r", "body": answer.completion(request)}
        payload = fault_payload(answer, request)
        return {"status_code": payload.status, "request_id": "r", "body": json.loads(payload.body)}


def _line(asked: Mapping[str, Any], response: Mapping[str, Any] | None, error: Mapping[str, Any] | None) -> str:
    content = {"id": "batch_req", "custom_id": asked["custom_id"], "response": response, "error": error}
    return json.dumps(content, ensure_ascii=False)


def _shown(batch: FakeBatch) -> dict[str, Any]:
    errors = None
    if batch.status == "failed":
        fault = {
            "code": "token_limit_exceeded",
            "message": "Enqueued token limit reached.",
            "line": None,
            "param": None,
        }
        errors = {"object": "list", "data": [fault]}
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "input_file_id": batch.file,
        "completion_window": "24h",
        "status": batch.status,
        "created_at": CREATED,
        "output_file_id": batch.output_file,
        "error_file_id": batch.error_file,
        "errors": errors,
    }
