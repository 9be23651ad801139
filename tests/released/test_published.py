"""The published layout is read whatever its files made of it; what is wrong is said by file, row and field."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ccfw.datasets import Dataset, load
from ccfw.errors import RequestError, StoreError
from ccfw.released.hub import Repository
from ccfw.settings.dialogues import DatasetConfig
from tests.released.published import SEEDS, Row, as_text, parted, printed, whole, write_lines, write_parquet
from tests.samples import SEED, put, raw_scenario

STARTERS = load(DatasetConfig(name="starter", path=None))
OTHER = "VN_Kinh_Buddhist_F_18_34__TPL_CUL_FEST_01__TRAP__CTX"
PAIR = (SEED, OTHER)


def read(path: Path, kept: Path | None = None) -> Dataset:
    return load(DatasetConfig(name="hf", path=str(path)), kept)


def problems(path: Path, name: str = "hf") -> tuple[str, ...]:
    with pytest.raises(RequestError) as caught:
        load(DatasetConfig(name=name, path=str(path)))
    return caught.value.problems


def without(row: Row, *paths: str) -> Row:
    for path in paths:
        *steps, last = path.split(".")
        node: Any = row
        for step in steps:
            node = node[int(step) if isinstance(node, list) else step]
        del node[last]
    return row


def of_lines(folder: Path) -> None:
    write_lines(folder / "scenarios.jsonl", [whole(seed) for seed in SEEDS])


def of_json(folder: Path) -> None:
    (folder / "list.json").write_text(json.dumps([whole(seed) for seed in SEEDS[:30]]), "utf-8")
    for seed in SEEDS[30:]:
        (folder / f"{seed}.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(whole(seed)).encode())


def of_structs(folder: Path) -> None:
    write_parquet(folder / "scenarios.parquet", [whole(seed) for seed in SEEDS], group=7)


def of_strings(folder: Path) -> None:
    write_parquet(folder / "scenarios.parquet", [as_text(whole(seed)) for seed in SEEDS])


def of_maps(folder: Path) -> None:
    rows = [whole(seed) for seed in SEEDS]
    inferred = pa.Table.from_pylist(rows).schema
    made = inferred.field("Scenario_Instantiation").type
    slots = pa.map_(pa.string(), pa.string())
    kind = pa.struct([(field.name, slots if field.name == "Slot_Filling" else field.type) for field in made])
    schema = inferred.set(inferred.get_field_index("Scenario_Instantiation"), pa.field("Scenario_Instantiation", kind))
    write_parquet(folder / "scenarios.parquet", rows, schema)


def of_snapshot(folder: Path) -> None:
    """As the Hub lays a repository out: shards of a split, which no record names, beside what is no scenario."""
    rows = [without(whole(seed), "Meta_Data.Split") for seed in SEEDS]
    write_parquet(folder / "data" / "test-00000-of-00002.parquet", rows[:30])
    write_parquet(folder / "data" / "test-00001-of-00002.parquet", rows[30:])
    write_parquet(folder / "episodes" / "eval.parquet", [{"Seed_ID": f"{SEED}__EN", "target_model": "x"}] * 3)
    (folder / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n", "utf-8")
    write_lines(folder / ".cache" / "old.jsonl", [{"Blueprint": None}])


def of_blueprints(folder: Path) -> None:
    """A shard record to which the host attached the blueprint (Appendix G.3)."""
    made = []
    for seed in SEEDS:
        row = whole(seed)
        script = row.pop("Simulation_Script")
        made.append({"Seed_ID": seed, "Blueprint": row, "Simulation_Script": script})
    write_parquet(folder / "shards.parquet", made)


def of_halves(folder: Path) -> None:
    """Blueprints and shards apart, in other orders and formats."""
    pairs = [parted(seed) for seed in SEEDS]
    write_lines(folder / "shards" / "shards.jsonl", [shards for _, shards in reversed(pairs)])
    write_parquet(folder / "blueprints" / "a.parquet", [blueprint for blueprint, _ in pairs[:40]])
    write_lines(folder / "blueprints" / "b.jsonl", [as_text(blueprint) for blueprint, _ in pairs[40:]])


def of_flat(folder: Path) -> None:
    """The fields of the metadata in the row itself."""
    write_lines(folder / "flat.jsonl", [row.pop("Meta_Data") | row for row in map(whole, SEEDS)])


def of_mixed(folder: Path) -> None:
    """Rows of every kind in one file."""
    blueprint, shards = parted(SEEDS[0])
    kinds = [shards, *(whole(seed) for seed in SEEDS[1:20]), *(raw_scenario(seed) for seed in SEEDS[20:]), blueprint]
    write_lines(folder / "mixed.jsonl", kinds)


def of_ours(folder: Path) -> None:
    write_parquet(folder / "ours.parquet", [raw_scenario(seed) for seed in SEEDS])


LAYOUTS = (
    *(of_lines, of_json, of_structs, of_strings, of_maps, of_snapshot),
    *(of_blueprints, of_halves, of_flat, of_mixed, of_ours),
)


@pytest.mark.parametrize("write", LAYOUTS, ids=lambda write: write.__name__.removeprefix("of_"))
def test_the_starter_set_comes_back_from_every_layout(
    tmp_path: Path, write: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    write(tmp_path)
    found = read(tmp_path)
    assert found.scenarios == STARTERS.scenarios
    assert found.outlines == STARTERS.outlines
    # a file of Parquet has one order of slots for all its rows, so theirs is the template's; three of ours differ
    moved = [
        new.outline.seed.seed_id
        for new, old in zip(found.entries, STARTERS.entries, strict=True)
        if new.digest != old.digest
    ]
    assert moved == [
        "ID_Batak_Christian_M_35_54__TPL_HOM_MOVE_01__TRAP__NORM",
        "TH_Central_Thai_Buddhist_M_55p__TPL_RIT_FUNE_01__TRAP__NORM",
        OTHER,
    ]
    said = {
        "of_snapshot": [
            "fields that others stand in for: Meta_Data.Split (the file's name) (58)",
            f"rows of another kind: {tmp_path}/episodes/eval.parquet (3)",
        ]
    }.get(write.__name__, [])
    assert caplog.messages == [f"dataset.path={tmp_path}: {each}" for each in said]


def test_one_file_is_read_by_its_name_alone(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "one.parquet", [whole(SEED)])
    assert [each.seed.seed_id for each in read(path).outlines] == [SEED]


def test_what_the_figures_print_is_enough(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    row, raw = printed(SEED), raw_scenario()
    (scenario,) = read(write_lines(tmp_path / "set.jsonl", [row])).scenarios
    blueprint, ours = scenario.blueprint, raw["Blueprint"]
    assert scenario.seed.persona.native_language == "Tamil"
    assert blueprint.user_private_context.background == ours["Public_Context"]["User_Goal"]
    assert blueprint.evaluator_oracle_context.cultural_context == "; ".join(ours["Multi_Hop_Chain"])
    assert blueprint.evaluator_oracle_context.fairness_justification == "Not given."
    assert blueprint.validation.validators == ("Plausible", "Fair_Answerable", "Challenging", "Structured")
    assert blueprint.scenario_instantiation.parent_template.slot_definitions == {}
    first, second = (shard.user_instruction.linguistic_directive for shard in scenario.interaction_sequence[:2])
    assert (
        first.native_language
        == raw["Interaction_Sequence"][0]["User_Instruction"]["Linguistic_Directive"]["Native_Language"]
    )
    assert (second.global_english, second.native_language) == (
        "Clean international English.",
        "Tamil, in its own script.",
    )
    shards = len(raw["Interaction_Sequence"]) - 1
    where = "Simulation_Script.Interaction_Sequence.User_Instruction.Linguistic_Directive"
    assert caplog.messages == [
        f"dataset.path={tmp_path}/set.jsonl: fields that are not used: Meta_Data.KB_Metadata (1)",
        f"dataset.path={tmp_path}/set.jsonl: fields that others stand in for: "
        f"{where}.Global_English (Linguistic_Instruction) ({shards}), "
        f"{where}.Native_Language (Linguistic_Instruction) ({shards}), "
        "Meta_Data.Persona.Native_Language (that of the identity) (1), "
        "User_Private_Context.Background (User_Goal) (1), "
        "Evaluator_Oracle_Context.Cultural_Context (Multi_Hop_Chain) (1), "
        "Evaluator_Oracle_Context.Fairness_Justification (Not given.) (1), "
        "Evaluator_Oracle_Context.Challenge_Rationale (Not given.) (1), "
        "Linguistic_Instruction.Global_English (Clean international English.) (1), "
        "Linguistic_Instruction.Native_Language (its name) (1), "
        "Linguistic_Instruction.Note (ours) (1)",
    ]


def test_an_instruction_in_parts_is_one_text_and_names_the_language_of_a_community_that_is_not_ours(
    tmp_path: Path,
) -> None:
    row = whole(SEED)
    row["Linguistic_Instruction"]["Native_Language"] = {"Variety": "Full_Native_Script (Tamil)", "Register": "brisk"}
    del row["Meta_Data"]["Persona"]["Native_Language"]
    row["Meta_Data"]["Persona"]["Identity"] = "Tamil_Jain"
    row["Meta_Data"]["Seed_ID"] = SEED.replace("Tamil_Hindu", "Tamil_Jain")
    (scenario,) = read(write_lines(tmp_path / "set.jsonl", [row])).scenarios
    assert scenario.seed.persona.native_language == "Tamil"
    assert scenario.blueprint.linguistic_instruction.native_language == "Full_Native_Script (Tamil); brisk"


@pytest.mark.parametrize("absent", ["", None, "missing"])
def test_a_message_in_one_language_is_one_that_no_native_dialogue_can_open_with(
    tmp_path: Path, absent: str | None
) -> None:
    row = whole(SEED)
    message = row["Public_Context"]["Initial_User_Message"]
    if absent == "missing":
        row["Public_Context"]["Initial_User_Message"] = message["Global_English"]
    else:
        message["Native_Language"] = absent
    found = read(write_lines(tmp_path / "set.jsonl", [row, whole(OTHER)]))
    assert [each.native for each in found.outlines] == [False, True]
    opening = found.by_seed()[SEED].blueprint.public_context.initial_user_message
    assert opening.native_language == opening.global_english == message["Global_English"]


def test_null_and_blank_say_nothing(tmp_path: Path) -> None:
    row = put(whole(OTHER), "Meta_Data.Challenge_Config.Secondary_Region", "")
    row["User_Private_Context"]["Hidden_Notes"] = None
    del row["Evaluator_Oracle_Context"]["Safety_Tripwires"]
    (scenario,) = read(write_lines(tmp_path / "set.jsonl", [row])).scenarios
    assert scenario.seed.challenge_config.secondary_region is None
    assert scenario.blueprint.evaluator_oracle_context.safety_tripwires == ()


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("test.jsonl", "test"),
        ("data/train-00000-of-00001.jsonl", "train"),
        ("Test/0000.jsonl", "test"),
        ("train/latest.jsonl", "train"),
        ("contest.jsonl", None),
        ("data/validation.jsonl", None),
    ],
)
def test_a_split_is_told_by_the_record_or_the_name_of_the_file(tmp_path: Path, name: str, split: str | None) -> None:
    place, path = tmp_path / "set", tmp_path / "set" / name
    write_lines(path, [without(whole(SEED), "Meta_Data.Split")])
    if split is None:
        assert problems(place) == (f"{path}:1: Meta_Data.Split: Field required",)
    else:
        assert [each.seed.split for each in read(place).outlines] == [split]


# ---- what is wrong


def test_every_fault_of_every_file_is_named_at_once(tmp_path: Path) -> None:
    broken = put(whole(SEED), "Meta_Data.Persona.Gender", "F")
    del broken["Public_Context"]["User_Goal"]
    short = put(whole(OTHER), "Simulation_Script.Interaction_Sequence.1.Phase_Label", 3)
    write_parquet(tmp_path / "a.parquet", [broken])
    write_lines(tmp_path / "b.jsonl", [short, put(whole(OTHER), "Evaluator_Oracle_Context.Cultural_Taboos", "none")])
    (tmp_path / "c.jsonl").write_bytes(b'{"Meta_Data": \n\xff\n[1]\n3\n')
    (tmp_path / "d.parquet").write_bytes(b"PAR1 no table")
    (tmp_path / "e.json").write_text("[" * 100_000, "utf-8")
    (tmp_path / "f.parquet").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "utf-8")
    write_lines(
        tmp_path / "g.jsonl", [without(whole(SEED), "Meta_Data.Seed_ID"), {"Blueprint": None, "Public_Context": 3}]
    )
    found = problems(tmp_path)
    at = f"{tmp_path}/"
    assert found[:2] == (
        f"{at}a.parquet: row 1: Meta_Data.Persona.Gender: Input should be 'Female' or 'Male'; given: \"F\"",
        f"{at}a.parquet: row 1: Public_Context.User_Goal: Field required",
    )
    script = "Simulation_Script.Interaction_Sequence"
    assert found[2:4] == (
        f"{at}b.jsonl:1: {script}.1.Phase_Label: Input should be a valid string; given: 3",
        f'{at}b.jsonl:2: Evaluator_Oracle_Context.Cultural_Taboos: Input should be a valid tuple; given: "none"',
    )
    assert found[4:8] == (
        f"{at}c.jsonl:1: not JSON: Expecting value: line 2 column 1 (char 15)",
        f"{at}c.jsonl:2: not readable as UTF-8 text: 'utf-8' codec can't decode byte 0xff in position 0: "
        "invalid start byte",
        f"{at}c.jsonl:3: not an object with fields",
        f"{at}c.jsonl:4: not an object with fields",
    )
    assert found[8].startswith(f"{at}d.parquet: not a Parquet table: ")
    assert found[9].startswith(f"{at}e.json: not JSON: ")
    assert found[10] == f"{at}f.parquet: a pointer of Git LFS and not the file itself; git lfs pull fetches it"
    assert found[11:] == (f"{at}g.jsonl:1: Seed_ID: Field required", f"{at}g.jsonl:2: Seed_ID: Field required")


def test_more_faults_than_can_be_read_are_counted(tmp_path: Path) -> None:
    write_lines(tmp_path / "set.jsonl", [without(whole(seed), "Public_Context") for seed in SEEDS])
    found = problems(tmp_path)
    assert len(found) == 21
    assert found[0] == f"{tmp_path}/set.jsonl:1: Public_Context: Field required"
    assert found[-1] == "… and 38 more"


@pytest.mark.parametrize("column", ["Scenario_Instantiation", "Evaluator_Oracle_Context", "User_Private_Context"])
def test_a_missing_column_is_named(tmp_path: Path, column: str) -> None:
    path = write_parquet(tmp_path / "set.parquet", [without(whole(SEED), column)])
    assert problems(path) == (f"{path}: row 1: {column}: Field required",)


def test_a_table_that_is_torn_is_named(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "set.parquet", [whole(seed) for seed in SEEDS], group=10)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    (found,) = problems(path)
    assert found.startswith(f"{path}: not a Parquet table: ")


def test_a_table_that_is_damaged_within_is_named(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "set.parquet", [whole(seed) for seed in SEEDS], group=10)
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 3 + 4000] = bytes(4000)
    path.write_bytes(bytes(content))
    assert any(each.startswith(f"{path}: ") for each in problems(path))


def test_a_line_that_is_torn_is_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "set.jsonl", [whole(SEED), whole(OTHER)])
    path.write_bytes(path.read_bytes()[:-40])
    (found,) = problems(path)
    assert found.startswith(f"{path}:2: not JSON: ")


def test_a_seed_that_is_said_again_counts_once_and_with_other_content_not_at_all(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_lines(tmp_path / "set.jsonl", [whole(SEED), *parted(OTHER), whole(SEED), parted(OTHER)[1]])
    assert len(read(path).entries) == 2
    assert caplog.messages == [f"dataset.path={path}: rows that say again what another said: {SEED} (1), {OTHER} (1)"]
    other = put(parted(OTHER)[1], "Simulation_Script.Interaction_Sequence.0.Phase_Label", "Another")
    changed = put(whole(SEED), "Simulation_Script.Interaction_Sequence.0.Phase_Label", "Another")
    write_lines(path, [whole(SEED), *parted(OTHER), changed, other])
    assert problems(path) == (
        f"{path}:4: Seed_ID {SEED} stands twice in the dataset, with other content",
        f"{path}:5: Seed_ID {OTHER} stands at {path}:3 too, with other content",
    )


def test_a_row_of_two_seeds_is_neither(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "set.jsonl", [whole(SEED) | {"Seed_ID": OTHER}])
    assert problems(path) == (f"{path}:1: Seed_ID: {OTHER} and {SEED} in one row",)


def test_halves_without_the_other_are_left_out_aloud(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_lines(tmp_path / "set.jsonl", [whole(SEED), parted(OTHER)[0], parted(SEEDS[0])[1]])
    assert [each.seed.seed_id for each in read(path).outlines] == [SEED]
    assert caplog.messages == [
        f"dataset.path={path}: blueprints without shards: 1, left out ({OTHER})",
        f"dataset.path={path}: shards without a blueprint: 1, left out ({SEEDS[0]})",
    ]
    write_lines(path, [parted(OTHER)[0], parted(SEEDS[0])[1]])
    assert problems(path) == (
        f"dataset.path={path}: no scenario there; 1 blueprints and 1 shard scripts of no common Seed_ID",
    )


def test_what_is_no_scenario_is_counted_and_what_is_not_there_is_said(tmp_path: Path) -> None:
    assert problems(tmp_path) == (
        f"dataset.path={tmp_path}: no file of the published layout (*.parquet, *.jsonl, *.json) there",
    )
    (tmp_path / "empty.jsonl").write_text("", "utf-8")
    assert problems(tmp_path) == (f"dataset.path={tmp_path}: no scenario there; its files have no rows",)
    write_parquet(tmp_path / "seeds.parquet", [{"Seed_ID": SEED}] * 4)
    write_lines(tmp_path / "seeds.jsonl", [{"Seed_ID": SEED}] * 3)
    assert problems(tmp_path) == (
        f"dataset.path={tmp_path}: no scenario there; 7 rows without Blueprint, Evaluator_Oracle_Context, "
        "Interaction_Sequence, Public_Context, Scenario_Instantiation, Simulation_Script, User_Private_Context",
    )
    assert problems(tmp_path / "no" / "such" / "place") == (
        f"dataset.path={tmp_path}/no/such/place: no such file or folder, nor organisation/name[@revision] of the Hub",
    )


def test_other_datasets_say_what_reads_it(tmp_path: Path) -> None:
    table = write_parquet(tmp_path / "a" / "data" / "set.parquet", [whole(SEED)])
    for path in (table, tmp_path / "a"):
        assert problems(path, "files") == (
            f"dataset.path={path}: holds Parquet, which dataset=hf reads: dataset=hf dataset.path={path}",
        )
    lines = write_lines(tmp_path / "set.jsonl", [whole(SEED)])
    assert problems(lines, "files") == (
        f"dataset.path={lines}: holds records as the paper prints them: dataset=hf dataset.path={lines}",
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
PLACES = (
    *(
        "Meta_Data",
        "Meta_Data.Persona",
        "Meta_Data.Challenge_Config",
        "Meta_Data.Multi_Hop_Chain",
        "Meta_Data.Validation",
    ),
    *("Scenario_Instantiation", "Scenario_Instantiation.Slot_Filling", "Scenario_Instantiation.Parent_Template"),
    *("Scenario_Instantiation.Instantiated_Summary", "Public_Context.Initial_User_Message", "Evaluator_Oracle_Context"),
    *("Linguistic_Instruction", "Linguistic_Instruction.Native_Language", "Simulation_Script"),
    *("Simulation_Script.Interaction_Sequence", "Simulation_Script.Interaction_Sequence.1"),
    "Simulation_Script.Interaction_Sequence.1.User_Instruction",
    "Simulation_Script.Interaction_Sequence.1.User_Instruction.Linguistic_Directive",
)


def outcome(path: Path) -> tuple[tuple[str, ...], list[str]]:
    """Return what is said of a dataset's faults, and the seeds of one that has none."""
    try:
        return (), [each.seed.seed_id for each in read(path).outlines]
    except RequestError as error:
        return error.problems, []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(PLACES), value=JSON)
def test_whatever_stands_somewhere_is_read_or_named(tmp_path: Path, place: str, value: object) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(put(whole(SEED), place, value)) + "\n", "utf-8")
    said, seeds = outcome(path)
    assert seeds == ([] if said else [SEED])
    assert all(each.startswith((f"{path}:1: ", f"dataset.path={path}: no scenario there; ")) for each in said)


# ---- what is kept


def test_files_are_read_once_until_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccfw.released.files._FRESH_NS", -1)
    path, kept = write_parquet(tmp_path / "set.parquet", [whole(SEED)]), tmp_path / "kept"
    first = read(path, kept)
    monkeypatch.setattr("ccfw.released.files.Rows", None)
    assert read(path, kept) == first
    monkeypatch.undo()
    write_parquet(path, [whole(SEED), whole(OTHER)])
    again = read(path, kept)
    assert [each.seed.seed_id for each in again.outlines] == [SEED, OTHER]
    assert [each.name for each in kept.iterdir()] == [again.files[0].name]
    with pytest.raises(StoreError, match="changed while it was in use"):
        first.by_seed()[SEED]


def test_a_fault_leaves_nothing_behind(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "set.jsonl", [whole(SEED), without(whole(OTHER), "Public_Context")])
    with pytest.raises(RequestError):
        read(path, tmp_path / "kept")
    assert list((tmp_path / "kept").iterdir()) == []


# ---- the Hub


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("org/name", Repository("org/name", None)),
        ("org/name@v1.0", Repository("org/name", "v1.0")),
        ("org/name@refs/convert/parquet", Repository("org/name", "refs/convert/parquet")),
        ("name", None),
        ("a/b/c", None),
        ("./b", None),
        ("../b", None),
        ("org/name@", None),
        ("org/na me", None),
    ],
)
def test_a_repository_is_named_by_organisation_name_and_revision(text: str, named: Repository | None) -> None:
    assert Repository.of(text) == named


def test_a_repository_needs_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    assert problems(Path("org/not-there")) == (
        "dataset.path=org/not-there: no such file or folder; to load it from the Hugging Face Hub: "
        "pip install huggingface_hub",
    )
