"""The server shows conversations to this machine's browser, and refuses whatever else it is asked."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from urllib.parse import urlencode

import pytest

from ccfw.errors import StoreError
from ccfw.report.reader_index import Filter, Index, Ints, indexed, meeting
from ccfw.report.serving import HOST, Desk, names_of, serve
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

    def __init__(self, look_s: float = 8.0, shelf: Shelf | None = None) -> None:
        models = ("Amber", "Amber", "Birch\x1b", "Amber")
        self.shelf = shelf or Shelf(indexed([entry(place, model=model) for place, model in enumerate(models)]))
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

    def begin(self, path: str) -> socket.socket:
        """Ask without waiting for an answer."""
        connection = socket.create_connection((HOST, self.port), timeout=20)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {HOST}:{self.port}\r\n\r\n".encode())
        return connection

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
        "at": None,
    }


def test_where_a_dialogue_stands_among_those_that_are_found_is_said(served: Served) -> None:
    assert served.find(model="Amber", at=3)["at"] == 2
    assert served.find(model="Amber", at=2)["at"] is None
    assert served.find(model="Amber", at=99999)["at"] is None
    assert served.find(model="Amber")["at"] is None


class Long(Shelf):
    """More conversations than a search gets through before anything else is asked; the search may be held up."""

    def __init__(self, count: int = 100_000) -> None:
        super().__init__(indexed([entry(place) for place in range(count)]))
        self.begun, self.go_on = Event(), Event()
        self.go_on.set()

    def says(self, place: int, needle: str) -> bool:
        self.looked.append(place)
        self.begun.set()
        assert self.go_on.wait(20)
        return False

    def chunk(self, places: Sequence[int]) -> bytes:
        return json.dumps(list(places)).encode()


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a search pause after every conversation."""
    monkeypatch.setattr("ccfw.report.serving._MOMENT_S", 0.0)


@pytest.mark.usefixtures("one_by_one")
def test_what_is_opened_does_not_wait_for_a_search_to_end() -> None:
    shelf = Long()
    with Served(shelf=shelf, look_s=3600) as served:
        hanging = served.begin("/episodes?text=a")
        assert shelf.begun.wait(20)
        assert json.loads(served.ask("/episodes/7")[2]) == [7]
        assert served.places(model="nobody") == []
        assert len(shelf.looked) < 100_000
        hanging.close()


@pytest.mark.usefixtures("one_by_one")
def test_a_search_that_nobody_waits_for_any_more_ends() -> None:
    shelf = Long()
    shelf.go_on.clear()
    with Served(shelf=shelf, look_s=3600) as served:
        hanging = served.begin("/episodes?text=a")
        assert shelf.begun.wait(20)
        hanging.close()
        for _ in range(3):  # until the server has met the end of the connection
            assert served.ask("/")[0] == 200
        shelf.go_on.set()
        assert json.loads(served.ask("/episodes/7")[2]) == [7]
        assert shelf.looked == [0]


@pytest.mark.usefixtures("one_by_one")
def test_the_latest_search_is_the_first_to_end() -> None:
    shelf = Long(20_000)
    ended: list[str] = []
    with Served(shelf=shelf, look_s=3600) as served:

        def search(text: str) -> None:
            served.find(text=text)
            ended.append(text)

        first = Thread(target=search, args=("first",))
        first.start()
        assert shelf.begun.wait(20)
        latest = Thread(target=search, args=("latest",))
        latest.start()
        for thread in (first, latest):
            thread.join(60)
    assert ended == ["latest", "first"]


@pytest.mark.usefixtures("one_by_one")
def test_a_search_does_not_keep_the_server_from_ending() -> None:
    shelf = Long()
    with Served(shelf=shelf, look_s=3600) as served:
        hanging = served.begin("/episodes?text=a")
        assert shelf.begun.wait(20)
    assert len(shelf.looked) < 100_000
    hanging.close()


GARBAGE = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
    b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    b"GET /episodes?text=" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nContent-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"\x00" * 50,
)


@pytest.mark.parametrize("sent", GARBAGE, ids=range(len(GARBAGE)))
def test_what_is_no_http_is_answered_and_leaves_no_trace_on_the_terminal(
    served: Served, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], sent: bytes
) -> None:
    with socket.create_connection((HOST, served.port), timeout=20) as connection:
        connection.sendall(sent)
        assert connection.recv(400).startswith(b"HTTP/1.0 400")
    assert served.ask("/")[0] == 200
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_a_browser_leaves_out_the_port_that_http_has_by_default() -> None:
    assert names_of(80) == {"127.0.0.1", "localhost", "127.0.0.1:80", "localhost:80"}
    assert names_of(8080) == {"127.0.0.1:8080", "localhost:8080"}


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


NOWHERE = "there is nothing at this address; the dialogues are at /"


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/episodes/4", 404, "there is no dialogue 4; they are numbered from 0 to 3"),
        ("/episodes/-1", 404, NOWHERE),
        ("/episodes/99999999999999999999", 404, NOWHERE),
        ("/../../etc/passwd", 404, NOWHERE),
        ("/favicon.ico", 404, NOWHERE),
        ("/episodes?count=0", 400, "count: Input should be greater than or equal to 1"),
        ("/episodes?count=100000", 400, "count: Input should be less than or equal to 200"),
        ("/episodes?from=-1", 400, "from: Input should be greater than or equal to 0"),
        ("/episodes?least=nan", 400, "least: Input should be a finite number"),
        ("/episodes?at=-1", 400, "at: Input should be greater than or equal to 0"),
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
