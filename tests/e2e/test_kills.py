"""What ends a run before its time, from outside: what stays, what is told, and what the next run pays."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ccfw.stop import GRACE_S
from tests.e2e.conftest import Shared
from tests.e2e.killing import IN_FLIGHT, LIMITS, UNDER_WAY, Field, Toll, asked, drawn, kept_in_ledger, results, started
from tests.e2e.running import GOOD, Run, ccfw, closing, scripted
from tests.fakes import faults
from tests.fakes.batches import BatchPlan, BatchProvider
from tests.fakes.provider import FakeProvider, FakeReply, FakeRequest
from tests.fakes.scripts import role_of
from tests.samples import ROOT

# ---- kill -9


@pytest.mark.long
def test_ten_kills_lose_nothing_and_change_nothing(tmp_path: Path) -> None:
    rng, toll = Random(4), Toll()
    with FakeProvider(GOOD, latency=0.02) as provider:
        arguments = scripted(provider, "limit=3", *LIMITS)
        (tmp_path / "undisturbed").mkdir()
        whole = ccfw(tmp_path / "undisturbed", *arguments, provider=provider)
        for number in range(2):
            folder = tmp_path / str(number)
            folder.mkdir()
            field = Field(folder, provider, arguments, results(tmp_path / "undisturbed"), toll, len(whole.requests))
            for _ in range(5):
                while not field.end(drawn(rng, field.left)):
                    pass  # it was quicker
            field.finish()
    assert toll.codes == {("SIGKILL", -signal.SIGKILL): 10}
    assert (toll.lost, toll.doubled, toll.differing) == (0, 0, 0)
    assert toll.most_under_way <= UNDER_WAY


# ---- the first signal, and the second


@dataclass(frozen=True)
class Stopped:
    """A run that was told to stop while as many calls were in flight as may be, and the run after it."""

    code: int
    out: str
    err: str
    begun: int
    """Calls begun before the signal, counted at the provider."""
    calls: int
    """Calls begun in all."""
    answered: int
    kept: int
    manifest: dict[str, Any]
    rerun: Run


def full(log: FakeProvider) -> bool:
    """Whether a few calls are done and as many are in flight as may be."""
    return len(log.requests) > IN_FLIGHT and log.in_flight == IN_FLIGHT


def stop(folder: Path, provider: FakeProvider, how: signal.Signals) -> Stopped:
    """Start a run, tell it to stop, and run it again."""
    arguments = scripted(provider, "limit=6", *LIMITS, "model.timeout_s=600", "model.deadline_s=600")
    provider.clear()
    with started(folder, *arguments) as process:
        assert asked(provider, process, IN_FLIGHT + 1)
        provider.wait_until(full)
        begun = len(provider.requests)
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
    provider.wait_until(lambda log: log.in_flight == 0)
    calls, kept = provider.requests, kept_in_ledger(folder)
    [manifest] = folder.glob("workspace/*/simulate/*/manifest.json")
    provider.script, provider.latency = GOOD, 0.0
    return Stopped(
        code=process.returncode,
        out=out,
        err=err,
        begun=begun,
        calls=len(calls),
        answered=sum(request.status == 200 for request in calls),
        kept=kept,
        manifest=json.loads(manifest.read_text("utf-8")),
        rerun=ccfw(folder, *arguments, provider=provider),
    )


SIGNALS = [
    pytest.param(signal.SIGINT, id="SIGINT"),
    pytest.param(signal.SIGTERM, id="SIGTERM", marks=pytest.mark.long),
]


@pytest.fixture(scope="module", params=SIGNALS)
def slow(request: pytest.FixtureRequest, shared: Shared) -> Stopped:
    """Stopped while calls are in flight that end within the grace."""

    def make(folder: Path) -> Stopped:
        with FakeProvider(GOOD, latency=1.0) as provider:
            return stop(folder, provider, request.param)

    return shared(f"stopped_{request.param.name}", make)


def test_after_the_first_signal_no_call_is_begun(slow: Stopped) -> None:
    assert slow.calls == slow.begun


def test_calls_in_flight_end_and_are_kept(slow: Stopped) -> None:
    assert slow.answered == slow.kept == slow.calls


def test_a_stopped_run_says_so_and_exits_with_1(slow: Stopped) -> None:
    assert slow.code == 1
    assert "Traceback" not in slow.err
    told = [closing(line) for line in slow.out.splitlines()]
    assert [(each["stage"], each["calls"]) for each in told] == [("simulate", slow.calls), ("pipeline", slow.calls)]
    first, last = (line.partition(" WARNING ")[2] for line in slow.err.splitlines())
    name = "SIGINT" if "SIGINT" in first else "SIGTERM"
    assert first == f"{name}: calls in flight have {GRACE_S:g} s to end; once more ends the run at once"
    assert last == f"stopped ({name}): 0 of 6 done, replies paid for are kept; the same line goes on"


def test_the_manifest_of_a_stopped_run_is_its_closing_line(slow: Stopped) -> None:
    told = closing(slow.out.splitlines()[0])
    assert {key: slow.manifest[key] for key in told} == told
    assert told["status"] == "partial"


def test_the_run_after_a_stop_finishes_and_asks_nothing_twice(slow: Stopped) -> None:
    assert slow.rerun.code == 0
    told = slow.rerun.closings
    assert (told["simulate"]["done"], told["evaluate"]["done"]) == (6, 36)
    assert told["simulate"]["cached"] == slow.kept


def stalled_late(request: FakeRequest) -> FakeReply | faults.Fault | str:
    """Let one of the judge's questions hang."""
    return faults.STALL if role_of(request) == "judge_honest" else GOOD(request)


@pytest.mark.long
def test_calls_that_do_not_end_are_abandoned_after_the_grace(tmp_path: Path) -> None:
    with FakeProvider(stalled_late) as provider:
        arguments = scripted(provider, "limit=2", *LIMITS, "model.timeout_s=600", "model.deadline_s=600")
        with started(tmp_path, *arguments) as process:
            assert asked(provider, process, 1)
            provider.wait_until(lambda log: judging(log) == 12 and log.in_flight == 2, 60)
            begun = len(provider.requests)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=60)
        assert len(provider.requests) == begun
    assert process.returncode == 1
    assert "Traceback" not in err
    told = {each["stage"]: each for each in map(closing, out.splitlines())}
    assert list(told) == ["simulate", "evaluate", "pipeline"]
    assert (told["evaluate"]["status"], told["evaluate"]["done"], told["evaluate"]["failed"]) == ("partial", 10, 0)
    manifest = json.loads((tmp_path / told["evaluate"]["out"] / "manifest.json").read_text("utf-8"))
    assert (manifest["status"], manifest["paid"]["lost_calls"]) == ("partial", 2)


def judging(log: FakeProvider) -> int:
    return sum(role_of(request).startswith("judge_") for request in log.requests)


@pytest.mark.parametrize("how", SIGNALS)
def test_the_second_signal_ends_the_run_at_once(tmp_path: Path, how: signal.Signals) -> None:
    with FakeProvider(lambda _: faults.STALL) as provider:
        arguments = scripted(provider, "limit=2", "model.timeout_s=600", "model.deadline_s=600")
        with started(tmp_path, *arguments) as process:
            assert asked(provider, process, 2)
            process.send_signal(how)
            assert process.stderr
            assert "once more ends the run at once" in process.stderr.readline()
            process.send_signal(how)
            assert process.wait(timeout=GRACE_S - 1) == -how


@pytest.mark.parametrize("how", SIGNALS)
def test_in_a_sweep_no_job_follows_a_stopped_one(tmp_path: Path, how: signal.Signals) -> None:
    with FakeProvider(GOOD, latency=1.0) as provider:
        arguments = scripted(provider, "limit=2", "-m", "seed=0,1", *LIMITS)
        with started(tmp_path, *arguments) as process:
            assert asked(provider, process, 2)
            process.send_signal(how)
            out, err = process.communicate(timeout=60)
        seeds = Counter(request.body["seed"] for request in provider.requests)
    assert process.returncode == 1
    assert "Traceback" not in err
    assert set(seeds) == {0}
    *_, head, first, second, counts = out.splitlines()
    assert head.split() == ["job", "overrides", "status", "calls", "cost", "reason"]
    assert first.split()[:3] == ["0", "seed=0", "partial"]
    assert first.endswith("interrupted")
    assert second.split() == ["1", "seed=1", "not", "run", "-", "-"]
    assert counts == "ccfw sweep jobs=2 ok=0 partial=1 failed=0 refused=0 not_run=1"


@pytest.mark.long
@pytest.mark.parametrize("how", SIGNALS)
def test_a_run_that_waits_for_a_batch_is_stopped_in_good_order(tmp_path: Path, how: signal.Signals) -> None:
    with BatchProvider(GOOD, BatchPlan(polls=10**9)) as provider:
        arguments = scripted(provider, "limit=1", "batch=provider", "batch.poll_s=0.05")
        with started(tmp_path, *arguments) as process:
            while provider.calls("GET /batches/id") < 2:
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(0.05)
            process.send_signal(how)
            out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback" not in err
    told = {each["stage"]: each for each in map(closing, out.splitlines())}
    assert list(told) == ["simulate", "evaluate", "pipeline"]
    manifest = json.loads((tmp_path / told["evaluate"]["out"] / "manifest.json").read_text("utf-8"))
    assert manifest["status"] == told["evaluate"]["status"] == "partial"
    assert told["pipeline"]["status"] == "partial"
    reason = f"stopped ({how.name}): batches under way go on at the provider; the same line goes on"
    assert err.splitlines()[-1].partition(" WARNING ")[2] == reason


# ---- a disk that is full, or may not be written


@dataclass(frozen=True)
class Disk:
    """A small file system of its own."""

    folder: Path

    def change(self, options: str) -> None:
        """Remount it."""
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.folder)], check=True)

    def fill(self, but: int = 0) -> Path:
        """Fill it with a file, but for so many bytes, and return the file."""
        file = self.folder / "fill"
        free = shutil.disk_usage(self.folder).free
        with suppress(OSError), file.open("wb") as content:
            content.write(bytes(free - but))
        return file


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A disk of 400 MB at the workspace's place."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    made = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(folder)], capture_output=True
    )
    if not made or made.returncode:
        pytest.skip("a file system of one's own needs root, and the right to mount")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def elsewhere(tmp_path: Path, provider: FakeProvider, *arguments: str) -> dict[str, bytes | list[str]]:
    """Return the results of the same line where nothing is in its way."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    run = ccfw(folder, *arguments, provider=provider)
    assert run.code == 0
    return results(folder)


NO_ROOM = "workspace: less than 256 MB of disk are left"


def test_a_disk_with_little_room_is_told_before_anything_is_paid(tmp_path: Path, disk: Disk) -> None:
    disk.change("size=200m")
    with FakeProvider(GOOD) as provider:
        run = ccfw(tmp_path, *scripted(provider, "limit=2"), provider=provider)
    assert (run.code, run.requests) == (1, ())
    assert run.closings["simulate"]["status"] == "partial"
    [line] = run.err.splitlines()
    assert line.partition(" WARNING ")[2] == (
        f"stopped ({NO_ROOM}): 0 of 2 done, replies paid for are kept; the same line goes on"
    )


@pytest.mark.long
def test_a_disk_that_runs_low_lets_no_call_begin_and_loses_none(tmp_path: Path, disk: Disk) -> None:
    with FakeProvider(GOOD) as provider:
        arguments = scripted(provider, "limit=2", *LIMITS)
        whole = elsewhere(tmp_path, provider, *arguments)
        file = disk.fill(but=256 * 2**20 + 200_000)
        first = ccfw(tmp_path, *arguments, provider=provider)
        kept = kept_in_ledger(tmp_path)
        file.unlink()
        second = ccfw(tmp_path, *arguments, provider=provider)
    assert first.code == 1
    assert first.closings["simulate"]["calls"] == len(first.requests) == kept > 0
    stopped = rf"\S+ WARNING stopped \({NO_ROOM}\): \d+ of \d+ done, replies paid for are kept; the same line goes on"
    assert all(re.fullmatch(stopped, line) for line in first.err.splitlines())
    assert second.code == 0
    assert {each.digest for each in first.requests}.isdisjoint(each.digest for each in second.requests)
    found = results(tmp_path)  # with the report on what the first run had
    assert {name: found.get(name) for name in whole} == whole


@pytest.mark.long
def test_a_disk_that_is_full_all_at_once_costs_what_is_in_flight_and_says_so(tmp_path: Path, disk: Disk) -> None:
    with FakeProvider(GOOD, latency=1.0) as provider:
        arguments = scripted(provider, "limit=2", *LIMITS)
        with started(tmp_path, *arguments) as process:
            assert asked(provider, process, 5)
            file = disk.fill()
            out, err = process.communicate(timeout=60)
        first = {request.digest for request in provider.requests}
        file.unlink()
        kept, provider.latency = kept_in_ledger(tmp_path), 0.0
        second = ccfw(tmp_path, *arguments, provider=provider)
        whole = elsewhere(tmp_path, provider, *arguments)
    assert (process.returncode, out) == (1, "")
    lost, line = err.splitlines()
    assert re.fullmatch(
        r"\S+ WARNING workspace/ledger\.sqlite: [12] paid repl(y|ies) could not be kept: database or disk is full; "
        "the same line pays for what was lost again",
        lost,
    )
    assert line == "ccfw: stage=simulate could not read or write: workspace: No space left on device"
    again = first.intersection(request.digest for request in second.requests)
    assert len(again) == len(first) - kept <= 2
    assert second.code == 0
    assert results(tmp_path) == whole


def test_a_workspace_that_may_not_be_written_is_one_line(tmp_path: Path, disk: Disk) -> None:
    disk.change("ro")
    with FakeProvider(GOOD) as provider:
        run = ccfw(tmp_path, *scripted(provider, "limit=2"), provider=provider)
    assert (run.code, run.out, run.requests) == (1, "", ())
    lock = tmp_path / "workspace" / ".ledger.sqlite.lock"
    assert run.err == f"ccfw: stage=simulate could not read or write: {lock}: Read-only file system\n"


def test_a_folder_that_may_not_be_written_is_one_line(disk: Disk) -> None:
    disk.change("ro")
    with FakeProvider(GOOD) as provider:
        run = ccfw(disk.folder, *scripted(provider, "limit=2"), provider=provider)
    assert (run.code, run.out, run.requests) == (1, "", ())
    assert run.err == "ccfw: could not write the run's own folder: multirun: Read-only file system\n"


# ---- two at once


@pytest.mark.long
def test_a_second_process_on_one_output_waits_and_nothing_is_done_twice(tmp_path: Path) -> None:
    with FakeProvider(GOOD, latency=0.5) as provider:
        arguments = scripted(provider, "limit=2", *LIMITS)
        with started(tmp_path, *arguments) as first:
            assert asked(provider, first, 1)
            with started(tmp_path, *arguments) as second:
                assert second.stderr
                line = second.stderr.readline()
                provider.latency = 0.0
                told = [process.communicate(timeout=120) for process in (first, second)]
        digests = Counter(request.digest for request in provider.requests)
        whole = elsewhere(tmp_path, provider, *arguments)
    waits = r"\d\d:\d\d:\d\d WARNING another ccfw is writing workspace/starter/simulate/\w+: waiting for it to finish\n"
    assert re.fullmatch(waits, line)
    assert (first.returncode, second.returncode) == (0, 0)
    assert set(digests.values()) == {1}
    stages = [{each["stage"]: each for each in map(closing, out.splitlines())} for out, _ in told]
    assert sum(each["pipeline"]["calls"] for each in stages) == len(digests)
    for stage, items in (("simulate", 2), ("evaluate", 12)):
        assert sum(each[stage]["done"] for each in stages) == items
    assert results(tmp_path) == whole


# ---- an item that nothing helps


def poisoned(request: FakeRequest) -> FakeReply | faults.Fault | str:
    """Fail at every call of one dialogue's assistant."""
    struck = role_of(request) == "assistant" and request.said("user")[0] == POISON
    return faults.SERVER_ERROR if struck else GOOD(request)


SCENARIO = min((ROOT / "data" / "starter").glob("*.json"))
POISON = json.loads(SCENARIO.read_text("utf-8"))["Blueprint"]["Public_Context"]["Initial_User_Message"][
    "Global_English"
]


@pytest.mark.long
def test_a_dialogue_that_always_fails_ends_as_a_failure_after_its_tries(tmp_path: Path) -> None:
    with FakeProvider(poisoned) as provider:
        arguments = scripted(provider, "limit=12", "stage=simulate", "model.attempts=2")
        runs = [ccfw(tmp_path, *arguments, provider=provider) for _ in range(2)]
    for run, done, skipped in zip(runs, (11, 0), (0, 11), strict=True):
        told = run.closings["simulate"]
        assert (run.code, told["status"], told["done"], told["failed"]) == (1, "partial", done, 1)
        assert told["skipped"] == skipped
        struck = [request for request in run.asked("assistant") if request.said("user")[0] == POISON]
        assert len(struck) == 2
        [failure] = run.records("simulate", "failures.jsonl")
        assert (failure["termination_reason"], failure["error"]) == (
            "ASSISTANT_ERROR",
            "HTTP 500: The server had an error.",
        )


@pytest.mark.long
def test_a_failure_that_a_killed_run_has_mended_does_not_stand_for_ever(tmp_path: Path) -> None:
    with FakeProvider(poisoned) as provider:
        arguments = scripted(provider, "limit=12", "stage=simulate", "model.attempts=1")
        first = ccfw(tmp_path, *arguments, provider=provider)
        failures = tmp_path / first.closings["simulate"]["out"] / "failures.jsonl"
        before = failures.read_bytes()
        provider.script = GOOD
        second = ccfw(tmp_path, *arguments, provider=provider)
        failures.write_bytes(before)  # as a kill leaves it, after the record was written
        third = ccfw(tmp_path, *arguments, provider=provider)
    assert (second.code, third.code, third.requests) == (0, 0, ())
    assert before
    assert third.records("simulate", "failures.jsonl") == []
