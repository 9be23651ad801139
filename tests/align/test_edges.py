"""Ratings that are long, few, empty or badly named come to the right figures, to a dash or to a message."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ccfw.align.alignment import ALL, Terms, alignment, baseline
from ccfw.errors import RequestError
from ccfw.humans.study import column_of, people_of
from ccfw.report.agreement_figures import draw
from ccfw.report.figures import as_text, canvas, saved
from ccfw.report.writing import comma_separated
from ccfw.stats.agreement import exact_scores
from ccfw.stats.reliability import krippendorff_alpha, weighted_kappa
from tests.align.files import flat, long_csv, read, table
from tests.align.test_panel_study import study
from tests.align.test_problems import problems
from tests.e2e.running import ccfw

TERMS = Terms(seed=2, resamples=20, level=0.95)
PANEL = ("stage=panel", "ratings.path=r.csv", "ratings@align.scores=long", "align.scores.path=s.csv", "tracking=none")


def test_long_decimals_against_sevenths_ninths_and_elevenths_are_exact(tmp_path: Path) -> None:
    wide = {"low": 0, "high": 100}
    said = {"d1": "87.123457", "d2": "33.141593", "d3": "99.999999", "d4": "12.345678"}
    parts = {"d1": Fraction(600, 7), "d2": Fraction(300, 9), "d3": Fraction(1090, 11), "d4": Fraction(122, 9)}
    long = {item: f"{float(value):.9f}" for item, value in parts.items()}
    turned = {f"{item} turned": text for item, text in long.items()}  # both files hold both kinds
    people = {(item, "m", who): text for item, text in (said | turned).items() for who in ("ann", "bo", "cy")}
    judged = {(item, "m", "j"): text for item, text in (long | {f"{item} turned": said[item] for item in said}).items()}
    humans = read("long", long_csv(tmp_path / "r.csv", people), scale=wide)
    scores = read("long", long_csv(tmp_path / "s.csv", judged), scale=wide)
    held = people_of(humans, scores)
    whole = alignment(held, column_of(held, scores, "j").scores, TERMS).consensus[ALL]
    apart = [parts[item] - Fraction(said[item]) for item in said]
    assert whole.mae.value == pytest.approx(float(sum(map(abs, apart)) / 4))
    assert whole.bias.value == pytest.approx(0, abs=1e-9)
    assert whole.within_one.value == sum(abs(each) <= 1 for each in apart) / 4


def test_scores_too_long_to_be_compared_exactly_are_refused(tmp_path: Path) -> None:
    wide = {"low": 0, "high": 1e12}
    path = long_csv(tmp_path / "r.csv", {("d1", "m", "ann"): "900000000000.123457", ("d1", "m", "bo"): "1"})
    humans = read("long", path, scale=wide)
    with pytest.raises(RequestError, match="are too long to be compared exactly; give fewer decimals"):
        people_of(humans, humans)


def test_every_score_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(table("a rater helpfull honest", [("d1", "ann", 4, 5)]))
    names = {name: name for name in ("helpful", "honest", "harmless")}
    has = f"no such column in {path}; it has a, rater, helpfull, honest"
    assert problems("wide", path, metrics=names, columns={"item": ["b", "c"]}) == (
        f"ratings.columns.item=b: {has}",
        f"ratings.columns.item=c: {has}",
        f"ratings.columns.score=helpful: {has}",
        f"ratings.columns.score=harmless: {has}",
    )


def test_a_column_of_a_metric_that_is_left_out_need_not_be_there(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(table("item rater helpful", [("d1", "ann", 4)]))
    assert flat(read("wide", path, metrics={"helpful": "helpful", "honest": None})) == {("d1", "helpful", "ann"): "4"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("item,rater,metric,score\nd1,ann,helpful,4,5\n", "line 2 has more cells than the header"),
        ("item,rater,metric,score,score\nd1,ann,helpful,4,5\n", "more than one column is named score"),
    ],
    ids=["long row", "same name"],
)
def test_a_table_whose_cells_have_no_sure_column_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(content)
    assert problems("long", path) == (f"ratings.path={path}: not readable: {message}",)


def test_items_of_two_columns_never_become_one_and_lack_no_part(tmp_path: Path) -> None:
    path, two = tmp_path / "r.csv", {"item": ["set", "no"]}
    path.write_text(table("set no rater metric score", [("a/b", "c", "ann", "m", 4), ("a", "b/c", "ann", "m", 2)]))
    assert flat(read("long", path, columns=two)) == {("a\\/b/c", "m", "ann"): "4", ("a/b\\/c", "m", "ann"): "2"}
    path.write_text(table("set no rater metric score", [("a", "", "ann", "m", 4)]))
    assert problems("long", path, columns=two) == (f"{path}, line 2: names no item: nothing in no",)


def test_no_metric_is_said_with_its_line_and_long_names_are_short(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(table("item rater metric score", [("d1", "ann", "", 4), ("x" * 99, "a\nb", "m", 9)]))
    assert problems("long", path) == (
        f"{path}, line 2: names no metric",
        f"{path}, line 4: m of {'x' * 79}… by a b is 9, off the scale of 1 to 5",
    )


def test_who_gave_no_score_is_no_rater_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    said = {("d1", "m", "ann"): 4, ("d2", "m", "ann"): 9, ("d1", "m", "bo"): "", ("d1", "other", "ann"): ""}
    humans = read("long", long_csv(tmp_path / "r.csv", said), scale={"outside": "missing"})
    people = people_of(humans, humans)
    assert (humans.raters, humans.metrics, people.raters) == (("ann",), ("m",), 1)
    assert people.missing == {"off the scale": 1, "no score given": 2}


# ---- too little to tell


def test_one_item_has_figures_without_bounds_and_judges_of_one_group() -> None:
    found = study(np.array([[3, 4, 3]]), np.array([[3, 4, 5]]))
    whole = found.judges[0].whole
    assert whole.mae.value is not None
    assert (whole.mae.low, whole.mae.high) == (None, None)
    assert found.baseline.pairs[ALL].mae[1:] == (None, None)
    assert {(rank.low, rank.high, rank.group) for rank in found.ranks.values()} == {(1, 3, 1)}
    assert all(rank.behind.low is None and rank.p is None for rank in found.ranks.values())


def test_where_one_side_gave_one_score_throughout_kappa_has_no_value() -> None:
    assert np.isnan(weighted_kappa(np.array([3.0, 2.0, 0.0, 0.0]), np.array([1.0, 2.0])))
    assert weighted_kappa(np.array([2.0, 0.0, 0.0, 2.0]), np.array([1.0, 2.0])) == 1.0


def test_one_item_that_two_rated_has_no_alpha() -> None:
    assert np.isnan(krippendorff_alpha(exact_scores(np.array([[1.0, 2.0], [3.0, np.nan]])), "interval"))


def test_reliability_of_one_item_has_no_alpha() -> None:
    found = study(np.array([[3, 4, 3]]), np.array([[3, 4, 5]]))
    assert baseline(found.people, TERMS).reliability[ALL].alpha_interval is None


# ---- through the program


def _files(folder: Path) -> None:
    items = range(8)
    long_csv(folder / "r.csv", {(f"d{n}", "m", who): 1 + n % 5 for n in items for who in ("ann", "bo")})
    judges = {"j0": 0, "j1": 1, "j2": 2, "j3": 3}
    scores: dict[tuple[str, str, str], object] = {
        (f"d{n}", "m", judge): 1 + (n + shift) % 5 for n in items for judge, shift in judges.items()
    }
    long_csv(folder / "s.csv", scores | {(f"d{n}", "m", "none"): "" for n in items})


def test_a_judge_without_any_score_is_a_dash_and_in_no_panel(tmp_path: Path) -> None:
    _files(tmp_path)
    run = ccfw(tmp_path, *PANEL, "panel.published=false", "bootstrap.resamples=20")
    assert "status=partial" in run.out, run.err
    (path,) = tmp_path.glob("workspace/**/panel.md")
    text = path.read_text("utf-8")
    assert "# 5 judges and 4 panels against people" in text
    assert "- ratings: 8 items in 1 metric, 8 in all, by 2 people" in text
    assert "| none | – | – | – | – | – | – | – | 0 | 8 |" in text
    assert "+nan" not in text
    assert "cheapest" not in text
    assert "## Choosing the best of many" in text


def test_a_judge_that_scored_nothing_fails_its_job(tmp_path: Path) -> None:
    long_csv(tmp_path / "r.csv", {("d1", "m", "ann"): 4, ("d2", "m", "ann"): 3})
    scores = {("d1", "m", "gpt5mini"): "", ("d2", "m", "gpt5mini"): "", ("d1", "m", "other"): 3}
    long_csv(tmp_path / "s.csv", scores)
    run = ccfw(tmp_path, "stage=align", "judge=gpt5mini", *PANEL[1:])
    assert "status=failed" in run.out, run.err


def test_a_dry_run_misses_a_file_that_is_not_there(tmp_path: Path) -> None:
    run = ccfw(tmp_path, "stage=panel", "ratings.path=no.csv", "tracking=none", "dry_run=true")
    assert (run.code, run.err) == (2, "ccfw: ratings.path=no.csv: No such file or directory\n")


# ---- written safely


def test_cells_are_no_formulas_and_figures_stay() -> None:
    rows = [("=1+1", "-0.126 [-0.150, -0.101]"), ("@x", "+4"), ("-1+cmd", "a\x1b[0m")]
    assert comma_separated(("name", "+b"), rows) == (
        "name,'+b\n'=1+1,\"-0.126 [-0.150, -0.101]\"\n'@x,+4\n'-1+cmd,a⟨U+001B⟩[0m\n"
    )


def test_labels_hold_no_control_characters(tmp_path: Path) -> None:
    assert as_text("a\x07$") == "a⟨U+0007⟩\\$"
    figure, axes = canvas(4, 3)
    axes.set_title(as_text("a\x07"))
    assert "\x07" not in saved(figure, tmp_path / "x")[1].read_text("utf-8")


def test_heat_maps_have_room_for_long_names(tmp_path: Path) -> None:
    found = study(np.array([[3, 4], [1, 2], [5, 4]]), np.array([[3, 4], [2, 1], [4, 4]]))
    judges = tuple(replace(each, label=f"{each.label} " + "long name " * 30) for each in found.judges)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(replace(found, judges=judges), tmp_path)
    assert (tmp_path / "mae_by_metric.png").exists()
