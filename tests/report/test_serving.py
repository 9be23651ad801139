"""The server shows conversations to this machine's browser, and refuses whatever else it is asked."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from urllib.parse import urlencode

import pytest

from ccfw.errors import StoreError
from ccfw.report.reader_index import Filter, Index, Ints, indexed, meeting
from ccfw.report.serving import HOST, Desk, serve
from tests.report.shelves import entry

SAID = ("hello there", "good MORNING", "hello again", "สวัสดี")


@dataclass
class Shelf:
    """Conversations of one text each."""

    index: Index
    looked: list[int] = field(default_factory=list)

    def meeting(self, wanted: Filter) -> Ints:
        return meeting(self.index, wanted)

    def says(self, place: int, needle: str) -> bool:
        self.looked.append(place)
        return needle in SAID[place].lower()

    def chunk(self, places: Sequence[int]) -> bytes:
        if places == [2]:
            raise StoreError("records.jsonl: changed while it was in use; run the same line again")
        return json.dumps([SAID[place] for place in places]).encode()


class Served:
    """A server in a thread of its own."""

    def __init__(self, look_s: float = 8.0) -> None:
        models = ("Amber", "Amber", "Birch\x1b", "Amber")
        self.shelf = Shelf(indexed([entry(place, model=model) for place, model in enumerate(models)]))
        self.address = ""
        self._look_s, self._told = look_s, Event()
        self._loop, self._ended = asyncio.new_event_loop(), asyncio.Event()
        self._thread = Thread(target=self._run)

    def _run(self) -> None:
        desk = Desk(self.shelf, "<!doctype html><title>page</title>", self._look_s)
        self._loop.run_until_complete(serve(desk, 0, self._tell, self._ended.wait))
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def _tell(self, address: str) -> None:
        self.address = address
        self._told.set()

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._told.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(20)
        assert not self._thread.is_alive()

    @property
    def port(self) -> int:
        return int(self.address.rstrip("/").rpartition(":")[2])

    def ask(self, path: str, method: str = "GET", host: str | None = None) -> tuple[int, http.client.HTTPMessage, str]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=20)
        try:
            connection.request(method, path, headers={"Host": host} if host is not None else {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def find(self, **query: object) -> dict[str, object]:
        status, _, body = self.ask(f"/episodes?{urlencode(query)}")
        assert status == 200, body
        found: dict[str, object] = json.loads(body)
        return found

    def places(self, **query: object) -> list[int]:
        rows = self.find(**query)["rows"]
        assert isinstance(rows, list)
        return [row["n"] for row in rows]


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as server:
        yield server


def test_the_page_and_the_conversations_are_served(served: Served) -> None:
    assert served.address.startswith("http://127.0.0.1:")
    status, headers, body = served.ask("/")
    assert (status, headers["Content-Type"], body) == (
        200,
        "text/html; charset=utf-8",
        "<!doctype html><title>page</title>",
    )
    status, headers, body = served.ask("/episodes/3")
    assert (status, headers["Content-Type"], json.loads(body)) == (200, "application/json", ["สวัสดี"])


def test_a_part_of_what_meets_a_filter_comes_with_how_many_do(served: Served) -> None:
    assert served.places(model="Amber") == [0, 1, 3]
    found = served.find(model="Amber", **{"from": 1, "count": 1})
    assert (found["total"], found["searched"]) == (3, None)
    assert served.places(model="Amber", **{"from": 1, "count": 1}) == [1]
    assert served.places(model="nobody") == []


def test_rows_leave_with_marks_in_place_of_control_characters(served: Served) -> None:
    rows = served.find(**{"from": 2, "count": 1})["rows"]
    assert isinstance(rows, list)
    assert rows[0]["model"] == "Birch⟨U+001B⟩"


def test_a_text_is_looked_for_once_in_what_meets_the_rest_of_the_filter(served: Served) -> None:
    assert served.places(text="Hello", model="Amber") == [0]
    assert served.places(text="Hello", model="Amber", **{"from": 1}) == []
    assert served.shelf.looked == [0, 1, 3]


def test_a_search_that_takes_long_says_how_far_it_came() -> None:
    with Served(look_s=-1.0) as served:
        found = served.find(text="hello")
    assert found == {
        "total": 0,
        "rows": [],
        "searched": "the text was looked for in the first 0 of 4; choose fewer to search all",
    }


FOREIGN = ("evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:{port}")


@pytest.mark.parametrize("host", FOREIGN)
def test_another_name_for_this_machine_is_refused(served: Served, host: str) -> None:
    for path in ("/", "/episodes", "/episodes/0"):
        status, headers, body = served.ask(path, host=host.format(port=served.port))
        assert (status, body) == (403, "this server answers to its own address only")
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_its_own_names_are_answered(served: Served, name: str) -> None:
    assert served.ask("/", host=f"{name}:{served.port}")[0] == 200


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/episodes/4", 404, "there is no conversation 4"),
        ("/episodes/-1", 404, "Not Found"),
        ("/episodes/99999999999999999999", 404, "Not Found"),
        ("/../../etc/passwd", 404, "Not Found"),
        ("/episodes?count=0", 400, "count: Input should be greater than or equal to 1"),
        ("/episodes?count=100000", 400, "count: Input should be less than or equal to 200"),
        ("/episodes?from=-1", 400, "from: Input should be greater than or equal to 0"),
        ("/episodes?least=nan", 400, "least: Input should be a finite number"),
        ("/episodes?order=best", 400, "order: Input should be 'listed', 'lowest' or 'highest'"),
        ("/episodes?path=x", 400, "path: Extra inputs are not permitted"),
    ],
)
def test_what_is_not_there_or_makes_no_sense_is_said(served: Served, path: str, status: int, body: str) -> None:
    found = served.ask(path)
    assert (found[0], found[2]) == (status, body)


def test_a_file_that_changed_meanwhile_is_said(served: Served) -> None:
    status, _, body = served.ask("/episodes/2")
    assert (status, body) == (500, "records.jsonl: changed while it was in use; run the same line again")


def test_a_score_that_does_not_exist_is_said_with_those_that_do(served: Served) -> None:
    status, _, body = served.ask("/episodes?score=wit")
    assert status == 400
    assert body.startswith("score: Value error, no such score; there are 3h, helpful, honest, harmless, tdq")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_written(served: Served, method: str) -> None:
    assert served.ask("/episodes/0", method)[0] == 405


def test_answers_are_kept_from_other_pages(served: Served) -> None:
    for path in ("/", "/episodes", "/episodes/0", "/nothing"):
        headers = served.ask(path)[1]
        assert {
            name: headers[name] for name in ("X-Frame-Options", "Cross-Origin-Resource-Policy", "Cache-Control")
        } == {
            "X-Frame-Options": "DENY",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }
        assert headers["Access-Control-Allow-Origin"] is None
