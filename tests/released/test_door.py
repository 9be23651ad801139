"""``dataset=hf`` through the door: a dry run, a run, a snapshot of the Hub, and what is refused beforehand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.running import ccfw, scripted
from tests.fakes.provider import FakeProvider
from tests.fakes.scripts import roles
from tests.released.published import printed, whole, write_lines, write_parquet
from tests.samples import SEED

OTHER = "VN_Kinh_Buddhist_F_18_34__TPL_CUL_FEST_01__TRAP__CTX"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_published_table_is_planned_and_simulated(tmp_path: Path) -> None:
    table = tmp_path / "set" / "test.parquet"
    write_parquet(table, [printed(SEED), printed(OTHER)])
    os.utime(table, (1_700_000_000, 1_700_000_000))  # one just written may change yet, and is read again
    with FakeProvider(roles()) as provider:
        line = (*scripted(provider), "stage=simulate", "dataset=hf", "dataset.path=set")
        planned = ccfw(tmp_path, *line, "dry_run=true", provider=provider)
        done = ccfw(tmp_path, *line, provider=provider)
        again = ccfw(tmp_path, *line, provider=provider)
        native = ccfw(tmp_path, *line, "language=native", provider=provider)
    assert (planned.code, planned.requests) == (0, ()), planned.err
    assert " dialogues=2 simulate=" in planned.out
    told = "dataset.path=set: fields that are not used: Meta_Data.KB_Metadata (2)"
    assert planned.err.count(told) == 1
    assert (done.code, done.closings["simulate"]["done"]) == (0, 2), done.err
    assert [each["seed"]["seed_id"] for each in done.records("simulate")] != []
    assert done.closings["simulate"]["out"].startswith("workspace/hf/simulate/")
    opening = whole(SEED)["Public_Context"]["Initial_User_Message"]["Global_English"]
    assert opening in {each["turns"][0]["user"] for each in done.records("simulate")}
    assert (again.code, again.closings["simulate"]["skipped"]) == (0, 2), again.err
    assert (native.code, native.closings["simulate"]["done"]) == (0, 2), native.err


def test_a_snapshot_of_the_hub_is_found_by_its_name(tmp_path: Path) -> None:
    """In the library's own cache, as it lays it out; nobody is asked."""
    repository = tmp_path / "home" / "hub" / "datasets--org--cultures"
    for name, commit in (("main", COMMIT), ("v1", COMMIT[::-1])):
        (repository / "refs").mkdir(parents=True, exist_ok=True)
        (repository / "refs" / name).write_text(commit, "utf-8")
    write_parquet(repository / "blobs" / "0a", [whole(SEED)])
    for commit, rows in ((COMMIT, None), (COMMIT[::-1], [whole(SEED), whole(OTHER)])):
        path = repository / "snapshots" / commit / "data" / "test-00000-of-00001.parquet"
        path.parent.mkdir(parents=True)
        if rows:
            write_parquet(path, rows)
        else:
            path.symlink_to(repository / "blobs" / "0a")
    env = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    line = ("model=scripted", "tracking=none", "stage=simulate", "dry_run=true", "dataset=hf")
    for asked, dialogues in (("org/cultures", 1), ("org/cultures@v1", 2)):
        run = ccfw(tmp_path, *line, f"dataset.path={asked}", env=env)
        assert run.code == 0, run.err
        assert f" dialogues={dialogues} simulate=" in run.out
    missing = ccfw(tmp_path, *line, "dataset.path=org/others", env=env)
    assert missing.code == 2
    assert missing.err.startswith(
        "ccfw: dataset.path=org/others: no such file or folder, and the Hugging Face Hub says: "
    )
    assert len(missing.err.splitlines()) == 1


@pytest.mark.parametrize("name", ["language=native", pytest.param("language=both", marks=pytest.mark.long)])
def test_no_native_dialogue_is_opened_in_english(tmp_path: Path, name: str) -> None:
    row = whole(SEED)
    del row["Public_Context"]["Initial_User_Message"]["Native_Language"]
    write_lines(tmp_path / "set.jsonl", [row, whole(OTHER)])
    line = ("model=scripted", "tracking=none", "stage=simulate", "dataset=hf", "dataset.path=set.jsonl")
    run = ccfw(tmp_path, *line, name)
    told = f"{name}: 1 of 2 scenarios have no message in the user's language, as {SEED}; language=english takes them"
    assert (run.code, run.out, run.err.splitlines()[1:]) == (2, "", [f"ccfw: {told}"])
    only = ccfw(tmp_path, *line, name, f"ids={OTHER}", "dry_run=true")
    assert only.code == 0, only.err
