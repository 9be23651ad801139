"""The ledger keeps every reply that was paid for, whoever writes and whoever is killed."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from ccfw.errors import StoreError
from ccfw.llm.ledger import Ledger
from ccfw.llm.types import ChatReply, Token, Usage
from ccfw.stop import Stop
from tests.samples import ROOT, reply

WRITER = """
import asyncio, itertools, sys
from pathlib import Path
from ccfw.llm.ledger import Ledger
from tests.samples import reply

path, who, how_many = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

async def keep(ledger, key):
    await ledger.put(key, "model", reply(f"{who} {key}"))
    print(key, ledger.get(key).text, sep="|", flush=True)

async def main():
    with Ledger(path) as ledger:
        if not how_many:
            for n in itertools.count():
                await keep(ledger, f"{who}-{n}")
        keys = [f"{who}-{n}" for n in range(how_many)] + [f"shared-{n}" for n in range(how_many)]
        await asyncio.gather(*(keep(ledger, key) for key in keys))

asyncio.run(main())
"""


def writer(path: Path, who: str, how_many: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), who, str(how_many)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def kept(path: Path, keys: list[str]) -> dict[str, str | None]:
    with Ledger(path) as ledger:
        found = {key: ledger.get(key) for key in keys}
    return {key: each.text if each else None for key, each in found.items()}


def intact(path: Path) -> bool:
    connection = sqlite3.connect(path)
    verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
    connection.close()
    return bool(verdict == "ok")


def put(path: Path, *replies: tuple[str, ChatReply]) -> None:
    async def all_of_them() -> None:
        with Ledger(path) as ledger:
            await asyncio.gather(*(ledger.put(key, "model", each) for key, each in replies))

    asyncio.run(all_of_them())


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(reply(), id="plain"),
        pytest.param(reply("தமிழ் 😀 \x00 \u2028 \ud83d", finish_reason="length"), id="odd-text"),
        pytest.param(reply("", has_reasoning=True, cost=None, usage=Usage(None, None, None)), id="all-unknown"),
        pytest.param(reply(tokens=(Token("a", {"a": -0.1, "ä\ud83d": -2.0}), Token("", {}))), id="tokens"),
        pytest.param(reply(usage=Usage(1, 2, 3), cost=0.1 + 0.2, seconds=1e-9), id="exact-numbers"),
    ],
)
def test_a_reply_comes_back_as_it_was_and_marked_as_cached(tmp_path: Path, written: ChatReply) -> None:
    path = tmp_path / "deep" / "calls.db"
    put(path, ("key", written))
    with Ledger(path) as ledger:
        found = ledger.get("key")
    assert found is not None
    assert (found.cached, written.cached) == (True, False)
    assert vars(found) | {"cached": False} == vars(written)


def test_an_unknown_key_has_no_reply(tmp_path: Path) -> None:
    with Ledger(tmp_path / "calls.db") as ledger:
        assert ledger.get("key") is None


def test_a_reply_can_be_read_as_soon_as_it_is_kept(tmp_path: Path) -> None:
    async def turns() -> list[bool]:
        with Ledger(tmp_path / "calls.db") as ledger:
            seen = []
            for n in range(20):
                await ledger.put(str(n), "model", reply())
                seen.append(ledger.get(str(n)) is not None)
            return seen

    assert asyncio.run(turns()) == [True] * 20


def test_the_first_reply_to_a_request_stays(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    put(path, ("key", reply("first")))
    put(path, ("key", reply("second")))
    assert kept(path, ["key"]) == {"key": "first"}


def test_many_tasks_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    put(path, *((str(n), reply(f"text {n}")) for n in range(1_000)))
    assert kept(path, [str(n) for n in range(1_000)]) == {str(n): f"text {n}" for n in range(1_000)}


def test_closing_commits_what_is_queued(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"

    async def queue_and_leave() -> None:
        ledger = Ledger(path)
        waiting = [asyncio.ensure_future(ledger.put(str(n), "model", reply())) for n in range(300)]
        await asyncio.sleep(0)
        ledger.close()
        await asyncio.gather(*waiting)

    asyncio.run(queue_and_leave())
    assert None not in kept(path, [str(n) for n in range(300)]).values()


def test_a_task_that_stops_waiting_does_not_lose_its_reply(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"

    async def cancelled() -> None:
        with Ledger(path) as ledger:
            task = asyncio.ensure_future(ledger.put("key", "model", reply()))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await ledger.put("other", "model", reply())

    asyncio.run(cancelled())
    assert kept(path, ["key", "other"]) == {"key": "hello", "other": "hello"}


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    Ledger(path).close()
    names = ["a", "b", "c", "d"]
    writers = [writer(path, name, 60) for name in names]
    outputs = [process.communicate() for process in writers]
    assert [(process.returncode, error) for process, (_, error) in zip(writers, outputs, strict=True)] == [(0, "")] * 4
    said = [line.split("|", 1) for out, _ in outputs for line in out.splitlines()]
    found = kept(path, sorted({key for key, _ in said}))
    assert len(found) == 4 * 60 + 60
    assert all(found[key] == text for key, text in said)
    assert {found[f"{name}-{n}"] for name in names for n in range(60)} == {
        f"{name} {name}-{n}" for name in names for n in range(60)
    }
    assert intact(path)


def test_whatever_was_kept_before_a_kill_is_there_after_it(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    process = writer(path, "killed", 0)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(40)]
    os.kill(process.pid, signal.SIGKILL)
    rest, _ = process.communicate()
    lines = [line.rstrip("\n") for line in [*told, *rest.splitlines(keepends=True)] if line.endswith("\n")]
    expected = dict(line.split("|", 1) for line in lines)
    assert process.returncode == -signal.SIGKILL
    assert len(expected) >= 40
    assert kept(path, list(expected)) == expected
    put(path, ("after", reply("after")))
    assert kept(path, ["after"]) == {"after": "after"}
    assert intact(path)


def test_a_killed_writer_holds_up_nobody(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    process = writer(path, "killed", 0)
    assert process.stdout is not None
    process.stdout.readline()
    with Ledger(path):
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        put(path, ("after", reply("after")))
    assert kept(path, ["after"]) == {"after": "after"}


def open_and_keep(start: Barrier, folder: Path, rounds: int, name: str, faults: Any) -> None:
    threading.excepthook = lambda fault: faults.put(f"writer thread: {fault.exc_value!r}")

    async def keep(ledger: Ledger) -> None:
        await asyncio.wait_for(ledger.put(name, "model", reply()), 60)

    for number in range(rounds):
        path = folder / f"{number}.db"
        start.wait(120)
        try:
            with Ledger(path) as ledger:
                if number == rounds - 1:
                    asyncio.run(keep(ledger))
        except (StoreError, TimeoutError) as error:
            faults.put(repr(error))
    faults.put(None)


@pytest.mark.long
def test_processes_that_open_a_new_ledger_at_the_same_moment_all_get_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes, rounds = 6, 100
    start, faults = context.Barrier(processes), context.SimpleQueue()
    openers = [
        context.Process(target=open_and_keep, args=(start, tmp_path, rounds, f"p{n}", faults)) for n in range(processes)
    ]
    for opener in openers:
        opener.start()
    found: list[str] = []
    still_running = processes
    while still_running:
        fault = faults.get()
        still_running -= fault is None
        found += [fault] if fault else []
    for opener in openers:
        opener.join()
    assert found == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(
            b"these bytes are no database, whatever their name says" * 20, "file is not a database", id="text"
        ),
    ],
)
def test_a_file_that_is_no_ledger_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "calls.db"
    path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        Ledger(path)
    assert str(caught.value) == f"{path}: not usable as a call ledger: {reason}"


def test_a_folder_in_the_ledgers_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Ledger(tmp_path)
    assert str(caught.value) == f"{tmp_path}: not usable as a call ledger: unable to open database file"


def test_a_reply_that_cannot_be_kept_is_an_error_of_its_caller(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    Ledger(path).close()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TRIGGER full BEFORE INSERT ON calls BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError) as caught:
        put(path, ("key", reply()))
    assert str(caught.value) == "1 paid reply could not be kept: disk full"


def test_replies_are_found_by_model_and_role_the_latest_first(tmp_path: Path) -> None:
    async def fill(ledger: Ledger) -> None:
        for number in range(5):
            await ledger.put(f"judge-{number}", "model", reply(f"judged {number}"), "judge")
            await ledger.put(f"user-{number}", "model", reply(f"said {number}"), "simulator")
            await ledger.put(f"other-{number}", "other", reply(f"else {number}"), "judge")

    with Ledger(tmp_path / "calls.db") as ledger:
        asyncio.run(fill(ledger))
        assert [each.text for each in ledger.replies("model", "judge", 3)] == ["judged 4", "judged 3", "judged 2"]
        assert [each.text for each in ledger.replies("model", "simulator", 1)] == ["said 4"]
        assert list(ledger.replies("model", "assistant", 9)) == []


def test_a_ledger_of_an_older_ccfw_is_read_and_written_on(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    put(path, ("old", reply("old")))
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE calls DROP COLUMN role")
    connection.commit()
    connection.close()
    put(path, ("new", reply("new")))
    assert kept(path, ["old", "new"]) == {"old": "old", "new": "new"}


def test_a_reply_that_is_damaged_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    put(path, ("key", reply()))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE calls SET reply = '{}'")
    connection.commit()
    connection.close()
    with Ledger(path) as ledger, pytest.raises(StoreError) as caught:
        ledger.get("key")
    assert str(caught.value) == f"{path}: damaged: 'usage'; move it away to go on without what it holds"


def test_a_disk_that_is_nearly_full_is_told_before_anything_is_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger(tmp_path / "calls.db") as ledger:
        assert ledger.full is False
    monkeypatch.setattr("ccfw.llm.ledger.LEAST_FREE", 2**62)
    with Ledger(tmp_path / "calls.db") as ledger:
        assert ledger.full is True


def changed(path: Path, *statements: str) -> None:
    """Do to a ledger what somebody did by hand."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_a_column_of_somebodys_own_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    put(path, ("old", reply("old")))
    changed(path, "ALTER TABLE calls ADD COLUMN remark TEXT")
    put(path, ("new", reply("new")), ("old", reply("other")))
    assert kept(path, ["old", "new"]) == {"old": "old", "new": "new"}


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        pytest.param(
            "TABLE calls (key TEXT PRIMARY KEY, created REAL, provider_model TEXT)",
            "table calls has no column named reply",
            id="column-missing",
        ),
        pytest.param(
            "TABLE calls (key TEXT, created REAL, provider_model TEXT, reply TEXT)",
            "ON CONFLICT clause does not match any PRIMARY KEY or UNIQUE constraint",
            id="no-key",
        ),
        pytest.param(
            "TABLE calls (key TEXT PRIMARY KEY, created REAL, provider_model TEXT, reply TEXT, remark TEXT NOT NULL)",
            "its column remark must be filled, and ccfw does not know it",
            id="column-to-fill",
        ),
        pytest.param(
            "VIEW calls AS SELECT 1 AS key, 2 AS created, 3 AS provider_model, 4 AS reply, 5 AS role",
            "cannot modify calls because it is a view",
            id="view",
        ),
    ],
)
def test_a_table_that_takes_no_reply_is_named_on_opening(tmp_path: Path, table: str, reason: str) -> None:
    path = tmp_path / "calls.db"
    changed(path, f"CREATE {table}")
    with pytest.raises(StoreError) as caught:
        Ledger(path)
    assert str(caught.value) == f"{path}: not usable as a call ledger: {reason}"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param("json_set(reply, '$.text', 5)", "text is 5", id="text"),
        pytest.param("json_set(reply, '$.cost', 'much')", "cost is 'much'", id="cost"),
        pytest.param("json_set(reply, '$.usage.prompt_tokens', 'many')", "prompt_tokens is 'many'", id="tokens"),
        pytest.param("json_set(reply, '$.usage', 7)", "'int' object has no attribute 'items'", id="usage"),
        pytest.param("'3'", "'int' object is not subscriptable", id="number"),
        pytest.param("CAST(x'ff' AS TEXT)", "Could not decode to UTF-8 column 'reply' with text '\ufffd'", id="bytes"),
        pytest.param("printf('%.*c', 99999, '[')", "maximum recursion depth exceeded", id="nested"),
    ],
)
def test_what_is_no_reply_is_named_when_needed_and_left_out_of_estimates(
    tmp_path: Path, content: str, reason: str
) -> None:
    path = tmp_path / "calls.db"
    put(path, ("whole", reply("whole")), ("key", reply()))
    changed(path, f"UPDATE calls SET reply = {content} WHERE key = 'key'")
    with Ledger(path) as ledger:
        with pytest.raises(StoreError) as caught:
            ledger.get("key")
        assert str(caught.value).startswith(f"{path}: damaged: {reason}")
        assert str(caught.value).endswith("; move it away to go on without what it holds")
        assert ledger.count("model", "") == 2
        if "x'ff'" not in content:
            assert [each.text for each in ledger.replies("model", "", 9)] == ["whole"]


def test_a_table_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    with Ledger(path) as ledger:
        changed(path, "DROP TABLE calls")
        for ask in (lambda: ledger.count("m", "r"), lambda: list(ledger.replies("m", "r", 1)), lambda: ledger.get("k")):
            with pytest.raises(StoreError) as caught:
                ask()
            assert str(caught.value) == (
                f"{path}: damaged: no such table: calls; move it away to go on without what it holds"
            )


def test_replies_that_cannot_be_kept_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "calls.db"
    Ledger(path).close()
    changed(path, "CREATE TRIGGER full BEFORE INSERT ON calls BEGIN SELECT RAISE(ABORT, 'disk full'); END")

    async def keep() -> list[Any]:
        with Ledger(path) as ledger:
            first = await asyncio.gather(*(ledger.put(str(n), "m", reply()) for n in range(3)), return_exceptions=True)
            rest = await asyncio.gather(*(ledger.put(str(n), "m", reply()) for n in range(4)), return_exceptions=True)
            return [*first, *rest]

    told = asyncio.run(keep())
    assert {str(each) for each in told} == {"7 paid replies could not be kept: disk full"}
    assert caplog.messages == [
        f"{path}: 7 paid replies could not be kept: disk full; the same line pays for what was lost again"
    ]


def test_a_ledger_that_another_process_holds_is_waited_for_until_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("ccfw.llm.ledger.GRACE_S", 0.5)
    path, stop = tmp_path / "calls.db", Stop()

    async def keep() -> float:
        ledger = Ledger(path, stop)
        with closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            waiting = [asyncio.ensure_future(ledger.put(str(n), "m", reply())) for n in range(2)]
            assert not (await asyncio.wait(waiting, timeout=2.5))[0]
            stop.ask("SIGINT", interrupted=True)
            begun = time.monotonic()
            for each in waiting:
                each.cancel()  # as a job does with what has not ended in time
            await asyncio.to_thread(ledger.close)
            return time.monotonic() - begun

    assert asyncio.run(keep()) < 30  # and not the minute that it is waited for otherwise
    assert caplog.messages == [
        f"{path}: 2 paid replies could not be kept: database is locked; the same line pays for what was lost again"
    ]


def test_a_ledger_that_is_held_for_a_while_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"

    async def keep() -> None:
        with Ledger(path) as ledger:
            with closing(sqlite3.connect(path, isolation_level=None)) as holder:
                holder.execute("BEGIN IMMEDIATE")
                waiting = asyncio.ensure_future(ledger.put("key", "m", reply()))
                assert not (await asyncio.wait([waiting], timeout=2.5))[0]
            await waiting

    asyncio.run(keep())
    assert kept(path, ["key"]) == {"key": "hello"}
