"""Rankings of triplets: by hand, and by enumeration of how ties may fall."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.align.alignment import ALL, Terms
from ccfw.training.ranking import CHANCE, TripletRewards, ranked, ranking

TERMS = Terms(seed=0, resamples=200, level=0.95)


def triplet(a: float, g: float, o: float, *, norm: str = "n", culture: str = "Japan") -> TripletRewards:
    return TripletRewards(f"{norm}_s", norm, culture, a, g, o)


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        ((3.0, 2.0, 1.0), (1, 1, 1, 1, 1)),
        ((2.0, 3.0, 1.0), (0, 1, 1, 0, 0)),
        ((3.0, 1.0, 2.0), (1, 1, 0, 1, 0)),
        ((1.0, 2.0, 3.0), (0, 0, 0, 0, 0)),
        ((2.0, 2.0, 1.0), (0.5, 1, 1, 0.5, 0.5)),
        ((-1.0, -2.0, -2.0), (1, 1, 0.5, 1, 0.5)),
        ((0.0, 0.0, 0.0), (0.5, 0.5, 0.5, 1 / 3, 1 / 6)),
    ],
)
def test_a_triplet_counts_by_where_its_answers_stand(
    rewards: tuple[float, float, float], expected: tuple[float, ...]
) -> None:
    assert ranked(triplet(*rewards)) == pytest.approx(expected, abs=1e-12)


@given(st.tuples(*[st.integers(0, 2)] * 3))
def test_ties_count_as_the_mean_over_every_way_to_break_them(rewards: tuple[int, int, int]) -> None:
    broken = []
    for order in itertools.permutations(range(3)):
        a, g, o = (reward + 0.1 * place for reward, place in zip(rewards, order, strict=True))
        broken.append((a > g, a > o, g > o, a > max(g, o), a > g > o))
    expected = [sum(column) / len(broken) for column in zip(*broken, strict=True)]
    assert ranked(triplet(*map(float, rewards))) == pytest.approx(expected)


def test_a_model_that_knows_nothing_scores_at_chance_exactly() -> None:
    line = ranking([triplet(1.5, 1.5, 1.5, norm=str(i)) for i in range(4)], TERMS)[ALL]
    assert {name: figure.value for name, figure in line.figures.items()} == pytest.approx(dict(CHANCE))


def test_figures_are_means_with_intervals_that_draw_whole_norms() -> None:
    good = [triplet(3, 2, 1, norm=f"a{n}") for n in range(5) for _ in range(20)]
    bad = [triplet(1, 2, 3, norm=f"b{n}", culture="Italy") for n in range(5) for _ in range(20)]
    found = ranking([*good, *bad], TERMS)
    assert found[ALL].triplets == 200
    top = found[ALL].figures["top_1"]
    # of ten norms, half of them right: the binomial's 2.5 and 97.5 per cent are 2 and 8 of 10; items would give ±7
    assert (top.value, top.low, top.high) == (0.5, 0.2, 0.8)
    assert {group: line.figures["order"].value for group, line in found.items() if group[0] == "culture"} == {
        ("culture", "Italy"): 0.0,
        ("culture", "Japan"): 1.0,
    }


@pytest.mark.parametrize(("norms", "bounded"), [(9, False), (10, True)])
def test_over_fewer_than_ten_norms_there_is_no_interval(norms: int, bounded: bool) -> None:
    given = [triplet(n % 2, 0.5, 0, norm=str(n), culture="Japan") for n in range(norms) for _ in range(3)]
    found = ranking([*given, triplet(1, 0, 0, norm="lone", culture="Italy")][: 3 * norms], TERMS)
    for group in (ALL, ("culture", "Japan")):
        top = found[group].figures["top_1"]
        assert top.value == pytest.approx(norms // 2 / norms)
        assert (top.low is not None, top.high is not None) == (bounded, bounded)


def test_a_reward_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^n_s: a reward is not a number$"):
        ranking([triplet(1.0, math.nan, 0.0)], TERMS)


def test_of_no_triplets_there_are_no_figures() -> None:
    line = ranking([], TERMS)[ALL]
    assert line.triplets == 0
    assert all(figure == (None, None, None) for figure in line.figures.values())
