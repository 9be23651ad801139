"""Scores kept beside judgements are those of these very judgements, or they are read anew."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccfw.errors import StoreError
from ccfw.frames import read_arrays, write_parquet
from ccfw.records import Metric
from ccfw.stages import scores
from ccfw.stages.scores import stored_scores
from ccfw.store import Output
from tests.samples import judgement_of


@pytest.fixture(autouse=True)
def _however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "_LARGE", 1)


def output(folder: Path, given: Sequence[int | None]) -> Output:
    judgements = [judgement_of(Metric.HELPFUL, score, episode_id=f"e{n}") for n, score in enumerate(given)]
    found = Output(folder)
    folder.mkdir(exist_ok=True)
    found.records.write_text("".join(each.model_dump_json() + "\n" for each in judgements), "utf-8")
    return found


def helpful(found: Output) -> list[float]:
    table = stored_scores(found)
    assert table.episodes == tuple(f"e{n}" for n in range(len(table.episodes)))
    column: list[float] = table.metrics[:, 0].tolist()
    return column


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("scores-*.parquet"))


def test_scores_read_from_parquet_are_those_read_from_the_judgements(tmp_path: Path) -> None:
    found = output(tmp_path, [3, None, 5])
    first = stored_scores(found)
    assert len(kept(tmp_path)) == 1
    again = stored_scores(found)
    assert again.episodes == first.episodes
    assert np.array_equal(again.metrics, first.metrics, equal_nan=True)
    assert np.array_equal(again.clean, first.clean, equal_nan=True)


def test_judgements_that_were_added_are_read_and_the_old_scores_go(tmp_path: Path) -> None:
    assert helpful(output(tmp_path, [3])) == [3.0]
    before = kept(tmp_path)
    assert helpful(output(tmp_path, [3, 4])) == [3.0, 4.0]
    assert len(kept(tmp_path)) == 1
    assert kept(tmp_path) != before


def test_a_damaged_file_of_scores_is_made_anew(tmp_path: Path) -> None:
    found = output(tmp_path, [3])
    stored_scores(found)
    [path] = kept(tmp_path)
    path.write_bytes(b"no table")
    assert helpful(found) == [3.0]
    assert path.read_bytes()[:4] == b"PAR1"


def columns(path: Path) -> dict[str, Any]:
    return read_arrays(path, ("episode_id", *(metric.value for metric in Metric), "clean", "digest"))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"helpful": ["x", "y", "z"]}, id="text-for-numbers"),
        pytest.param({"helpful": [[1.0], [2.0], [3.0]]}, id="lists-for-numbers"),
        pytest.param({"helpful": [None] * 3}, id="nulls-for-numbers"),
        pytest.param({"helpful": np.full(3, 99, np.float32)}, id="out-of-range"),
        pytest.param({"helpful": np.full(3, np.inf, np.float32)}, id="infinite"),
        pytest.param({"helpful": np.full(3, 4, np.float32)}, id="other-scores"),
        pytest.param({"episode_id": [None, "e1", "e2"]}, id="ids-that-are-null"),
        pytest.param({"episode_id": [0, 1, 2]}, id="ids-that-are-numbers"),
        pytest.param({"episode_id": ["e0", "e1", "e1"]}, id="one-id-twice"),
        pytest.param({"digest": [1, 2, 3]}, id="a-hash-that-is-none"),
    ],
)
def test_scores_that_were_changed_since_are_read_from_the_judgements(tmp_path: Path, changes: dict[str, Any]) -> None:
    found = output(tmp_path, [3, None, 5])
    stored_scores(found)
    [path] = kept(tmp_path)
    write_parquet(path, columns(path) | changes)
    assert helpful(found) == pytest.approx([3.0, math.nan, 5.0], nan_ok=True)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_scores_of_which_some_are_gone_are_read_from_the_judgements(tmp_path: Path, rows: int) -> None:
    found = output(tmp_path, [3, 4, 5])
    stored_scores(found)
    [path] = kept(tmp_path)
    write_parquet(path, {name: column[:rows] for name, column in columns(path).items()})
    assert helpful(found) == [3.0, 4.0, 5.0]


def test_scores_as_they_were_kept_before_are_read_from_the_judgements(tmp_path: Path) -> None:
    found = output(tmp_path, [3])
    stored_scores(found)
    [path] = kept(tmp_path)
    write_parquet(path, {name: column for name, column in columns(path).items() if name != "digest"})
    assert helpful(found) == [3.0]


def test_a_broken_judgement_is_named_and_nothing_is_kept(tmp_path: Path) -> None:
    found = output(tmp_path, [3])
    with found.records.open("a", encoding="utf-8") as file:
        file.write("{}\n")
    with pytest.raises(StoreError, match=r"records\.jsonl:2: not a Judgement record"):
        stored_scores(found)
    assert kept(tmp_path) == []


def test_no_judgements_are_no_scores(tmp_path: Path) -> None:
    assert stored_scores(Output(tmp_path / "none")).episodes == ()


def test_a_folder_that_may_not_be_written_costs_time_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(scores, "write_parquet", refuse)
    assert helpful(output(tmp_path, [2])) == [2.0]
