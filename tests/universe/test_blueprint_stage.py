"""Stage *blueprints* through the door: a generator that errs in every way in turn and is mended; one that never is."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ccfw.authoring.audits import DIMENSIONS
from ccfw.stages.blueprints import VALIDATORS
from tests.e2e.running import Run, ccfw, scripted
from tests.e2e.test_estimate import estimates
from tests.fakes.faults import SERVER_ERROR, Fault, Script
from tests.fakes.provider import FakeProvider
from tests.fakes.scripts import roles
from tests.fakes.wire import FakeRequest
from tests.universe.replies import (
    BACKGROUND,
    FAULTS,
    GOOD,
    NATIVE,
    SEED_ID,
    SUMMARY,
    TABOO,
    TOLD,
    TRANSLATIONS,
    spoilt,
    text,
)
from tests.universe.thinning import SEEDS, thinned

Runs = Callable[..., Run]
FINE = {name: {"reason": "fine", "passes": True} for name in DIMENSIONS}
BETTER = f"{NATIVE}呢"
GIVEN_AWAY = "any tips for food from a stall with a no pork, no lard sign"
TRIES = len(FAULTS) + len(DIMENSIONS) + 2
LINE = ("stage=blueprints", "retriever=bm25", "retriever.taboos=200", f"ids={SEED_ID}")


class Erring:
    """Plays all roles, makes each mistake once, one a reply, and ends with a good reply."""

    def __init__(self) -> None:
        self.drafts: Iterator[str] = iter(["Sure!", *(text(spoilt(changes)) for changes in FAULTS.values())])
        self.verdicts = iter(DIMENSIONS)
        self.chairs = count(6)
        self.translations = iter(["Sure!", *(native(message) for message in TRANSLATIONS.values()), native(NATIVE)])
        self.backs = iter([GIVEN_AWAY])

    def another(self) -> str:
        """A good reply unlike those before: what was audited once is not audited again."""
        return text(spoilt({BACKGROUND: f"{GOOD['User_Private_Context']['Background']} {next(self.chairs)} chairs."}))

    def __call__(self, request: FakeRequest) -> str:
        match request.schema_name:
            case "blueprint":
                return next(self.drafts, None) or self.another()
            case "blueprint_audit":
                name = next(self.verdicts, None)
                failing = {name: {"reason": f"{name} is not so", "passes": False}} if name else {}
                return json.dumps(FINE | failing)
            case "translate":
                return next(self.translations, native(BETTER))
            case _:
                return json.dumps({"english": next(self.backs, TOLD)})


def apart(temperature: float) -> tuple[str, ...]:
    """Return settings under which nothing is asked that another test has asked: the ledger would answer it."""
    return tuple(f"blueprints.{role}temperature={temperature}" for role in ("", "audit_", "translation_"))


def native(message: str) -> str:
    return json.dumps({"message": message, "summary": SUMMARY})


def good(request: FakeRequest) -> str:
    replies = {"blueprint": text(GOOD), "blueprint_audit": json.dumps(FINE), "translate": native(NATIVE)}
    return replies.get(request.schema_name or "", json.dumps({"english": TOLD}))


def never(request: FakeRequest) -> str:
    return text(spoilt(FAULTS["hop_form"])) if request.schema_name == "blueprint" else good(request)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all seeds."""
    folder = tmp_path_factory.mktemp("whole")
    assert ccfw(folder, "stage=seeds", "model=scripted", "tracking=none").code == 0
    return folder


@pytest.fixture(scope="module")
def workspace(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with some seeds."""
    return thinned(whole, tmp_path_factory.mktemp("blueprints"), SEED_ID)


@pytest.fixture(scope="module")
def run(workspace: Path) -> Iterator[Runs]:
    """Run the stage with a script; the provider's address is part of what names an output, and stays."""
    with FakeProvider(roles()) as provider:

        def play(script: Script, *more: str) -> Run:
            provider.script = roles(other=script)
            return ccfw(workspace, *scripted(provider), *LINE, *more, provider=provider)

        yield play


@pytest.fixture(scope="module")
def mended(run: Runs) -> Run:
    return run(Erring(), f"blueprints.tries={TRIES}", f"blueprints.translations={len(TRANSLATIONS) + 3}")


def steps(record: dict[str, Any], by: str) -> list[set[str]]:
    return [{fault["check"] for fault in step["faults"]} for step in record["history"] if step["by"] == by]


def test_each_fault_is_caught_by_its_check_and_mended_by_the_next_reply(mended: Run) -> None:
    assert (mended.code, mended.closings["blueprints"]["status"]) == (0, "ok"), mended.err
    (record,) = mended.records("blueprints")
    drafts = steps(record, "generator")
    assert len(drafts) == record["tries"] == TRIES
    assert drafts[0] == {"reply"}
    for name, caught in zip(FAULTS, drafts[1:], strict=False):
        assert name in caught
    assert drafts[-1 - len(DIMENSIONS) :] == [set()] * (1 + len(DIMENSIONS))
    assert steps(record, "auditor") == [*({f"audit_{name.lower()}"} for name in DIMENSIONS), set()]


def test_the_translation_is_held_to_its_own_checks(mended: Run) -> None:
    (record,) = mended.records("blueprints")
    replies = steps(record, "translator")
    assert replies[0] == {"reply"}
    for name, caught in zip(TRANSLATIONS, replies[1:], strict=False):
        assert name in caught
    assert replies[-2:] == [set(), set()]
    assert steps(record, "read_back") == [{"leaked_harm", "message_negative"}, set()]


def test_nothing_faulty_passes_and_what_passes_is_whole(mended: Run) -> None:
    (record,) = mended.records("blueprints")
    public = record["blueprint"]["public_context"]["initial_user_message"]
    assert public == {"global_english": TOLD, "native_language": BETTER}
    assert record["blueprint"]["validation"]["validators"] == ["ccfw.checks", "scripted"]
    assert record["evidence"]["rests_on"] == [TABOO]
    assert TABOO in record["evidence"]["taboos"]
    assert record["openers"] == ["asks around", "has tried already"]
    assert record["failure"] is None


def test_all_that_was_found_goes_into_every_later_request(mended: Run) -> None:
    asked = [each.said("user")[-1] for each in mended.requests if each.schema_name == "blueprint"]
    assert len(asked) == TRIES
    assert "What earlier versions got wrong" not in asked[0]
    assert "not one JSON object" in asked[1]
    assert "Notes: 'Notes'; wanted: no key that was not asked for" in asked[2]
    last = asked[-1]
    assert "not one JSON object" in last
    assert "25–50 words, not 8" in last
    assert "structured: Structured is not so" in last


def test_what_is_hidden_is_not_told_to_the_translator(mended: Run) -> None:
    told = "\n".join(
        "\n".join(each.said("system") + each.said("user"))
        for each in mended.requests
        if (each.schema_name or "").startswith("translate")
    )
    assert TOLD in told
    for hidden in GOOD["Evaluator_Oracle_Context"]["Safety_Tripwires"]:
        assert hidden not in told
    assert GOOD["Evaluator_Oracle_Context"]["Cultural_Taboos"][0] not in told


def test_the_report_tells_pass_rates_tries_and_cost(mended: Run) -> None:
    text = (mended.folder / mended.closings["blueprints"]["out"] / "report.md").read_text("utf-8")
    assert "1 of 1 seeds have a blueprint (100.0%)." in text
    assert f"| {TRIES} | 1 | 0 |" in text
    assert f"Cost: {mended.closings['blueprints']['cost']} USD in all" in text
    caught = {"generator": {"reply", *FAULTS}, "translator": {"reply", *TRANSLATIONS}}
    for by, names in VALIDATORS.items():
        assert all(f"| `{name}` | {by} |" in text for name in caught.get(by, set()) & set(names))
    assert re.search(r"\n\n… [1-9]\d* checks found nothing\.\n$", text)


def test_the_same_line_again_asks_nobody(run: Runs, mended: Run) -> None:
    again = run(Erring(), f"blueprints.tries={TRIES}", f"blueprints.translations={len(TRANSLATIONS) + 3}")
    assert (again.code, again.requests) == (0, ()), again.err
    assert again.closings["blueprints"]["skipped"] == 1


def test_one_that_never_mends_is_given_up_with_its_history_and_asked_anew_next_time(run: Runs) -> None:
    line = apart(0.7)
    for attempt in range(2):
        done = run(never, *line)
        assert (done.code, done.closings["blueprints"]["status"], len(done.requests)) == (1, "failed", 4)
        (record,) = done.records("blueprints", "failures.jsonl")
        assert record["failure"] == {
            "kind": "inconsistent",
            "detail": "no blueprint passed in 4 tries; the last failed: hop_form",
        }
        assert (record["attempt"], record["tries"], record["blueprint"]) == (attempt, 4, None)
        assert steps(record, "generator") == [{"hop_form"}] * 4
    mended = run(good, *line)
    assert (mended.code, len(mended.requests)) == (0, 4)
    assert mended.records("blueprints", "failures.jsonl") == []


def test_a_providers_failure_is_told_apart_and_loses_nothing_paid(run: Runs) -> None:
    more = (*apart(0.5), "model.attempts=1")

    def broken(request: FakeRequest) -> Fault | str:
        return SERVER_ERROR if request.schema_name == "translate" else good(request)

    first = run(broken, *more)
    assert first.code == 1
    assert first.records("blueprints", "failures.jsonl")[0]["failure"]["kind"] == "infrastructure"
    second = run(good, *more)
    assert [each.schema_name for each in second.requests] == ["translate", "translate_back"]
    assert second.closings["blueprints"]["cached"] == 2


def test_a_verdict_that_cannot_be_read_ends_as_a_typed_failure(run: Runs) -> None:
    def mute(request: FakeRequest) -> str:
        return "fine!" if request.schema_name == "blueprint_audit" else good(request)

    done = run(mute, *apart(0.6))
    (record,) = done.records("blueprints", "failures.jsonl")
    assert record["failure"]["kind"] == "unparsed"
    assert record["failure"]["detail"].startswith("auditor: not one JSON object")


def test_a_seed_that_rests_on_a_taboo_is_not_made_without_one(run: Runs) -> None:
    done = run(good, "retriever=none")
    assert (done.code, done.requests) == (1, ())
    (record,) = done.records("blueprints", "failures.jsonl")
    assert record["failure"]["detail"] == "the seed rests on a taboo and the retriever found none for it"


@pytest.fixture
def fresh(workspace: Path, tmp_path: Path) -> Path:
    """A folder with some seeds in which nobody was asked anything."""
    shutil.copytree(workspace / SEEDS, tmp_path / SEEDS)
    return tmp_path


def test_a_generator_of_noise_ends_in_typed_failures_a_report_and_a_pilot(fresh: Path) -> None:
    with FakeProvider(roles()) as provider:
        line = (*scripted(provider), "stage=blueprints", "retriever=none", "split=test", "trap=contextual")
        done = ccfw(fresh, *line, "limit=20", provider=provider)
        planned = estimates(ccfw(fresh, *line, "limit=30", "dry_run=true"))
    failures = done.records("blueprints", "failures.jsonl")
    assert (done.code, len(failures)) == (1, 20)
    assert {each["failure"]["kind"] for each in failures} <= {"inconsistent", "incomplete"}
    assert "0 of 20 seeds" in (done.folder / done.closings["blueprints"]["out"] / "report.md").read_text("utf-8")
    # each of the 20 was asked for four times, and never audited
    assert (planned["generator"]["calls"], planned["generator"]["basis"]) == ("120", "80 calls")
    assert (planned["auditor"]["calls"], planned["auditor"]["basis"]) == ("30", "assumed")


def test_a_dry_run_tells_the_least_and_the_most_calls(whole: Path) -> None:
    done = ccfw(whole, "model=scripted", *LINE, "dry_run=true")
    # generator, auditor, translator there and back; at most 4 × (1 + 2) and 3 × (1 + 2)
    assert " blueprints=4..21 calls=4..21" in done.out
    # at 1 and 2 dollars a million: 4,000 and 1,200 tokens, 2,200 and 150, twice 350 and 130
    assert {role: (row["calls"], row["range"], row["US$"]) for role, row in estimates(done).items()} == {
        "generator": ("1", "1..4", "0.0064"),
        "auditor": ("1", "1..8", "0.0025"),
        "translator": ("2", "2..9", "0.0012"),
        "all": ("4", "", "0.0101"),
    }


def test_seeds_must_be_there_and_known(workspace: Path, tmp_path: Path) -> None:
    missing = ccfw(tmp_path, "model=scripted", "tracking=none", "stage=blueprints")
    assert (missing.code, missing.err) == (
        2,
        "ccfw: stage=blueprints: no seeds under these settings; make them first: stage=seeds\n",
    )
    unknown = ccfw(workspace, "model=scripted", "tracking=none", "stage=blueprints", "age=12")
    assert (unknown.code, unknown.err) == (2, "ccfw: age=12: no seed has it; there: 18-34, 35-54, 55+\n")
