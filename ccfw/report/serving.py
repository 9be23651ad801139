"""A page's conversations over HTTP, to the browser of this machine: read-only, and under no other name of it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import numpy as np
import orjson
from aiohttp import web
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ccfw.errors import CcfwError
from ccfw.report.page import printables
from ccfw.report.reader_index import SCORES, Filter, Index, Ints
from ccfw.terminal import printable

HOST = "127.0.0.1"
_MOST = 200
"""Rows of one answer."""
_LOOK_S = 8.0
"""How long a text is looked for before what was found is shown."""
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
    count: Annotated[int, Field(ge=1, le=_MOST)] = 40

    @property
    def filter(self) -> Filter:
        return Filter(**self.model_dump(exclude={"start", "count"}))


class _Finds(NamedTuple):
    places: Ints
    searched: str | None
    """What to say of a search that was cut short."""


class Desk:
    """Answers the page's questions, one at a time."""

    def __init__(self, library: Library, page: str, look_s: float = _LOOK_S) -> None:
        self._library, self._page, self._look_s = library, page, look_s
        self._one = asyncio.Lock()
        self._kept: OrderedDict[Filter, _Finds] = OrderedDict()

    def application(self, port: Callable[[], int]) -> web.Application:
        """Return the server's routes; requests that do not name this host and port are refused."""
        application = web.Application(middlewares=[_guard(port)])
        application.router.add_get("/", self._front)
        application.router.add_get("/episodes", self._find)
        application.router.add_get(r"/episodes/{n:\d{1,9}}", self._open)
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
        finds = await self._alone(self._finds, query.filter)
        some = finds.places[query.start : query.start + query.count].tolist()
        rows = [self._library.index.row(place) for place in some]
        return _json(orjson.dumps(printables({"total": len(finds.places), "rows": rows, "searched": finds.searched})))

    async def _open(self, request: web.Request) -> web.Response:
        place = int(request.match_info["n"])
        if place >= len(self._library.index):
            return web.Response(status=404, text=f"there is no conversation {place}")
        return _json(await self._alone(self._library.chunk, [place]))

    async def _alone(self, work: Callable[..., Any], *arguments: Any) -> Any:
        async with self._one:
            return await asyncio.to_thread(work, *arguments)

    def _finds(self, wanted: Filter) -> _Finds:
        if wanted not in self._kept:
            self._kept[wanted] = self._searched(wanted)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return self._kept[wanted]

    def _searched(self, wanted: Filter) -> _Finds:
        places = self._library.meeting(wanted)
        if not wanted.text:
            return _Finds(places, None)
        needle, until = wanted.text.lower(), time.monotonic() + self._look_s
        found: list[int] = []
        for done, place in enumerate(places.tolist()):
            if time.monotonic() > until:
                cut = f"the text was looked for in the first {done:,} of {len(places):,}; choose fewer to search all"
                return _Finds(np.array(found, dtype=np.int64), cut)
            if self._library.says(place, needle):
                found.append(place)
        return _Finds(np.array(found, dtype=np.int64), None)


def _json(content: bytes) -> web.Response:
    return web.Response(body=content, content_type="application/json")


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _guard(port: Callable[[], int]) -> Any:
    """Refuse what names another host, as a page elsewhere does whose name was pointed at this machine."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.headers.get("Host") not in {f"{HOST}:{port()}", f"localhost:{port()}"}:
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


async def serve(desk: Desk, port: int, ready: Callable[[str], None], until: Callable[[], Awaitable[object]]) -> None:
    """Serve until ``until()`` is over; ``ready`` is told the address. Raises ``OSError`` for a port that is taken."""
    bound = port
    runner = web.AppRunner(desk.application(lambda: bound), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port)
        await site.start()
        bound = runner.addresses[0][1]
        ready(f"http://{HOST}:{bound}/")
        await until()
    finally:
        await runner.cleanup()
