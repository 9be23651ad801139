"""What a dry run says beforehand, held against what the run then takes."""

from __future__ import annotations

import pytest

from ccfw.estimate import HEAD
from tests.e2e.running import Run, ccfw, cost_of, scripted
from tests.fakes.provider import FakeProvider
from tests.fakes.scripts import roles

LINE = ("stage=pipeline", "bootstrap.resamples=50")


def estimates(run: Run) -> dict[str, dict[str, str]]:
    """Return the rows of a dry run's table by role, the sum as ``all``."""
    _, head, *lines = run.out.splitlines()
    starts = [head.index(name) for name in HEAD]
    ends = [*starts[1:], None]
    rows = [{name: line[a:b].strip() for name, a, b in zip(HEAD, starts, ends, strict=True)} for line in lines]
    return {row["role"] or row["stage"]: row for row in rows}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run, Run]:
    """Plan twelve dialogues, hold six, and plan the rest with those as the pilot."""
    folder = tmp_path_factory.mktemp("estimate")
    with FakeProvider(roles()) as provider:
        line = scripted(provider, *LINE)
        before = ccfw(folder, *line, "limit=12", "dry_run=true", provider=provider)
        held = ccfw(folder, *line, "limit=6", provider=provider)
        after = ccfw(folder, *line, "limit=12", "dry_run=true", provider=provider)
    return before, held, after


def test_without_a_pilot_everything_is_assumed(runs: tuple[Run, Run, Run]) -> None:
    found = estimates(runs[0])
    assert {role: fields["basis"] for role, fields in found.items()} == {
        "assistant": "assumed",
        "simulator": "assumed",
        "judge": "assumed",
        "all": "",
    }
    assert {fields["interval"] for fields in found.values()} == {"unknown"}
    judge = found["judge"]  # 72 calls of 2,500 and 350 tokens at 1 and 2 dollars a million
    assert (judge["calls"], judge["tokens in"], judge["tokens out"]) == ("72", "180000", "25200")
    assert (judge["US$"], judge["by batch"]) == ("0.2304", "0.1152")


def test_nobody_is_called_by_a_plan(runs: tuple[Run, Run, Run]) -> None:
    assert [len(run.requests) for run in (runs[0], runs[2])] == [0, 0]


def test_a_pilot_gives_the_means_of_its_calls(runs: tuple[Run, Run, Run]) -> None:
    _, held, after = runs
    judge = estimates(after)["judge"]
    asked = held.asked("judge")
    assert judge["basis"] == f"{len(asked)} calls"
    assert judge["calls"] == "36"
    low, high = (float(bound) for bound in judge["interval"].split(".."))
    assert low < float(judge["US$"]) < high


def test_what_was_left_is_what_had_been_said(runs: tuple[Run, Run, Run]) -> None:
    assert estimates(runs[2])["judge"]["range"] == "36..72"


def test_what_the_pilots_calls_cost_is_the_mean_that_is_multiplied(runs: tuple[Run, Run, Run]) -> None:
    _, held, after = runs
    asked = held.asked("judge")
    mean = cost_of(asked) / len(asked)
    assert float(estimates(after)["judge"]["US$"]) == pytest.approx(36 * mean, abs=1e-4)
