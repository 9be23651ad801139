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
from ccfw.report.research import Shelf, chapter, drawings, tables
from ccfw.report.sections import Report, TableView
from ccfw.stages.researched import shelves

HEAD = ("policy", "n", "selector", "score", "score_lo", "score_hi", "gain", "gain_lo", "gain_hi")


def chosen(selector: str, score: float, n: float = 8.0) -> dict[str, Any]:
    row = dict(zip(HEAD, ("all", n, selector, score, score - 0.25, score + 0.25, 0.5, 0.25, 0.75), strict=True))
    return row | {"share": 0.5, "share_lo": None, "share_hi": None, "questions": 40.0}


def best(name: str, *rows: dict[str, Any], judge: str = "gpt5mini", **content: Any) -> Shelf:
    decided = {"answers": "same", "scorers": {name: "x"}, "seed": 0} | content
    return Shelf("best_of_n", name, "normcompass", judge, False, decided, {}, {"best_of_n": rows})


def grpo(name: str, lam: float, policy: str, gold: float, **content: Any) -> Shelf:
    after = {"policy": "after", "gold_valid": gold, "gold_valid_lo": gold - 0.1, "gold_valid_hi": gold + 0.1}
    curve = [{"step": float(step), "rewards/norm_grounding/mean": step / 8 if lam else None} for step in range(1, 9)]
    decided = {"grpo": {"lam": lam, "steps": 8}, "policy": {"name": policy}, "situations": "same"} | content
    held: dict[str, Any] = {"policies": [after], "curve": curve, "looks": [{"step": 0.0, "proxy": 0.1, "gold": gold}]}
    return Shelf("grpo", name, "normcompass", "gpt5mini", False, decided, {}, held)


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


def test_an_address_says_nothing_of_a_model() -> None:
    here, there = ({"provider_model": "m", "api_base": url} for url in ("http://a", "http://b"))
    found = tables([best("one", chosen("one", 4.0), model=here), best("two", chosen("two", 4.0), model=there)])
    assert len(only(found, "crisp_best_of_n").breaks) == 1


def test_a_sweep_is_drawn_against_lambda_with_norm_match_of_the_last_steps() -> None:
    runs = [grpo("a", 0.0, "small", 3.0), grpo("b", 1.0, "small", 3.5), grpo("c", 1.0, "large", 4.0)]
    found = {each.view.name: each.view for each in drawings(runs)}
    assert set(found) == {"crisp_lambda", "crisp_training"}
    gold = [row[1:4] for row in found["crisp_lambda"].rows if row[0].startswith("gold")]
    assert gold == [("0", "small", "3.000000"), ("1", "small", "3.500000"), ("1", "large", "4.000000")]
    match = [row[1:4] for row in found["crisp_lambda"].rows if row[0].startswith("Norm Match")]
    assert match == [("1", "small", "0.937500"), ("1", "large", "0.937500")]  # (7/8 + 8/8) / 2


def test_runs_that_differ_in_more_than_lambda_are_no_sweep() -> None:
    runs = [grpo("a", 0.0, "small", 3.0), grpo("b", 1.0, "small", 3.5, situations="others")]
    assert [each.view.name for each in drawings(runs)] == ["crisp_training", "crisp_training_2"]


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
