"""The embedded model as the author of blueprints and shards: it cannot do it, and says so in typed failures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.running import Run, ccfw, scripted
from tests.fakes.provider import FakeProvider
from tests.fakes.scripts import roles
from tests.universe.test_shard_stage import SEEDS, good

pytestmark = [pytest.mark.embedded, pytest.mark.long]
LINE = ("model=smollm2", "tracking=none", *SEEDS, "blueprints.tries=2", "shards.tries=2")


def run(folder: Path, stage: str) -> Run:
    return ccfw(folder, f"stage={stage}", *LINE, timeout=1800)


def failures(done: Run, stage: str) -> list[str]:
    """Return the kinds of a stage's failures, after a look at its report."""
    assert "Traceback" not in done.err
    assert (done.code, done.closings[stage]["status"]) == (1, "failed")
    out = done.folder / done.closings[stage]["out"]
    assert "## Given up" in (out / "report.md").read_text("utf-8")
    kinds = []
    for line in (out / "failures.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        assert record["history"] or record["failure"]["kind"] == "infrastructure"
        kinds.append(record["failure"]["kind"])
    return kinds


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("embedded")
    assert ccfw(made, "stage=seeds", "model=scripted", "tracking=none").code == 0
    return made


def test_it_ends_in_typed_failures_and_reports(folder: Path) -> None:
    written = run(folder, "blueprints")
    assert len(failures(written, "blueprints")) == 1
    with FakeProvider(roles(other=good)) as provider:
        lent = ccfw(folder, *scripted(provider), "stage=blueprints", *SEEDS, provider=provider)
    records = (Path(str(each.closings["blueprints"]["out"])) / "records.jsonl" for each in (lent, written))
    shutil.copy(*(folder / path for path in records))  # so that there is a blueprint to make shards of
    assert len(failures(run(folder, "shards"), "shards")) == 1
