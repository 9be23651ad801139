"""The chapter on CRISP and training, where outputs rest on files of the user: what it names, shows and says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ccfw.align.alignment import Figure
from ccfw.report.agreement import number, percent, points
from ccfw.report.research.figures import drawings
from ccfw.report.research.shelves import Shelf
from ccfw.report.research.tables import tables
from ccfw.report.writing import comma_separated
from ccfw.stages.curves import rows
from ccfw.stages.researched import shelves
from tests.report.test_research import grpo, only, toy

CULSHIELD = (
    "country,resolved,resolved_lo,resolved_hi,every_reply,every_reply_lo,every_reply_hi,unresolved,questions\n"
    "all,0.600000,0.454545,0.745221,0.450000,0.333333,0.583333,15,60\nIran,0.5,,,0.4,,,5,15\n"
)
LEVEL = (
    "country,mean,mean_lo,mean_hi,best,best_lo,best_hi,items,questions\nall,{},,,{},,,24,24\nIran,0.000000,,,,,,,6\n"
)


def put(workspace: Path, stage: str, settings: dict[str, Any], files: dict[str, str], **content: Any) -> None:
    judge = {"name": "smollm2", "members": {"j": {"size": "small"}}}
    held = {"dataset": {"name": "starter"}, "judge": judge, "bootstrap": {"level": 0.9}, stage: settings}
    folder = workspace / "crisp" / stage / "0123456789abcdef"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"settings": held, "fingerprint_of": content}), "utf-8")
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("stage", "settings", "dataset", "judge"),
    [
        ("best_of_n", {"candidates": "my/answers.jsonl"}, "file answers.jsonl", ""),
        ("best_of_n", {"candidates": "triplets"}, "triplets of starter", ""),
        ("best_of_n", {"candidates": None}, "starter", "smollm2"),
        ("supervisor", {"pairs": "grades.jsonl"}, "file grades.jsonl", ""),
        ("supervisor", {"pairs": None}, "starter", "smollm2"),
        ("reward", {"pairs": "/somewhere/pairs.jsonl"}, "file pairs.jsonl", ""),
    ],
)
def test_what_was_read_from_a_file_is_named_instead_of_data_and_judge_of_the_job(
    tmp_path: Path, stage: str, settings: dict[str, Any], dataset: str, judge: str
) -> None:
    csv = {"best_of_n": "best_of_n", "supervisor": "agreement", "reward": "accuracy"}[stage]
    put(tmp_path, stage, settings, {f"{csv}.csv": "policy,n\nall,2\n"})
    (found,) = shelves(tmp_path)
    assert (found.dataset, found.judge, found.small_judge) == (dataset, judge, bool(judge))


def test_replies_of_files_stand_in_the_tables_of_other_benchmarks(tmp_path: Path) -> None:
    places = {"culshield": "my/c.csv", "cultureforest_easy": "e.csv", "cultureforest_medium": None}
    files = {"culshield.csv": CULSHIELD, "cultureforest_easy.csv": LEVEL.format("0.25", "0.5")}
    files["cultureforest_hard.csv"] = LEVEL.format("-18.25", "6.5")
    put(tmp_path, "external", {**places, "cultureforest_hard": "h.csv"}, files, seed=0)
    found = tables(shelves(tmp_path))
    shield = only(found, "crisp_culshield")
    assert dict(zip(shield.head, shield.rows[0], strict=True)) == {
        "Model": "file c.csv",
        "Of resolved": "60.0 [45.5, 74.5]",
        "Of all": "45.0 [33.3, 58.3]",
        "Unresolved": "15",
        "Questions": "60",
    }
    assert only(found, "crisp_cultureforest").rows == (("easy", "file e.csv", "25.0", "50.0", "24"),)
    hard = only(found, "crisp_cultureforest_hard")
    assert hard.rows == (("file h.csv", "-18.250", "6.500", "24"),)
    assert "smollm2" not in hard.breaks[0][1]
    assert {each.view.title for each in drawings(shelves(tmp_path))} == {
        "Other benchmarks, by model",
        "CultureForest, hard, by model",
    }


def test_intervals_are_explained_where_there_is_one(tmp_path: Path) -> None:
    files = {"culshield.csv": CULSHIELD, "cultureforest_easy.csv": LEVEL.format("0.25", "0.5")}
    put(tmp_path, "external", {"culshield": "c.csv", "cultureforest_easy": "e.csv"}, files)
    found = tables(shelves(tmp_path))
    assert only(found, "crisp_culshield").note == (
        "Per cent right, of the replies that say yes or no, as published, and of all. 90% percentile bootstrap "
        "intervals, whole norms or questions resampled; over fewer than 10 norms or questions there is none."
    )
    easy = "Per cent right; a reply in another form is wrong. SD and gap: over countries."
    assert only(found, "crisp_cultureforest").note == easy


def test_a_request_whose_tables_cannot_be_shown_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(tmp_path, "external", {}, {"report.md": "", "another.csv": "a\n1\n"})
    assert shelves(tmp_path) == []
    path = tmp_path / "crisp" / "external" / "0123456789abcdef" / "manifest.json"
    told = f"{path}: left out of the report: none of its tables is one that the report reads"
    assert [record.getMessage() for record in caplog.records] == [told]


def titles(*runs: Shelf) -> list[str]:
    return [each.view.title for each in drawings(runs) if each.view.name.startswith("crisp_training")]


def test_the_title_of_a_figure_of_training_says_in_what_it_differs() -> None:
    whole = "Training of policies"
    assert titles(toy("a", 0.3)) == [whole]
    hacked = ("is the gold one", "pays 0.3 for every “please”")
    assert sorted(titles(toy("a", 0.3), toy("b", 0.0))) == [f"{whole}: whose reward {what}" for what in hacked]
    others = [grpo("a", 0.5, 3.0), grpo("b", 0.5, 3.0, reward_model="other")]
    assert sorted(titles(*others)) == [f"{whole}: reward_model null", f"{whole}: reward_model other"]
    many = [grpo(f"run{number:03d}", number / 10, 3.0) for number in range(9)]
    assert titles(*many) == [f"{whole}: small, λ 0 to small, λ 0.7", f"{whole}: small, λ 0.8"]


def test_looks_at_the_questions_trained_on_are_not_called_held_out() -> None:
    def headings(*runs: Shelf) -> set[str]:
        drawn = [each.view for each in drawings(runs) if each.view.name == "crisp_training"]
        return {row[0] for view in drawn for row in view.rows if row[0].startswith(("gold", "reward"))}

    assert headings(toy("a", 0.3)) == {"gold score, questions trained on", "reward, questions trained on"}
    assert headings(grpo("a", 0.5, 3.0)) == {"gold score, held out", "reward, held out"}


def test_a_figure_is_rounded_alike_before_and_after_it_was_a_csv(tmp_path: Path) -> None:
    exact = 1.78749999999  # 1.787 by itself, 1.787500 in a CSV
    (tmp_path / "t.csv").write_text(comma_separated(("a",), ((exact,),)), "utf-8")
    read = rows(tmp_path / "t.csv")[0]["a"]
    for shown in (number, lambda value: points(Figure(value, value, value)), lambda v: percent(Figure(v, v, v))):
        assert shown(exact) == shown(read)
    assert number(exact) == "1.788"
