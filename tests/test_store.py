"""The workspace survives kills, names outputs by content and has one writer at a time."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from ccfw import store
from ccfw.errors import StoppedError, StoreError
from ccfw.records import Message, Record
from ccfw.stop import Stop
from ccfw.store import (
    Output,
    RecordFile,
    StoredRecords,
    digest,
    done_ids,
    fingerprint,
    read_records,
    write_atomically,
)

KILLED = -signal.SIGKILL


class Note(Record):
    note_id: str
    text: str
    other: dict[str, str] = Field(default_factory=dict)


def note(note_id: str, text: str = "t") -> Note:
    return Note(note_id=note_id, text=text)


def write(path: Path, notes: list[Note]) -> None:
    with RecordFile(path) as records:
        for each in notes:
            records.append(each)


def python(source: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", source, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_records_come_back_in_the_order_written(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "records.jsonl"
    write(path, [note("b"), note("a")])
    write(path, [note("c")])
    assert [each.note_id for each in read_records(path, Note)] == ["b", "a", "c"]


def test_a_file_that_is_not_there_holds_no_record(tmp_path: Path) -> None:
    assert list(read_records(tmp_path / "none.jsonl", Note)) == []
    assert done_ids(tmp_path / "none.jsonl") == set()


@pytest.mark.parametrize(
    "torn",
    [
        pytest.param(b'{"note_id":"b","te', id="in-the-middle"),
        pytest.param(b'{"note_id":"b","text":"t","other":{}}', id="only-the-line-break-is-missing"),
        pytest.param(b'{"note_id":"b","text":"' + b"x" * 200_000, id="longer-than-a-block"),
        pytest.param(b"\x00" * 4096, id="zeros-of-a-lost-block"),
        pytest.param('{"note_id":"b","text":"ரா'.encode()[:-1], id="inside-a-character"),
    ],
)
@pytest.mark.parametrize("before", [0, 1, 2], ids=["alone", "after-one", "after-two"])
def test_a_torn_last_line_is_dropped_and_written_again(
    tmp_path: Path, torn: bytes, before: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "records.jsonl"
    whole = [note(f"a{n}", "y" * 70_000) for n in range(before)]
    write(path, whole)
    path.write_bytes(path.read_bytes() + torn)
    assert done_ids(path) == {each.note_id for each in whole}
    assert list(read_records(path, Note)) == whole
    write(path, [note("b")])
    assert list(read_records(path, Note)) == [*whole, note("b")]
    assert caplog.messages == [f"{path}: the last line was torn by an interruption and is written again"]


def test_a_whole_file_is_opened_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "r.jsonl", [note("a")])
    write(tmp_path / "r.jsonl", [note("b")])
    assert caplog.messages == []


def test_a_record_survives_a_kill_right_after_it_was_added(tmp_path: Path) -> None:
    source = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from ccfw.records import Message\nfrom ccfw.store import RecordFile\n"
        "records = RecordFile(Path(sys.argv[1]))\n"
        "for n in range(3):\n    records.append(Message(role='user', content=str(n)))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "r.jsonl"
    process = python(source, str(path))
    process.communicate()
    assert process.returncode == KILLED
    assert [message.content for message in read_records(path, Message)] == ["0", "1", "2"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=6, unique=True))
def test_ids_by_prefix_are_the_parsed_ids(tmp_path_factory: pytest.TempPathFactory, ids: list[str]) -> None:
    path = tmp_path_factory.mktemp("ids") / "r.jsonl"
    write(path, [Note(note_id=each, text='"note_id":"x"', other={each: each}) for each in ids])
    assert done_ids(path) == set(ids) == {each.note_id for each in read_records(path, Note)}


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
PLAIN = st.text("abc_/é中", min_size=1, max_size=5)
RECORDS = (PLAIN | TEXTS).map(lambda each: (note(each).model_dump_json().encode(), each))
UNESCAPED = PLAIN.map(lambda each: (f'{{"note_id":"{each}/\t","x":"'.encode(), f"{each}/\t"))
STRANGE = st.sampled_from(
    [
        (b"", None),
        (b"not json", None),
        (b"{}", None),
        (b"[]", None),
        (b'{"note_id":1}', None),
        (b'{"note_id":"', None),
        (b'{"note_id":"a', None),
        (b'{"note_id":"a\\', None),
        (b'{"note_id":"a\\"', None),
        (b'{"note_id":"a\\x","text":"t"}', None),
        (b'{"note_id":"\xff","text":"t"}', None),
        (b'{"Note":"a"}', None),
        (b'"{"note_id":"a"}', None),
        (b'{ "note_id":"a"}', "a"),
        (b'{"note_id": "a", "text": "t"}', "a"),
        (b'{"note_id"\t:"a"}', "a"),
        (b' {"note_id": "\\u0061"}', "a"),
        (b'{"note_id":"a"', "a"),
        (b'{"note_id":"a"}\r', "a"),
        (b'{"note_id":"a","note_id":"b"}', "a"),
        (b'{"other":"a","note_id":"b"}', "a"),
        (b'{"other_name":"a","text":"x\\"}', "a"),
        (b'{"note_id":"\\u0061"}', "a"),
        (b'{"note_id":""}', ""),
    ]
)
"""Lines that somebody's editor left, each with the id that it holds."""


@given(
    lines=st.lists(RECORDS) | st.lists(RECORDS | UNESCAPED | STRANGE),
    torn=RECORDS | STRANGE | st.just((b"", None)),
    block=st.integers(1, 5),
)
def test_ids_are_those_of_whole_lines_whatever_else_stands_in_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[bytes, str | None]], torn: tuple[bytes, Any], block: int
) -> None:
    path = tmp_path_factory.mktemp("ids") / "r.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line, _ in lines) + torn[0])
    with mock.patch.object(store, "_BLOCK", block):
        assert done_ids(path) == {each for _, each in lines if each is not None}


@given(st.dictionaries(TEXTS, TEXTS, max_size=6), st.sets(TEXTS, max_size=4))
def test_the_records_of_some_ids_are_those_among_all(
    tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str], others: set[str]
) -> None:
    path = tmp_path_factory.mktemp("some") / "r.jsonl"
    write(path, [note(each, text) for each, text in texts.items()])
    wanted = others | set(list(texts)[::2])
    some = [each for each in read_records(path, Note) if each.note_id in wanted]
    assert list(read_records(path, Note, wanted)) == some
    stored = StoredRecords(path, Note, wanted)
    assert list(stored) == sorted(each.note_id for each in some)
    assert dict(stored) == {each.note_id: each for each in some}
    assert (len(stored), "\0nobody" in stored) == (len(some), False)


def test_a_record_that_nobody_asks_for_is_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    write(path, [note("a"), note("b")])
    path.write_bytes(path.read_bytes() + b'{"note_id":"c","damaged"\nnot json\n')
    assert StoredRecords(path, Note)["b"] == note("b")
    with pytest.raises(StoreError, match=f"^{re.escape(str(path))}: c: not a Note record: Invalid JSON: "):
        StoredRecords(path, Note)["c"]
    with pytest.raises(StoreError, match=f"^{re.escape(str(path))}:4: not a Note record"):
        list(read_records(path, Note, {"a"}))  # what has no id may be anybody's


def test_a_record_that_moved_is_not_taken_for_another(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    write(path, [note("a"), note("b")])
    stored = StoredRecords(path, Note)
    path.write_text(note("b").model_dump_json() + "\n", "utf-8")
    with pytest.raises(StoreError) as caught:
        stored["b"]
    assert str(caught.value) == f"{path}: changed while it was in use; run the same line again"


TWICE = "{}: a stands there twice with different content; the first counts"


@pytest.mark.parametrize(
    ("texts", "said"), [pytest.param(["t", "t"], [], id="same"), pytest.param(["t", "u", "t"], [TWICE], id="different")]
)
def test_of_records_with_one_id_the_first_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, texts: list[str], said: list[str]
) -> None:
    path = tmp_path / "r.jsonl"
    write(path, [note("b"), *(note("a", text) for text in texts)])
    assert list(read_records(path, Note)) == [note("b"), note("a")]
    assert list(read_records(path, Note, {"a"})) == [note("a")]
    assert dict(StoredRecords(path, Note)) == {"a": note("a"), "b": note("b")}
    assert caplog.messages == [line.format(path) for line in said]


def test_records_without_an_id_are_all_read(tmp_path: Path) -> None:
    with RecordFile(tmp_path / "r.jsonl") as records:
        for text in ("a", "b", "a"):
            records.append(Message(role="user", content=text))
    assert [each.content for each in read_records(tmp_path / "r.jsonl", Message)] == ["a", "b", "a"]


def test_records_of_a_file_that_is_not_there_are_none(tmp_path: Path) -> None:
    stored = StoredRecords(tmp_path / "none.jsonl", Note)
    assert (len(stored), list(stored)) == (0, [])
    with pytest.raises(KeyError):
        stored["a"]


@pytest.mark.parametrize("odd", ["a\\b", 'a"b'], ids=["backslash", "quote"])
def test_one_odd_id_among_thousands_is_found(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "r.jsonl"
    ids = [*map(str, range(2500)), odd, "last"]
    path.write_text("".join(note(each).model_dump_json() + "\n" for each in ids), "utf-8")
    assert done_ids(path) == set(ids)


WRITER = (
    "import sys\nfrom pathlib import Path\nfrom ccfw.records import Message\nfrom ccfw.store import RecordFile\n"
    "with RecordFile(Path(sys.argv[1])) as records:\n"
    "    for n in range(3000):\n"
    "        records.append(Message(role='user', content='x' * (n % 97)))\n"
)


def test_while_another_process_writes_only_whole_lines_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    writer = python(WRITER, str(path))
    seen = 0
    while writer.poll() is None:
        found = list(read_records(path, Message)) if path.exists() else []
        assert done_ids(path) <= {"user"}
        assert [len(each.content) for each in found] == [n % 97 for n in range(len(found))]
        assert len(found) >= seen
        seen = len(found)
    writer.communicate()
    assert writer.returncode == 0
    assert len(list(read_records(path, Message))) == 3000


def test_the_device_is_waited_for_in_another_thread(tmp_path: Path) -> None:
    flushed: list[int] = []

    def flush(_: int) -> None:
        flushed.append(threading.get_ident())

    with mock.patch("os.fsync", flush):
        write(tmp_path / "r.jsonl", [note(str(n)) for n in range(200)])
    *during, closing = flushed
    assert during
    assert threading.get_ident() not in during
    assert closing == threading.get_ident()


def test_a_device_that_fails_is_not_passed_over(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with mock.patch("os.fsync", side_effect=full), pytest.raises(OSError, match="No space left"):
        write(tmp_path / "r.jsonl", [note(str(n)) for n in range(40)])
    assert done_ids(tmp_path / "r.jsonl") == set(map(str, range(40)))


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param('a"b', id="quote"),
        pytest.param("a\\", id="trailing-backslash"),
        pytest.param('\\"', id="backslash-quote"),
        pytest.param('\\\\","x":"', id="json-inside"),
        pytest.param("line\nbreak\u2028\x00", id="breaks-and-nul"),
        pytest.param("தமிழ்-中文-😀", id="non-ascii"),
        pytest.param("", id="empty"),
    ],
)
def test_odd_ids_are_found_by_prefix(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "r.jsonl"
    write(path, [note(odd), note("plain")])
    assert done_ids(path) == {odd, "plain"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param(
            b'{"note_id":"b"}',
            "text: Field required",
            id="missing-field",
        ),
        pytest.param(b"not json", "Invalid JSON: expected ident at line 1 column 2", id="junk"),
        pytest.param(b"", "Invalid JSON: EOF while parsing a value at line 2 column 0", id="blank"),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "r.jsonl"
    write(path, [note("a")])
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(StoreError) as caught:
        list(read_records(path, Note))
    assert str(caught.value) == f"{path}:2: not a Note record: {reason}"


def test_an_atomic_write_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "manifest.json"
    write_atomically(path, "old")
    write_atomically(path, "தமிழ்\r\nnew\n")
    assert path.read_bytes() == "தமிழ்\r\nnew\n".encode()
    assert [each.name for each in path.parent.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("moment", ["os.fsync", "pathlib.Path.replace"], ids=["before-the-flush", "before-the-swap"])
def test_a_kill_in_an_atomic_write_leaves_the_old_file_whole(tmp_path: Path, moment: str) -> None:
    source = (
        "import os, pathlib, signal, sys\nfrom ccfw.store import write_atomically\n"
        f"{moment} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_atomically(pathlib.Path(sys.argv[1]), 'new' * 100000)\n"
    )
    path = tmp_path / "manifest.json"
    path.write_text("old", "utf-8")
    process = python(source, str(path))
    process.communicate()
    assert process.returncode == KILLED
    assert path.read_text("utf-8") == "old"


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "table.md"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \ud83d")
    assert path.read_text("utf-8") == "old"


FULL = """
import pathlib, resource, sys
from ccfw.store import write_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    write_atomically(pathlib.Path(sys.argv[1]), b"new" * 1000)
except OSError as error:
    print(error.filename)
"""


def test_a_file_that_there_is_no_room_for_is_named_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "figure.png"
    write_atomically(path, b"old")
    process = python(FULL, str(path))
    out, _ = process.communicate()
    assert (process.returncode, out.strip()) == (0, str(path))
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("figure.png", b"old")]


def test_a_fingerprint_is_the_hash_of_canonical_json() -> None:
    """``printf '{"a":"é","b":[1,null]}' | sha256sum | cut -c1-16``."""
    assert fingerprint({"b": [1, None], "a": "é"}) == "3d92f6368f93f3cb"


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 2) | st.text(max_size=2), max_size=3))
def test_a_fingerprint_does_not_depend_on_the_order_of_keys(content: dict[str, int | str]) -> None:
    assert fingerprint(dict(reversed(content.items()))) == fingerprint(content)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"model": "a", "seed": 1}, id="value"),
        pytest.param({"model": "a", "seed": "0"}, id="type"),
        pytest.param({"model": "a", "seed": None}, id="null"),
        pytest.param({"model": "a"}, id="missing-key"),
        pytest.param({"model": "a", "seed": 0, "limit": None}, id="extra-key"),
    ],
)
def test_a_fingerprint_moves_with_everything_in_it(other: dict[str, object]) -> None:
    assert fingerprint(other) != fingerprint({"model": "a", "seed": 0})


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=3), max_size=4))
def test_a_digest_depends_on_where_texts_end(parts: list[str]) -> None:
    assert digest(["".join(parts), "x"]) != digest(["".join(parts) + "x"])
    assert digest(list(parts)) == digest(iter(parts))


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    output = Output(tmp_path / "out")
    assert output.read_manifest() == {}
    with output:
        output.write_manifest({"b": "தமிழ்", "a": {"cost": None}})
    assert output.read_manifest() == {"a": {"cost": None}, "b": "தமிழ்"}
    assert list(json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))) == ["a", "b"]


def test_a_manifest_that_is_not_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{", "utf-8")
    with pytest.raises(StoreError) as caught:
        Output(tmp_path).read_manifest()
    assert str(caught.value) == (
        f"{tmp_path / 'manifest.json'}: not JSON: "
        "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("3", "int", id="number"),
        pytest.param("[1]", "list", id="list"),
        pytest.param("[]", "list", id="empty-list"),
        pytest.param('"text"', "str", id="text"),
        pytest.param("null", "NoneType", id="null"),
    ],
)
def test_a_manifest_that_is_no_object_is_named(tmp_path: Path, text: str, kind: str) -> None:
    (tmp_path / "manifest.json").write_text(text, "utf-8")
    with pytest.raises(StoreError) as caught:
        Output(tmp_path).read_manifest()
    assert str(caught.value) == f"{tmp_path / 'manifest.json'}: not a JSON object but {kind}"


HOLDER = (
    "import logging, sys\nfrom pathlib import Path\nfrom ccfw.store import Output\n"
    "logging.basicConfig(format='%(message)s', stream=sys.stdout)\n"
    "with Output(Path(sys.argv[1])):\n    print('inside', flush=True)\n    sys.stdin.read()\n"
)


def hold(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def test_a_second_writer_says_so_and_waits_for_the_first(tmp_path: Path) -> None:
    with Output(tmp_path):
        second = hold(tmp_path)
        assert first_line(second) == f"another ccfw is writing {tmp_path}: waiting for it to finish"
    assert first_line(second) == "inside"
    second.communicate("")
    assert second.returncode == 0


def test_who_waits_for_a_writer_can_be_stopped(tmp_path: Path) -> None:
    stop = Stop()
    timer = threading.Timer(0.3, stop.ask, ["SIGINT"], {"interrupted": True})
    timer.start()
    with Output(tmp_path), pytest.raises(StoppedError) as caught:
        Output(tmp_path, stop).__enter__()
    timer.join()
    assert str(caught.value) == "SIGINT"
    with Output(tmp_path, stop):
        pass  # what nobody holds is not waited for


def test_a_spent_budget_ends_no_waiting(tmp_path: Path) -> None:
    stop, entered = Stop(), threading.Event()
    stop.ask("budget=1: spent")

    def enter() -> None:
        with Output(tmp_path, stop):
            entered.set()

    waiting = threading.Thread(target=enter)
    with Output(tmp_path):
        waiting.start()
        assert not entered.wait(0.5)
    waiting.join(10)
    assert entered.is_set()


def test_the_lock_of_a_killed_writer_is_free(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = hold(tmp_path)
    assert first_line(first) == "inside"
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    with caplog.at_level(logging.WARNING, "ccfw"), Output(tmp_path):
        assert caplog.messages == []


def test_an_error_inside_frees_the_lock(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(KeyError), Output(tmp_path):
        raise KeyError
    with Output(tmp_path):
        assert caplog.messages == []
