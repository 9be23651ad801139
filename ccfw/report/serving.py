"""A page's conversations over HTTP, to the browser of this machine: read-only, and under no other name of it."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import orjson
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ccfw.errors import CcfwError
from ccfw.report.page import printables
from ccfw.report.reader_index import SCORES, Filter, Index, Ints
from ccfw.terminal import printable

log = logging.getLogger(__name__)
HOST = "127.0.0.1"
_HTTP = 80
_MOST = 200
"""Rows of one answer."""
_LOOK_S = 8.0
"""How long a text is looked for before what was found is shown; what others are answered in between does not count."""
_MOMENT_S = 0.05
"""How long a text is looked for without a break."""
_KEPT = 16
"""Filters whose finds are kept, so that turning a page does not look for a text again."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Library(Protocol):
    """Conversations that are listed, searched and opened, by one thread at a time."""

    @property
    def index(self) -> Index:
        """What the list says of every conversation."""
        ...

    def says(self, place: int, needle: str) -> bool:
        """Whether anyone in a conversation says something; ``needle`` is in lower case."""
        ...

    def chunk(self, places: Sequence[int]) -> bytes:
        """Return some as JSON (``ccfw.report.reader.chunk``)."""
        ...

    def meeting(self, wanted: Filter) -> Ints:
        """Return the places of those that meet a filter but for its text."""
        ...


def _known(score: str) -> str:
    if score not in SCORES:
        raise ValueError(f"no such score; there are {', '.join(SCORES)}")
    return score


class _Query(BaseModel):
    """What the page asks for: a filter and a part of what meets it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    model: str | None = None
    region: str | None = None
    identity: str | None = None
    tier: str | None = None
    language: str | None = None
    ended: str | None = None
    fault: str | None = None
    clean: Literal["yes", "no", "unknown"] | None = None
    score: Annotated[str, AfterValidator(_known)] = SCORES[0]
    least: float | None = None
    most: float | None = None
    order: Literal["listed", "lowest", "highest"] = "listed"
    text: Annotated[str, Field(max_length=1000)] = ""
    start: Annotated[int, Field(ge=0, alias="from")] = 0
    at: Annotated[int | None, Field(ge=0)] = None
    """A dialogue whose place among those that are found is asked for."""
    count: Annotated[int, Field(ge=1, le=_MOST)] = 40

    @property
    def filter(self) -> Filter:
        return Filter(**self.model_dump(exclude={"start", "count", "at"}))


class _Finds(NamedTuple):
    places: Ints
    searched: str | None
    """What to say of a search that was cut short."""


class _Look(NamedTuple):
    """What came of looking for a moment."""

    looked: int
    places: list[int]
    seconds: float


T = TypeVar("T")


class _Turns:
    """One thread for all who ask: the latest has it whenever no work is under way in it."""

    def __init__(self) -> None:
        self._asked = itertools.count()
        self._holder: _Turn | None = None
        self._waiting: dict[_Turn, asyncio.Future[None]] = {}

    @contextmanager
    def turn(self) -> Iterator[_Turn]:
        """Stand in line; who hangs up leaves it."""
        turn = _Turn(self, next(self._asked))
        try:
            yield turn
        finally:
            self._leave(turn)

    async def take(self, turn: _Turn) -> None:
        """Wait until the thread is this one's, which may have to hand it to one that asked later."""
        if self._holder is turn and all(other.number < turn.number for other in self._waiting):
            return
        if self._holder is None:
            self._holder = turn
            return
        mine = self._waiting[turn] = asyncio.get_running_loop().create_future()
        if self._holder is turn:
            self._pass_on()
        try:
            await mine
        finally:
            self._waiting.pop(turn, None)

    def _leave(self, turn: _Turn) -> None:
        if self._holder is not turn:
            return
        if turn.job is None or turn.job.done():
            self._pass_on()
        else:  # whoever asked has hung up, and a thread cannot be stopped
            turn.job.add_done_callback(self._over)

    def _over(self, job: asyncio.Future[Any]) -> None:
        if not job.cancelled():
            job.exception()  # nobody else reads it
        self._pass_on()

    def _pass_on(self) -> None:
        there = [turn for turn, given in self._waiting.items() if not given.done()]
        self._holder = max(there, key=lambda turn: turn.number, default=None)
        if self._holder is not None:
            self._waiting.pop(self._holder).set_result(None)


class _Turn:
    """One who asks, and the work that is being done for it."""

    def __init__(self, line: _Turns, number: int) -> None:
        self.number = number
        self.job: asyncio.Future[Any] | None = None
        self._line = line

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return what the work returns, once it is this one's turn."""
        await self._line.take(self)
        job = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
        self.job = job
        return await asyncio.shield(job)


class Desk:
    """Answers the page's questions, the latest first; a text is looked for a moment at a time in between."""

    def __init__(self, library: Library, page: str, look_s: float = _LOOK_S) -> None:
        self._library, self._page, self._look_s = library, page, look_s
        self._turns = _Turns()
        self._kept: OrderedDict[Filter, _Finds] = OrderedDict()

    def application(self, port: Callable[[], int]) -> web.Application:
        """Return the server's routes; requests that do not name this host and port are refused."""
        application = web.Application(middlewares=[_guard(port)])
        application.router.add_get("/", self._front)
        application.router.add_get("/episodes", self._find)
        application.router.add_get(r"/episodes/{n:\d{1,9}}", self._open)
        application.router.add_get("/{elsewhere:.*}", self._nothing)
        return application

    async def _front(self, _: web.Request) -> web.Response:
        return web.Response(text=self._page, content_type="text/html", charset="utf-8")

    async def _find(self, request: web.Request) -> web.Response:
        try:
            query = _Query.model_validate(dict(request.query))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            return web.Response(status=400, text=f"{where}: {first['msg']}")
        finds = await self._finds(query.filter)
        some = finds.places[query.start : query.start + query.count].tolist()
        rows = [self._library.index.row(place) for place in some]
        at = np.flatnonzero(finds.places == query.at).tolist() if query.at is not None else []
        found = {"total": len(finds.places), "rows": rows, "searched": finds.searched, "at": at[0] if at else None}
        return _json(orjson.dumps(printables(found)))

    async def _open(self, request: web.Request) -> web.Response:
        place = int(request.match_info["n"])
        if place >= len(self._library.index):
            count = len(self._library.index)
            return web.Response(
                status=404, text=f"there is no dialogue {place}; they are numbered from 0 to {count - 1}"
            )
        with self._turns.turn() as turn:
            return _json(await turn.run(self._library.chunk, [place]))

    async def _nothing(self, _: web.Request) -> web.Response:
        return web.Response(status=404, text="there is nothing at this address; the dialogues are at /")

    async def _finds(self, wanted: Filter) -> _Finds:
        if wanted not in self._kept:
            with self._turns.turn() as turn:
                self._kept[wanted] = await self._searched(wanted, turn)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return self._kept[wanted]

    async def _searched(self, wanted: Filter, turn: _Turn) -> _Finds:
        places = await turn.run(self._library.meeting, wanted)
        if not wanted.text:
            return _Finds(places, None)
        needle, listed, done, looked_s = wanted.text.lower(), places.tolist(), 0, 0.0
        found: list[int] = []
        while done < len(listed):
            if looked_s > self._look_s:
                cut = f"the text was looked for in the first {done:,} of {len(listed):,}; choose fewer to search all"
                return _Finds(np.array(found, dtype=np.int64), cut)
            some = await turn.run(self._look, listed, done, needle)
            done, looked_s = done + some.looked, looked_s + some.seconds
            found += some.places
        return _Finds(np.array(found, dtype=np.int64), None)

    def _look(self, places: Sequence[int], start: int, needle: str) -> _Look:
        """Look for a text from one place on, for a moment: whoever asks something else meanwhile does not wait."""
        began, found, looked = time.monotonic(), [], 0
        while start + looked < len(places) and (not looked or time.monotonic() - began < _MOMENT_S):
            place = places[start + looked]
            if self._library.says(place, needle):
                found.append(place)
            looked += 1
        return _Look(looked, found, time.monotonic() - began)


def _json(content: bytes) -> web.Response:
    return web.Response(body=content, content_type="application/json")


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _guard(port: Callable[[], int]) -> Any:
    """Refuse what names another host, as a page elsewhere does whose name was pointed at this machine."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.headers.get("Host") not in names_of(port()):
            response: web.StreamResponse = web.Response(status=403, text="this server answers to its own address only")
        else:
            try:
                response = await handler(request)
            except web.HTTPException as error:
                response = web.Response(status=error.status, text=error.reason)
            except (CcfwError, OSError) as error:  # what is read may be changed by others meanwhile
                response = web.Response(status=500, text=printable(str(error)))
        response.headers.update(_HEADERS)
        return response

    return guard


def names_of(port: int) -> set[str]:
    """Return what browsers call this server; they leave out the port that HTTP has by default."""
    return {f"{name}{end}" for name in (HOST, "localhost") for end in (f":{port}", *([""] if port == _HTTP else []))}


class _NoGarbage(logging.Filter):
    """Drops complaints over what is no HTTP: whoever sent it is answered, and nobody here can do anything about it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a complaint is about anything else."""
        return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


log.addFilter(_NoGarbage())


async def serve(desk: Desk, port: int, ready: Callable[[str], None], until: Callable[[], Awaitable[object]]) -> None:
    """Serve until ``until()`` is over; ``ready`` is told the address. Raises ``OSError`` for a port that is taken."""
    bound = port
    application = desk.application(lambda: bound)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0, handler_cancellation=True, logger=log)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port)
        await site.start()
        bound = runner.addresses[0][1]
        ready(f"http://{HOST}:{bound}/")
        await until()
    finally:
        await runner.cleanup()
