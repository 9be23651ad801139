"""Stage *shards* through the door: a generator that errs in every way in turn and is mended; one that never is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ccfw.authoring.audits import DIMENSIONS
from ccfw.datasets import load, scenario_digest
from ccfw.settings.dialogues import DatasetConfig
from ccfw.stages.shards import VALIDATORS
from tests.e2e.running import Run, ccfw, environment, scripted
from tests.e2e.test_estimate import estimates
from tests.fakes.faults import SERVER_ERROR, Fault, Kind, Script
from tests.fakes.provider import FakeProvider
from tests.fakes.scripts import roles
from tests.fakes.wire import FakeRequest
from tests.universe.replies import SEED_ID, TOLD, text
from tests.universe.shard_replies import GOOD_SHARDS, SCRIPT, SHARD_FAULTS, USER, spoilt_shards
from tests.universe.test_blueprint_stage import FINE
from tests.universe.test_blueprint_stage import good as good_blueprint

pytestmark = pytest.mark.long
Runs = Callable[..., Run]
TRIES = len(SHARD_FAULTS) + len(DIMENSIONS) + 2
SEEDS = ("retriever=bm25", "retriever.taboos=200", f"ids={SEED_ID}")
LINE = ("stage=shards", *SEEDS)


class Erring:
    """Plays generator and auditor, makes each mistake once, one a reply, and ends with a good reply."""

    def __init__(self) -> None:
        mistakes = (text(spoilt_shards(changes)) for changes in SHARD_FAULTS.values())
        self.drafts: Iterator[str] = iter(["Sure!", *mistakes])
        self.verdicts = iter(DIMENSIONS)
        self.numbers = count(1)

    def another(self) -> str:
        """A good reply unlike those before: what was audited once is not audited again."""
        return text(spoilt_shards({f"{SCRIPT}.0.Phase_Label": f"Two stalls, take {next(self.numbers)}"}))

    def __call__(self, request: FakeRequest) -> str:
        if request.schema_name == "shards":
            return next(self.drafts, None) or self.another()
        name = next(self.verdicts, None)
        return json.dumps(FINE | ({name: {"reason": f"{name} is not so", "passes": False}} if name else {}))


def good(request: FakeRequest) -> str:
    if request.schema_name == "shards":
        return text(GOOD_SHARDS)
    return json.dumps(FINE) if request.schema_name == "shards_audit" else good_blueprint(request)


def never(request: FakeRequest) -> str:
    return text(spoilt_shards(SHARD_FAULTS["surface_goal"])) if request.schema_name == "shards" else good(request)


def apart(temperature: float) -> tuple[str, ...]:
    """Return settings under which nothing is asked that another test has asked: the ledger would answer it."""
    return f"shards.temperature={temperature}", f"shards.audit_temperature={temperature}"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the seeds."""
    folder = tmp_path_factory.mktemp("shards")
    assert ccfw(folder, "stage=seeds", "model=scripted", "tracking=none").code == 0
    return folder


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    """One for all tests: its address is part of what names an output."""
    with FakeProvider(roles()) as provider:
        yield provider


@pytest.fixture(scope="module")
def run(workspace: Path, provider: FakeProvider) -> Runs:
    """Run the stage with a script, the blueprint being there."""

    def play(script: Script, *more: str, line: tuple[str, ...] = LINE) -> Run:
        provider.script = roles(other=script)
        return ccfw(workspace, *scripted(provider), *line, *more, provider=provider)

    missing = play(good)
    assert (missing.code, missing.err) == (
        2,
        "ccfw: stage=shards: no blueprints under these settings; make them first: stage=blueprints\n",
    )
    assert play(good, line=("stage=blueprints", *SEEDS)).code == 0
    return play


@pytest.fixture(scope="module")
def mended(run: Runs) -> Run:
    return run(Erring(), f"shards.tries={TRIES}")


def steps(record: dict[str, Any], by: str) -> list[set[str]]:
    return [{fault["check"] for fault in step["faults"]} for step in record["history"] if step["by"] == by]


def test_each_validator_has_a_fault() -> None:
    assert {"reply", *SHARD_FAULTS} == set(VALIDATORS["generator"])


def test_each_fault_is_caught_by_its_check_and_mended_by_the_next_reply(mended: Run) -> None:
    assert (mended.code, mended.closings["shards"]["status"]) == (0, "ok"), mended.err
    (record,) = mended.records("shards")
    drafts = steps(record, "generator")
    assert len(drafts) == record["tries"] == TRIES
    assert drafts[0] == {"reply"}
    for name, caught in zip(SHARD_FAULTS, drafts[1:], strict=False):
        assert name in caught
    assert drafts[-1 - len(DIMENSIONS) :] == [set()] * (1 + len(DIMENSIONS))
    assert steps(record, "auditor") == [*({f"audit_{name.lower()}"} for name in DIMENSIONS), set()]


def test_nothing_faulty_passes_and_what_passes_is_whole(mended: Run) -> None:
    (record,) = mended.records("shards")
    scenario = record["scenario"]
    assert [each["shard_id"] for each in scenario["interaction_sequence"]] == [1, 2, 3]
    assert scenario["interaction_sequence"][0]["phase_label"] == f"Two stalls, take {1 + len(DIMENSIONS)}"
    assert scenario["blueprint"]["public_context"]["initial_user_message"]["global_english"] == TOLD
    assert record["secondary_subdomains"] == GOOD_SHARDS["Secondary_Subdomains"]
    assert record["failure"] is None


def test_all_that_was_found_goes_into_every_later_request(mended: Run) -> None:
    asked = [each.said("user")[-1] for each in mended.requests if each.schema_name == "shards"]
    assert len(asked) == TRIES
    assert "What earlier versions got wrong" not in asked[0]
    assert "not one JSON object" in asked[1]
    where = f"{SCRIPT.replace('Sequence', 'Sequence[0]')}.Shard_ID"
    assert f"{where}: 'Shard_ID'; wanted: no key that was not asked for" in asked[2]
    assert "structured: Structured is not so" in asked[-1]
    assert "institutions of CN/SG" in asked[-1]


def test_the_auditor_reads_the_shards_and_the_blueprint(mended: Run) -> None:
    shown = next(each.said("user")[-1] for each in mended.requests if each.schema_name == "shards_audit")
    assert "Recommends something from the certified bakery" in shown
    assert "tells nothing of slaughter or wine" in shown


def test_the_report_tells_pass_rates_tries_and_cost(mended: Run) -> None:
    told = (mended.folder / mended.closings["shards"]["out"] / "report.md").read_text("utf-8")
    assert told.startswith("# Shards\n\n1 of 1 blueprints have shards (100.0%).\n")
    assert f"| {TRIES} | 1 | 0 |" in told
    assert f"Cost: {mended.closings['shards']['cost']} USD in all" in told
    for by, names in VALIDATORS.items():
        assert all(f"| `{name}` | {by} |" in told for name in names)
    assert "found nothing" not in told


def test_the_same_line_again_asks_nobody(run: Runs, mended: Run) -> None:
    again = run(Erring(), f"shards.tries={TRIES}")
    assert (again.code, again.requests) == (0, ()), again.err
    assert again.closings["shards"]["skipped"] == 1


def test_a_record_that_was_lost_is_made_again_from_what_was_paid_for(run: Runs, mended: Run) -> None:
    path = mended.folder / mended.closings["shards"]["out"] / "records.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    again = run(Erring(), f"shards.tries={TRIES}")
    assert (again.code, again.requests) == (0, ()), again.err
    assert path.read_bytes() == whole


def test_a_run_that_was_killed_goes_on_where_it_was(run: Runs, provider: FakeProvider, workspace: Path) -> None:
    def silent(request: FakeRequest) -> Fault | str:
        return Fault(Kind.STALL) if request.schema_name == "shards_audit" else good(request)

    provider.clear()
    provider.script = roles(other=silent)
    command = [sys.executable, "-m", "ccfw", *scripted(provider), *LINE, *apart(0.95)]
    with subprocess.Popen(command, cwd=workspace, env=environment(), stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and "shards_audit" not in {each.schema_name for each in provider.requests}:
            time.sleep(0.05)
        process.kill()
    assert [each.schema_name for each in provider.requests] == ["shards", "shards_audit"]
    done = run(good, *apart(0.95))
    assert (done.code, [each.schema_name for each in done.requests]) == (0, ["shards_audit"]), done.err
    assert (done.closings["shards"]["cached"], len(done.records("shards"))) == (1, 1)


def test_one_that_never_mends_is_given_up_with_its_history_and_asked_anew_next_time(run: Runs) -> None:
    line = apart(0.7)
    for attempt in range(2):
        done = run(never, *line)
        assert (done.code, done.closings["shards"]["status"], len(done.requests)) == (1, "failed", 4)
        (record,) = done.records("shards", "failures.jsonl")
        assert record["failure"] == {
            "kind": "inconsistent",
            "detail": "no shards passed in 4 tries; the last failed: surface_goal",
        }
        assert (record["attempt"], record["tries"], record["scenario"]) == (attempt, 4, None)
        assert steps(record, "generator") == [{"surface_goal"}] * 4
    mended = run(good, *line)
    assert (mended.code, len(mended.requests)) == (0, 2)
    assert mended.records("shards", "failures.jsonl") == []


def test_a_providers_failure_is_told_apart_and_loses_nothing_paid(run: Runs) -> None:
    more = (*apart(0.5), "model.attempts=1")

    def broken(request: FakeRequest) -> Fault | str:
        return SERVER_ERROR if request.schema_name == "shards_audit" else good(request)

    first = run(broken, *more)
    assert first.code == 1
    assert first.records("shards", "failures.jsonl")[0]["failure"]["kind"] == "infrastructure"
    second = run(good, *more)
    assert [each.schema_name for each in second.requests] == ["shards_audit"]
    assert second.closings["shards"]["cached"] == 1


def test_a_verdict_that_cannot_be_read_ends_as_a_typed_failure(run: Runs) -> None:
    def mute(request: FakeRequest) -> str:
        return "fine!" if request.schema_name == "shards_audit" else good(request)

    done = run(mute, *apart(0.6))
    (record,) = done.records("shards", "failures.jsonl")
    assert record["failure"]["kind"] == "unparsed"
    assert record["failure"]["detail"].startswith("auditor: not one JSON object")


def test_a_generator_of_noise_ends_in_typed_failures_and_a_report(run: Runs) -> None:
    def noise(request: FakeRequest) -> str:
        return text(spoilt_shards({USER: []})) if request.schema_name == "shards" else good(request)

    done = run(noise, *apart(0.8))
    (record,) = done.records("shards", "failures.jsonl")
    assert (done.code, record["failure"]["kind"]) == (1, "incomplete")
    told = (done.folder / done.closings["shards"]["out"] / "report.md").read_text("utf-8")
    assert "0 of 1 blueprints have shards" in told
    assert "* `schema` (generator): 4 of 4, as " in told


def test_a_dry_run_tells_the_least_and_the_most_calls(
    run: Runs, provider: FakeProvider, workspace: Path, tmp_path: Path
) -> None:
    shutil.copytree(workspace / "workspace" / "universe", tmp_path / "workspace" / "universe")  # and not the ledger
    done = ccfw(tmp_path, *scripted(provider), *LINE, *apart(0.9), "dry_run=true")
    # generator and auditor; at most 4 × (1 + 2)
    assert " shards=2..12 calls=2..12" in done.out
    assert {role: (row["calls"], row["range"], row["US$"]) for role, row in estimates(done).items()} == {
        "generator": ("1", "1..4", "0.0064"),
        "auditor": ("1", "1..8", "0.0025"),
        "all": ("2", "", "0.0089"),
    }


def test_seeds_without_a_blueprint_are_counted_aloud(run: Runs) -> None:
    other = "SG_Chinese_Secular_F_18_34__TPL_CUL_GIFT_09__STANDARD"
    done = run(good, *apart(0.4), f"ids=[{SEED_ID},{other}]")
    assert "stage=shards: 1 of 2 seeds have no blueprint" in done.err
    assert (done.code, done.closings["shards"]["done"]) == (0, 1)


@pytest.fixture
def blueprints(run: Runs, workspace: Path) -> Iterator[Path]:
    """The records of the blueprints, as they were afterwards."""
    (path,) = (workspace / "workspace" / "universe" / "blueprints").glob("*/records.jsonl")
    whole = path.read_bytes()
    yield path
    path.write_bytes(whole)


def test_shards_of_a_blueprint_that_changed_are_asked_for_anew(run: Runs, blueprints: Path) -> None:
    assert len(run(good, *apart(0.11)).requests) == 2
    blueprints.write_text(blueprints.read_text("utf-8").replace("Six people come", "Eight people come"), "utf-8")
    planned = run(good, *apart(0.11), "dry_run=true")
    assert " shards=2..12 calls=2..12" in planned.out
    again = run(good, *apart(0.11))
    assert (again.code, len(again.requests)) == (0, 2), again.err
    assert "stage=shards: scenarios whose blueprint has changed since, asked for anew: 1\n" in again.err
    (record,) = again.records("shards")
    assert "Eight people come" in record["scenario"]["blueprint"]["user_private_context"]["background"]
    assert run(good, *apart(0.11)).requests == ()


def test_a_failure_among_the_blueprints_is_named_before_anything_is_asked(run: Runs, blueprints: Path) -> None:
    (record,) = map(json.loads, blueprints.read_text("utf-8").splitlines())
    failure = {"blueprint": None, "complexity": None, "failure": {"kind": "inconsistent", "detail": "none passed"}}
    blueprints.write_text(json.dumps(record | failure) + "\n", "utf-8")
    done = run(good, *apart(0.12))
    assert (done.code, done.requests) == (1, ())
    path = blueprints.relative_to(blueprints.parents[4])
    assert done.err == f"ccfw: {path}: {SEED_ID}: a failure, which belongs into failures.jsonl; take the line out\n"


def test_a_foreign_line_is_named_before_anything_is_asked(run: Runs) -> None:
    first = run(good, *apart(0.13))
    path = Path(first.closings["shards"]["out"]) / "records.jsonl"
    (first.folder / path).write_text('{"seed_id": "somebody"}\n', "utf-8")
    done = run(good, *apart(0.13))
    assert (done.code, done.requests) == (1, ())
    assert done.err.startswith(f"ccfw: {path}:1: not a ShardRecord record: tries: Field required; ")
    assert "pydantic" not in done.err


BY_ONE_LINE = ("stage.runs=[blueprints,shards,simulate]", "dataset=generated", *SEEDS)


def test_what_is_not_written_yet_is_planned_with(workspace: Path, tmp_path: Path, provider: FakeProvider) -> None:
    shutil.copytree(workspace / "workspace" / "universe" / "seeds", tmp_path / "workspace" / "universe" / "seeds")
    done = ccfw(tmp_path, *scripted(provider), *BY_ONE_LINE, "dry_run=true")
    assert done.code == 0, done.err
    # a dialogue of three shards, a turn of both speakers in each at the least; at the most five shards of five turns,
    # for each of which the simulator is asked three times
    assert re.search(r" dialogues=1 blueprints=4\.\.21 shards=2\.\.12 simulate=6\.\.100 ", done.out)
    alone = ccfw(tmp_path, *scripted(provider), *LINE, "dry_run=true")
    assert (alone.code, alone.err) == (
        2,
        "ccfw: stage=shards: no blueprints under these settings; make them first: stage=blueprints; "
        "both at once: 'stage.runs=[blueprints,shards]' dry_run=true\n",
    )


def test_a_line_ends_with_the_stage_that_wrote_nothing(run: Runs) -> None:
    def silent(request: FakeRequest) -> Fault | str:
        return "no" if request.schema_name == "shards" else good(request)

    done = run(silent, *apart(0.14), line=BY_ONE_LINE)
    assert (done.code, done.closings["shards"]["status"]) == (1, "failed")
    assert "simulate" not in done.closings
    assert "make it first" not in done.err


# ---- dataset=generated


def test_the_shards_are_a_dataset_that_is_simulated_and_judged(run: Runs, mended: Run) -> None:
    line = ("stage=pipeline", "dataset=generated", f"shards.tries={TRIES}", *SEEDS)
    done = run(good, "bootstrap.resamples=20", line=line)
    assert done.code == 0, done.err
    (episode,) = done.records("simulate")
    assert done.closings["simulate"]["out"].startswith("workspace/generated/simulate/")
    records = mended.folder / mended.closings["shards"]["out"] / "records.jsonl"
    (frozen,) = load(DatasetConfig(name="generated", path=str(records))).scenarios
    assert episode["scenario_hash"] == scenario_digest(frozen)
    assert len(done.records("evaluate")) == 6


def test_a_dataset_that_is_not_generated_yet_says_how_and_what_there_is(run: Runs, mended: Run) -> None:
    done = run(good, *apart(0.3), line=("stage=simulate", "dataset=generated", *SEEDS))
    assert done.code == 2
    assert done.err.startswith("ccfw: dataset=generated: nothing at workspace/universe/shards/")
    made, _, others = done.err.partition(" (of other settings: dataset.path=")
    assert made.endswith("; make it first, under the same settings: stage=shards")
    assert (mended.folder / others.rstrip(")\n").split(",")[0]).is_file()


def test_shards_can_be_made_and_simulated_by_one_line(run: Runs) -> None:
    line = ("stage.runs=[blueprints,shards,simulate]", "dataset=generated", *SEEDS)
    done = run(good, *apart(0.2), line=line)
    assert done.code == 0, done.err
    assert [done.closings[name]["status"] for name in ("blueprints", "shards", "simulate")] == ["ok"] * 3
