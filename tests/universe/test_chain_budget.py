"""Blueprints, shards and dialogues by one line: a budget bounds it whole, and with a larger one it goes on."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.running import Run, ccfw, cost_of, scripted
from tests.e2e.test_estimate import estimates
from tests.e2e.test_pipeline import STOPPED
from tests.fakes.provider import FakeProvider, FakeRequest
from tests.fakes.scripts import roles
from tests.universe.replies import SEED_ID
from tests.universe.test_shard_stage import good

pytestmark = pytest.mark.long
STAGES = ("blueprints", "shards", "simulate")
AUTHORS = ("generator", "auditor", "translator")
DEAR = {"generator": 1, "auditor": 3, "translator": 1, "model": 5}
"""US dollars per million tokens: the later a call comes, the dearer it is, so that a budget may end at each stage."""
LINE = (
    *(f"stage.runs=[{','.join(STAGES)}]", "dataset=generated", "model.max_output_tokens=512"),
    *("retriever=bm25", "retriever.taboos=200", f"ids={SEED_ID}"),
    *(f"model@{role}=scripted" for role in AUTHORS),
    *(f"{role}.price={{input: {usd}, output: {2 * usd}, cached_input: null}}" for role, usd in DEAR.items()),
    *(f"{role}.max_output_tokens=512" for role in AUTHORS),
)
PLAYED = roles(other=good)


def line(provider: FakeProvider) -> tuple[str, ...]:
    return (*scripted(provider), *LINE, *(f"{role}.api_base={provider.base_url}" for role in AUTHORS))


def payer(request: FakeRequest) -> str:
    """Return the role whose model a request is paid for by."""
    of_schema = {
        "blueprint": "generator",
        "shards": "generator",
        "blueprint_audit": "auditor",
        "shards_audit": "auditor",
    }
    translated = {"translate": "translator", "translate_back": "translator"}
    return (of_schema | translated).get(request.schema_name or "", "model")


def paid_for(run: Run) -> float:
    """Return what a run's calls cost; ``model=scripted`` asks one dollar for what it reads and two for the rest."""
    return sum(DEAR[payer(each)] * cost_of([each], PLAYED) for each in run.requests)


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    """One for all runs: its address is part of what names an output."""
    with FakeProvider(PLAYED) as provider:
        yield provider


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeds")
    assert ccfw(folder, "stage=seeds", "model=scripted", "tracking=none").code == 0
    return folder / "workspace" / "universe" / "seeds"


def fresh(seeds: Path, folder: Path) -> Path:
    """Return a folder with the seeds, in which nobody was asked anything."""
    shutil.copytree(seeds, folder / "workspace" / "universe" / "seeds")
    return folder


@pytest.fixture(scope="module")
def undisturbed(seeds: Path, provider: FakeProvider, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = ccfw(fresh(seeds, tmp_path_factory.mktemp("whole")), *line(provider), provider=provider)
    assert run.code == 0, run.err
    return run


class Capped(NamedTuple):
    budget: float
    run: Run


@pytest.fixture(scope="module")
def capped(seeds: Path, provider: FakeProvider, tmp_path_factory: pytest.TempPathFactory) -> list[Capped]:
    """The same line again and again, each time under no more than what the next call may cost, until it is done."""
    folder = fresh(seeds, tmp_path_factory.mktemp("capped"))
    budget, made = 0.001, list[Capped]()
    while not made or made[-1].run.code:
        run = ccfw(folder, *line(provider), f"budget={budget:.4f}", provider=provider)
        made.append(Capped(budget, run))
        assert len(made) < 20
        if run.code:
            (*_, (_, more)) = re.findall(STOPPED, run.err)
            budget = float(more) + 1e-4
    return made


def reached(run: Run) -> list[str]:
    return [name for name in STAGES if name in run.closings]


def test_the_budget_bounds_the_whole_line(capped: list[Capped]) -> None:
    ended = set()
    for budget, run in capped[:-1]:
        assert paid_for(run) <= budget
        assert (run.code, run.closings["pipeline"]["status"]) == (1, "partial")
        assert run.closings["pipeline"]["calls"] == len(run.requests)
        *before, last = reached(run)
        assert [run.closings[name]["status"] for name in before] == ["ok"] * len(before)
        assert run.closings[last]["status"] == "partial"
        ended.add(last)
    assert paid_for(capped[0].run) == 0
    assert ended == set(STAGES)


def test_a_larger_budget_goes_on_without_paying_again(capped: list[Capped], undisturbed: Run) -> None:
    last = capped[-1].run
    assert [last.closings[name]["status"] for name in STAGES] == ["ok"] * 3
    paid = [request.digest for _, run in capped for request in run.requests]
    assert sorted(paid) == sorted(request.digest for request in undisturbed.requests)
    assert sum(paid_for(run) for _, run in capped) == pytest.approx(paid_for(undisturbed))
    for name in STAGES:
        assert last.records(name) == undisturbed.records(name)


def test_what_is_done_is_planned_with_no_call(capped: list[Capped], provider: FakeProvider) -> None:
    done = ccfw(capped[-1].run.folder, *line(provider), "dry_run=true", provider=provider)
    assert (done.code, done.requests) == (0, ()), done.err
    assert " blueprints=0..0 shards=0..0 simulate=0..0 calls=0..0" in done.out


def test_the_plan_bounds_what_the_line_takes_and_says_that_a_budget_will_not_do(
    seeds: Path, provider: FakeProvider, undisturbed: Run, tmp_path: Path
) -> None:
    done = ccfw(fresh(seeds, tmp_path), *line(provider), "dry_run=true", "budget=0.001", provider=provider)
    assert (done.code, done.requests) == (0, ()), done.err
    assert re.search(r"budget=0\.001: about 0\.\d{4} US dollars are needed for everything", done.err)
    assert {"generator", "auditor", "translator"} <= set(estimates(done))
    found = re.search(r" calls=(\d+)\.\.(\d+)\n", done.out)
    assert found
    assert int(found[1]) <= len(undisturbed.requests) <= int(found[2])
