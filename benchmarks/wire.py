"""HTTP as little as a misbehaving provider needs: whole requests in, bytes out, late, slowly or not at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import NamedTuple, cast

_END = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"


class Sent(NamedTuple):
    """What goes back to a request."""

    content: bytes | None
    """Nothing at all if empty; the end of the connection if ``None``."""
    after: float = 0.0
    """Seconds before the first byte."""
    pause: float = 0.0
    """Seconds between two bytes, if it drips."""


class Conversation(asyncio.Protocol):
    """One connection; ``answer`` is given a request's head in lower case and its body."""

    def __init__(self, answer: Callable[[bytes, bytes], Sent]) -> None:
        self.answer = answer
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
            body, self.buffer = self.buffer[end + len(_END) : whole], self.buffer[whole:]
            sent = self.answer(head, body)
            asyncio.get_running_loop().call_later(sent.after, self._send, sent)

    def _send(self, sent: Sent) -> None:
        if self.transport.is_closing():
            return
        if sent.content is None:
            self.transport.close()
        elif not sent.pause:
            self.transport.write(sent.content)
        elif sent.content:
            self.transport.write(sent.content[:1])
            rest = sent._replace(content=sent.content[1:])
            asyncio.get_running_loop().call_later(sent.pause, self._send, rest)


async def serve(answer: Callable[[bytes, bytes], Sent]) -> None:
    """Print the root URL of a free port of 127.0.0.1 and serve for ever."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Conversation(answer), "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def http(status: int, body: bytes, headers: str = "") -> bytes:
    """Return a whole response of JSON; ``headers`` are lines with their ends."""
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def error(message: str) -> bytes:
    """Return the body of an error in OpenAI's shape."""
    return json.dumps({"error": {"message": message, "type": "error", "param": None, "code": None}}).encode()
