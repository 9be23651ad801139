"""The sample for readers: a twentieth of each kind and three scenarios, the same for the same seed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from ccfw.paragraphs import columns
from ccfw.records import Scenario
from ccfw.sample import drawn, pages
from ccfw.scenario_page import scenario_page
from tests.e2e.running import environment

WIDTH = 90


def sample(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ccfw.sample", *arguments]
    return subprocess.run(command, cwd=folder, env=environment({"COLUMNS": "90"}), capture_output=True, text=True)


def test_a_twentieth_of_each_kind_and_three_scenarios_are_printed() -> None:
    heads = [page.split("\n", 1)[0].split()[0] for page in pages(3, WIDTH)]
    scenarios = [head for head in heads if "__TPL_" in head]
    templates = [head for head in heads if head.startswith("TPL_")]
    passages = [head for head in heads if "_P" in head and head not in scenarios]
    taboos = [head for head in heads if re.fullmatch(r"[A-Z]{2}_\d+", head)]
    regions = [head for head in heads if "_" not in head]
    assert (len(regions), len(templates), len(scenarios)) == (3, 21, 3)  # of 58, 420 and 58
    assert len(passages) >= 15
    assert len(taboos) >= 24


def test_a_seed_gives_one_sample() -> None:
    assert list(pages(3, WIDTH)) == list(pages(3, WIDTH))
    assert list(pages(3, WIDTH)) != list(pages(4, WIDTH))


def test_what_is_drawn_keeps_its_order_and_is_never_nothing() -> None:
    found = drawn(list(range(100)), Random(1))
    assert found == sorted(found)
    assert len(set(found)) == 5
    assert drawn(["a"], Random(1)) == ["a"]
    assert drawn(["a", "b"], Random(1), 3) == ["a", "b"]


def test_a_scenario_is_shown_with_all_that_a_reader_looks_for(scenario: Scenario) -> None:
    page = scenario_page(scenario, 10_000)
    blueprint, oracle = scenario.blueprint, scenario.blueprint.evaluator_oracle_context
    message = blueprint.public_context.initial_user_message
    wanted = [
        scenario.seed.seed_id,
        scenario.seed.challenge_config.challenge_type.value,
        message.global_english,
        message.native_language,
        *oracle.cultural_taboos,
        *oracle.safety_tripwires,
        *oracle.success_criteria,
        *oracle.failure_criteria,
    ]
    for shard in scenario.interaction_sequence:
        wanted += [shard.phase_label, shard.user_instruction.current_surface_goal]
        wanted += shard.user_instruction.required_signifier_usage
    assert [each for each in wanted if each not in page] == []
    places = [page.index(head) for head in ("First message", "Phase 1", "Hidden from user and assistant", "Taboos")]
    assert places == sorted(places)


def test_a_sample_says_its_seed_and_fits_the_terminal(tmp_path: Path) -> None:
    first = sample(tmp_path)
    assert (first.returncode, first.stderr) == (0, "")
    told = re.match(r"Sample (\d+); the same again: python -m ccfw\.sample (\d+)\n", first.stdout)
    assert told is not None
    assert told[1] == told[2]
    assert max(map(columns, first.stdout.splitlines())) <= WIDTH
    assert sample(tmp_path, told[1]).stdout == first.stdout


@pytest.mark.parametrize("given", ["foo", "-1", "1.5", "٣٣x"])
def test_a_seed_that_is_none_is_refused_in_a_line(tmp_path: Path, given: str) -> None:
    done = sample(tmp_path, given)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("usage: python -m ccfw.sample [-h] [seed]\n")


def test_help_says_what_is_printed(tmp_path: Path) -> None:
    done = sample(tmp_path, "--help")
    assert done.returncode == 0
    assert "identities, templates, passages, taboos, scenarios" in " ".join(done.stdout.split())


def test_a_reader_who_has_seen_enough_is_no_failure(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "ccfw.sample", "5"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("Sample 5;")
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 0
