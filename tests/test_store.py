"""The workspace survives kills, names outputs by content and has one writer at a time."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from ccfw.errors import StoreError
from ccfw.records import Message, Record
from ccfw.store import Output, RecordFile, digest, done_ids, fingerprint, read_records, write_atomically

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
            "1 validation error for Note text Field required",
            id="missing-field",
        ),
        pytest.param(
            b"not json", "1 validation error for Note Invalid JSON: expected ident at line 1 column 2", id="junk"
        ),
        pytest.param(
            b"", "1 validation error for Note Invalid JSON: EOF while parsing a value at line 2 column 0", id="blank"
        ),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "r.jsonl"
    write(path, [note("a")])
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(StoreError) as caught:
        list(read_records(path, Note))
    assert str(caught.value).startswith(f"{path}:2: not a Note record: {reason}")
    assert "\n" not in str(caught.value)


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
