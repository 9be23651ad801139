"""Each measurement at its smallest size, as a user runs it, and the page that they are written to."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.__main__ import NAMES
from benchmarks.clock import Spent, Times, interleaved
from benchmarks.judging import bare_arguments, work
from benchmarks.page import Bar, Section, page_text, printed
from ccfw.llm.asking import build_request
from ccfw.llm.litellm_client import LitellmClient
from ccfw.records import Message
from tests.samples import ROOT, model_config

Table = list[list[str]]
VERDICTS = {"met", "**not met**"}


def tables(text: str) -> list[Table]:
    """Return every table of a page: head and rows, the rule between them left out."""
    found: list[Table] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            found.append([])
        inside = True
        found[-1].append([cell.strip() for cell in line.strip("|").split(" | ")])
    for table in found:
        rule = table.pop(1)
        assert set("".join(rule)) <= set("-:")
    return found


def rectangular(table: Table) -> bool:
    return len({len(row) for row in table}) == 1 and all(cell for row in table for cell in row)


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=300)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_measurement_prints_its_figures_and_its_bars(name: str) -> None:
    page = ROOT / "docs" / "benchmarks.md"
    before = page.read_bytes() if page.exists() else None
    done = bench("--quick", name)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    figures, bars = tables(done.stdout)
    assert rectangular(figures)
    assert rectangular(bars)
    assert len(figures) > 2
    assert bars[0] == ["What", "Bar", "Measured", "Verdict", "Command"]
    assert {row[3] for row in bars[1:]} <= VERDICTS
    assert {row[4] for row in bars[1:]} == {f"`python -m benchmarks {name}`"}
    assert (page.read_bytes() if page.exists() else None) == before


def test_an_unknown_measurement_is_named_with_those_that_there_are() -> None:
    done = bench("engin")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(f"unknown: engin; there are {', '.join(NAMES)}")


SECTION = Section("Speed", "In turn.", ("Way", "ms"), (("ours", "1"), ("theirs", "2")), (Bar("a", "≤ 1", "1", True),))


def test_the_page_counts_the_bars_and_holds_every_table() -> None:
    slow = SECTION._replace(title="Size", bars=(Bar("b", "≤ 1", "2", False),))
    text = page_text({"speed": SECTION, "size": slow}, [("Cores", "2")])
    machine, bars, speed, size = tables(text)
    assert "1 of 2 bars are met" in text
    assert machine == [["What", "Found"], ["Cores", "2"]]
    assert bars[1:] == [
        ["a", "≤ 1", "1", "met", "`python -m benchmarks speed`"],
        ["b", "≤ 1", "2", "**not met**", "`python -m benchmarks size`"],
    ]
    assert speed == size == [["Way", "ms"], ["ours", "1"], ["theirs", "2"]]
    assert max(map(len, text.splitlines())) <= 120


def test_a_measurement_without_bars_prints_one_table() -> None:
    assert len(tables(printed("speed", SECTION._replace(bars=())))) == 1


def test_variants_run_in_turn_and_the_order_turns_about() -> None:
    order: list[tuple[str, int]] = []
    times = interleaved(3, {name: lambda number, name=name: order.append((name, number)) for name in "ab"})  # type: ignore[misc]
    assert order == [("a", 0), ("b", 0), ("b", 1), ("a", 1), ("a", 2), ("b", 2)]
    assert [len(each.runs) for each in times.values()] == [3, 3]


def test_a_ratio_is_the_median_of_the_rounds_ratios() -> None:
    ours = Times((Spent(2.0, 1.0), Spent(30.0, 4.0), Spent(4.0, 9.0)))
    theirs = Times((Spent(1.0, 1.0), Spent(10.0, 2.0), Spent(4.0, 3.0)))
    assert (ours.wall, ours.cpu) == (4.0, 4.0)
    assert (ours.slower(theirs), ours.costlier(theirs)) == (2.0, 2.0)


def test_the_bare_library_is_handed_what_ours_hands_it() -> None:
    model = model_config()
    request = build_request(
        model,
        (Message(role="system", content="judge"), Message(role="user", content="hi")),
        temperature=0.0,
        seed=3,
        schema_name="judge_helpful",
        schema={"type": "object"},
    )
    assert bare_arguments(model, request) == LitellmClient(model, model.api_base)._arguments(request)


def test_the_work_is_distinct_judgements_six_to_an_episode() -> None:
    items = work(13).items
    assert len({key for key, _ in items}) == 13
    assert len({episode.episode_id for _, (_, episode, _) in items}) == 3
