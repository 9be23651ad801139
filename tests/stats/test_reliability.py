"""Reliability: values by hand, published ones, other libraries', and under the bootstrap."""

from __future__ import annotations

import csv
from importlib import import_module
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ccfw.stats.agreement import as_scores, consensus, exact_scores
from ccfw.stats.intervals import percentile
from ccfw.stats.reliability import (
    Level,
    alpha,
    alpha_features,
    association,
    categories,
    icc,
    icc_features,
    intraclass_correlation,
    kendall,
    krippendorff_alpha,
    spearman,
    table_features,
    weighted_kappa,
)
from ccfw.stats.resampling import resampled
from tests.samples import ROOT
from tests.stats.samples import NAN, Array, by_loop, ratings, scores, tables

scipy_stats: Any = import_module("scipy.stats")  # has no stubs
sklearn_metrics: Any = import_module("sklearn.metrics")  # has no stubs

HANNA = ROOT.parent / "shared" / "data" / "hanna" / "hanna_ratings_long.csv"
PUBLISHED = {
    "Relevance": (0.137622, 0.323755),
    "Coherence": (-0.0547567, -0.184472),
    "Empathy": (0.115955, 0.282378),
    "Surprise": (0.0512276, 0.1394),
    "Engagement": (0.180231, 0.397433),
    "Complexity": (0.278044, 0.536044),
}
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")


def test_kappa_by_hand() -> None:
    """Pairs 1–1, 2–3, 3–3, 1–2: Σ squared distance 0 + 1 + 0 + 1 = 2; by chance, of rows 2 1 1 and columns 1 1 2,
    (2·(0 + 1 + 8) + 1·(1 + 0 + 2) + 1·(4 + 1 + 0)) / 4 = 26/4. Kappa is 1 − 2 / 6.5."""
    assert association(scores([1, 2, 3, 1]), scores([1, 3, 3, 2])).kappa == pytest.approx(1 - 2 / 6.5)


def test_rank_correlations_by_hand() -> None:
    """First 1 2 3 1 has ranks 1.5 3 4 1.5; second 1 3 3 2 has 1 3.5 3.5 2. Of the six pairs four are concordant, none
    is discordant, one is tied in the first and one in the second: tau-b is 4 / √(5 · 5)."""
    found = association(scores([1, 2, 3, 1]), scores([1, 3, 3, 2]))
    first, second = np.array([-1, 0.5, 1.5, -1]), np.array([-1.5, 1, 1, -0.5])
    assert found.spearman == pytest.approx(first @ second / np.sqrt(first @ first * (second @ second)))
    assert found.kendall == pytest.approx(4 / 5)
    assert found.items == 4


def test_nominal_alpha_by_hand() -> None:
    """Units 1 1, 1 2, 2 2 2 and one without a pair: coincidences o₁₁ = 2, o₁₂ = o₂₁ = 1, o₂₂ = 3 of 7; n₁ = 3, n₂ = 4.
    α = 1 − 6 · (o₁₂ + o₂₁) / (2 · 3 · 4)."""
    found = krippendorff_alpha(scores([1, 1, 2, NAN], [1, 2, 2, 1], [NAN, NAN, 2, NAN]), "nominal")
    assert found == pytest.approx(1 - 6 * 2 / 24)


def test_intraclass_correlations_by_hand() -> None:
    """Items 1 3, 2 4, 5 5: means 2 3 5, grand mean 10/3. MSB = 2·(16/9 + 1/9 + 25/9)/2 = 14/3, MSW = (2 + 2 + 0)/3."""
    found = intraclass_correlation(scores([1, 2, 5], [3, 4, 5]))
    assert found.single == pytest.approx((14 / 3 - 4 / 3) / (14 / 3 + 4 / 3))
    assert found.average == pytest.approx((14 / 3 - 4 / 3) / (14 / 3))


def test_shrout_and_fleiss_example() -> None:
    """Their six targets by four judges (1979, Table 2): ICC(1,1) .17, ICC(1,4) .44."""
    table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    found = intraclass_correlation(exact_scores(np.array(table, dtype=np.float64)))
    assert (round(found.single, 2), round(found.average, 2)) == (0.17, 0.44)


@pytest.mark.skipif(not HANNA.exists(), reason="shared/data/hanna is not here")
@pytest.mark.parametrize("criterion", PUBLISHED)
def test_published_intraclass_correlations_of_hanna(criterion: str) -> None:
    with HANNA.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["criterion"] == criterion]
    table = np.array([[float(row[f"human_{rater}"]) for rater in (1, 2, 3)] for row in rows])
    assert table.shape == (1056, 3)
    assert tuple(intraclass_correlation(exact_scores(table))) == pytest.approx(PUBLISHED[criterion], rel=2e-5)


@given(table=tables())
def test_alpha_is_that_of_another_library(table: Array) -> None:
    there = ~np.isnan(table)
    several = there.sum(axis=1, keepdims=True) > 1
    assume(len(np.unique(table[there & several])) > 1)
    assume(several.sum() > 1)
    for level in LEVELS:
        theirs = krippendorff.alpha(reliability_data=table.T, level_of_measurement=level)
        assert krippendorff_alpha(exact_scores(table), level) == pytest.approx(theirs)


@given(table=tables(most_items=30).filter(lambda table: table.shape[1] > 1))
def test_kappa_and_rank_correlations_are_those_of_other_libraries(table: Array) -> None:
    both = table[~np.isnan(table[:, :2]).any(axis=1), :2]
    assume(len(both) > 1)
    assume((np.ptp(both, axis=0) > 0).all())
    found = association(exact_scores(table[:, :1]), exact_scores(table[:, 1:2]))
    assert found.items == len(both)
    assert found.kappa == pytest.approx(
        sklearn_metrics.cohen_kappa_score(*both.astype(np.int64).T, labels=range(1, 6), weights="quadratic")
    )
    assert found.spearman == pytest.approx(scipy_stats.spearmanr(*both.T).statistic)
    assert found.kendall == pytest.approx(scipy_stats.kendalltau(*both.T).statistic)


def test_a_consensus_in_thirds_has_its_rank_correlation() -> None:
    people, judge = ratings(1, 200, 3, 0.1), ratings(2, 200, 1)
    people[0] = np.nan
    found = association(exact_scores(judge), as_scores(consensus(exact_scores(people))))
    there = np.arange(200) > 0
    means = np.nanmean(people[there], axis=1)
    assert found.spearman == pytest.approx(scipy_stats.spearmanr(judge[there, 0], means).statistic)
    assert found.kendall == pytest.approx(scipy_stats.kendalltau(judge[there, 0], means).statistic)


@given(table=tables())
def test_raters_who_agree_wholly(table: Array) -> None:
    column = table[:, :1]
    assume(len(np.unique(column[~np.isnan(column)])) > 1)
    same = exact_scores(np.repeat(column, 3, axis=1))
    assert all(krippendorff_alpha(same, level) == pytest.approx(1.0) for level in LEVELS)
    assert tuple(intraclass_correlation(same)) == pytest.approx((1.0, 1.0))
    one = exact_scores(column)
    assert association(one, one)[:3] == pytest.approx((1.0, 1.0, 1.0))


@given(table=tables(), seed=st.integers(0, 9))
def test_the_order_of_items_and_raters_makes_no_difference(table: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = rng.permuted(table, axis=1)[rng.permutation(len(table))]
    before, after = exact_scores(table), exact_scores(shuffled)
    for level in LEVELS:
        np.testing.assert_allclose(krippendorff_alpha(before, level), krippendorff_alpha(after, level))
    np.testing.assert_allclose(intraclass_correlation(before), intraclass_correlation(after), atol=1e-9)


@pytest.mark.parametrize(
    "table",
    [np.full((3, 2), 4.0), np.full((3, 2), NAN), np.zeros((0, 2)), np.array([[1.0, NAN], [2.0, NAN]])],
    ids=["one-score", "none", "no-items", "one-rater"],
)
def test_what_has_no_reliability_has_none(table: Array) -> None:
    found = exact_scores(table)
    assert all(np.isnan(krippendorff_alpha(found, level)) for level in LEVELS)
    assert np.isnan(intraclass_correlation(found)).all()
    first, second = exact_scores(table[:, :1]), exact_scores(table[:, 1:])
    assert np.isnan(association(first, second)[:3]).all()


def test_unequal_numbers_of_ratings_by_hand() -> None:
    """Items 1 3, 4, 5 5 5: N = 6, grand mean 23/6, Σ n² = 14, so k = (6 − 14/6)/2 = 11/6. Sums of squares: within 2,
    between 2·(2 − 23/6)² + (4 − 23/6)² + 3·(5 − 23/6)² = 65/6; MSB = 65/12, MSW = 2/3."""
    found = intraclass_correlation(scores([1, 4, 5], [3, NAN, 5], [NAN, NAN, 5]))
    assert found.single == pytest.approx((65 / 12 - 2 / 3) / (65 / 12 + (11 / 6 - 1) * 2 / 3))
    assert found.average == pytest.approx((65 / 12 - 2 / 3) / (65 / 12))


def test_a_score_that_is_no_level_is_refused() -> None:
    with pytest.raises(ValueError) as caught:
        table_features(scores([1, 2]), scores([1, 3]), np.array([1.0, 2.0]))
    assert str(caught.value) == "a score that is none of the levels"


def test_resampled_reliability_is_that_of_resampled_items() -> None:
    """Dialogues of three items are drawn; each resample's figures are worked out anew from its items."""
    people = exact_scores(ratings(3, 60, 3, 0.1))
    judge, other = exact_scores(ratings(4, 60, 1)), exact_scores(ratings(5, 60, 1, 0.1))
    dialogue = np.repeat(np.arange(20), 3)
    levels, both = categories(people), categories(judge, other)
    table, pairs = table_features(judge, other, both), alpha_features(people, levels)
    features = np.concatenate([table, pairs, icc_features(people)], axis=1)
    ends = np.cumsum([table.shape[1], pairs.shape[1]])

    def statistic(sums: Array) -> Array:
        cells, coincidences, variances = np.split(sums, ends, axis=-1)
        figures = [weighted_kappa(cells, both), spearman(cells), kendall(cells)]
        figures += [alpha(coincidences, levels, level) for level in LEVELS]
        return np.concatenate([np.stack(figures, axis=-1), icc(variances)], axis=-1)

    def figure(items: Any) -> list[float]:
        held = [
            each._replace(numerators=each.numerators[items], present=each.present[items])
            for each in (people, judge, other)
        ]
        reliabilities = [krippendorff_alpha(held[0], level) for level in LEVELS]
        return [*association(held[1], held[2])[:3], *reliabilities, *intraclass_correlation(held[0])]

    found = resampled(features, statistic, np.random.default_rng(6), resamples=40, clusters=dialogue)
    expected = by_loop(figure, 6, [np.flatnonzero(dialogue == each) for each in range(20)], 40)
    np.testing.assert_allclose(found.draws[:, 0], expected)
    bounds = percentile(found, 0.9)
    assert (bounds.low < bounds.point).all()
    assert (bounds.point < bounds.high).all()
