"""The report on blueprints, with counts worked out by hand."""

from __future__ import annotations

import pytest

from ccfw.authoring.blueprint_records import BlueprintRecord, Evidence
from ccfw.authoring.blueprints import Filling, assemble
from ccfw.authoring.histories import Fault, Reader, Step
from ccfw.checks.issue import Issue
from ccfw.records import Failure, FailureKind
from ccfw.report.blueprints import WORDS
from ccfw.report.drafts import report
from tests.universe.replies import GOOD, SEED, TEMPLATE

CHECKS = {"generator": ("reply", "message_length", "hop_form"), "auditor": ("audit_plausible",)}
PAID = {"usd": 0.5, "unpriced_calls": 0}


def step(number: int, by: Reader, *names: str) -> Step:
    faults = tuple(Fault(check=name, where="Here", found=f"a | {name}", says="better") for name in names)
    return Step(number=number, by=by, faults=faults)


def record(*history: Step, failure: Failure | None = None) -> BlueprintRecord:
    blueprint = None if failure else assemble(Filling(GOOD), SEED, TEMPLATE, None, "auditor")
    return BlueprintRecord(
        seed_id=SEED.seed_id,
        seed=SEED,
        template=TEMPLATE,
        blueprint=blueprint,
        complexity=None if failure else 4,
        evidence=Evidence(passages=(), taboos=(), niche_terms=(), rests_on=()),
        openers=("a", "b"),
        tries=sum(each.by == "generator" for each in history),
        history=history,
        failure=failure,
        attempt=0,
    )


RECORDS = [
    record(step(1, "generator"), step(1, "auditor")),
    record(
        step(1, "generator", "message_length", "message_length", "hop_form"),
        step(2, "generator"),
        step(2, "auditor", "audit_plausible"),
        step(3, "generator"),
        step(3, "auditor"),
    ),
    record(
        step(1, "generator", "reply"),
        step(2, "generator", "message_length"),
        failure=Failure(kind=FailureKind.INCONSISTENT, detail="no blueprint passed"),
    ),
]


def test_every_number_is_as_counted_by_hand() -> None:
    checks = CHECKS | {"auditor": (*CHECKS["auditor"], "audit_native", "audit_clear")}
    assert report(RECORDS, checks, PAID, WORDS) == (
        "# Blueprints\n\n"
        "2 of 3 seeds have a blueprint (66.7%).\n\n"
        "Cost: 0.5000 USD in all, 0.2500 USD for each accepted.\n\n"
        "## Tries\n\n"
        "An accepted blueprint took 2.00 tries on average.\n\n"
        "| Tries of the generator | Accepted | Given up |\n| ---: | ---: | ---: |\n"
        "| 1 | 1 | 0 |\n| 2 | 0 | 1 |\n| 3 | 1 | 0 |\n\n"
        "## Given up\n\n| Reason | Seeds |\n| --- | ---: |\n| inconsistent: no blueprint passed | 1 |\n\n"
        "## What most often fails\n\n"
        "* `message_length` (generator): 2 of 5, as Here: 'a \\| message_length'; wanted: better\n"
        "* `hop_form` (generator): 1 of 5, as Here: 'a \\| hop_form'; wanted: better\n"
        "* `audit_plausible` (auditor): 1 of 3, as Here: 'a \\| audit_plausible'; wanted: better\n"
        "* `reply` (generator): 1 of 6, as Here: 'a \\| reply'; wanted: better\n\n"
        "## Pass rate by check\n\n"
        "| Check | Reply of | Seen | Caught | Pass rate |\n| --- | --- | ---: | ---: | ---: |\n"
        "| `reply` | generator | 6 | 1 | 83.3% |\n"
        "| `message_length` | generator | 5 | 2 | 60.0% |\n"
        "| `hop_form` | generator | 5 | 1 | 80.0% |\n"
        "| `audit_plausible` | auditor | 3 | 1 | 66.7% |\n\n"
        "… 2 checks found nothing.\n"
    )


def test_nothing_yet_is_no_division_by_nothing() -> None:
    text = report([], CHECKS, {"usd": 0.0, "unpriced_calls": 0}, WORDS)
    assert "0 of 0 seeds have a blueprint." in text
    assert "Cost: 0.0000 USD in all, none was accepted." in text
    assert text.endswith("## Pass rate by check\n\n… 4 checks found nothing.\n")


def test_what_a_check_found_and_says_is_cut() -> None:
    assert Fault.of(Issue("leaked_harm", "Here", "f" * 301, "s" * 301)) == Fault(
        check="leaked_harm", where="Here", found="f" * 300, says="s" * 300
    )


def test_an_unknown_price_is_unknown() -> None:
    assert "Cost: unknown; 3 calls have no price." in report(RECORDS, CHECKS, {"usd": 0.1, "unpriced_calls": 3}, WORDS)


def test_a_record_holds_a_blueprint_or_a_failure() -> None:
    with pytest.raises(ValueError, match="a blueprint or a failure"):
        BlueprintRecord.model_validate(RECORDS[0].model_dump() | {"blueprint": None})
