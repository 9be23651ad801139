"""The chapter on CRISP and training: what compares stands together, everything else behind a break with its reason."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ccfw.report.page import Embedded, render
from ccfw.report.reader import PER_CHUNK
from ccfw.report.reader_index import indexed
from ccfw.report.research.chapter import chapter
from ccfw.report.research.figures import drawings
from ccfw.report.research.runs import parts
from ccfw.report.research.shelves import Shelf
from ccfw.report.research.tables import tables
from ccfw.report.sections import Link, Report, TableView
from ccfw.stages.researched import readers, shelves

HEAD = ("policy", "n", "selector", "score", "score_lo", "score_hi", "gain", "gain_lo", "gain_hi")


def chosen(selector: str, score: float, n: float = 8.0) -> dict[str, Any]:
    row = dict(zip(HEAD, ("all", n, selector, score, score - 0.25, score + 0.25, 0.5, 0.25, 0.75), strict=True))
    return row | {"share": 0.5, "share_lo": None, "share_hi": None, "questions": 40.0}


def best(name: str, *rows: dict[str, Any], judge: str = "gpt5mini", **content: Any) -> Shelf:
    decided = {"answers": "same", "scorers": {name: "x"}, "seed": 0} | content
    return Shelf("best_of_n", name, "normcompass", judge, False, decided, {}, {"best_of_n": rows})


def grpo(name: str, lam: float, gold: float, policy: str = "small", by: str | None = None, **content: Any) -> Shelf:
    """Return a run whose norms are met as ``by`` says, and whose other settings of training are ``content``."""
    after = {"policy": "after", "gold_valid": gold, "gold_valid_lo": gold - 0.1, "gold_valid_hi": gold + 0.1}
    curve = [{"step": float(step), "rewards/norm_grounding/mean": step / 8 if lam else None} for step in range(1, 9)]
    outer = {key: content.pop(key) for key in ("situations", "reward_model", "gold") & content.keys()}
    terms = {"task": "situations", "gold": "judge", "steps": 8, "learning_rate": 1e-5, "lam": lam} | content
    supervisor: dict[str, Any] | None = {"members": {by: {}}} if by and lam else None
    decided = {"grpo": terms, "policy": {"name": policy}, "situations": "same", "supervisor": supervisor} | outer
    held: dict[str, Any] = {"policies": [after], "curve": curve, "looks": [{"step": 0.0, "proxy": 0.1, "gold": gold}]}
    asked = {"rewards": {"judge": {"name": by}}, "grpo": {"reward_model": "my/rm"}}
    return Shelf("grpo", name, "normcompass", "gpt5mini", False, decided, asked, held)


def toy(name: str, hack: float, **ended: Any) -> Shelf:
    found = grpo(name, 0.0, 0.0, "toy", task="toy", toy_hack=hack, steps=60)
    return found._replace(tables={**found.tables, "ended": [ended]}) if ended else found


def sweep(*runs: Shelf) -> list[tuple[str, str, str]]:
    """Return λ, line and gold score of every point in the first figure over λ."""
    view = next(each.view for each in drawings(runs) if each.view.name == "crisp_lambda")
    return [(row[1], row[2], row[3]) for row in view.rows if row[0].startswith("gold")]


def names(*runs: Shelf) -> list[str]:
    return [run.name for part in parts(runs) for run in part.runs]


def only(found: tuple[TableView, ...], name: str) -> TableView:
    (table,) = [each for each in found if each.name == name]
    return table


def test_scorers_of_several_requests_stand_together_when_nothing_else_differs() -> None:
    first = best("one", chosen("random", 3.5), chosen("one", 4.0))
    second = best("two", chosen("random", 3.5), chosen("two", 4.25))
    table = only(tables([first, second]), "crisp_best_of_n")
    assert [(row[2], row[3], row[4]) for row in table.rows] == [
        ("random", "3.500 [3.250, 3.750]", ""),
        ("one", "4.000 [3.750, 4.250]", "+0.500 [+0.250, +0.750]"),
        ("two", "4.250 [4.000, 4.500]", "+0.500 [+0.250, +0.750]"),
    ]
    (place, told), *others = table.breaks
    assert (place, others) == (0, [])
    assert re.fullmatch("normcompass, judge gpt5mini, made as [0-9a-f]{8}", told)


@pytest.mark.parametrize("changes", [{"judge": "haiku45"}, {"answers": "others"}, {"seed": 1}])
def test_what_differs_in_anything_else_stands_apart(changes: dict[str, Any]) -> None:
    first, second = best("one", chosen("one", 4.0)), best("two", chosen("two", 4.25), **changes)
    table = only(tables([first, second]), "crisp_best_of_n")
    assert [place for place, _ in table.breaks] == [0, 1]
    assert table.breaks[0][1] != table.breaks[1][1]
    assert len(list(drawings([first, second]))) == 2


def test_rows_of_one_name_say_in_what_they_differ() -> None:
    def reward(name: str, right: float, **settings: Any) -> Shelf:
        row = {"partition": "all", "group": "all", "rm": right, "pairs": 40.0}
        decided = {"reward": {"epochs": 1, "learning_rate": 1e-5} | settings, "seed": 0}
        return Shelf("reward", name, "d", "j", False, decided, {"reward": {"name": "rm"}}, {"accuracy": [row]})

    runs = [reward("a", 0.5), reward("b", 0.75, epochs=2)]
    rows = only(tables(runs), "crisp_reward_models").rows
    assert [row[:2] for row in rows] == [("rm, reward.epochs 1", "50.0"), ("rm, reward.epochs 2", "75.0")]
    rows = only(tables([*runs, reward("c", 0.75, learning_rate=1e-6)]), "crisp_reward_models").rows
    assert [row[0] for row in rows] == ["rm", "rm, reward.epochs 2", "rm, reward.learning_rate 1e-06"]  # as is usual
    same = [reward("f11111111", 0.5), reward("f22222222", 0.75)]
    assert [row[0] for row in only(tables(same), "crisp_reward_models").rows] == ["rm, f11111", "rm, f22222"]
    assert [row[0] for row in only(tables(runs[:1]), "crisp_reward_models").rows] == ["rm"]


def test_parts_of_one_name_say_in_what_they_differ() -> None:
    runs = [best("one", chosen("one", 4.0)), best("two", chosen("two", 4.25), seed=1, answers="0123456789abcdef")]
    told = {text.rpartition(", ")[0] for _, text in only(tables(runs), "crisp_best_of_n").breaks}
    same = "normcompass, judge gpt5mini"
    assert told == {f"{same}, answers same, seed 0", f"{same}, answers 01234567, seed 1"}


def test_differences_are_written_as_their_figures_are() -> None:
    def differ(measure: Any, value: float, p: float | None) -> dict[str, Any]:
        ends = {"difference": value, "difference_lo": value - 0.125, "difference_hi": value + 0.125}
        return {"measure": measure, "first": "a", "second": "b", **ends, "p": p, "shared": 40.0}

    def shelf(stage: str, *rows: dict[str, Any]) -> Shelf:
        return Shelf(stage, stage, "d", "j", False, {"seed": 0}, {}, {"differences": rows})

    found = tables(
        [
            shelf("triplets", differ("top_1", 0.25, 0.5)),
            shelf("best_of_n", differ(8.0, 0.0, None)),
            shelf("external", differ("hard", 2.5, 0.0004), differ("easy", 0.125, 0.25)),
        ]
    )
    assert only(found, "crisp_triplets_differences").rows == (
        ("Appropriate first", "a", "b", "+25.0 pp [+12.5, +37.5]", "0.500", "40"),
    )
    assert only(found, "crisp_best_of_n_differences").rows == (("8", "a", "b", "+0.000 [-0.125, +0.125]", "40"),)
    assert only(found, "crisp_external_differences").rows == (
        ("CultureForest, hard", "a", "b", "+2.500 [+2.375, +2.625]", "<0.001", "40"),
        ("CultureForest, easy", "a", "b", "+12.5 pp [+0.0, +25.0]", "0.250", "40"),
    )


def test_an_address_says_nothing_of_a_model() -> None:
    here, there = ({"provider_model": "m", "api_base": url} for url in ("http://a", "http://b"))
    found = tables([best("one", chosen("one", 4.0), model=here), best("two", chosen("two", 4.0), model=there)])
    assert len(only(found, "crisp_best_of_n").breaks) == 1


def test_a_sweep_is_drawn_against_lambda_with_norm_match_of_the_last_steps() -> None:
    runs = [grpo("a", 0.0, 3.0), grpo("b", 1.0, 3.5), grpo("c", 0.0, 3.25, "large"), grpo("d", 1.0, 4.0, "large")]
    found = {each.view.name: each.view for each in drawings(runs)}
    assert set(found) == {"crisp_lambda", "crisp_training"}
    large = [("0", "large", "3.250000"), ("1", "large", "4.000000")]
    assert sweep(*runs) == [*large, ("0", "small", "3.000000"), ("1", "small", "3.500000")]
    match = [row[1:4] for row in found["crisp_lambda"].rows if row[0].startswith("norm grounding")]
    assert match == [("1", "large", "0.937500"), ("1", "small", "0.937500")]  # (7/8 + 8/8) / 2


def test_a_line_joins_runs_that_are_equal_but_for_lambda() -> None:
    """Two supervisors are two lines; nobody is asked at λ = 0, so that both begin in the same run."""
    runs = [grpo("a", 0.0, 3.0), grpo("b", 0.5, 3.5, by="haiku"), grpo("c", 1.0, 3.75, by="haiku")]
    haiku = [("0", "3.000000"), ("0.5", "3.500000"), ("1", "3.750000")]
    assert sweep(*runs) == [(lam, "small", gold) for lam, gold in haiku]
    runs += [grpo("d", 1.0, 2.5, by="gemma")]
    expected = [("0", "small, norms by gemma", "3.000000"), ("1", "small, norms by gemma", "2.500000")]
    assert sweep(*runs) == expected + [(lam, "small, norms by haiku", gold) for lam, gold in haiku]
    assert len(sweep(*runs, grpo("e", 1.0, 9.0, by="haiku", learning_rate=1e-6))) == 5  # one λ alone is no line


def test_runs_that_differ_in_more_than_lambda_are_no_sweep() -> None:
    runs = [grpo("a", 0.0, 3.0), grpo("b", 1.0, 3.5, situations="others")]
    assert [each.view.name for each in drawings(runs)] == ["crisp_training", "crisp_training_2"]


def test_the_first_sweep_that_is_drawn_has_no_number() -> None:
    others = [grpo("a", 0.0, 3.0), grpo("b", 1.0, 3.5)]
    runs = [grpo("c", 0.5, 3.0, situations=str(number)) for number in range(2)]
    drawn = [each.view.name for each in drawings([*runs, *others]) if each.view.name.startswith("crisp_lambda")]
    assert drawn == ["crisp_lambda"]


def test_no_run_is_left_out_of_the_figures_of_training() -> None:
    runs = [grpo(f"run{number:03d}", number / 10, 3.0) for number in range(9)]
    runs += [grpo("large", 0.0, 3.0, "large")]
    drawn = [each.view for each in drawings(runs) if each.view.name.startswith("crisp_training")]
    assert [each.name for each in drawn] == ["crisp_training", "crisp_training_2", "crisp_training_3"]
    series = [sorted({row[2] for row in each.rows}) for each in drawn]
    assert series == [["large, λ 0"], [f"small, λ {lam / 10:g}" for lam in range(8)], ["small, λ 0.8"]]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"lam": 1.0}, ["small, λ 0.5", "small, λ 1"]),
        ({"by": "haiku"}, ["small, λ 0.5, norms by gemma", "small, λ 0.5, norms by haiku"]),
        ({"policy": "large"}, ["large, λ 0.5", "small, λ 0.5"]),
        ({"learning_rate": 1e-6}, ["small, λ 0.5, learning_rate 1e-05", "small, λ 0.5, learning_rate 1e-06"]),
    ],
)
def test_the_name_of_a_run_says_in_what_it_differs(other: dict[str, Any], told: list[str]) -> None:
    same: dict[str, Any] = {"lam": 0.5, "gold": 3.0, "by": "gemma"}
    assert names(grpo("a", **same), grpo("b", **same | other)) == told


def test_runs_that_differ_in_what_has_no_name_have_their_folders() -> None:
    runs = [grpo("a11111111", 0.5, 3.0, by="x"), grpo("b22222222", 0.5, 3.0, by="x")]
    runs[1].content["supervisor"]["members"]["x"]["temperature"] = 1.0
    assert names(*runs) == ["small, λ 0.5, a11111", "small, λ 0.5, b22222"]


def test_optimised_policies_stand_apart_where_their_scores_mean_something_else() -> None:
    runs = [toy("t1", 0.0), toy("t2", 0.3), grpo("a", 0.0, 3.0), grpo("b", 0.5, 3.5, reward_model="another")]
    told = [text.rpartition(", made as ")[0] for _, text in only(tables(runs), "crisp_optimised").breaks]
    crisp = "normcompass, questions of norms not trained on, reward model rm, gold by gpt5mini"
    known = "; its questions are those it is trained on"
    assert sorted(told[:2]) == [f"{crisp}, reward_model another", f"{crisp}, reward_model null"]
    assert sorted(told[2:]) == sorted(
        [f"the toy, whose reward is the gold one{known}", f"the toy, whose reward pays 0.3 for every “please”{known}"]
    )


def test_how_a_run_ended_stands_in_a_table_and_under_its_curves() -> None:
    reason = "the gold score fell from 0.2 to 0.0: the reward is being exploited"
    runs = [toy("tripped", 0.3, step=35.0, of=60.0, sign="gold_gap", reason=reason)]
    runs += [toy("whole", 0.0, step=60.0, of=60.0, sign=None, reason=None), toy("old", 0.1)]
    found = {row[0]: row[5:] for row in only(tables(runs), "crisp_runs").rows}
    by_break = {text: place for place, text in only(tables(runs), "crisp_runs").breaks}
    assert set(found) == {"toy, λ 0"}  # one in each part
    assert len(by_break) == 3
    rows = {row[5:] for row in only(tables(runs), "crisp_runs").rows}
    assert rows == {
        ("35 of 60", "by the monitor", reason),
        ("60 of 60", "after its last step", ""),
        ("8 of 60", "before its last step", ""),
    }
    states = {row[2] for row in only(tables(runs), "crisp_optimised").rows}
    assert states == {"after 35 of 60 steps", "after", "after 8 of 60 steps"}
    notes = [each.view.note for each in drawings(runs) if "pays 0.3" in each.view.note]
    assert [note.split("\n\n")[-1] for note in notes] == [f"Ended early. toy, λ 0: {reason} (step 35 of 60)."]


def test_what_manifests_hold_instead_of_settings_breaks_no_report() -> None:
    odd = grpo("odd", 0.5, 3.0)._replace(content={"grpo": ["?"], "policy": "?", "supervisor": 3}, settings={"grpo": 1})
    assert names(odd) == ["None, λ 0"]
    assert only(tables([odd]), "crisp_runs").rows[0][:3] == ("None, λ 0", "None", "0")
    assert list(drawings([odd]))


def test_names_out_of_files_are_text_in_the_page() -> None:
    evil = "</script><script>alert(1)</script>$x^2$"
    held = [best("one", chosen(evil, 4.0), judge=evil)]
    made = chapter(held, tables(held), list(drawings(held)))
    report = Report("t", (), "s", (), (), (made,))
    page = render(report, Embedded(indexed([]), [], PER_CHUNK, 0))
    assert "<script>alert" not in page
    assert 'id="chapter-crisp"' in page
    assert "<script>alert" not in made.figures[0].svg


def test_outputs_that_cannot_be_read_are_named_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def put(name: str, manifest: str, table: str) -> None:
        folder = tmp_path / "crisp" / "triplets" / name
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text(manifest, "utf-8")
        (folder / "triplets.csv").write_text(table, "utf-8")

    judge = {"name": "j", "members": {"j": {"size": "small"}}}
    good = {"settings": {"judge": judge, "dataset": {"name": "d"}}, "fingerprint_of": {"seed": 0}, "ended": "2026"}
    put("good", json.dumps(good), "scorer,partition,group,top_1,top_1_lo,triplets\nrm,all,all,0.5,,7\n")
    put("torn", '{"settings"', "scorer\n")
    put("bare", "{}", "scorer\n")
    put("empty", json.dumps(good), "")
    (found,) = shelves(tmp_path)
    row = {"scorer": "rm", "partition": "all", "group": "all", "top_1": 0.5, "top_1_lo": None, "triplets": 7.0}
    assert (found.name, found.dataset, found.small_judge, found.tables["triplets"]) == ("good", "d", True, [row])
    assert [record.getMessage().split(": left out of the report: ")[0] for record in caplog.records] == [
        str(tmp_path / "crisp" / "triplets" / name / "manifest.json") for name in ("bare", "torn")
    ]


def test_the_chapter_leads_to_the_pages_of_situations(tmp_path: Path) -> None:
    page, report = tmp_path / "crisp" / "responses" / "0123456789" / "situations.html", tmp_path / "d" / "report" / "h"
    assert list(readers(tmp_path)) == []
    page.parent.mkdir(parents=True)
    page.write_text("", "utf-8")
    (found,) = readers(tmp_path)
    assert found.text == "situations of responses, 01234567"
    place = found.place(report)
    assert place == "../../../crisp/responses/0123456789/situations.html"
    assert (report / place).resolve() == page
    text = render(
        Report("t", (), "s", (), (), (chapter([], [], [], [Link("<b>", place)]),)),
        Embedded(indexed([]), [], PER_CHUNK, 0),
    )
    assert f'<a href="{place}">&lt;b&gt;</a>' in text
    assert "No stage of paper 2 has left a table in this workspace." in text
