"""Every option file composes into valid settings, is named as its file, and is told by the help."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob
from omegaconf import OmegaConf

from ccfw.judging import trios
from ccfw.request import to_settings
from ccfw.resources import resource
from ccfw.settings import Settings
from ccfw.stages import STAGES
from tests.e2e.running import ccfw

CONF = resource("conf")
OPTIONS = sorted(path.relative_to(CONF) for path in CONF.glob("*/*.yaml") if path.parent.name != "hydra")
EXPERIMENTS = [path for path in OPTIONS if path.parent.name == "experiment"]
NAMED = [path for path in OPTIONS if path.parent.name != "experiment"]
JUDGES = sorted(path.stem for path in CONF.glob("judge/*.yaml"))
SEVERAL = ["pipeline", "crisp", "train"]
"""Options that run several stages."""
ELEVEN = [
    "deepseek_v31",
    "deepseek_v32",
    "gemini25flashlite",
    "gemini31flashlite",
    "gemini3flash",
    "gpt54mini",
    "gpt54nano",
    "gpt5mini",
    "grok420",
    "llama4maverick",
    "qwen36flash",
]


@pytest.fixture(autouse=True, scope="module")
def hydra() -> Iterator[None]:
    GlobalHydra.instance().clear()
    OmegaConf.register_new_resolver("ccfw.nonce", lambda: "0", replace=True)
    OmegaConf.register_new_resolver("ccfw.short_hash", lambda text: text, replace=True)
    trios.register([CONF / "judge"])
    with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        yield
    GlobalHydra.instance().clear()


@cache
def settings(*overrides: str) -> Settings:
    return to_settings(compose("config", overrides=list(overrides)))


def content(path: Path) -> dict[str, Any]:
    loaded = yaml.safe_load((CONF / path).read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def needs(path: Path) -> list[str]:
    """Return what else an option must be given."""
    return ["dataset.path=set"] if path in {Path("dataset/files.yaml"), Path("dataset/hf.yaml")} else []


@pytest.mark.parametrize("path", OPTIONS, ids=lambda path: path.with_suffix("").as_posix())
def test_an_option_composes_into_valid_settings(path: Path) -> None:
    prefix = "+" if path.parent.name == "experiment" else ""
    chosen = settings(
        f"{prefix}{path.parent.name}={path.stem}" if not prefix else f"experiment={path.stem}", *needs(path)
    )
    if path.parent.name != "experiment":
        assert getattr(chosen, path.parent.name).name == path.stem


@pytest.mark.parametrize("path", NAMED, ids=lambda path: path.with_suffix("").as_posix())
def test_an_option_is_named_as_its_file_in_ascii_words(path: Path) -> None:
    assert content(path)["name"] == path.stem
    assert re.fullmatch(r"[A-Za-z0-9_]+", path.stem)


@pytest.mark.parametrize("path", OPTIONS, ids=lambda path: path.with_suffix("").as_posix())
def test_an_options_comment_does_not_keep_its_last_line_open(path: Path) -> None:
    text = (CONF / path).read_text("utf-8")
    assert text.endswith("\n")
    assert "\t" not in text


@pytest.mark.parametrize("model", [path.stem for path in OPTIONS if path.parent.name == "model"])
def test_a_model_may_play_any_role(model: str) -> None:
    chosen = settings(f"model@simulator={model}", f"model@standard.simulator={model}")
    assert (chosen.simulator.name, chosen.standard.simulator.name) == (model, model)


@pytest.mark.parametrize("judge", JUDGES)
def test_a_single_judge_is_the_model_of_its_name(judge: str) -> None:
    members = settings(f"judge={judge}").judge.members
    assert {key: member.name for key, member in members.items()} == {judge: judge}


def texts(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key, and every value that names something, of a loaded YAML file."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield f"{path}.{key}", key
            if key in (
                "name",
                "modes",
                "tiers",
                "runs",
                "label",
                "provider_model",
                "version",
                "large",
                "small",
                "rubric",
            ):
                yield from ((f"{path}.{key}", each) for each in (child if isinstance(child, list) else [child]))
            yield from texts(child, f"{path}.{key}")
    elif isinstance(value, list):
        for child in value:
            yield from texts(child, path)


@pytest.mark.parametrize("path", OPTIONS, ids=lambda path: path.with_suffix("").as_posix())
def test_no_name_is_read_as_a_boolean_or_a_number(path: Path) -> None:
    assert yaml.safe_load(path.stem) == path.stem
    assert [(where, value) for where, value in texts(content(path)) if not isinstance(value, str)] == []


def test_region_no_would_be_a_trap_and_every_region_code_is_a_text() -> None:
    domains = yaml.safe_load((resource("data") / "universe" / "domains.yaml").read_text("utf-8"))
    assert [(where, key) for where, key in texts(domains) if not isinstance(key, str)] == []


# ---- judges and trios


def test_the_judges_are_the_eleven_of_the_paper() -> None:
    assert sorted(ELEVEN) == JUDGES


def matching(pattern: str) -> list[str]:
    value = OverridesParser.create().parse_override(f"judge={pattern}").value()
    assert isinstance(value, Glob)
    return value.filter(GlobalHydra.instance().config_loader().get_group_options("judge"))


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        pytest.param("glob(*)", 11 + 165, id="all"),
        pytest.param("glob(trio_*)", 165, id="trios"),
        pytest.param("glob(*,exclude=trio_*)", 11, id="single"),
        pytest.param("glob(trio_*grok420*)", 45, id="trios-with-grok"),
    ],
)
def test_a_glob_over_judges_finds_judges_and_trios_and_nothing_else(pattern: str, count: int) -> None:
    assert len(matching(pattern)) == count


def test_trios_are_named_by_their_members_in_alphabetical_order() -> None:
    expected = ["trio_" + "_".join(names) for names in itertools.combinations(sorted(ELEVEN), 3)]
    assert sorted(matching("glob(trio_*)")) == sorted(expected)


@pytest.mark.parametrize(
    "names",
    [
        ("deepseek_v31", "deepseek_v32", "gemini25flashlite"),
        ("gemini3flash", "gpt5mini", "grok420"),
        ("grok420", "llama4maverick", "qwen36flash"),
    ],
    ids="_".join,
)
def test_a_trio_composes_into_its_three_members(names: tuple[str, ...]) -> None:
    judge = settings(f"judge=trio_{'_'.join(names)}").judge
    assert judge.name == f"trio_{'_'.join(names)}"
    assert {key: member.name for key, member in judge.members.items()} == {name: name for name in names}
    assert (judge.rubric, judge.aggregation) == ("cultureconverse", "mean")


@pytest.mark.long
def test_a_sweep_over_all_judges_plans_176_jobs(tmp_path: Path) -> None:
    run = ccfw(tmp_path, "-m", "judge=glob(*)", "dry_run=true", "model=scripted")
    planned = [line for line in run.out.splitlines() if line.startswith("plan ")]
    judges = {re.search(r" judge=(\w+) ", line)[1] for line in planned}  # type: ignore[index]
    assert (run.code, run.err) == (0, "")
    assert (len(planned), len(judges)) == (176, 176)


# ---- the default cast


def test_a_model_without_a_key_plays_every_role() -> None:
    chosen = settings("model=smollm2")
    assert (chosen.simulator.name, list(chosen.judge.members)) == ("smollm2", ["smollm2"])


def test_a_model_behind_a_key_meets_the_papers_simulator_and_judge() -> None:
    chosen = settings("model=haiku45")
    assert (chosen.simulator.name, list(chosen.judge.members)) == ("gpt5mini", ["gpt5mini"])


def test_the_paper_experiments_set_what_the_paper_states() -> None:
    main, cap = settings("experiment=paper_main", "model=haiku45"), settings("experiment=paper_turncap")
    assert (main.language.name, main.mode.name.value, main.prompt.name) == ("both", "eval", "paper")
    assert cap.simulation.caps.turns_per_episode == 5


# ---- help


@pytest.fixture(scope="module")
def help_page(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The help, and what Python imported to show it."""
    run = ccfw(tmp_path_factory.mktemp("help"), "--help", python=["-X", "importtime"])
    assert run.code == 0
    return run.out, run.err


def test_help_lists_the_stages_in_order_with_their_own_summaries(help_page: tuple[str, str]) -> None:
    block = help_page[0].split("== stages, in order (stage=<name>) ==\n")[1].split("\n\n")[0]
    told = [tuple(re.split(r"\s{2,}", line.strip(), maxsplit=1)) for line in block.splitlines()]
    names = [*SEVERAL, *STAGES]
    summaries = {name: content(Path("stage") / f"{name}.yaml")["summary"] for name in names}
    assert [name for name, _ in told] == names
    for name, words in told:
        assert words in (summaries[name], f"{summaries[name]}: the default" if name == "pipeline" else "")


def test_every_stage_has_an_option_and_every_option_runs_known_stages() -> None:
    options = {path.stem: content(path)["runs"] for path in OPTIONS if path.parent.name == "stage"}
    assert set(options) == {*SEVERAL, *STAGES}
    assert options["pipeline"] == ["simulate", "evaluate", "report"]
    assert options["crisp"] == ["norms", "scenarios", "refine", "responses", "preferences"]
    assert all(options[name] == [name] for name in STAGES)


def test_help_lists_every_option_of_every_group(help_page: tuple[str, str]) -> None:
    for group in {path.parent.name for path in OPTIONS}:
        names = ", ".join(sorted(path.stem for path in OPTIONS if path.parent.name == group))
        assert f"\n{group}: {names}\n" in help_page[0].replace("\n  ", "\n")


@pytest.mark.parametrize(
    "package", ["litellm", "mlflow", "pandas", "scipy", "faiss", "matplotlib", "numpy", "openai", "xllamacpp"]
)
def test_help_does_not_import_what_costs_seconds(help_page: tuple[str, str], package: str) -> None:
    imported = {
        line.rsplit("|", 1)[1].strip().split(".")[0] for line in help_page[1].splitlines() if line.count("|") == 2
    }
    assert "hydra" in imported
    assert package not in imported
