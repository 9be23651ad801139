"""The stored conversations of a report: the sample that a page holds, and what cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ccfw.records import LanguageMode
from ccfw.selection import Outline
from ccfw.stages.gathered import Judged
from ccfw.stages.reading import Reading
from ccfw.store import Output
from tests.report.shelves import held
from tests.samples import STARTER, raw_scenario, scenario_of

SEEDS = sorted(path.stem for path in STARTER.glob("*.json"))[:3]
LABELS = ("Amber", "Birch", "Cedar")


def shelf(root: Path, label: str) -> Judged:
    """Return an assistant that nobody judged, with a conversation of each seed in each language."""
    (root / label).mkdir()
    episodes = [held(seed, language=language).episode for seed in SEEDS for language in LanguageMode]
    records = root / label / "records.jsonl"
    records.write_text("".join(each.model_dump_json() + "\n" for each in episodes), "utf-8")
    return Judged(label.lower(), label, Output(root / label), (), "mean")


def reading(root: Path, labels: Sequence[str] = LABELS) -> Reading:
    outlines = []
    for seed in SEEDS:
        scenario = scenario_of(raw_scenario(seed))
        template = scenario.blueprint.scenario_instantiation.parent_template
        outlines.append(Outline(scenario.seed, template.domain, template.subdomain, len(scenario.interaction_sequence)))
    planned = [(outline, language) for outline in outlines for language in LanguageMode]
    context: Any = None  # is asked for scenarios alone, which no list needs
    return Reading(context, [shelf(root, label) for label in labels], labels, planned)


def damage(root: Path, label: str, line: int, text: str) -> Path:
    records = root / label / "records.jsonl"
    lines = records.read_text("utf-8").splitlines(keepends=True)
    lines[line] = text
    records.write_text("".join(lines), "utf-8")
    return records


@pytest.mark.parametrize(("most", "shown"), [(18, 18), (17, 12), (12, 12), (11, 6), (6, 6), (5, 5), (1, 1), (0, 0)])
def test_a_sample_is_of_whole_scenarios_unless_one_alone_is_too_many(tmp_path: Path, most: int, shown: int) -> None:
    sample = reading(tmp_path).sample(most)
    assert (len(sample), len(sample.index)) == (shown, shown)
    assert sample.total == (None if most == 18 else 18)


def test_a_part_of_one_scenario_is_its_first_conversations(tmp_path: Path) -> None:
    sample = reading(tmp_path).sample(4)
    entries = [sample.index.entry(place) for place in range(4)]
    assert [each.model for each in entries] == ["Amber", "Birch", "Cedar", "Amber"]
    assert len({each.episode_id.rpartition("__")[0] for each in entries}) == 1


def test_a_conversation_that_cannot_be_listed_is_named_with_its_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = reading(tmp_path)
    assert len(found) == 18
    records = damage(tmp_path, "Birch", 1, "garbage\n")
    assert found.damaged(whole=False) == [found.shelves[1]]
    [message] = caplog.messages
    assert message.startswith(f"left out: Birch, judged by nobody: {records}:2: not a Dialogue record: Invalid JSON: ")
    left = found.without([found.shelves[1]])
    assert (list(left.labels), len(left)) == (["Amber", "Cedar"], 12)


def test_what_a_list_does_not_need_is_read_where_conversations_are_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    line = held(SEEDS[0], language=LanguageMode.ENGLISH).episode.model_dump_json()
    found = reading(tmp_path)
    records = damage(tmp_path, "Cedar", 0, line.replace('"shards_total":', '"shards":') + "\n")
    assert found.damaged(whole=False) == []
    assert found.damaged(whole=True) == [found.shelves[2]]
    [message] = caplog.messages
    assert message.startswith(f"left out: Cedar, judged by nobody: {records}: {SEEDS[0]}__EN: not a Episode record: ")


def test_a_sample_is_not_held_up_by_what_it_does_not_show(tmp_path: Path) -> None:
    found = reading(tmp_path)
    damage(tmp_path, "Amber", 5, f'{{"episode_id":"{SEEDS[2]}__NATIVE","turns":1}}\n')
    assert found.sample(6).damaged(whole=True) == []
    assert found.damaged(whole=True) == [found.shelves[0]]
