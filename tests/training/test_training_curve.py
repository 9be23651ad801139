"""A training curve is one table, whatever a trainer's records hold and in whatever order they come back."""

from __future__ import annotations

import csv
import math

from ccfw.stages.training_curve import curve_csv, curve_series

FIRST = {"loss": 0.7, "grad_norm": 1.5, "learning_rate": 2e-7, "epoch": 0.5, "num_tokens": 12.0}
SECOND = {"loss": 0.6, "grad_norm": math.nan, "learning_rate": 1e-7, "epoch": 1.0, "accuracy": 0.5}


def test_what_is_no_number_is_an_empty_cell_and_small_rates_keep_their_digits() -> None:
    rows = list(csv.DictReader(curve_csv([FIRST, SECOND]).splitlines()))
    assert rows == [
        {
            "step": "1",
            "loss": "0.7",
            "accuracy": "",
            "grad_norm": "1.5",
            "learning_rate": "2e-07",
            "epoch": "0.5",
        },
        {
            "step": "2",
            "loss": "0.6",
            "accuracy": "0.5",
            "grad_norm": "",
            "learning_rate": "1e-07",
            "epoch": "1",
        },
    ]


def test_records_that_come_back_in_another_order_give_the_same_table() -> None:
    again = [dict(sorted(each.items())) for each in (FIRST, SECOND)]
    assert curve_csv(again) == curve_csv([FIRST, SECOND])


def test_a_figure_has_the_points_that_are_numbers() -> None:
    assert curve_series([FIRST, SECOND]) == {
        "loss": [(1.0, 0.7), (2.0, 0.6)],
        "accuracy": [(2.0, 0.5)],
        "grad_norm": [(1.0, 1.5)],
        "learning_rate": [(1.0, 2e-7), (2.0, 1e-7)],
    }
