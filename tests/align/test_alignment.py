"""Figures of agreement against loops over fractions, and against scipy."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from ccfw.align.alignment import ALL, Alignment, Baseline, Terms, alignment, baseline, panel
from ccfw.humans.records import Ratings
from ccfw.humans.study import People, column_of, people_of
from ccfw.settings.models import JudgeConfig

TERMS = Terms(seed=1, resamples=200, level=0.95)
Table = dict[tuple[str, str], dict[str, Fraction]]


def ratings(scores: Table, regions: dict[str, str] | None = None) -> Ratings:
    return Ratings(
        scores=scores,
        metrics=tuple(dict.fromkeys(metric for _, metric in scores)),
        raters=tuple(sorted({rater for by in scores.values() for rater in by})),
        regions=regions or {},
        languages={},
        clusters={},
        dropped={},
        digest="",
    )


def compared(humans: Table, judges: Table, *members: str, rule: str = "mean") -> tuple[People, Baseline, Alignment]:
    scores = ratings(judges)
    people = people_of(ratings(humans, {"a": "SG", "b": "MY"}), scores)
    columns = [column_of(people, scores, member).scores for member in members]
    return people, baseline(people, TERMS), alignment(people, panel(columns, rule), TERMS)  # type: ignore[arg-type]


def whole(**scores: int) -> dict[str, Fraction]:
    return {name: Fraction(score) for name, score in scores.items()}


def test_a_difference_of_exactly_one_is_within_one_whatever_thirds_do_in_floats() -> None:
    assert 7 / 3 - 4 / 3 > 1
    humans = {("a", "helpful"): whole(x=2, y=2, z=3)}
    judges = {("a", "helpful"): whole(j=1, k=1, m=2)}
    _, _, found = compared(humans, judges, "j", "k", "m")
    line = found.consensus[ALL]
    assert (line.within_one.value, line.mae.value, line.bias.value) == (1.0, 1.0, -1.0)


def test_a_small_case_by_hand() -> None:
    humans = {
        ("a", "helpful"): whole(x=4, y=5),
        ("b", "helpful"): whole(x=2, y=2, z=5),
        ("a", "honest"): whole(x=1),
        ("b", "honest"): whole(z=3),
    }
    judges = {("a", "helpful"): whole(j=3), ("b", "helpful"): whole(j=3), ("a", "honest"): whole(j=3)}
    people, people_agree, found = compared(humans, judges, "j")
    line = found.consensus[ALL]
    # differences from the consensus: 3 − 4.5, 3 − 3, 3 − 1; the judge has no score of b, honest
    assert line.within_one.value == pytest.approx(1 / 3)
    assert line.mae.value == pytest.approx((1.5 + 0 + 2) / 3)
    assert line.bias.value == pytest.approx((-1.5 + 0 + 2) / 3)
    assert (line.items, line.missing) == (3, 1)
    honest = found.consensus["metric", "honest"]
    assert (honest.mae.value, honest.items, honest.missing) == (2.0, 1, 1)
    assert found.consensus["region", "SG"].bias.value == pytest.approx(0.25)
    # pairs of ratings: |4 − 5|, |2 − 2|, |2 − 5|, |2 − 5|
    assert people_agree.pairs[ALL].mae.value == pytest.approx(7 / 4)
    assert people_agree.pairs[ALL].within_one.value == pytest.approx(2 / 4)
    assert people_agree.pairs[ALL].items == 4
    # each against the others: 4|5, 5|4, 2|3.5, 2|3.5, 5|2
    assert people_agree.others[ALL].mae.value == pytest.approx((1 + 1 + 1.5 + 1.5 + 3) / 5)
    # the judge against each rating: −1, −2; 1, 1, −2; 2
    assert found.single.mae.value == pytest.approx((1 + 2 + 1 + 1 + 2 + 2) / 6)
    # against the others of each: 3|5, 3|4, 3|3.5, 3|3.5, 3|2
    assert found.others.mae.value == pytest.approx((2 + 1 + 0.5 + 0.5 + 1) / 5)
    assert people.groups == (ALL, ("metric", "helpful"), ("metric", "honest"), ("region", "MY"), ("region", "SG"))


def test_a_group_that_nothing_can_be_compared_in_has_no_figure() -> None:
    humans = {("a", "helpful"): whole(x=4), ("a", "honest"): whole(x=4)}
    _, people_agree, found = compared(humans, {("a", "helpful"): whole(j=3)}, "j")
    line = found.consensus["metric", "honest"]
    assert (line.mae, line.items, line.missing) == ((None, None, None), 0, 1)
    assert people_agree.pairs[ALL].mae.value is None
    assert people_agree.reliability[ALL].alpha_interval is None


@pytest.mark.parametrize(("rule", "bias"), [("mean", 4 / 3), ("median", 1.0), ("majority", 1.0)])
def test_a_panel_is_made_by_its_rule(rule: str, bias: float) -> None:
    _, _, found = compared({("a", "m"): whole(x=1)}, {("a", "m"): whole(j=2, k=2, m=3)}, "j", "k", "m", rule=rule)
    assert found.consensus[ALL].bias.value == pytest.approx(bias)


def test_a_majority_that_there_is_not_is_missing() -> None:
    _, _, found = compared({("a", "m"): whole(x=1)}, {("a", "m"): whole(j=2, k=4, m=3)}, "j", "k", "m", rule="majority")
    assert (found.consensus[ALL].items, found.consensus[ALL].missing) == (0, 1)


SCORES = st.dictionaries(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(("m1", "m2"))),
    st.tuples(
        st.dictionaries(st.sampled_from("xyz"), st.integers(1, 5).map(Fraction), min_size=1),
        st.dictionaries(
            st.sampled_from(("j", "k", "l")), st.integers(3, 15).map(lambda third: Fraction(third, 3)), max_size=3
        ),
    ),
    min_size=1,
).filter(lambda table: any("j" in judged for _, judged in table.values()))


@given(SCORES, st.sampled_from([("j",), ("j", "k", "l")]))
def test_figures_are_those_of_a_loop_over_fractions(
    table: dict[tuple[str, str], tuple[dict[str, Fraction], dict[str, Fraction]]], members: tuple[str, ...]
) -> None:
    humans = {key: people for key, (people, _) in table.items()}
    judges = {key: judged for key, (_, judged) in table.items() if judged}
    _, people_agree, found = compared(humans, judges, *members)
    apart: list[Fraction] = [
        Fraction(sum(judges[key][member] for member in members)) / len(members)
        - Fraction(sum(people.values())) / len(people)
        for key, people in humans.items()
        if set(members) <= judges.get(key, {}).keys()
    ]
    line = found.consensus[ALL]
    assert (line.items, line.missing) == (len(apart), len(humans) - len(apart))
    if apart:
        assert line.within_one.value == pytest.approx(fmean(abs(each) <= 1 for each in apart))
        assert line.mae.value == pytest.approx(fmean(abs(float(each)) for each in apart))
        assert line.bias.value == pytest.approx(fmean(float(each) for each in apart))
    pairs = [a - b for people in humans.values() for a, b in itertools.combinations(people.values(), 2)]
    if pairs:
        assert people_agree.pairs[ALL].within_one.value == pytest.approx(fmean(abs(each) <= 1 for each in pairs))
        assert people_agree.pairs[ALL].mae.value == pytest.approx(fmean(abs(float(each)) for each in pairs))


def test_rank_correlations_and_kappa_are_those_of_scipy_and_of_the_formula() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(3, 1, 60)
    seen = np.clip(np.rint(truth[:, None] + rng.normal(0, 0.7, (60, 3))), 1, 5).astype(int)
    judged = np.clip(np.rint(truth + rng.normal(0, 0.7, 60)), 1, 5).astype(int)
    names = [f"d{number}" for number in range(60)]
    humans = {(name, "m"): whole(x=x, y=y, z=z) for name, (x, y, z) in zip(names, seen.tolist(), strict=True)}
    judges = {(name, "m"): whole(j=int(score)) for name, score in zip(names, judged, strict=True)}
    _, _, found = compared(humans, judges, "j")
    mean = seen.mean(axis=1)
    association = found.association[ALL]
    assert association.spearman == pytest.approx(stats.spearmanr(judged, mean).statistic)
    assert association.kendall == pytest.approx(stats.kendalltau(judged, mean).statistic)
    by_chance = fmean((a - b) ** 2 for a in judged for b in mean)
    assert association.kappa == pytest.approx(1 - ((judged - mean) ** 2).mean() / by_chance)
    assert association == found.association["metric", "m"]


def test_intervals_draw_a_dialogue_with_all_its_metrics() -> None:
    rng = np.random.default_rng(3)
    error = rng.integers(-2, 3, 40)
    humans = {(f"d{n}", metric): whole(x=3) for metric in "abcdef" for n in range(40)}
    judges = {(f"d{n}", metric): whole(j=3 + int(error[n])) for metric in "abcdef" for n in range(40)}
    people, _, found = compared(humans, judges, "j")
    bias = found.consensus[ALL].bias
    assert bias.low is not None
    assert bias.high is not None
    width = 2 * 1.96 * error.std() / math.sqrt(40)  # six alike metrics say no more than one
    assert bias.high - bias.low == pytest.approx(width, rel=0.2)
    assert people.clusters.max() == 39


def test_judges_of_settings_may_be_combined_by_every_rule_that_panels_know() -> None:
    assert JudgeConfig.model_fields["aggregation"].annotation.__args__ == ("mean", "median", "majority")  # type: ignore[union-attr]
