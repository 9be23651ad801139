"""The report on shards calls things by their own names; its counts are those of every report (``test_blueprints``)."""

from __future__ import annotations

from ccfw.authoring.histories import Fault, Step, WrittenRecord
from ccfw.records import Failure, FailureKind
from ccfw.report.drafts import report
from ccfw.report.shards import WORDS

FAULT = Fault(check="key_risk", where="", found="", says="a | taboo")
PASSED = WrittenRecord(
    seed_id="a", tries=1, history=(Step(number=1, by="generator", faults=()),), failure=None, attempt=0
)
FAILED = WrittenRecord(
    seed_id="b",
    tries=1,
    history=(Step(number=1, by="generator", faults=(FAULT,)),),
    failure=Failure(kind=FailureKind.INCONSISTENT, detail="no shards passed in 1 tries; the last failed: key_risk"),
    attempt=0,
)


def test_shards_are_told_of_as_shards() -> None:
    text = report([PASSED, FAILED], {"generator": ("key_risk",)}, {"usd": 0.5, "unpriced_calls": 0}, WORDS)
    assert text.startswith("# Shards\n\n1 of 2 blueprints have shards (50.0%).\n\nCost: 0.5000 USD in all")
    assert "An accepted scenario took 1.00 tries on average." in text
    assert "| inconsistent: no shards passed in 1 tries; the last failed: key_risk | 1 |" in text
    assert "* `key_risk` (generator): 1 of 2, as a \\| taboo" in text
    assert "| `key_risk` | generator | 2 | 1 | 50.0% |" in text
