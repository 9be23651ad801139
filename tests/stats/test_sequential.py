"""Always-valid intervals: by hand, against a plain loop, by enumeration of every outcome, and by simulation."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccfw.stats import sequential
from ccfw.stats.sequential import Column, confidence_sequence, stopping_point
from tests.samples import ROOT

Array = NDArray[np.float64]
NAN = float("nan")
CELL = 1 / 4_000
"""The grid that bounds are rounded outward to when no width is in view."""

VALUES = st.lists(st.sampled_from([1.0, 4 / 3, 2.0, 3.0, 13 / 3, 5.0, NAN]), max_size=40)
AIMS = st.sampled_from([None, 0.3, 2.0])


def bounds(
    values: Sequence[float] | NDArray[Any], low: float = 0.0, high: float = 1.0, **options: Any
) -> tuple[Array, Array]:
    options = {"alpha": 0.05} | options
    return confidence_sequence(np.asarray(values, dtype=np.float64), low=low, high=high, **options)


def by_loop(
    x: Sequence[float], alpha: float, cells: int, population: int | None, aim: float | None, horizon: int | None
) -> list[tuple[float, float]]:
    """Bet against every candidate mean, one value after the other; a candidate is out once a gambler has 2/α."""
    alive = dict.fromkeys(range(1, cells), (1.0, 1.0))
    left, right, total, means, squares = 0, cells, 0.0, 0.5, 0.25
    found = []
    for t, value in enumerate(x, 1):
        variance = squares / t
        if aim is None:
            bet = math.sqrt(2 * math.log(2 / alpha) / (variance * t * math.log(1 + t)))
        else:
            bet = aim / 2 / variance
            if horizon is not None:
                bet = max(bet, math.sqrt(2 * math.log(2 / alpha) / (variance * horizon)))
            if population is not None:
                bet *= population / (population - t + 1)
        for cell, (up, down) in list(alive.items()):
            m = cell / cells
            if population is not None:
                m = min(1.0, max(0.0, (population * m - total) / (population - t + 1)))
            up *= 1 + min(bet, 0.75 / m if m else math.inf) * (value - m)
            down *= 1 - min(bet, 0.75 / (1 - m) if m < 1 else math.inf) * (value - m)
            alive[cell] = up, down
            left = max(left, cell) if up >= 2 / alpha else left
            right = min(right, cell) if down >= 2 / alpha else right
        alive = {cell: capital for cell, capital in alive.items() if left < cell < right}
        total += value
        means += value
        squares += (value - means / (t + 1)) ** 2
        low, high = left / cells, right / cells
        if population is not None:
            low, high = max(low, total / population), min(high, (total + population - t) / population)
        found.append((low, high))
    return found


def test_one_value_by_hand() -> None:
    """α = 1/2, x = 1: λ = √(2 log 4 / (¼ log 2)) = 4. The capital of ``up`` is 1 + min(4, ¾/m)(1 − m), and must reach
    2/α = 4: for m > 3/16 that is ¾/m − ¾ ≥ 3, so m ≤ 1/5. The capital of ``down`` falls, so the upper bound is 1."""
    lower, upper = bounds([1.0], alpha=0.5)
    assert lower[0] == pytest.approx(0.2, abs=CELL)
    assert lower[0] <= 0.2
    assert upper[0] == 1.0


def test_one_value_in_points_of_the_scale_by_hand() -> None:
    lower, upper = bounds([1.0], 1.0, 5.0, alpha=0.5)
    assert lower[0] == 1.0
    assert upper[0] == pytest.approx(5 - 0.2 * 4, abs=4 * CELL)


def test_a_finite_set_by_hand() -> None:
    """Of four values, seen 1 and 1: the mean is at least 2/4. After the third, a 0, it is 2/4 to 3/4; then known."""
    lower, upper = bounds([1.0, 1.0, 0.0, 0.0], alpha=0.001, population=4)
    assert list(lower) == pytest.approx([0.25, 0.5, 0.5, 0.5])
    assert list(upper) == pytest.approx([1.0, 1.0, 0.75, 0.5])


@pytest.mark.parametrize(
    ("population", "aim", "horizon"),
    [(None, None, None), (None, 0.5, None), (None, 0.5, 60), (60, None, None), (60, 0.5, 60), (35, 0.5, None)],
)
def test_bounds_are_those_of_a_plain_loop(population: int | None, aim: float | None, horizon: int | None) -> None:
    rng = np.random.default_rng(4)
    x = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], size=35, p=[0.02, 0.05, 0.1, 0.5, 0.33])
    lower, upper = bounds(x, alpha=0.1, population=population, width=aim, horizon=horizon)
    cells = 4_000 if aim is None else 200
    expected = by_loop(x.tolist(), 0.1, cells, population, aim, horizon)
    assert list(zip(lower, upper, strict=True)) == [pytest.approx(pair, abs=1e-9) for pair in expected]


@pytest.mark.parametrize("aim", [None, 0.4], ids=["plug-in", "aimed"])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_no_look_misses_more_often_than_alpha_over_all_sequences_of_coins(share: float, aim: float | None) -> None:
    """Exact: the probability, over all 2^10 sequences, that any of the 10 intervals misses the share."""
    alpha, missed = 0.4, 0.0
    for coins in itertools.product([0.0, 1.0], repeat=10):
        lower, upper = bounds(coins, alpha=alpha, width=aim)
        if (lower > share).any() or (upper < share).any():
            missed += share ** sum(coins) * (1 - share) ** (10 - sum(coins))
    assert missed <= alpha


@pytest.mark.parametrize("aim", [None, 0.4], ids=["plug-in", "aimed"])
@pytest.mark.parametrize("ones", [1, 3, 6])
def test_no_look_misses_more_often_than_alpha_over_all_orders_of_a_finite_set(ones: int, aim: float | None) -> None:
    alpha, orders = 0.4, list(itertools.combinations(range(11), ones))
    missed = 0
    for places in orders:
        values = [float(place in places) for place in range(11)]
        lower, upper = bounds(values, alpha=alpha, width=aim, population=11)
        missed += bool((lower > ones / 11 + 1e-9).any() or (upper < ones / 11 - 1e-9).any())
    assert missed / len(orders) <= alpha


@given(VALUES, AIMS, st.booleans(), st.sampled_from([0.01, 0.3]))
def test_intervals_nest_within_the_range(values: list[float], aim: float | None, finite: bool, alpha: float) -> None:
    population = len(values) + 3 if finite else None
    lower, upper = bounds(values, 1.0, 5.0, alpha=alpha, width=aim, population=population)
    assert lower.shape == upper.shape == (len(values),)
    assert (np.diff(lower, prepend=1.0) >= 0).all()
    assert (np.diff(upper, prepend=5.0) <= 0).all()
    assert (lower <= upper).all()


@given(VALUES, AIMS, st.booleans(), st.integers(0, 40))
def test_what_comes_later_changes_nothing_before(values: list[float], aim: float | None, finite: bool, n: int) -> None:
    population = 50 if finite else None
    whole = bounds(values, 1.0, 5.0, width=aim, population=population, horizon=50)
    part = bounds(values[:n], 1.0, 5.0, width=aim, population=population, horizon=50)
    for long, short in zip(whole, part, strict=True):
        assert list(long[:n]) == pytest.approx(list(short), abs=1e-12)


@given(VALUES, AIMS)
def test_a_missing_value_repeats_the_interval_before_it(values: list[float], aim: float | None) -> None:
    lower, upper = bounds(values, 1.0, 5.0, width=aim)
    present = [not math.isnan(value) for value in values]
    dense = bounds([value for value in values if not math.isnan(value)], 1.0, 5.0, width=aim)
    assert list(lower[present]) == list(dense[0])
    assert list(upper[present]) == list(dense[1])
    for n, there in enumerate(present):
        if not there:
            assert (lower[n], upper[n]) == ((lower[n - 1], upper[n - 1]) if n else (1.0, 5.0))


@given(VALUES, AIMS, st.booleans())
def test_a_scale_turned_round_turns_the_bounds_round(values: list[float], aim: float | None, finite: bool) -> None:
    population = len(values) + 1 if finite else None
    lower, upper = bounds(values, 1.0, 5.0, width=aim, population=population)
    turned = bounds([6.0 - value for value in values], 1.0, 5.0, width=aim, population=population)
    assert list(lower) == pytest.approx([6.0 - value for value in turned[1]], abs=0.021)  # a cell either way
    assert list(upper) == pytest.approx([6.0 - value for value in turned[0]], abs=0.021)


@pytest.mark.parametrize("population", [None, 400])
def test_how_much_is_worked_on_at_a_time_leaves_the_bounds(population: int | None, monkeypatch: Any) -> None:
    values = np.random.default_rng(5).integers(1, 6, size=400).astype(np.float64)
    whole = bounds(values, 1.0, 5.0, width=0.5, population=population)
    monkeypatch.setattr(sequential, "_BLOCK", 700)
    parts = bounds(values, 1.0, 5.0, width=0.5, population=population)
    assert np.array_equal(whole, parts)


def test_intervals_close_in_on_the_mean() -> None:
    values = np.random.default_rng(6).choice(5, size=30_000, p=[0.02, 0.05, 0.1, 0.5, 0.33]) + 1.0
    for aim in (None, 0.1):
        lower, upper = bounds(values, 1.0, 5.0, width=aim)
        assert lower[-1] <= 4.07 <= upper[-1]
        assert upper[-1] - lower[-1] < 0.08


def test_a_finite_set_seen_to_the_end_is_known() -> None:
    values = np.random.default_rng(7).integers(1, 6, size=137).astype(np.float64)
    lower, upper = bounds(values, 1.0, 5.0, population=137)
    assert lower[-1] == pytest.approx(values.mean())
    assert upper[-1] == pytest.approx(values.mean())


def test_peeking_breaks_the_usual_interval_and_not_this_one() -> None:
    """A share of 97 % looked at after every 20 of 400, in 200 runs. Larger runs: docs/statistics.md."""
    rng = np.random.default_rng(8)
    looks = np.arange(20, 401, 20)
    missed = usual = 0
    for _ in range(200):
        values = (rng.random(400) < 0.97) * 1.0
        lower, upper = bounds(values, width=0.05, horizon=400)
        missed += bool(((lower[looks - 1] > 0.97) | (upper[looks - 1] < 0.97)).any())
        mean = np.cumsum(values)[looks - 1] / looks
        usual += bool((np.abs(mean - 0.97) > 1.96 * np.sqrt(mean * (1 - mean) / looks)).any())
    assert missed / 200 <= 0.05
    assert usual / 200 > 0.4


def likert(n: int, seed: int = 9) -> Array:
    scores: Array = np.random.default_rng(seed).choice(5, size=n, p=[0.02, 0.05, 0.1, 0.5, 0.33]).astype(np.float64)
    return scores + np.float64(1)


def test_judging_stops_at_the_first_look_where_all_are_narrow() -> None:
    helpful, clean = likert(900), (likert(900, 10) > 2).astype(np.float64)
    columns = {"helpful": Column(helpful, 1.0, 5.0), "clean": Column(clean, 0.0, 1.0)}
    stopped = stopping_point(columns, precision=0.4, alpha=0.05, batch=25, planned=900)
    widths = {}
    for name, column in columns.items():
        lower, upper = bounds(column.values, column.low, column.high, alpha=0.025, width=0.4, horizon=900)
        widths[name] = upper - lower
    first = next(n for n in range(25, 901, 25) if all(width[n - 1] <= 0.4 for width in widths.values()))
    assert stopped.reached
    assert (stopped.n, stopped.saved) == (first, 900 - first)
    assert stopped.widths == {name: pytest.approx(width[first - 1]) for name, width in widths.items()}
    assert stopped.readings["helpful"].mean == pytest.approx(helpful[:first].mean())


@given(st.integers(0, 200), st.booleans(), st.sampled_from([0.3, 0.8]))
@settings(max_examples=30)
def test_asked_after_each_batch_the_rule_answers_as_asked_once(seed: int, finite: bool, precision: float) -> None:
    values = likert(200, seed)
    values[np.random.default_rng(seed).random(200) < 0.1] = NAN

    def ask(n: int) -> sequential.StoppedAt:
        columns = {"harmless": Column(values[:n], 1.0, 5.0)}
        return stopping_point(columns, precision=precision, alpha=0.05, batch=30, planned=200, finite=finite)

    once = ask(200)
    answers = [ask(n) for n in (*range(30, 200, 30), 200)]
    asked = next((answer for answer in answers if answer.reached), answers[-1])
    assert (asked.n, asked.reached) == (once.n, once.reached)
    assert asked.readings["harmless"] == pytest.approx(once.readings["harmless"])
    assert all(answer == once for answer in answers if answer.reached)


def test_missing_scores_are_counted_and_no_score_is_no_reason_to_stop() -> None:
    values = likert(100)
    values[::4] = NAN
    columns = {"honest": Column(values, 1.0, 5.0), "typical": Column(np.full(100, NAN), 1.0, 5.0)}
    stopped = stopping_point(columns, precision=3.9, alpha=0.05, batch=40, planned=100)
    assert not stopped.reached
    assert stopped.n == 100
    assert stopped.saved == 0
    assert stopped.readings["honest"][3:] == (75, 25)
    assert stopped.readings["typical"] == (None, 1.0, 5.0, 0, 100)
    wide = stopping_point(columns, precision=4.0, alpha=0.05, batch=40, planned=100)
    assert not wide.reached


def test_before_the_first_look_nothing_is_said() -> None:
    columns = {"clean": Column(np.ones(19), 0.0, 1.0)}
    stopped = stopping_point(columns, precision=1.0, alpha=0.05, batch=20, planned=50)
    assert (stopped.n, stopped.reached) == (0, False)
    assert stopped.readings["clean"] == (None, 0.0, 1.0, 0, 0)


def test_the_last_look_is_at_the_end_of_what_is_planned() -> None:
    columns = {"clean": Column(np.tile([0.0, 1.0], 13), 0.0, 1.0)}
    finite = stopping_point(columns, precision=0.01, alpha=0.05, batch=20, planned=26, finite=True)
    assert (finite.n, finite.reached, finite.saved) == (26, True, 0)
    process = stopping_point(columns, precision=0.01, alpha=0.05, batch=20, planned=26)
    assert (process.n, process.reached) == (26, False)


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_an_interval_that_lost_the_mean_is_no_reason_to_stop(first: float) -> None:
    """All the worst first and all the best after them, or the reverse: the order was not random."""
    columns = {"clean": Column(np.repeat([first, 1.0 - first], 500), 0.0, 1.0)}
    rule: dict[str, Any] = {"precision": 0.05, "alpha": 0.05, "planned": 2_000}
    early = stopping_point(columns, batch=500, **rule)
    assert (early.n, early.reached) == (500, True)
    late = stopping_point(columns, batch=1_000, **rule)
    assert late.widths["clean"] <= 0.05
    assert (late.n, late.reached) == (1_000, False)


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([0.5, 1.5], {}),
        ([-0.1], {}),
        ([0.5], {"alpha": 0.0}),
        ([0.5], {"low": 2.0}),
        ([0.5, 0.5], {"population": 1}),
    ],
)
def test_what_cannot_be_is_refused(values: list[float], options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"values|alpha"):
        bounds(values, **options)


@pytest.mark.parametrize(
    ("lengths", "options"),
    [((), {}), ((3, 4), {}), ((3,), {"precision": 0.0}), ((3,), {"batch": 0}), ((3,), {"planned": 2})],
)
def test_a_rule_that_cannot_be_followed_is_refused(lengths: tuple[int, ...], options: dict[str, Any]) -> None:
    columns = {str(place): Column(np.ones(n), 0.0, 1.0) for place, n in enumerate(lengths)}
    wanted: dict[str, Any] = {"precision": 0.1, "alpha": 0.05, "batch": 2, "planned": 4}
    with pytest.raises(ValueError, match=r"columns|precision"):
        stopping_point(columns, **wanted | options)


@pytest.mark.long
def test_the_documents_table_of_prices_is_what_its_code_prints(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "statistics.md").read_text("utf-8")
    code, printed = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)[0]
    exec(code, {})
    assert capsys.readouterr().out == printed
