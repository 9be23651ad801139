"""The whole chain over HTTP on the shipped norms: every route, every bound, every loss; what adds up; who sees what."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ccfw.crisp.reading import read_norms, shipped_folder
from ccfw.crisp.records import Decision, Norm
from ccfw.crisp.routing import TABLE
from ccfw.selection import stratified
from tests.crisp import situated
from tests.crisp.situated import SITUATIONS, Situated
from tests.e2e.running import Run, ccfw, own_options, read_lines, scripted
from tests.fakes.provider import FakeProvider, FakeRequest

STAGES = ("norms", "scenarios", "refine", "responses", "preferences")
LINE = (
    "stage=crisp",
    "dataset=normcompass",
    "retriever=none",
    f"limit={SITUATIONS}",
    "crisp.scenarios.per_norm=1",
    "crisp.responses.k=2",
    "crisp.responses.policies=[one,two_longer]",
    "bootstrap.resamples=50",
    "model.attempts=1",
)


def in_order(norms: tuple[Norm, ...]) -> list[str]:
    """The norms in the order in which a limit takes them."""
    return [each.norm for each in stratified(((n.culture, n.norm_id, n) for n in norms), 0)]


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(Situated(in_order(read_norms(shipped_folder())))) as provider:
        yield provider


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory, provider: FakeProvider) -> tuple[str, ...]:
    conf = own_options(tmp_path_factory.mktemp("conf"), provider.base_url, ["one", "two_longer"])
    return (f"--config-dir={conf}", *scripted(provider), *LINE)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("crisp")


@pytest.fixture(scope="module")
def chain(workspace: Path, line: tuple[str, ...], provider: FakeProvider) -> Run:
    return ccfw(workspace, *line, provider=provider)


def manifest(run: Run, stage: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run.folder / run.closings[stage]["out"] / "manifest.json").read_text("utf-8"))
    return content


def losses(run: Run, stage: str) -> dict[str, int]:
    counts = manifest(run, stage)["counts"]
    return {name.removeprefix("lost_"): count for name, count in counts.items() if name.startswith("lost_")}


def rounds(run: Run) -> list[dict[str, Any]]:
    every = [*run.records("refine"), *run.records("refine", "failures.jsonl")]
    return [each for record in every for each in record["rounds"]]


def test_every_stage_ends_and_what_the_provider_broke_is_said(chain: Run) -> None:
    assert set(chain.closings) == {*STAGES, "crisp"}, chain.err
    assert chain.code == 1  # some of it was given up, on purpose
    status = {stage: chain.closings[stage]["status"] for stage in STAGES}
    assert status == {
        "norms": "ok",
        "scenarios": "partial",
        "refine": "partial",
        "responses": "ok",
        "preferences": "partial",
    }


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_vanishes_in_a_stage(chain: Run, stage: str) -> None:
    counts = manifest(chain, stage)["counts"]
    assert counts["taken"] == counts["kept"] + counts["waiting"] + sum(losses(chain, stage).values())
    told = (chain.folder / chain.closings[stage]["out"] / "counts.csv").read_text("utf-8")
    rows = dict(csv.reader(told.splitlines()[1:]))
    assert int(rows["taken"]) == sum(int(rows[name]) for name in ("kept", "lost", "waiting"))


def test_nothing_vanishes_between_stages(chain: Run) -> None:
    counts = {stage: manifest(chain, stage)["counts"] for stage in STAGES}
    assert counts["norms"] == {"taken": 196, "kept": SITUATIONS, "waiting": 196 - SITUATIONS}
    assert counts["scenarios"]["taken"] == counts["norms"]["kept"]
    assert counts["refine"]["taken"] == counts["scenarios"]["kept"]
    kept = read_lines(chain.folder / chain.closings["refine"]["out"] / "situations.jsonl")
    assert len(kept) == counts["refine"]["kept"]
    assert counts["responses"]["taken"] == len(kept) * 2 * 2
    assert counts["preferences"]["taken"] == len(kept)


def test_scenarios_are_lost_for_the_reasons_that_were_scripted(chain: Run) -> None:
    assert losses(chain, "scenarios") == {"no_chronotope": 1, "no_scenario": 1}


def test_the_loop_ends_in_every_way_that_it_can(chain: Run) -> None:
    assert losses(chain, "refine") == {
        "revisions_spent": 1,
        "reruns_spent": 1,
        "no_answer": 1,
        "no_verdict": 1,
        "no_advice": 1,
        "no_plan": 1,
        "no_revision": 1,
        "infrastructure": 1,
    }


def test_every_verdict_of_the_table_was_given_and_routed_as_the_table_says(chain: Run) -> None:
    seen = {}
    for each in rounds(chain):
        if not each["leaks"]:
            seen[tuple(each["verdict"][name] for name in "AENRL")] = each["decision"]
    assert seen == {verdict: decision.value for verdict, decision in TABLE.items()}


def test_the_bounds_are_reached_and_not_passed(chain: Run) -> None:
    by_loss = {(r["loss"] or {}).get("reason"): r["rounds"] for r in chain.records("refine")}
    assert [each["version"] for each in by_loss["revisions_spent"]] == [1, 2, 3]
    assert [(each["version"], each["run"]) for each in by_loss["reruns_spent"]] == [(1, 1), (1, 2), (1, 3)]
    assert by_loss["revisions_spent"][-1]["decision"] == Decision.REVISE_QUESTION
    assert by_loss["reruns_spent"][-1]["decision"] == Decision.RERUN_ANSWER


def test_a_leak_that_only_the_checks_see_sends_the_question_back(chain: Run) -> None:
    (record,) = (r for r in chain.records("refine") if any(each["leaks"] for each in r["rounds"]))
    assert [(e["verdict"]["L"], bool(e["leaks"]), e["decision"]) for e in record["rounds"]] == [
        (0, False, "revise_question"),
        (0, True, "revise_question"),
        (0, False, "keep"),
    ]
    assert f"locker {situated.BLURTING_REVISION}, page 3" in record["situation"]["draft"]["scenario"]


def test_no_norm_crosses_a_split(chain: Run) -> None:
    kept = read_lines(chain.folder / chain.closings["refine"]["out"] / "situations.jsonl")
    by_norm: dict[str, set[str]] = {}
    for each in kept:
        by_norm.setdefault(each["norm"]["norm_id"], set()).add(each["split"])
    assert {len(splits) for splits in by_norm.values()} == {1}


def test_the_table_has_a_row_for_each_policy_worked_out_from_the_records(chain: Run) -> None:
    folder = chain.folder / chain.closings["responses"]["out"]
    rows = {row["policy"]: row for row in csv.DictReader((folder / "policies.csv").read_text("utf-8").splitlines())}
    assert set(rows) == {"one", "two_longer"}
    root = chain.folder / "workspace" / "crisp" / "responses"
    answers = [each for path in root.glob("*/records.jsonl") for each in read_lines(path)]
    scores = [each for path in root.glob("*/scores/*/records.jsonl") for each in read_lines(path)]
    for policy, row in rows.items():
        own = [each for each in answers if each["policy"] == policy]
        valid = sum(each["failure"] is None for each in own)
        assert 0 < valid < len(own)
        assert float(row["valid"]) == pytest.approx(valid / len(own), abs=1e-6)
        for scale in ("outcome", "norm_match"):
            found = [
                s["score"] for s in scores if s["policy"] == policy and s["scale"] == scale and s["score"] is not None
            ]
            assert float(row[scale]) == pytest.approx(sum(found) / len(found), abs=1e-6)
        low, mean, high = (float(row[name]) for name in ("outcome_lo", "outcome", "outcome_hi"))
        assert low < mean < high


def test_what_a_judge_says_off_the_scale_is_a_failure_and_no_score(chain: Run) -> None:
    paths = (chain.folder / "workspace" / "crisp" / "responses").glob("*/scores/*/records.jsonl")
    off = [each for path in paths for each in read_lines(path) if each["failure"]]
    assert off
    assert {(each["score"], each["failure"]["kind"], each["failure"]["detail"]) for each in off} == {
        (None, "out_of_range", "score is off the scale of 1 to 5")
    }
    assert losses(chain, "responses")["not_scored"] == len(off)


def test_pairs_come_from_gaps_and_from_triplets(chain: Run) -> None:
    pairs = read_lines(chain.folder / chain.closings["preferences"]["out"] / "pairs.jsonl")
    counts = Counter(each["kind"] for each in pairs)
    triplets = manifest(chain, "preferences")["counts"]["kept"]
    assert {kind: n for kind, n in counts.items() if kind != "gap"} == dict.fromkeys(
        ("appropriate_generic", "appropriate_opposite", "generic_opposite"), triplets
    )
    gaps = [each for each in pairs if each["kind"] == "gap"]
    assert gaps
    for each in gaps:
        better, worse = (int(re.search(r"mark (\d)", each[side])[1]) for side in ("chosen", "rejected"))  # type: ignore[index]
        assert better - worse == each["gap"] >= 2
    modes = Counter(each["mode"] for each in chain.records("preferences"))
    assert set(modes) == {"full", "rewrite"}
    assert losses(chain, "preferences")["no_triplet"] == len(chain.records("preferences", "failures.jsonl"))


def test_the_report_of_preferences_tells_how_lengths_are_balanced(chain: Run) -> None:
    told = (chain.folder / chain.closings["preferences"]["out"] / "report.md").read_text("utf-8")
    assert "## Pairs and their lengths" in told
    assert "## Longest of its triplet" in told


def test_the_same_line_again_pays_for_nothing_that_was_read(
    chain: Run, line: tuple[str, ...], provider: FakeProvider
) -> None:
    before = (chain.folder / chain.closings["responses"]["out"] / "policies.csv").read_bytes()
    again = ccfw(chain.folder, *line, provider=provider)
    names = Counter(each.schema_name for each in again.requests)
    assert names["crisp_response"] == names["crisp_outcome"] == names["crisp_norm_match"] == 0
    assert (again.folder / again.closings["responses"]["out"] / "policies.csv").read_bytes() == before
    assert manifest(again, "refine")["counts"] == manifest(chain, "refine")["counts"]


def test_a_dry_run_of_the_chain_calls_nobody_and_tells_roles(
    tmp_path: Path, line: tuple[str, ...], provider: FakeProvider
) -> None:
    done = ccfw(tmp_path, *line, "dry_run=true", provider=provider)
    assert (done.code, done.requests) == (0, ()), done.err
    # 43 norms: a chronotope and a scenario each; then an answer and a verdict each
    assert f" norms=0..0 scenarios={2 * SITUATIONS}..{8 * SITUATIONS} refine={2 * SITUATIONS}.." in done.out
    # two policies, two answers a question; each judged twice
    assert (
        f" responses={SITUATIONS * 4 * 3}..{SITUATIONS * 4 * 5} preferences={SITUATIONS}..{SITUATIONS * 4} " in done.out
    )


# ---- who sees what

CANARY = re.compile(r"zq\w+?qz")
OWN_NORM = "Whoever visits a workshop zqnormqz leaves boots outside and waits beneath a painted sign"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[FakeRequest]]:
    """Requests by schema of a chain whose norm, hidden answer and activation condition carry canaries."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "own.csv").write_text(f"norm,culture,norm_type,licence\n{OWN_NORM},Norway,workplace,CC0-1.0\n", "utf-8")
    thin = Situated([f"{OWN_NORM}."], canaries=True)

    def script(request: FakeRequest) -> Any:
        if request.schema_name != "crisp_verdict":
            return thin(request)
        user = "\n".join(request.said("user"))  # first a thin answer, then a wrong one, then all is well
        again = int("on second thought" in user)
        return json.dumps(situated.flags(situated.GOOD if "page 2" in user else (1 - again, again, 1, 1, 0)))

    with FakeProvider(script) as provider:
        line = [each for each in LINE if "policies" not in each and "limit" not in each]
        run = ccfw(folder, *scripted(provider), *line, "crisp.norms.sources=[own.csv]", provider=provider)
    assert run.code == 0, run.err
    found: dict[str, list[FakeRequest]] = {}
    for each in run.requests:
        found.setdefault(str(each.schema_name).removeprefix("crisp_"), []).append(each)
    return found


def canaries(requests: list[FakeRequest]) -> set[str]:
    return {found for each in requests for found in CANARY.findall(json.dumps(each.body))}


SEES = {
    "chronotope": {"zqnormqz"},
    "scenario": {"zqnormqz", "zqconditionqz"},
    "answer": set(),
    "verdict": {"zqnormqz", "zqhiddenqz", "zqconditionqz"},
    "advice": {"zqnormqz", "zqhiddenqz"},
    "plan": {"zqnormqz", "zqhiddenqz", "zqconditionqz"},
    "revision": {"zqnormqz", "zqhiddenqz", "zqconditionqz"},
    "response": set(),
    "outcome": {"zqnormqz"},
    "norm_match": {"zqnormqz"},
}


@pytest.mark.parametrize("role", SEES)
def test_a_role_sees_what_its_view_grants_and_nothing_else(planted: dict[str, list[FakeRequest]], role: str) -> None:
    assert canaries(planted[role]) == SEES[role]


def test_the_outcome_judge_reads_no_reasoning(planted: dict[str, list[FakeRequest]]) -> None:
    assert not any("It says mark" in json.dumps(each.body) for each in planted["outcome"])
    assert all("It says mark" in json.dumps(each.body) for each in planted["norm_match"])
