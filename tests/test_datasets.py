"""Scenario files become datasets, or every fault of every file is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ccfw import datasets
from ccfw.authoring.shard_records import ShardRecord
from ccfw.datasets import Dataset, load, scenario_digest
from ccfw.errors import RequestError, StoreError
from ccfw.records import Scenario
from ccfw.selection import outline
from ccfw.settings.dialogues import DatasetConfig
from tests.samples import SEED, STARTER, put, raw_scenario, scenario_of

OTHER = "VN_Kinh_Buddhist_F_18_34__TPL_CUL_FEST_01__TRAP__CTX"
STARTERS = load(DatasetConfig(name="starter", path=None))


def read(path: Path) -> Dataset:
    return load(DatasetConfig(name="mine", path=str(path)))


def problems(path: Path) -> tuple[str, ...]:
    with pytest.raises(RequestError) as caught:
        read(path)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems


def lines(*scenarios: dict[str, Any], ascii_only: bool = True) -> str:
    return "".join(json.dumps(each, ensure_ascii=ascii_only) + "\n" for each in scenarios)


def test_the_shipped_set_is_read_in_the_order_of_its_ids() -> None:
    ids = [scenario.seed.seed_id for scenario in STARTERS.scenarios]
    assert ids == sorted(path.stem for path in STARTER.glob("*.json"))
    assert list(STARTERS.by_seed()) == ids


def test_files_and_lines_are_the_same_dataset(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "all.jsonl"
    shutil.copytree(STARTER, folder)
    names = sorted(STARTER.glob("*.json"), reverse=True)
    file.write_text(lines(*(json.loads(path.read_text("utf-8")) for path in names)), "utf-8")
    assert read(folder).scenarios == read(file).scenarios == STARTERS.scenarios
    assert read(folder).digest == read(file).digest == STARTERS.digest


def test_one_file_is_a_dataset_of_one(tmp_path: Path) -> None:
    assert [scenario.seed.seed_id for scenario in read(STARTER / f"{SEED}.json").scenarios] == [SEED]


def test_a_byte_order_mark_and_blank_lines_are_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(b"\xef\xbb\xbf\n" + lines(raw_scenario()).encode() + b"\n\n")
    assert len(read(path).scenarios) == 1


@pytest.mark.parametrize(
    "character",
    [
        pytest.param("\u0085", id="next-line"),
        pytest.param("\u2028", id="line-separator"),
        pytest.param("\u2029", id="paragraph-separator"),
    ],
)
def test_a_line_is_not_cut_inside_its_text(tmp_path: Path, character: str) -> None:
    goal = f"settle a bonus{character}and a trip"
    path = tmp_path / "set.jsonl"
    path.write_text(lines(put(raw_scenario(), "Blueprint.Public_Context.User_Goal", goal), ascii_only=False), "utf-8")
    assert read(path).scenarios[0].blueprint.public_context.user_goal == goal


def test_the_digest_moves_with_any_text(scenario: Scenario) -> None:
    other = scenario_of(put(raw_scenario(), "Interaction_Sequence.3.Phase_Label", "Fix the journey"))
    assert scenario_digest(other) != scenario_digest(scenario)


def test_the_digest_does_not_depend_on_how_fields_are_spelled_or_ordered(scenario: Scenario) -> None:
    snake = json.loads(scenario.model_dump_json(by_alias=False))
    turned = Scenario.model_validate_json(json.dumps(dict(reversed(snake.items()))))
    assert scenario_digest(turned) == scenario_digest(scenario)


@pytest.mark.parametrize("name", ["nothing-there", "."], ids=["no-such-folder", "empty-folder"])
def test_a_folder_without_scenarios_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert problems(path) == (f"dataset.path={path}: no scenario file (*.json, *.jsonl) there",)


def test_every_fault_of_every_file_is_named_at_once(tmp_path: Path) -> None:
    broken = put(raw_scenario(), "Blueprint.Seed.Persona.Gender", "F")
    del broken["Blueprint"]["Public_Context"]["User_Goal"]
    (tmp_path / "a.json").write_text(json.dumps(broken), "utf-8")
    (tmp_path / "b.jsonl").write_text(lines(raw_scenario()) + "{\n", "utf-8")
    (tmp_path / "c.json").write_bytes(b"\xff\xfe")
    assert problems(tmp_path) == (
        f"{tmp_path}/a.json: Blueprint.Seed.Persona.Gender: Input should be 'Female' or 'Male'; given: \"F\"",
        f"{tmp_path}/a.json: Blueprint.Public_Context.User_Goal: Field required",
        f"{tmp_path}/b.jsonl:2: the whole record: Invalid JSON: EOF while parsing an object at line 1 column 1; "
        'given: "{"',
        f"{tmp_path}/c.json: not readable as UTF-8 text: 'utf-8' codec can't decode byte 0xff in position 0: "
        "invalid start byte",
    )


def test_a_scenario_that_stands_twice_is_named_with_its_place_and_id(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(lines(raw_scenario(), raw_scenario()), "utf-8")
    assert problems(path) == (f"{path}:2: Seed_ID {SEED} stands twice in the dataset",)


def test_more_faults_than_can_be_read_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text("{}\n" * 13, "utf-8")
    found = problems(path)
    assert len(found) == 21
    assert found[0] == f"{path}:1: Blueprint: Field required"
    assert found[-1] == "… and 6 more"


# ---- a dataset larger than memory


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DatasetConfig:
    """Return a dataset that counts as large and old, with two scenarios."""
    monkeypatch.setattr(datasets, "_LARGE", 1)
    monkeypatch.setattr(datasets, "_FRESH_NS", -1)
    path = tmp_path / "set.jsonl"
    path.write_text(lines(raw_scenario(), raw_scenario(OTHER)), "utf-8")
    return DatasetConfig(name="mine", path=str(path))


def forget() -> None:
    """Forget what this process has read, as a second process would not know it."""
    datasets._remembered.cache_clear()


def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return a list that grows by the files that are read whole."""
    seen: list[Path] = []
    whole = datasets._entries

    def entries(files: tuple[Path, ...], layout: datasets.Layout) -> tuple[datasets.Entry, ...]:
        seen.extend(files)
        return whole(files, layout)

    monkeypatch.setattr(datasets, "_entries", entries)
    return seen


def test_a_large_dataset_is_read_whole_once(
    large: DatasetConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, seen = load(large, tmp_path / "kept"), reads(monkeypatch)
    forget()
    again = load(large, tmp_path / "kept")
    assert seen == []
    assert again == first == load(large)
    assert again.scenarios == (scenario_of(raw_scenario()), scenario_of(raw_scenario(OTHER)))
    assert again.outlines == tuple(outline(scenario) for scenario in again.scenarios)


def test_a_large_dataset_that_changed_is_read_again(
    large: DatasetConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, path = load(large, tmp_path / "kept"), Path(str(large.path))
    path.write_text(lines(raw_scenario(OTHER)), "utf-8")
    seen = reads(monkeypatch)
    again = load(large, tmp_path / "kept")
    assert seen == [path]
    assert [each.seed.seed_id for each in again.outlines] == [OTHER]
    assert again.digest != first.digest


@pytest.mark.parametrize("damage", [b"", b"{", b'"other"\n', b"\xff\n"], ids=["empty", "torn", "other", "no-text"])
def test_outlines_that_were_kept_badly_are_made_again(large: DatasetConfig, tmp_path: Path, damage: bytes) -> None:
    first = load(large, tmp_path / "kept")
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_bytes(damage)
    forget()
    assert load(large, tmp_path / "kept") == first


def test_a_file_that_changed_a_moment_ago_is_not_relied_on(
    large: DatasetConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "_FRESH_NS", 3600 * 10**9)
    load(large, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_scenario_that_changed_after_the_dataset_was_read_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(lines(raw_scenario(), raw_scenario(OTHER)), "utf-8")
    found = read(path).by_seed()
    path.write_text(lines(put(raw_scenario(), "Interaction_Sequence.3.Phase_Label", "Fix it")), "utf-8")
    with pytest.raises(StoreError) as caught:
        found[SEED]
    assert str(caught.value) == f"{path}: changed while it was in use; run the same line again"


# ---- a dataset that a stage writes


def generated(path: Path | str) -> Dataset:
    return load(DatasetConfig(name="generated", path=str(path)))


def written(folder: Path, *seeds: str) -> Path:
    """Write records as stage *shards* does, and return their file."""
    records = [
        ShardRecord(
            seed_id=seed,
            tries=1,
            history=(),
            failure=None,
            attempt=0,
            scenario=scenario_of(raw_scenario(seed)),
            secondary_subdomains=(),
        )
        for seed in seeds
    ]
    path = folder / "shards" / "0123" / "records.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{record.model_dump_json()}\n" for record in records), "utf-8")
    return path


def test_records_of_shards_are_the_scenarios_that_they_hold(tmp_path: Path) -> None:
    path = written(tmp_path, OTHER, SEED)
    (path.parent / "failures.jsonl").write_text("{}\n", "utf-8")
    for place in (path, path.parent):
        found = generated(place)
        assert list(found.by_seed()) == [SEED, OTHER]
        assert found.scenarios == (scenario_of(raw_scenario()), scenario_of(raw_scenario(OTHER)))
    (tmp_path / "set.jsonl").write_text(lines(raw_scenario(), raw_scenario(OTHER)), "utf-8")
    assert found.digest == read(tmp_path / "set.jsonl").digest


def test_a_whole_last_line_counts_without_its_line_break(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, SEED, OTHER)
    path.write_bytes(path.read_bytes()[:-1])
    assert generated(path).scenarios == (scenario_of(raw_scenario()), scenario_of(raw_scenario(OTHER)))
    assert caplog.messages == []


@pytest.mark.parametrize("lost", [2, 40, 4000])
def test_a_torn_last_line_is_left_out_aloud(tmp_path: Path, caplog: pytest.LogCaptureFixture, lost: int) -> None:
    path = written(tmp_path, SEED, OTHER)
    path.write_bytes(path.read_bytes()[:-lost])
    assert list(generated(path).by_seed()) == [SEED]
    assert caplog.messages == [f"{path}:2: last line torn, left out"]


def test_a_line_torn_within_a_letter_is_left_out_aloud(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, SEED)
    path.write_bytes(path.read_bytes() + '{"seed_id":"Huế'.encode()[:-1])
    assert list(generated(path).by_seed()) == [SEED]
    assert caplog.messages == [f"{path}:2: last line torn, left out"]


def test_of_two_records_of_a_seed_the_first_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, SEED)
    changed = put(raw_scenario(), "Interaction_Sequence.3.Phase_Label", "Fix the journey")
    path.write_text(path.read_text("utf-8") + json.dumps({"seed_id": SEED, "scenario": changed}) + "\n", "utf-8")
    assert generated(path).scenarios == (scenario_of(raw_scenario()),)
    assert caplog.messages == [f"{path}:2: Seed_ID {SEED} stands twice in the dataset; the first counts"]


def test_records_of_a_stage_that_are_asked_for_as_scenarios_say_what_they_are(tmp_path: Path) -> None:
    path = written(tmp_path, SEED, OTHER)
    assert problems(path) == (
        f"dataset.path={path}: holds records of stage=shards: dataset=generated dataset.path={path}",
    )


def test_scenarios_that_are_asked_for_as_records_say_what_they_are(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text(lines(raw_scenario(), raw_scenario(OTHER)), "utf-8")
    for path in (STARTER, tmp_path, file, STARTER / f"{SEED}.json"):
        with pytest.raises(RequestError) as caught:
            generated(path)
        assert caught.value.problems == (f"dataset.path={path}: holds scenarios: dataset=files dataset.path={path}",)


def test_a_broken_record_is_named_by_its_line_and_field(tmp_path: Path) -> None:
    path = written(tmp_path, SEED)
    path.write_text(path.read_text("utf-8") + '{"seed_id":"x","scenario":null}\n', "utf-8")
    with pytest.raises(RequestError) as caught:
        generated(path)
    assert caught.value.problems[0].startswith(f"{path}:2: scenario: Input should be")


@pytest.mark.parametrize("name", ["4567/records.jsonl", "4567"], ids=["file", "folder"])
def test_nothing_generated_says_how_it_is_made_and_what_there_is(tmp_path: Path, name: str) -> None:
    wanted = tmp_path / "shards" / name
    with pytest.raises(RequestError) as caught:
        generated(wanted)
    made = f"dataset=generated: nothing at {wanted}; make it first, under the same settings: stage=shards"
    assert caught.value.problems == (made,)


def test_what_other_settings_made_is_named(tmp_path: Path) -> None:
    there, wanted = written(tmp_path, SEED), tmp_path / "shards" / "4567" / "records.jsonl"
    with pytest.raises(RequestError) as caught:
        generated(wanted)
    assert str(caught.value).endswith(f": stage=shards (of other settings: dataset.path={there})")


def test_records_without_one_are_nothing_yet(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(RequestError, match="make it first, under the same settings: stage=shards"):
        generated(path)
