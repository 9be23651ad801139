"""``batch=provider`` from outside: the same records for half the price, also after a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Shared
from tests.e2e.running import GOOD, Run, ccfw, cost_of, environment, files_under, own_options, read_lines, scripted
from tests.fakes.batches import BatchPlan, BatchProvider
from tests.fakes.provider import FakeReply, FakeRequest
from tests.fakes.scripts import role_of

pytestmark = pytest.mark.long
BATCH = ("batch=provider", "batch.poll_s=0.05")
CANARY = "sk-canary-b41c90d7e53f4a68"
FOREVER = BatchPlan(polls=10**9)


def judged(run: Run) -> list[dict[str, Any]]:
    """Return the judgements in the order of their ids, which runs do not keep."""
    return sorted(run.records("evaluate"), key=lambda record: str(record["judgement_id"]))


@pytest.fixture(scope="module")
def both(shared: Shared) -> tuple[Run, Run, list[str]]:
    """Two dialogues judged directly, and judged in batches of five; the batch calls."""

    def make(folder: Path) -> tuple[Run, Run, list[str]]:
        runs = []
        plan = BatchPlan(polls=2, shuffled=True)
        with BatchProvider(GOOD, plan) as provider:
            for name, more in (("direct", ()), ("batch", (*BATCH, "batch.max_requests=5"))):
                (folder / name).mkdir()
                runs.append(ccfw(folder / name, *scripted(provider, "limit=2", *more), provider=provider))
            calls = list(provider.traffic.calls)
        return runs[0], runs[1], calls

    return shared("batch_both", make)


def test_a_batch_gives_the_records_that_direct_calls_give(both: tuple[Run, Run, list[str]]) -> None:
    direct, batch, _ = both
    assert (direct.code, batch.code) == (0, 0)
    assert len(judged(direct)) == 12
    assert judged(batch) == judged(direct)


def test_a_batch_names_its_output_as_direct_calls_do(both: tuple[Run, Run, list[str]]) -> None:
    direct, batch, _ = both
    assert batch.closings["evaluate"]["out"] == direct.closings["evaluate"]["out"]


def test_nothing_is_judged_by_a_call_of_its_own(both: tuple[Run, Run, list[str]]) -> None:
    direct, batch, calls = both
    assert (len(direct.asked("judge")), len(batch.asked("judge"))) == (12, 0)
    assert [calls.count(name) for name in ("POST /files", "POST /batches", "GET /files")] == [3, 3, 3]


def test_replies_of_a_batch_are_calls_at_half_the_price(both: tuple[Run, Run, list[str]]) -> None:
    direct, batch, _ = both
    paid = cost_of(direct.asked("judge"))
    told = batch.closings["evaluate"]
    assert (told["status"], told["done"], told["calls"], told["cached"]) == ("ok", 12, 12, 12)
    manifest = json.loads((batch.folder / told["out"] / "manifest.json").read_text("utf-8"))
    assert manifest["paid"]["usd"] == pytest.approx(paid / 2)
    assert direct.closings["evaluate"]["cost"] == f"{paid:.4f}"
    assert told["cost"] == f"{paid / 2:.4f}"


def test_a_batch_that_goes_well_warns_of_nothing(both: tuple[Run, Run, list[str]]) -> None:
    assert "WARNING" not in both[1].err
    assert "Traceback" not in both[1].err


def spoilt_once(request: FakeRequest) -> FakeReply | str:
    """Answer the judge of helpfulness with no JSON until it is asked again."""
    again = "An earlier reply was not accepted" in "".join(request.said("user"))
    if role_of(request) == "judge_helpful" and not again:
        return "I would say four."
    return str(GOOD(request))


def test_a_reply_that_cannot_be_read_is_asked_again_directly(tmp_path: Path) -> None:
    with BatchProvider(spoilt_once) as provider:
        run = ccfw(tmp_path, *scripted(provider, "limit=1", *BATCH), provider=provider)
        assert len(provider.batches) == 1
    assert [role_of(request) for request in run.asked("judge")] == ["judge_helpful"]
    assert sorted(record["tries"] for record in judged(run)) == [1, 1, 1, 1, 1, 2]
    assert all(record["score"] for record in judged(run))


def test_what_a_batch_leaves_out_is_asked_directly(tmp_path: Path) -> None:
    with BatchProvider(GOOD, BatchPlan(ending="expired", answered=0.5)) as provider:
        run = ccfw(tmp_path, *scripted(provider, "limit=1", *BATCH), provider=provider)
    assert run.code == 0
    assert len(run.asked("judge")) == 3
    assert len(judged(run)) == 6
    assert "ended as expired: answered 3, unanswered 3" in run.err


def test_or_fails_until_the_next_batch(tmp_path: Path) -> None:
    with BatchProvider(GOOD, BatchPlan(ending="expired", answered=0.5)) as provider:
        arguments = scripted(provider, "limit=1", *BATCH, "batch.direct_rest=false")
        first = ccfw(tmp_path, *arguments, provider=provider)
        failures = first.records("evaluate", "failures.jsonl")
        provider.batch_plan = BatchPlan()
        second = ccfw(tmp_path, *arguments, provider=provider)
        assert [len(provider.lines(batch)) for batch in provider.batches.values()] == [6, 3]
    told = first.closings["evaluate"]
    assert (first.code, told["status"], told["done"], told["failed"]) == (1, "partial", 3, 3)
    assert {failure["failure"]["kind"] for failure in failures} == {"infrastructure"}
    assert all("batch_expired" in failure["failure"]["detail"] for failure in failures)
    assert first.asked("judge") == second.asked("judge") == []
    told = second.closings["evaluate"]
    assert (second.code, told["status"], told["done"], told["skipped"]) == (0, "ok", 3, 3)


def stopped(folder: Path, provider: BatchProvider, arguments: tuple[str, ...], how: signal.Signals) -> int:
    """Start a run, stop it while it waits for its batch, and return its exit code."""
    provider.batch_plan = FOREVER
    command = [sys.executable, "-m", "ccfw", *arguments]
    with subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        end = time.monotonic() + 120
        while provider.calls("GET /batches/id") < 2:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(how)
        code = process.wait(timeout=60)
    provider.batch_plan = BatchPlan()
    return code


@pytest.mark.parametrize(("how", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 1)])
def test_a_run_stopped_while_it_waits_goes_on_with_the_same_batch(
    tmp_path: Path, how: signal.Signals, code: int
) -> None:
    with BatchProvider(GOOD) as provider:
        arguments = scripted(provider, "limit=1", *BATCH)
        assert stopped(tmp_path, provider, arguments, how) == code
        [listed] = tmp_path.rglob("batches.json")
        assert json.loads(listed.read_text("utf-8"))["batches"][0]["id"] == "batch_0"
        run = ccfw(tmp_path, *arguments, provider=provider)
        assert (provider.calls("POST /files"), provider.calls("POST /batches")) == (1, 1)
    told = run.closings["evaluate"]
    assert (run.code, told["done"], told["calls"]) == (0, 6, 6)
    assert run.asked("judge") == []
    assert len(read_lines(tmp_path / told["out"] / "records.jsonl")) == 6


def test_the_key_is_in_no_file(tmp_path: Path) -> None:
    with BatchProvider(GOOD) as provider:
        conf = own_options(tmp_path, provider.base_url, ("keyed",), key="SCRIPTED_KEY")
        cast = (f"--config-dir={conf}", "model=keyed", "model@simulator=keyed", "judge=keyed_judge")
        arguments = (*cast, "tracking=none", "limit=1", "report.shown=0", *BATCH)
        run = ccfw(tmp_path, *arguments, provider=provider, env={"SCRIPTED_KEY": CANARY})
        assert provider.traffic.keys == {CANARY}
        assert not any(CANARY.encode() in content for content in provider.files.values())
    assert run.code == 0
    assert [path for path in files_under(tmp_path) if CANARY.encode() in path.read_bytes()] == []
    assert CANARY not in run.out + run.err


def test_a_judge_without_batches_is_refused_before_anything_is_called(tmp_path: Path) -> None:
    run = ccfw(tmp_path, "model=smollm2", "stage=evaluate", "batch=provider", "tracking=none")
    assert run.code == 2
    assert "batch=provider: " in run.err
    assert "has no batch endpoint that ccfw can use" in run.err
