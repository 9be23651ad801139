"""A provider that is no bottleneck: chat completions with a fixed latency and ready-made replies.

``python -m benchmarks.server REPLIES.json`` prints its root URL and serves until it is told to stop; the base URL of a
client says how long each reply takes: ``ROOT/lat/MILLISECONDS/v1``. The file maps words, one of which stands in each
request (the name of a schema), to texts. It runs on uvloop where that is installed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

_END = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"


def response(text: str) -> bytes:
    """Return the HTTP response whose message is the text, as OpenAI would send it."""
    message = {"role": "assistant", "content": text, "refusal": None}
    body = json.dumps(
        {
            "id": "chatcmpl-fake",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
            "usage": {"prompt_tokens": 1800, "completion_tokens": 96, "total_tokens": 1896},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Conversation(asyncio.Protocol):
    """One connection: requests in, each answered after the latency that its path names."""

    def __init__(self, replies: Mapping[bytes, bytes]) -> None:
        self.replies = replies
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep where replies go."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        self.buffer += data
        while (end := self.buffer.find(_END)) >= 0:
            head = self.buffer[:end].lower()
            _, found, after = head.partition(_LENGTH)
            whole = end + len(_END) + (int(after.partition(b"\r\n")[0]) if found else 0)
            if len(self.buffer) < whole:
                return
            body, self.buffer = self.buffer[end:whole], self.buffer[whole:]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        named = (reply for word, reply in self.replies.items() if word in body)
        reply = next(named, next(iter(self.replies.values())))
        latency = float(head.partition(b"/lat/")[2].partition(b"/")[0] or 0) / 1e3
        if latency:
            asyncio.get_running_loop().call_later(latency, self._send, reply)
        else:
            self._send(reply)

    def _send(self, reply: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(reply)


async def serve(replies: Mapping[bytes, bytes]) -> None:
    """Serve for ever on a free port of 127.0.0.1."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Conversation(replies), "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run on the fastest loop that there is."""
    (import_module("uvloop") if find_spec("uvloop") else asyncio).run(main)


if __name__ == "__main__":
    texts: dict[str, str] = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    run(serve({word.encode(): response(text) for word, text in texts.items()}))
