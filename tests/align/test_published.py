"""The published tables agree with each other as far as their digits go."""

from __future__ import annotations

from math import comb
from statistics import fmean

import pytest

from ccfw.align.published import GroupTable, PublishedGroup
from ccfw.records import Metric, Region
from ccfw.resources import resource
from ccfw.stages.panel import published

TABLES = published()
JUDGES = TABLES.table_11.judges
FIELDS = {"hh_within_one": 0.05, "hh_mae": 0.0005, "within_one": 0.05, "mae": 0.0005, "bias": 0.0005}
"""With half a unit of their last digit."""


def mean(table: GroupTable, field: str) -> float:
    return fmean(getattr(row, field) for row in table.rows)


def overall() -> PublishedGroup:
    assert TABLES.table_12.overall is not None
    return TABLES.table_12.overall


@pytest.mark.parametrize("field", FIELDS)
def test_the_overall_row_of_table_12_is_the_mean_of_its_six_metric_rows(field: str) -> None:
    half = FIELDS[field]
    assert mean(TABLES.table_12, field) == pytest.approx(getattr(overall(), field), abs=2 * half)


@pytest.mark.parametrize("field", FIELDS)
def test_the_mean_of_table_13s_regions_is_near_table_12s_overall_row(field: str) -> None:
    # regions need not be of one size, so that the two differ by more than rounding
    near = 0.4 if "within" in field else 0.03
    assert mean(TABLES.table_13, field) == pytest.approx(getattr(overall(), field), abs=near)


def test_tables_3_11_and_12_give_the_same_figures_for_gpt_5_mini() -> None:
    rows = [TABLES.table_3.judge, JUDGES[0], overall()]
    assert {(row.within_one, row.mae, row.bias) for row in rows} == {(90.1, 0.581, -0.126)}
    pairs = TABLES.table_3.human_pairs
    assert (pairs.within_one, pairs.mae) == (overall().hh_within_one, overall().hh_mae)


def test_the_last_row_of_table_11_is_the_best_panel_minus_the_best_judge() -> None:
    best, judge, told = TABLES.table_11.panels[0], JUDGES[0], TABLES.table_11.best_panel_minus_best_judge
    assert (best.within_one - judge.within_one, best.mae - judge.mae) == pytest.approx((told.within_one, told.mae))
    assert best.bias is not None
    assert judge.bias is not None
    assert best.bias - judge.bias == pytest.approx(told.bias)


def test_table_11_is_ordered_by_mae_and_its_judges_are_those_that_ship() -> None:
    assert [row.mae for row in JUDGES] == sorted(row.mae for row in JUDGES)
    assert [row.mae for row in TABLES.table_11.panels] == sorted(row.mae for row in TABLES.table_11.panels)
    shipped = {path.stem for path in (resource("conf") / "judge").glob("*.yaml")}
    assert {row.judge for row in JUDGES} == shipped
    assert {name for row in TABLES.table_11.panels for name in row.members} <= shipped
    assert comb(len(JUDGES), 3) == 165


def test_the_groups_are_all_metrics_and_all_regions() -> None:
    assert [row.group for row in TABLES.table_12.rows] == [metric.value for metric in Metric]
    assert {row.group for row in TABLES.table_13.rows} == {region.value for region in Region}


def test_a_mae_is_never_below_the_size_of_its_bias() -> None:
    rows = [*JUDGES, *TABLES.table_11.panels, *TABLES.table_12.rows, *TABLES.table_13.rows]
    assert all(row.mae >= abs(row.bias or 0.0) for row in rows)
