"""Panels are found where they are better, and not where chance alone makes one look so."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from ccfw.align.alignment import ALL, Terms, alignment, baseline, panel
from ccfw.align.panel_records import Entrant, PanelStudy, Spec, Unrated
from ccfw.align.panel_study import panel_study
from ccfw.humans.records import Ratings
from ccfw.humans.study import People, clusters_of, column_of, people_of, scores_of, unrated_keys

TERMS = Terms(seed=2, resamples=200, level=0.95)
SPEC = Spec(size=3, rule="mean", folds=5, repeats=10, tolerance=1.0)
Whole = NDArray[np.int64]


def ratings(scores: dict[tuple[str, str], dict[str, Fraction]], raters: list[str]) -> Ratings:
    metrics = tuple(dict.fromkeys(metric for _, metric in scores))
    return Ratings(scores, metrics, tuple(raters), {}, {}, {}, {}, "")


def named(values: Whole, prefix: str, items: range) -> dict[tuple[str, str], dict[str, Fraction]]:
    return {
        (f"d{item}", "m"): {f"{prefix}{column}": Fraction(int(value)) for column, value in enumerate(values[item])}
        for item in items
    }


def study(
    humans: Whole, judged: Whole, rated: int | None = None, costs: list[float] | None = None, terms: Terms = TERMS
) -> PanelStudy:
    """Study judges (items × judges) by people (items × raters), of whom only the first ``rated`` items have ratings."""
    count = rated if rated is not None else len(humans)
    names = [f"j{column}" for column in range(judged.shape[1])]
    people_said = ratings(named(humans, "h", range(count)), [f"h{column}" for column in range(humans.shape[1])])
    judges_said = ratings(named(judged, "j", range(len(judged))), names)
    people = people_of(people_said, judges_said)
    keys = unrated_keys(people, [judges_said])
    unrated = Unrated(
        tuple(metric for _, metric in keys),
        scores_of([judges_said.scores[key] for key in keys], names),
        clusters_of(keys, judges_said),
    )
    prices: list[float | None] = [*costs] if costs else [None] * len(names)
    entrants = [Entrant(name, name.upper(), price, {}) for name, price in zip(names, prices, strict=True)]
    columns = [column_of(people, judges_said, name).scores for name in names]
    return panel_study(people, baseline(people, terms), entrants, columns, unrated if keys else None, SPEC, terms)


def simulated(seed: int, noise: list[float], items: int = 300) -> tuple[Whole, Whole]:
    """Return ratings of three people and scores of judges with so much noise each."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 0.8, (items, 1))
    people = truth + rng.normal(0, 0.6, (items, 3))
    judges = truth + rng.normal(0, 1, (items, len(noise))) * np.array(noise)
    return tuple(np.clip(np.rint(each), 1, 5).astype(np.int64) for each in (people, judges))  # type: ignore[return-value]


@pytest.mark.long
def test_of_eleven_exchangeable_judges_no_choice_is_worth_anything() -> None:
    few = Terms(seed=2, resamples=20, level=0.95)
    studies = [study(*simulated(seed, [0.9] * 11, items=200), terms=few) for seed in range(300)]
    chosen = [found.selections["panels"] for found in studies]
    looks = np.array([each.reference - each.apparent for each in chosen])
    gains = np.array([each.gain for each in chosen])
    assert looks.min() > 0  # the best of 165 always looks better than a panel by chance
    assert abs(gains.mean()) < 3 * gains.std(ddof=1) / np.sqrt(len(gains))
    assert abs(gains.mean()) < looks.mean() / 10
    assert sum(each.gain_low > 0 for each in chosen) <= 15  # 7.5 are expected; 16 or more have a chance of 0.4 %


def test_exchangeable_judges_cannot_be_told_apart() -> None:
    found = study(*simulated(0, [0.9] * 11))
    assert {rank.group for rank in found.ranks.values()} == {1}
    assert {rank.low for rank in found.ranks.values()} == {1}


@pytest.mark.parametrize("seed", range(3))
def test_a_truly_better_trio_is_found(seed: int) -> None:
    found = study(*simulated(seed, [1.1] * 4 + [0.5] * 3 + [1.1] * 4))
    chosen = found.selections["panels"]
    assert found.panels[0].members == (4, 5, 6)
    assert chosen.gain_low > 0
    assert chosen.picks.argmax() == chosen.best
    assert chosen.optimism == pytest.approx(0, abs=0.01)
    assert {name for name, rank in found.ranks.items() if rank.group == 1} == {"j4", "j5", "j6"}
    assert found.selections["either"].gain_low > 0


def test_a_panel_has_the_figures_that_the_stage_align_gives_it() -> None:
    humans, judged = simulated(1, [0.5, 0.9, 0.7, 1.2], items=80)
    found = study(humans, judged)
    for candidate in (*found.judges, *found.panels):
        columns = [_column(found.people, judged, member) for member in candidate.members]
        alone = alignment(found.people, panel(columns, "mean"), TERMS)
        assert candidate.lines == alone.consensus
    assert len(found.panels) == 4


def _column(people: People, judged: Whole, member: int):  # type: ignore[no-untyped-def]
    said = ratings(named(judged, "j", range(len(judged))), [f"j{member}"])
    return column_of(people, said, f"j{member}").scores


def test_the_front_is_what_no_other_beats_in_both_price_and_error() -> None:
    humans, judged = simulated(4, [0.4, 0.8, 1.2], items=200)
    found = study(humans, judged, costs=[3.0, 1.0, 2.0])
    assert not found.by_calls
    assert [each.members for each in found.front if len(each.members) == 1] == [(1,), (0,)]
    beaten = [
        (one.name, other.name)
        for one in found.front
        for other in (*found.judges, *found.panels)
        if (other.cost or 0) <= (one.cost or 0) and other.mae < one.mae
    ]
    assert beaten == []


def test_without_all_prices_cost_is_the_number_of_judges() -> None:
    found = study(*simulated(4, [0.4, 0.8, 1.2], items=60))
    assert found.by_calls
    assert {len(each.members) for each in found.front} <= {1, 3}


def test_a_cascade_asks_the_third_judge_where_the_first_two_are_apart() -> None:
    humans = np.array([[3], [3], [3], [3]])
    judged = np.array([[3, 3, 5], [3, 4, 5], [1, 3, 5], [1, 4, 4]])
    found = study(humans, judged, costs=[1.0, 2.0, 4.0])
    trio = found.cascades[0]
    assert trio.asked == pytest.approx((2 + 2 + 3 + 3) / 4)
    assert trio.cost == pytest.approx((3 + 3 + 7 + 7) / 4)
    assert trio.line.mae.value == pytest.approx((0 + 0.5 + 0 + 0) / 4)


def test_judges_scores_of_unrated_items_narrow_the_mean_of_ratings() -> None:
    humans, judged = simulated(7, [0.3, 0.9, 0.9], items=1000)
    found = study(humans, judged, rated=100)
    best = next(each for each in found.inferred if each.judge == "J0")
    assert (best.found.rated, best.found.judged, best.metric) == (100, 900, "m")
    assert best.found.error < best.found.classical_error
    assert best.found.effective > 120
    assert best.found.low < humans.mean() < best.found.high


def test_one_judge_or_two_make_no_panel_and_no_error() -> None:
    humans, judged = simulated(1, [0.5, 0.9], items=40)
    for count in (1, 2):
        found = study(humans, judged[:, :count])
        assert (len(found.judges), found.panels, found.versus) == (count, (), None)
        assert "panels" not in found.selections
        assert len(found.values) == (2 if count == 2 else 0)
        assert found.judges[0].lines[ALL].items == 40


def test_fewer_items_than_folds_leave_the_choice_open() -> None:
    found = study(*simulated(1, [0.5, 0.9, 0.7], items=4))
    assert found.selections == {}
