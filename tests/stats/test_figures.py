"""Figures of agreement: by hand, the arithmetic of the paper's tables, against plain loops."""

from __future__ import annotations

import csv
from collections import Counter
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.stats.agreement import (
    Differences,
    against_each,
    consensus,
    differences,
    exact_scores,
    rater_pairs,
    raters_against_others,
)
from ccfw.stats.figures import figure_intervals, figures, paired_intervals
from ccfw.stats.panels import ensembles
from ccfw.stats.resampling import Slices
from tests.samples import ROOT
from tests.stats.samples import NAN, Array, by_loop, ratings, scores, tables

HANNA = ROOT.parent / "shared" / "data" / "hanna" / "hanna_ratings_long.csv"
LABELS = {"metric": ["helpful", "honest"] * 3, "region": ["SG", "SG", "VN", "VN", "VN", "TH"]}
HUMANS = scores([4, 5, 2, 1, 3, NAN], [5, 5, 3, 2, 3, NAN], [3, 5, 4, 3, 3, NAN])
"""Consensus 4, 5, 3, 2, 3, none."""
JUDGES = scores([4, 3, 2, 4, 3, 5], [5, NAN, 1, 2, 1, 5])
"""Errors 0 −2 −1 2 0 –, and 1 – −2 0 −2 –."""

TABLE_11 = {
    "GPT-5 mini": (90.1, 0.581, -0.126),
    "best ensemble": (86.4, 0.540, -0.125),
    "best ensemble − GPT-5 mini": (-3.7, -0.041, 0.001),
}
TABLE_12 = {
    "Helpfulness": (90.0, 0.674, 89.2, 0.647, -0.325),
    "Honesty": (89.7, 0.691, 94.6, 0.568, 0.074),
    "Harmlessness": (90.6, 0.597, 90.5, 0.572, 0.168),
    "Naturalness": (90.1, 0.689, 97.6, 0.417, -0.034),
    "Plausibility": (83.4, 0.829, 82.6, 0.651, -0.347),
    "Typicality": (81.1, 0.882, 86.1, 0.628, -0.289),
}
OVERALL = (87.5, 0.727, 90.1, 0.581, -0.126)


def test_figures_by_hand() -> None:
    found = figures(differences(JUDGES, consensus(HUMANS)))
    assert found.within_one.tolist() == [[3 / 5, 2 / 4]]
    assert found.mae.tolist() == [[5 / 5, 5 / 4]]
    assert found.bias.tolist() == [[-1 / 5, -3 / 4]]
    assert found.exact.tolist() == [[2 / 5, 1 / 4]]
    assert found.items.tolist() == [[5, 4]]
    assert found.missing.tolist() == [[1, 2]]


def test_figures_of_slices_by_hand() -> None:
    slices = Slices.of(LABELS)
    found = figures(differences(JUDGES, consensus(HUMANS)), slices)
    assert slices.names == (
        ("all", "all"),
        ("metric", "helpful"),
        ("metric", "honest"),
        ("region", "SG"),
        ("region", "TH"),
        ("region", "VN"),
    )
    np.testing.assert_array_equal(found.within_one[:, 0], [3 / 5, 1, 0, 1 / 2, NAN, 2 / 3])
    np.testing.assert_array_equal(found.mae[:, 1], [5 / 4, 5 / 3, 0, 1, NAN, 4 / 3])
    assert found.items[:, 1].tolist() == [4, 3, 1, 1, 0, 3]
    assert found.missing[:, 1].tolist() == [2, 0, 2, 1, 1, 0]


def test_the_human_baseline_is_the_mean_over_pairs_by_hand() -> None:
    """Pairs of the three raters on five items: errors −1 0 −1 −1 0, 1 0 −2 −2 0, 2 0 −1 −1 0."""
    found = figures(rater_pairs(HUMANS), average=True)
    assert found.within_one.item() == pytest.approx((5 / 5 + 3 / 5 + 4 / 5) / 3)
    assert found.mae.item() == pytest.approx((3 / 5 + 5 / 5 + 4 / 5) / 3)
    assert found.exact.item() == pytest.approx((2 + 2 + 2) / 15)
    assert (found.items.item(), found.missing.item()) == (5, 1)


def test_people_against_the_others_by_hand() -> None:
    """Others' means: 4 5 3.5 2.5 3, then 3.5 5 3 2 3, then 4.5 5 2.5 1.5 3."""
    found = figures(raters_against_others(HUMANS), average=True)
    assert found.within_one.item() == pytest.approx((3 + 4 + 2) / 15)
    assert found.mae.item() == pytest.approx((0 + 1.5 + 1.5 + 1.5 + 0 + 0 + 1.5 + 1.5 + 1.5) / 15)


def test_a_judge_that_is_a_rater_agrees_as_raters_do() -> None:
    table = ratings(1, 300, 4)
    people, judge = exact_scores(table[:, :3]), exact_scores(table[:, 3:])
    (found,) = against_each(judge, people)
    alone = figures(found, average=True)
    baseline = figures(rater_pairs(people), average=True)
    assert alone.mae.item() == pytest.approx(baseline.mae.item(), abs=0.1)
    pair = figures(rater_pairs(exact_scores(table[:, [3, 0]])))
    assert figures(found).mae[0, 0] == pair.mae.item()


def test_table_12s_overall_row_is_the_mean_of_its_six() -> None:
    rows = np.array(list(TABLE_12.values()))
    assert np.round(rows.mean(axis=0), 3) == pytest.approx(OVERALL, abs=0.051)
    for column, digits in enumerate((1, 3, 1, 3, 3)):
        assert abs(rows.mean(axis=0)[column] - OVERALL[column]) <= 1.01 * 10**-digits


def test_table_11s_last_row_is_the_difference_of_two() -> None:
    single, ensemble, apart = TABLE_11.values()
    assert [round(e - s, 3) for s, e in zip(single, ensemble, strict=True)] == pytest.approx(apart)
    assert len(ensembles(11, 3)) == comb(11, 3) == 165


def test_with_as_many_items_in_each_metric_the_whole_is_the_mean_of_the_metrics() -> None:
    """As Table 12's rows are of the same 1,250 dialogues."""
    found = figures(
        differences(exact_scores(ratings(2, 600, 2)), consensus(exact_scores(ratings(3, 600, 3)))),
        Slices.of({"metric": [str(item % 6) for item in range(600)]}),
    )
    for figure in (found.within_one, found.mae, found.bias, found.exact):
        assert figure[1:].mean(axis=0) == pytest.approx(figure[0])


@given(humans=tables(), shift=st.integers(-3, 3))
def test_a_judge_that_is_always_so_far_off_has_that_bias(humans: Array, shift: int) -> None:
    people = exact_scores(humans)
    judge = exact_scores(humans[:, :1] + shift)
    found = figures(differences(judge, consensus(exact_scores(humans[:, :1]))))
    if not np.isnan(humans[:, 0]).all():
        assert (found.bias.item(), found.mae.item()) == (shift, abs(shift))
        assert found.within_one.item() == (abs(shift) <= 1)
        assert found.exact.item() == (shift == 0)
    assert found.items.item() + found.missing.item() == len(people.present)


@given(humans=tables(), judges=tables())
def test_what_figures_can_be(humans: Array, judges: Array) -> None:
    items = min(len(humans), len(judges))
    found = figures(differences(exact_scores(judges[:items]), consensus(exact_scores(humans[:items]))))
    there = ~np.isnan(found.mae)
    assert ((found.items > 0) == there).all()
    assert (np.abs(found.bias[there]) <= found.mae[there] + 1e-12).all()
    assert (found.mae[there] <= 4).all()
    assert (found.exact[there] <= found.within_one[there]).all()


@pytest.mark.skipif(not HANNA.exists(), reason="shared/data/hanna is not here")
def test_real_people_agree_as_a_count_of_their_ratings_says() -> None:
    with HANNA.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    people = [[int(float(row[f"human_{rater}"])) for rater in (1, 2, 3)] for row in rows]
    apart = Counter(abs(row[a] - row[b]) for row in people for a, b in ((0, 1), (0, 2), (1, 2)))
    found = figures(
        rater_pairs(exact_scores(np.array(people, dtype=np.float64))),
        Slices.of({"criterion": [row["criterion"] for row in rows]}),
        average=True,
    )
    assert found.items[:, 0].tolist() == [6_336] + [1_056] * 6
    assert found.within_one[0, 0] == pytest.approx((apart[0] + apart[1]) / apart.total())
    assert found.mae[0, 0] == pytest.approx(sum(size * times for size, times in apart.items()) / apart.total())
    assert found.within_one[1:, 0].mean() == pytest.approx(found.within_one[0, 0])


# ---- intervals


def sample(missing: float = 0.15) -> tuple[Differences, Slices, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Thirty dialogues of three metrics, seven judges: too varied for a histogram."""
    found = differences(exact_scores(ratings(4, 90, 7, missing)), consensus(exact_scores(ratings(5, 90, 3, missing))))
    dialogue = np.repeat(np.arange(30), 3)
    labels = {"metric": ["a", "b", "c"] * 30, "region": [f"r{each % 4}" for each in dialogue]}
    return found, Slices.of(labels), dialogue


@pytest.mark.parametrize("clustered", [False, True], ids=["items", "dialogues"])
@pytest.mark.parametrize("average", [False, True], ids=["each", "average"])
def test_intervals_are_those_of_a_plain_loop_on_the_same_draws(clustered: bool, average: bool) -> None:
    found, slices, dialogue = sample()
    units = [np.flatnonzero(dialogue == each) for each in range(30)] if clustered else list(np.arange(90)[:, None])

    def figure(items: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Array:
        held = Differences(found.numerators[items], found.denominators[items], found.present[items])
        parts = Slices(slices.names, tuple(codes[items] for codes in slices.codes), slices.sizes)
        return np.stack(figures(held, parts, average=average)[:4])

    drawn = by_loop(figure, 6, units, 70)
    result = figure_intervals(
        found,
        np.random.default_rng(6),
        resamples=70,
        level=0.9,
        slices=slices,
        clusters=dialogue if clustered else None,
        average=average,
    )
    point = figures(found, slices, average=average)
    for place, bounds in enumerate(result[:4]):
        np.testing.assert_allclose(bounds.point, point[place])
        np.testing.assert_allclose([bounds.low, bounds.high], np.nanquantile(drawn[:, place], [0.05, 0.95], axis=0))
    np.testing.assert_array_equal(result.items, point.items)
    np.testing.assert_array_equal(result.missing, point.missing)


@pytest.mark.parametrize("method", ["percentile", "bca", "studentised"])
def test_differences_from_a_reference_are_paired(method: str) -> None:
    """A judge that is the reference but for a constant differs from it by that constant, surely."""
    people, machine = ratings(7, 80, 3), ratings(8, 80, 1) - 5.0
    found = differences(exact_scores(np.hstack([machine, machine - 1.0])), consensus(exact_scores(people)))
    result = paired_intervals(found, 0, np.random.default_rng(1), resamples=99, level=0.95, method=method)  # type: ignore[arg-type]
    assert result.bias.point.tolist() == [[0, -1]]
    assert result.bias.low.tolist() == result.bias.high.tolist() == [[0, -1]]
    assert result.mae.point.tolist() == [[0, 1]]
    assert result.p_mae.tolist() == [[1.0, 0.01]]


def test_differences_are_taken_over_items_that_both_have() -> None:
    found = differences(JUDGES, consensus(HUMANS))
    result = paired_intervals(found, 1, np.random.default_rng(2), resamples=50, level=0.95)
    assert result.items.tolist() == [[4, 4]]
    assert result.mae.point.tolist() == [[(0 + 1 + 2 + 0) / 4 - 5 / 4, 0]]
    assert result.within_one.point.tolist() == [[3 / 4 - 2 / 4, 0]]


def test_a_paired_difference_has_the_interval_of_its_items() -> None:
    found, slices, dialogue = sample()
    result = paired_intervals(
        found, 2, np.random.default_rng(3), resamples=64, level=0.9, slices=slices, clusters=dialogue
    )
    errors = np.where(found.present, np.abs(found.numerators / found.denominators), np.nan)
    apart = errors - errors[:, [2]]
    drawn = by_loop(
        lambda items: np.nanmean(apart[items], axis=0), 3, [np.flatnonzero(dialogue == each) for each in range(30)], 64
    )
    np.testing.assert_allclose([result.mae.low[0], result.mae.high[0]], np.quantile(drawn, [0.05, 0.95], axis=0))


def test_studentised_intervals_are_of_columns_only() -> None:
    found, *_ = sample()
    with pytest.raises(ValueError) as caught:
        figure_intervals(found, np.random.default_rng(1), resamples=10, level=0.9, average=True, method="studentised")
    assert str(caught.value) == "studentised intervals are of single columns, not of their mean"


def test_errors_of_any_number_of_raters_stay_exact_where_they_decide() -> None:
    """Eleven and thirteen raters and panels of 7 × 11 have no small common unit: only means become floats."""
    people, machine = ratings(9, 60, 13), ratings(10, 60, 4)
    people[::2, 11:] = np.nan
    people[::3, 5:] = np.nan
    people[::5, 7:] = np.nan
    found = differences(exact_scores(machine / 77, 77), consensus(exact_scores(people)))
    errors = machine / 77 - np.nanmean(people, axis=1, keepdims=True)
    result = figures(found)
    assert result.mae[0] == pytest.approx(np.abs(errors).mean(axis=0))
    assert result.bias[0] == pytest.approx(errors.mean(axis=0))


def test_nothing_to_compare_is_no_figure() -> None:
    found = differences(scores([NAN, NAN]), consensus(scores([3, 4])))
    result = figure_intervals(found, np.random.default_rng(1), resamples=20, level=0.95)
    for bounds in result[:4]:
        assert np.isnan([bounds.point, bounds.low, bounds.high]).all()
    assert (result.items.item(), result.missing.item()) == (0, 2)
