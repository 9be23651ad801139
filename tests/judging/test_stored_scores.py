"""Scores kept beside judgements are those of these very judgements, or they are read anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ccfw.errors import StoreError
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
