"""The table that a sweep ends with, and what errors become in it."""

from __future__ import annotations

import pytest

from ccfw.errors import CcfwError, RequestError, StoreError
from ccfw.outcome import Outcome, io_error, of_error, table, worst


def test_a_row_names_what_sets_its_job_apart_and_jobs_that_did_not_run_have_one() -> None:
    jobs = [["stage=simulate", "limit=1"], ["stage=simulate", "limit=20"], ["stage=simulate", "limit=3"]]
    outcomes = [
        Outcome("ok", 0, 12, "0.0031"),
        Outcome("failed", 1, None, "unknown", "disk full"),
    ]
    assert table(jobs, outcomes).splitlines() == [
        "job  overrides  status   calls    cost     reason",
        "0    limit=1    ok       12       0.0031",
        "1    limit=20   failed   unknown  unknown  disk full",
        "2    limit=3    not run  -        -",
        "ccfw sweep jobs=3 ok=1 partial=0 failed=1 refused=0 not_run=1",
    ]


def test_a_sweep_of_one_job_names_all_that_it_was_asked_with() -> None:
    assert table([["stage=simulate", "limit=1"]], [Outcome("ok")]).splitlines()[1] == (
        "0    stage=simulate limit=1  ok      0      0.0000"
    )


def test_jobs_that_do_not_differ_have_a_dash() -> None:
    assert table([["limit=1"], ["limit=1"]], [])[:100].splitlines()[1] == "0    -          not run  -      -"


def test_a_reason_cannot_move_the_terminal_or_show_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-0123456789")
    shown = table([["limit=1"]], [Outcome("failed", 1, reason="\x1b[2J refused sk-0123456789")])
    assert shown.splitlines()[1].endswith("⟨U+001B⟩[2J refused <SOME_KEY>")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(RequestError(["a: no", "b: no"]), Outcome("refused", 2, reason="a: no; b: no"), id="request"),
        pytest.param(StoreError("torn\n  file"), Outcome("failed", 1, reason="torn file"), id="store"),
        pytest.param(ValueError(), Outcome("failed", 1, reason="ValueError"), id="without-words"),
    ],
)
def test_an_error_is_refused_or_failed_with_its_message_on_one_line(error: Exception, outcome: Outcome) -> None:
    assert of_error(error) == outcome


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(OSError(28, "No space left on device"), "writing: work: No space left on device", id="no-file"),
        pytest.param(OSError(13, "Permission denied", "a/b"), "writing: a/b: Permission denied", id="file"),
        pytest.param(OSError("odd"), "writing: work: odd", id="no-number"),
    ],
)
def test_an_error_of_the_system_says_what_was_being_done_with_what(error: OSError, message: str) -> None:
    said = io_error("writing", error, "work")
    assert (type(said), str(said)) == (CcfwError, message)


def test_the_worst_code_is_the_commands() -> None:
    assert worst([]) == 0
    assert worst([Outcome("ok"), Outcome("refused", 2), Outcome("failed", 1)]) == 2
