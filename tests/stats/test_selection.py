"""Choosing among panels: no gain where there is none, the gain where there is one, and what each judge adds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccfw.stats.agreement import Scores, Target, consensus, differences, exact_scores
from ccfw.stats.figures import figures
from ccfw.stats.panels import ensembles, panel_scores
from ccfw.stats.selection import (
    Losses,
    absolute_losses,
    leave_one_judge_out,
    nested_selection,
    outside_one_losses,
    pareto_front,
)
from tests.stats.samples import NAN, Array, ratings, scores

DIALOGUES, METRICS = 120, 6


def judged(seed: int, noise: list[float]) -> tuple[Scores, Target, NDArray[np.int64]]:
    """Return judges with such noise, the consensus of three people, and the dialogue of each item."""
    rng = np.random.default_rng(seed)
    dialogue = np.repeat(np.arange(DIALOGUES), METRICS)
    true = (rng.normal(3.2, 0.7, DIALOGUES)[dialogue] + rng.normal(0, 0.5, len(dialogue)))[:, None]

    def rated(spread: Any) -> Scores:
        return exact_scores(np.clip(np.rint(true + rng.normal(size=(len(true), len(spread))) * spread), 1, 5))

    return rated(np.array(noise)), consensus(rated(np.full(3, 0.8))), dialogue


def trios(seed: int, noise: list[float]) -> tuple[Losses, NDArray[np.int64]]:
    judges, target, dialogue = judged(seed, noise)
    return absolute_losses(differences(panel_scores(judges, ensembles(11, 3)), target)), dialogue


def test_choosing_among_exchangeable_judges_gains_nothing() -> None:
    """100 sets of 11 judges alike: a chosen trio is no better on average, though it always looks better than one picked
    by chance, and a gain is claimed (or a loss) in hardly more than 5 of them."""
    found = []
    for seed in range(100):
        losses, dialogue = trios(seed, [0.9] * 11)
        found.append(nested_selection(losses, np.random.default_rng(seed + 1_000), groups=dialogue, repeats=10))
    gains = np.array([each.gain for each in found])
    looks = np.array([each.reference - each.apparent for each in found])
    assert abs(gains.mean()) <= 4 * gains.std() / np.sqrt(100)
    assert abs(gains.mean()) < 0.2 * looks.mean()
    assert looks.min() > 0
    assert all(each.optimism > -1e-12 for each in found)
    assert sum(each.gain_low > 0 or each.gain_high < 0 for each in found) <= 11  # binomial: 1 in 200 at 5 %


def test_a_truly_better_trio_is_found() -> None:
    losses, dialogue = trios(1, [0.9] * 4 + [0.3] * 3 + [0.9] * 4)
    found = nested_selection(losses, np.random.default_rng(1), groups=dialogue)
    assert tuple(ensembles(11, 3)[found.best]) == (4, 5, 6)
    assert found.picks[found.best] == found.picks.sum() == 100
    assert found.gain_low > 0
    assert found.optimism == pytest.approx(0, abs=1e-12)
    mean = losses.values.mean(axis=0)
    assert found.apparent == pytest.approx(mean.min())
    assert found.reference == pytest.approx(mean.mean())
    assert found.gain == pytest.approx(mean.mean() - mean.min())
    assert found.items == 720


def by_loop(
    losses: Losses, groups: NDArray[np.int64], seed: int, folds: int, repeats: int
) -> tuple[list[list[float]], float]:
    """Return the gain of every fold and the honest loss, with the folds that the stream of the seed gives."""
    size = groups.max() + 1
    assigned = np.random.default_rng(seed).permuted(np.tile(np.arange(size) % folds, (repeats, 1)), axis=1)
    gains, spent = [], []
    for fold_of in assigned:
        gains.append(list[float]())
        for fold in range(folds):
            held = fold_of[groups] == fold
            chosen = losses.values[held][:, losses.values[~held].mean(axis=0).argmin()]
            gains[-1].append(float(losses.values[held].mean() - chosen.mean()))
            spent.append(chosen.sum())
    return gains, float(np.sum(spent) / (repeats * len(groups)))


def test_no_group_judges_the_choice_that_it_helped_to_make() -> None:
    losses, dialogue = trios(3, [0.9] * 11)
    found = nested_selection(losses, np.random.default_rng(4), groups=dialogue, folds=4, repeats=3)
    gains, honest = by_loop(losses, dialogue, 4, 4, 3)
    assert found.honest == pytest.approx(honest)
    assert found.picks.sum() == 12
    reach = 1.959963984540054 * np.sqrt((1 / 4 + 1 / 3) * np.var(gains, axis=1, ddof=1).mean())
    assert (found.gain_low, found.gain_high) == pytest.approx((found.gain - reach, found.gain + reach))


def test_a_reference_of_ones_own() -> None:
    losses, dialogue = trios(5, [0.9] * 11)
    found = nested_selection(losses, np.random.default_rng(6), groups=dialogue, reference=7)
    assert found.reference == pytest.approx(losses.values[:, 7].mean())
    assert found.gain == pytest.approx(found.reference - found.honest)
    assert found.gain_low < found.gain < found.gain_high


def test_one_candidate_gains_nothing_and_looks_as_it_is() -> None:
    losses = Losses(np.random.default_rng(7).random((30, 1)), np.ones((30, 1), dtype=np.bool_))
    found = nested_selection(losses, np.random.default_rng(1))
    assert found.honest == pytest.approx(found.apparent)
    assert (found.gain, found.gain_low, found.gain_high) == pytest.approx((0, 0, 0), abs=1e-9)


def test_items_that_some_candidate_lacks_are_left_out() -> None:
    losses, dialogue = trios(8, [0.9] * 11)
    losses.present[:100, 3] = False
    losses.values[:100, 3] = 0.0
    found = nested_selection(losses, np.random.default_rng(1), groups=dialogue)
    rest = Losses(losses.values[100:], losses.present[100:])
    assert found[:7] == nested_selection(rest, np.random.default_rng(1), groups=dialogue[100:])[:7]
    assert found.items == 620


def test_fewer_groups_than_folds_are_refused() -> None:
    losses = Losses(np.zeros((8, 2)), np.ones((8, 2), dtype=np.bool_))
    with pytest.raises(ValueError) as caught:
        nested_selection(losses, np.random.default_rng(1), groups=np.repeat([0, 1], 4), folds=3)
    assert str(caught.value) == "3 folds of 2 groups of items that all candidates have"


def test_losses_are_the_figures_of_agreement() -> None:
    judges, target, _ = judged(9, [0.9] * 11)
    found = differences(panel_scores(judges, ensembles(11, 2)), target)
    expected = figures(found)
    assert absolute_losses(found).values.mean(axis=0) == pytest.approx(expected.mae[0])
    assert outside_one_losses(found).values.mean(axis=0) == pytest.approx(1 - expected.within_one[0])


def test_what_a_judge_adds_by_hand() -> None:
    """People say 3 and 3. Judges 3 5, 3 3, 3 1: all together miss nothing; without the first 0 and 1, without the
    second 0 and 0, without the third 0 and 1."""
    found = leave_one_judge_out(
        scores([3, 5], [3, 3], [3, 1]), consensus(scores([3, 3])), np.random.default_rng(1), resamples=200, level=0.9
    )
    assert [each.value for each in found] == [0.5, 0.0, 0.5]
    assert [(each.everyone, each.without) for each in found] == [(0, 0.5), (0, 0), (0, 0.5)]
    assert [(each.low, each.high) for each in found] == [(0, 1), (0, 0), (0, 1)]


def test_a_good_judge_adds_and_a_bad_one_takes() -> None:
    judges, target, dialogue = judged(10, [0.3, 0.9, 0.9, 3.0])
    found = leave_one_judge_out(judges, target, np.random.default_rng(1), resamples=500, level=0.95, clusters=dialogue)
    assert [each.judge for each in found] == [0, 1, 2, 3]
    assert found[0].low > 0
    assert found[3].high < 0
    everyone = figures(differences(panel_scores(judges, np.arange(4)[None]), target))
    assert found[0].everyone == pytest.approx(everyone.mae.item())


def test_the_front_by_hand() -> None:
    """Candidate 1 costs as much as 0 and errs more; 3 is dearer and worse than 2; 4 equals 2; 5 has no loss."""
    costs, losses = np.array([1, 1, 2, 3, 2, 0.5]), np.array([0.8, 0.9, 0.5, 0.6, 0.5, NAN])
    assert pareto_front(costs, losses).tolist() == [0, 2, 4]


@given(points=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=15))
def test_every_candidate_is_on_the_front_or_beaten_by_one_on_it(points: list[tuple[int, int]]) -> None:
    costs, losses = np.array(points, dtype=np.float64).T
    front = pareto_front(costs, losses).tolist()
    assert costs[front].tolist() == sorted(costs[front])
    assert (np.diff(losses[front]) <= 0).all()
    for place, (cost, loss) in enumerate(points):
        beaten = [p for p in front if points[p][0] <= cost and points[p][1] <= loss and points[p] != (cost, loss)]
        assert (place in front) == (not beaten)


def test_the_order_of_candidates_makes_no_difference() -> None:
    table: Array = ratings(11, 200, 5)
    judges, target = exact_scores(table), consensus(exact_scores(ratings(12, 200, 3)))
    first = absolute_losses(differences(judges, target))
    turned = Losses(first.values[:, ::-1], first.present[:, ::-1])
    before, after = (nested_selection(each, np.random.default_rng(1)) for each in (first, turned))
    assert after.best == 4 - before.best
    assert after.picks.tolist() == before.picks.tolist()[::-1]
    assert after.honest == pytest.approx(before.honest)
