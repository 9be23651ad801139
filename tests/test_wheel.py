"""The wheel holds all that the program reads, and runs from it in a folder that holds nothing."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running import Run, ccfw, environment

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    built = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = folder.glob("ccfw-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(target), str(wheel)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def from_wheel(installed: Path, folder: Path, *arguments: str) -> Run:
    return ccfw(folder, *arguments, env={"PYTHONPATH": str(installed)})


def shipped(folder: Path) -> Iterator[str]:
    return (
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )


def test_the_wheel_holds_the_package_and_its_metadata_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "ccfw",
        "hydra_plugins",
        wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info",
    }
    assert not [name for name in names if re.search(r"__pycache__|\.pyc$|(^|/)tests/|/\.", name)]


@pytest.mark.parametrize("name", ["conf", "prompts", "data"])
def test_resources_are_found_inside_the_wheel_and_are_all_there(installed: Path, tmp_path: Path, name: str) -> None:
    code = f"from ccfw.resources import resource; print(resource({name!r}))"
    env = environment({"PYTHONPATH": str(installed)})
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
    ).stdout.strip()
    assert Path(found) == installed / "ccfw" / "_shipped" / name
    assert sorted(shipped(Path(found))) == sorted(shipped(ROOT / name))


def test_help_of_the_wheel_is_the_help_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    run = from_wheel(installed, tmp_path, "--help")
    assert (run.code, run.err) == (0, "")
    assert run.out == ccfw(tmp_path, "--help").out
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_from_the_wheel_plans_the_shipped_scenarios(installed: Path, tmp_path: Path) -> None:
    run = from_wheel(installed, tmp_path, "dry_run=true")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith(
        "plan model=smollm2 simulator=smollm2 judge=smollm2 language=english "
        f"dialogues={len(list((ROOT / 'data' / 'starter').glob('*.json')))} "
    )


def test_trios_are_registered_from_the_judges_in_the_wheel(installed: Path, tmp_path: Path) -> None:
    run = from_wheel(installed, tmp_path, "judge=trio_gemini3flash_gpt5mini_grok420", "dry_run=true", "limit=1")
    assert (run.code, run.err) == (0, "")
    assert " judge=trio_gemini3flash_gpt5mini_grok420 " in run.out
