"""What figures of training show, by the numbers that stand beside them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.training.drawing import edges, sweep_figure, training_figure

MARGINS = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), max_size=40)


@given(MARGINS)
def test_bins_are_of_one_width_hold_everything_and_meet_at_nought(values: list[float]) -> None:
    found = edges(values)
    widths = [after - before for before, after in pairwise(found)]
    assert 0.0 in found
    assert widths == pytest.approx([widths[0]] * len(widths))
    assert len(widths) <= 32  # thirty, and one more on either side where nought cuts into them
    assert all(found[0] <= value <= found[-1] for value in values)


def test_a_curve_of_many_steps_is_drawn_as_running_means_and_one_of_few_as_it_is() -> None:
    long = [{"step": float(step), "kl": float(step)} for step in range(1, 121)]
    short = [{"step": float(step), "kl": 2.0 * step} for step in range(1, 80)]
    (found,) = training_figure({"long": {"curve": long}, "short": {"curve": short}})
    drawn = {name: [float(row[3]) for row in found.view.rows if row[2] == name] for name in ("long", "short")}
    assert drawn["long"][:4] == [1.0, 1.5, 2.0, 3.0]  # of 120 steps the last three: (1 + 2 + 3) / 3, (2 + 3 + 4) / 3
    assert drawn["long"][-1] == 119.0
    assert drawn["short"] == [2.0 * step for step in range(1, 80)]
    assert [row[1] for row in found.view.rows if row[2] == "long"] == [str(step) for step in range(1, 121)]


def test_norm_match_is_drawn_on_held_out_norms_where_a_judge_scored_it() -> None:
    row = {"line": "small", "reward": 1.0, "late_match": 0.5}
    (before,) = sweep_figure([row | {"lam": lam} for lam in (0.0, 1.0)])
    assert {each[0] for each in before.view.rows} == {"reward model, held out", "norm grounding, end of training"}
    (after,) = sweep_figure([row | {"lam": lam, "norm_match": 1.0 + lam} for lam in (0.0, 1.0)])
    assert [each[1:4] for each in after.view.rows if each[0] == "Norm Match, held out"] == [
        ("0", "small", "1.000000"),
        ("1", "small", "2.000000"),
    ]
