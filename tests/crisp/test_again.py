"""Running again and running on: what is kept, what is tried once more, what is said before anything is paid."""

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
from ccfw.errors import RequestError
from tests.crisp.situated import Situated
from tests.crisp.test_chain import in_order, manifest
from tests.crisp.test_stages import STARTER, counts, out, refused, settings
from tests.e2e.running import Run, ccfw, own_options, read_lines, scripted
from tests.fakes.faults import SERVER_ERROR
from tests.fakes.provider import FakeProvider, FakeRequest

NORMS = in_order(read_norms(shipped_folder()))
CHAIN = ("stage=crisp", "dataset=normcompass", "retriever=none", "bootstrap.resamples=50", "model.attempts=1")


SCENES = {
    "bakery": "Flour hangs in the light above a long counter. Next to locker {0}, page {1} of an order book lies open "
    "under a pin. Dorota counts tins, an apprentice sweeps crumbs toward the drain, and a radio murmurs about "
    "tides. Three loaves cool beside the window; one has split along its crust. Somebody put a bicycle against "
    "the oven door, and its bell rings whenever a lorry passes. The baker wipes both hands and looks up.",
    "ferry terminal": "Gulls quarrel over a puddle while the second boat is late. A notice beside locker {0}, page {1} "
    "of a timetable, flaps on two pins. Ines has a suitcase without a handle, a thermos, and a ticket stamped for "
    "yesterday. The porter chalks numbers on slate, then rubs one out with his sleeve. Across the hall an engine "
    "starts, stops, and starts again. A child asks how deep the harbour is, and nobody around the bench answers.",
    "seed shop": "Paper envelopes rustle in wooden drawers up to the ceiling. On locker {0}, page {1} of a catalogue "
    "is pinned, brown at its corners. Mr Vance weighs lentils on brass scales; a cat sleeps among bulbs. Rain drums on "
    "the awning outside, so the street is empty except for one umbrella. Somewhere behind a curtain a kettle hums "
    "and goes quiet. The customer turns a packet over, reads the planting months, and hesitates.",
}


class Varied(Situated):
    """As ``Situated``, with a scene for each place: two situations of a norm are never in the same words."""

    def _chronotope(self, text: str, request: FakeRequest) -> str:
        """One of a place that no accepted one has, whichever was given up."""
        free = next(number for number, place in enumerate(SCENES) if place not in text)
        kept = [line for line in text.splitlines() if not re.match(r"\d+\. \{", line)]
        return super()._chronotope("\n".join([*kept, *(f"{number}. {{" for number in range(free))]), request)

    def _scenario(self, text: str, request: FakeRequest) -> str:
        place = next((each for each in SCENES if each in text), "bakery")
        return self._draft(SCENES[place].format(self._number(text), 1))


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(Varied(NORMS)) as provider:
        yield provider


def told(run: Run) -> str:
    """What was said on stderr, without the time of day."""
    return re.sub(r"^\d\d:\d\d:\d\d ", "", run.err, flags=re.MULTILINE)


def schemas(run: Run) -> Counter[str]:
    return Counter(str(each.schema_name).removeprefix("crisp_") for each in run.requests)


# ---- a smaller run after a larger one, and what a limit counts


def test_a_smaller_run_leaves_what_is_there_and_a_limit_counts_norms_all_the_way(
    tmp_path: Path, provider: FakeProvider
) -> None:
    line = (*scripted(provider), *CHAIN, "crisp.scenarios.per_norm=2", "crisp.responses.k=1")
    larger = ccfw(tmp_path, *line, "limit=6", provider=provider)
    files = [out(larger, "norms") / "norms.jsonl", out(larger, "refine") / "situations.jsonl"]
    before = [path.read_bytes() for path in files]
    assert len(read_lines(files[0])) == 6
    kept = len(read_lines(files[1]))
    assert kept > 6  # two situations a norm: a limit of 6 situations would leave some of them out
    assert counts(larger, "responses")["taken"] == kept
    smaller = ccfw(tmp_path, *line, "limit=2", provider=provider)
    assert [path.read_bytes() for path in files] == before
    found = counts(smaller, "responses")
    wanted = {each["norm_id"] for each in read_lines(files[0]) if each["norm"] in NORMS[:2]}
    assert found["taken"] == sum(each["norm"]["norm_id"] in wanted for each in read_lines(files[1]))
    assert smaller.requests == ()


def test_regions_select_norms_before_anything_is_asked(tmp_path: Path, provider: FakeProvider) -> None:
    line = (*scripted(provider), *CHAIN, "crisp.scenarios.per_norm=1", "crisp.responses.k=1")
    done = ccfw(tmp_path, *line, "region=JP", "limit=2", provider=provider)
    made = done.records("scenarios")
    assert len(made) == 2
    assert all(each["norm_id"].startswith("japan") for each in made)


# ---- tried again


def test_the_situations_that_a_norm_lacks_are_asked_for_again_and_the_others_stay(
    tmp_path: Path, provider: FakeProvider
) -> None:
    line = ("stage.runs=[norms,scenarios]", "limit=1", "crisp.scenarios.per_norm=3")
    play, refused = provider.script, ["at first"]

    def said(request: FakeRequest) -> Any:  # the second place's scenario cannot be read, as long as it is refused
        second = "ferry terminal" in "".join(request.said("user"))
        return "no JSON" if request.schema_name == "crisp_scenario" and second and refused else play(request)

    provider.script = said
    first = ccfw(tmp_path, *scripted(provider), "retriever=none", *line, provider=provider)
    assert counts(first, "scenarios") == {"taken": 3, "kept": 2, "lost_no_scenario": 1, "waiting": 0}, first.err
    (record,) = first.records("scenarios", "failures.jsonl")
    kept = {slot["number"]: slot["situation"] for slot in record["slots"] if slot["situation"]}
    assert set(kept) == {1, 3}
    refused.clear()
    second = ccfw(tmp_path, *scripted(provider), "retriever=none", *line, provider=provider)
    assert second.code == 0, second.err
    (record,) = second.records("scenarios")
    assert [slot["number"] for slot in record["slots"]] == [1, 2, 3]
    assert {slot["number"]: slot["situation"] for slot in record["slots"] if slot["number"] != 2} == kept
    assert schemas(second) == {"chronotope": 1, "scenario": 1}
    assert counts(second, "scenarios") == {"taken": 3, "kept": 3, "waiting": 0}


# ---- nothing to go on with


def test_a_chain_whose_norms_are_all_lost_ends_with_the_reason_and_not_as_a_mistake(
    tmp_path: Path, provider: FakeProvider
) -> None:
    (tmp_path / "fork.csv").write_text(
        "Question,Option A,Option B,Answer Key,Country\nWhat is on the table?,Bread,A lamp,A,Norway\n", "utf-8"
    )
    line = ("crisp.norms.sources=[fork.csv]", "crisp.norms.extraction=deterministic")
    done = ccfw(tmp_path, *scripted(provider), *CHAIN, *line, provider=provider)
    assert (done.code, set(done.closings)) == (1, {"norms", "crisp"})
    assert done.closings["norms"]["status"] == done.closings["crisp"]["status"] == "failed"
    assert told(done) == "WARNING stage=norms: nothing was kept of 1: no_rule 1\n"


def test_a_chain_whose_budget_is_spent_stops_there(tmp_path: Path, provider: FakeProvider) -> None:
    line = (*scripted(provider), *CHAIN, "limit=3", "crisp.scenarios.per_norm=1", "budget=0.000001")
    done = ccfw(tmp_path, *line, provider=provider)
    assert (done.code, set(done.closings), done.requests) == (1, {"norms", "scenarios", "crisp"}, ())
    assert done.closings["scenarios"]["status"] == "partial"
    assert "make them first" not in done.err


def test_no_pair_at_all_is_said(tmp_path: Path, provider: FakeProvider) -> None:
    line = ("stage=preferences", "dataset=normcompass_starter", "crisp.preferences.triplets=none")
    done = ccfw(tmp_path, *scripted(provider), *line, provider=provider)
    assert (done.code, done.closings["preferences"]["status"]) == (1, "failed")
    why = "no scored answers under these settings (stage=responses), and crisp.preferences.triplets=none"
    assert told(done) == f"WARNING stage=preferences: no pairs: {why}\n"


# ---- damage


def test_damaged_records_are_said_before_anything_is_paid(tmp_path: Path, provider: FakeProvider) -> None:
    line = (*scripted(provider), *CHAIN, "crisp.scenarios.per_norm=1", "crisp.responses.k=1")
    first = ccfw(tmp_path, *line, "limit=1", provider=provider)
    for stage, runs in (("scenarios", "[norms,scenarios]"), ("refine", "[refine]")):
        path = out(first, stage) / "records.jsonl"
        whole = path.read_bytes()
        path.write_bytes(b'{"norm_id":"nobody"}\n' + whole)
        again = ccfw(tmp_path, *line, f"stage.runs={runs}", "limit=2", provider=provider)
        path.write_bytes(whole)
        assert (again.code, again.requests) == (1, ()), stage
        assert f"{path.relative_to(tmp_path)}:1: not a" in again.err


# ---- costs


def test_replies_that_another_output_paid_for_cost_nothing_here(tmp_path: Path, provider: FakeProvider) -> None:
    line = (*scripted(provider), "stage.runs=[norms,scenarios]", "retriever=none", "limit=2")
    first = ccfw(tmp_path, *line, "crisp.scenarios.per_norm=1", "crisp.scenarios.tries=4", provider=provider)
    paid = manifest(first, "scenarios")["paid"]["usd"]
    assert paid == pytest.approx(float(first.closings["scenarios"]["cost"]), abs=1e-4)
    assert paid > 0
    other = ccfw(tmp_path, *line, "crisp.scenarios.per_norm=1", "crisp.scenarios.tries=5", provider=provider)
    assert (other.requests, manifest(other, "scenarios")["paid"]["usd"]) == ((), 0.0)
    assert "Cost: 0.0000 USD in all." in (out(other, "scenarios") / "report.md").read_text("utf-8")


# ---- judges whose calls break, and what is told of every loss


def test_a_judge_whose_calls_break_is_infrastructure_and_every_loss_is_told(
    tmp_path: Path, provider: FakeProvider
) -> None:
    conf = own_options(tmp_path, provider.base_url, ["one"])
    play = Situated()

    def script(request: FakeRequest) -> Any:
        return SERVER_ERROR if request.schema_name == "crisp_norm_match" else play(request)

    provider.script = script
    line = (f"--config-dir={conf}", *scripted(provider), *STARTER, "limit=12", "crisp.responses.k=1", "judge=one_judge")
    done = ccfw(tmp_path, *line, "model@judge.members.one=one", "model.attempts=1", provider=provider)
    assert done.code == 1
    found = counts(done, "responses")
    lost = (out(done, "responses") / "lost_answers.csv").read_text("utf-8").splitlines()
    assert found["lost_infrastructure"] == sum(",infrastructure," in line for line in lost) > 5
    assert found.get("lost_no_answer", 0) == sum(",no_answer,unparsed: " in line for line in lost)
    assert sum(found.values()) == 2 * found["taken"]
    assert len(lost) - 1 == found["taken"] - found["kept"]
    off = [line for line in lost if "outcome by one: out_of_range: score is off the scale of 1 to 5" in line]
    assert len(off) == len([line for line in lost if "not_scored" in line or "out_of_range" in line])
    # the file of scores names the judge's member, as stage=align looks for it
    assert {
        line.split(",")[1] for line in (out(done, "responses") / "outcome.csv").read_text("utf-8").splitlines()
    } == {
        "rater",
        "one",
    }


def test_what_holds_no_score_names_policy_and_judge(tmp_path: Path, provider: FakeProvider) -> None:
    provider.script = Situated()
    done = ccfw(tmp_path, *scripted(provider), *STARTER, "limit=30", "crisp.responses.k=1", provider=provider)
    (line,) = [line for line in done.err.splitlines() if "hold no score" in line]
    assert "scores by scripted of what scripted answered hold no score: out_of_range" in line
    rows = (out(done, "responses") / "cultures.csv").read_text("utf-8").splitlines()
    assert rows[0].startswith("culture,policy,outcome,outcome_lo,outcome_hi,norm_match,")
    by_culture = {line.split(",")[0]: line.split(",") for line in rows[1:]}
    assert len(by_culture) >= 10
    for cells in by_culture.values():
        assert int(cells[-1]) < 10  # too few norms for an interval
        assert cells[3] == cells[4] == ""
    (whole,) = csv.DictReader((out(done, "responses") / "policies.csv").read_text("utf-8").splitlines())
    assert float(whole["outcome_lo"]) < float(whole["outcome"]) < float(whole["outcome_hi"])


# ---- two policies of one name in tables, and roles of the scripts


def test_policies_of_one_label_are_told_apart(tmp_path: Path, provider: FakeProvider) -> None:
    conf = own_options(tmp_path, provider.base_url, ["one", "two"])
    path = conf / "model" / "two.yaml"
    path.write_text(path.read_text("utf-8").replace("label: Two", "label: One"), "utf-8")
    line = (f"--config-dir={conf}", *scripted(provider), *STARTER, "limit=4", "crisp.responses.k=1")
    provider.script = Situated()
    done = ccfw(tmp_path, *line, "crisp.responses.policies=[one,two]", provider=provider)
    table = (out(done, "responses") / "table.md").read_text("utf-8")
    assert "| One (one) |" in table
    assert "| One (two) |" in table


# ---- said beforehand


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("stage=crisp", "dataset=normcompass_starter"),
            "ccfw: dataset=normcompass_starter: stage=responses would not read what stage=refine of this job makes; "
            "dataset=normcompass reads them\n",
        ),
        (
            ("stage.runs=[responses,report]", "dataset=normcompass_starter"),
            "ccfw: dataset=normcompass_starter: holds situations, which stages of CRISP read; dialogues and "
            "stage=report need dataset=starter, as where dataset= is left out\n",
        ),
        (
            ("stage.runs=[responses,simulate]", "dataset=normcompass_starter"),
            "ccfw: dataset=normcompass_starter: holds situations, which stages of CRISP read; dialogues and "
            "stage=report need dataset=starter, as where dataset= is left out\n",
        ),
        (
            ("stage=norms", "region=XX"),
            "ccfw: region=XX: no norm has it; there: BN, CN, ID, JP, KR, MY, PH, SG, TH, VN, none\n",
        ),
        (
            ("stage=refine", "dry_run=true"),
            "ccfw: stage=refine: no norms under these settings; make them first: stage=norms; what all of it would "
            "take: stage=crisp dataset=normcompass dry_run=true\n",
        ),
    ],
)
def test_what_cannot_be_is_said_before_anybody_is_asked(
    capfd: pytest.CaptureFixture[str], provider: FakeProvider, arguments: tuple[str, ...], says: str
) -> None:
    assert refused(provider, *arguments) == 2
    assert capfd.readouterr() == ("", says)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("crisp.preferences.min_gap=10", "input should be less than or equal to 4"),
        ("crisp.responses.temperature=-3", "input should be greater than or equal to 0"),
        ("simulation.simulator_temperature=2.5", "input should be less than or equal to 2"),
        ("blueprints.audit_temperature=-0.1", "input should be greater than or equal to 0"),
    ],
)
def test_a_value_that_nothing_can_have_is_no_setting(given: str, says: str) -> None:
    with pytest.raises(RequestError) as caught:
        settings(given)
    assert caught.value.problems == (f"{given}: {says}",)


@pytest.mark.parametrize("raters", ["[ann,Ann]", "[ann,ann]"])
def test_two_raters_of_one_name_would_share_a_sheet(raters: str) -> None:
    with pytest.raises(RequestError, match="each is named once, in whatever case"):
        settings(f"crisp.rating.raters={raters}")


def test_settings_without_effect_are_named_and_a_plan_counts_no_dialogues(
    tmp_path: Path, provider: FakeProvider
) -> None:
    idle = ("batch=provider", "precision=0.1", "domain=Food", "age=18-34", "trap=standard", "language=native")
    done = ccfw(tmp_path, *scripted(provider), *STARTER, *idle, "limit=2", "dry_run=true", provider=provider)
    assert done.code == 0, done.err
    assert told(done).splitlines() == [
        f"WARNING {each}: without effect on stage=responses"
        for each in (
            "domain=Food",
            "age=18-34",
            "trap=standard",
            "language=native",
            "batch=provider",
            "precision=0.1",
        )
    ]
    assert "dialogues=" not in done.out
    (judged,) = [line for line in done.out.splitlines() if " judge " in line]
    assert judged.split()[-3:] == ["-", "-", "assumed"]  # no price by batch: the stage knows none


# ---- what is rewritten


def test_an_answer_that_says_what_kind_of_advice_it_is_is_not_given_to_be_rewritten(
    tmp_path: Path, provider: FakeProvider
) -> None:
    play = Situated()

    def script(request: FakeRequest) -> Any:
        if request.schema_name != "crisp_response":
            return play(request)
        first = request.body.get("seed") == 0
        answer = "In their culture, follow mark 5." if first else "Follow mark 5 respectfully."
        return json.dumps({"answer": answer, "reasoning": "It says mark 2."})

    provider.script = script
    stages = ("stage.runs=[responses,preferences]", "dataset=normcompass_starter", "crisp.preferences.triplets=rewrite")
    line = (*scripted(provider), *stages, "limit=2", "bootstrap.resamples=50")
    lost = ccfw(tmp_path, *line, "crisp.responses.k=1", provider=provider)
    assert counts(lost, "preferences") == {"taken": 2, "kept": 0, "lost_not_scored": 2, "waiting": 0}
    assert (lost.code, schemas(lost)["rewrite"]) == (1, 0)
    done = ccfw(tmp_path, *line, "crisp.responses.k=2", provider=provider)
    situations = [each for each in done.records("preferences") if each["triplet"]]
    given = {each["triplet"]["appropriate"] for each in situations}
    assert given == {"Follow mark 5 respectfully."}
    assert schemas(done)["rewrite"] == len(situations) > 0
