"""Which judge or panel to choose, and how sure that is. Pure.

An order by MAE says neither. Here are ranks that cannot be ruled out, the choice of the best on items that did not
choose it, what cost buys, what each judge adds, and what judges save of people's time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ccfw.align.alignment import Figure, Terms, known, lines, spread_out
from ccfw.align.panel_records import Candidate, Cascade, Entrant, Inferred, Rank, Spec, Unrated, Versus
from ccfw.humans.study import People
from ccfw.stats.agreement import Differences, Scores, consensus, differences
from ccfw.stats.figures import figure_intervals, paired_intervals
from ccfw.stats.intervals import Bounds
from ccfw.stats.multiplicity import holm
from ccfw.stats.panels import cascade, panel_scores
from ccfw.stats.ppi import powered_mean
from ccfw.stats.ranks import minimum_detectable_difference, ranking, surely_better, unit_spread
from ccfw.stats.resampling import Array, Ints, Slices, distinct_columns, ratios, resampled
from ccfw.stats.selection import (
    JudgeValue,
    Selection,
    absolute_losses,
    leave_one_judge_out,
    nested_selection,
    pareto_front,
)


def columns_of(found: Differences, columns: Sequence[int]) -> Differences:
    """Return some columns of differences."""
    own = list(columns)
    denominators = found.denominators if found.denominators.shape[1] == 1 else found.denominators[:, own]
    return Differences(found.numerators[:, own], denominators, found.present[:, own])


def ranks(entrants: Sequence[Entrant], found: Differences, best: int, people: People, terms: Terms) -> dict[str, Rank]:
    """Return how sure each judge's place is; ``best`` is the column of the judge with the least MAE.

    Of fewer than two clusters no place can be ruled out, and no difference has bounds.
    """
    losses = absolute_losses(found)
    distinct, places = distinct_columns(losses.present)
    drawn = resampled(
        np.concatenate([np.where(losses.present, losses.values, 0.0), distinct], axis=1),
        ratios(len(entrants), places),
        terms.generator(),
        resamples=terms.resamples,
        clusters=people.clusters,
    )
    better = surely_better(drawn.point[0], drawn.draws[:, 0], level=terms.level, higher_is_better=False)
    sure = ranking(drawn.point[0], better, higher_is_better=False)
    paired = paired_intervals(
        found, best, terms.generator(), resamples=terms.resamples, level=terms.level, clusters=people.clusters
    )
    others = np.where(np.arange(len(entrants)) == best, np.nan, paired.p_mae[0])
    adjusted = holm(others)
    several = spread_out(np.atleast_2d(found.present.any(axis=1)).T, Slices.of(), people.clusters)[0, 0]
    shared = spread_out(found.present & found.present[:, [best]], Slices.of(), people.clusters)[0]
    last, made = int((sure.rank > 0).sum()), {}
    for place, entrant in enumerate(entrants):
        rank, low, high, group = (int(part[place]) for part in sure[:4])
        if rank and not several:
            low, high, group = 1, last, 1
        behind = _figure(paired.mae, place, bounded=bool(shared[place]))
        p = known(float(adjusted[place])) if shared[place] else None
        made[entrant.name] = Rank(rank, low, high, group, behind, p)
    return made


def _figure(bounds: Bounds, column: int, *, bounded: bool) -> Figure:
    value, *ends = (known(float(end[0, column])) for end in bounds)
    return Figure(value, *(ends if bounded else (None, None)))


def detectable(found: Differences, judges: Sequence[Candidate], people: People) -> float | None:
    """Return the difference in MAE between the first two judges that so many clusters show with a power of 80 %."""
    if len(judges) < 2:
        return None
    losses = absolute_losses(found)
    first, second = (each.members[0] for each in judges[:2])
    both = losses.present[:, first] & losses.present[:, second]
    apart = np.where(both, losses.values[:, first] - losses.values[:, second], np.nan)
    spread, units = unit_spread(apart, people.clusters), len(np.unique(people.clusters[both]))
    return None if math.isnan(spread) else minimum_detectable_difference(spread, units)


def versus(
    found: Differences,
    entrants: int,
    members: Ints,
    judges: Sequence[Candidate],
    panels: Sequence[Candidate],
    people: People,
    terms: Terms,
) -> Versus | None:
    """Return the best panel minus the best judge; ``entrants`` columns of single judges stand before the panels."""
    if not panels or math.isinf(panels[0].mae):
        return None
    panel = entrants + int(np.flatnonzero((members == panels[0].members).all(axis=1))[0])
    pair = [judges[0].members[0], panel]
    paired = paired_intervals(
        columns_of(found, pair),
        0,
        terms.generator(),
        resamples=terms.resamples,
        level=terms.level,
        clusters=people.clusters,
    )
    parts = (paired.within_one, paired.mae, paired.bias)
    both = np.atleast_2d(found.present[:, pair].all(axis=1)).T
    bounded = bool(spread_out(both, Slices.of(), people.clusters)[0, 0])
    return Versus(*(_figure(part, 1, bounded=bounded) for part in parts))


# ---- which to choose


def selections(
    found: Differences,
    scored: Sequence[int],
    entrants: int,
    best: int,
    people: People,
    spec: Spec,
    terms: Terms,
) -> dict[str, Selection]:
    """Return what choosing is worth among judges, among panels, and among both beside the best judge.

    ``scored`` are the judges that scored anything, out of ``entrants`` columns before those of panels.
    """
    losses = absolute_losses(found)
    width = losses.present.shape[1]
    if best not in scored:
        return {}
    judges, panels = list(scored), list(range(entrants, width))
    choices: dict[str, tuple[list[int], int | None]] = {
        "judges": (judges, None),
        "panels": (panels, None),
        "either": ([*judges, *panels], judges.index(best)),
    }
    made = {}
    for name, (columns, reference) in choices.items():
        own = losses._replace(values=losses.values[:, columns], present=losses.present[:, columns])
        if own.present.shape[1] > 1 and (name != "either" or width > entrants):
            try:
                made[name] = nested_selection(
                    own,
                    terms.generator(),
                    groups=people.clusters,
                    folds=spec.folds,
                    repeats=spec.repeats,
                    reference=reference,
                    level=terms.level,
                )
            except ValueError:  # fewer clusters than folds have an item that all of them scored
                continue
    return made


def front(costs: Array, candidates: Sequence[Candidate]) -> list[int]:
    """Return the places of the candidates that no other beats in both cost and MAE, from the cheapest on."""
    losses = np.array([math.nan if math.isinf(each.mae) else each.mae for each in candidates])
    return [int(place) for place in pareto_front(costs, losses)]


def values(scores: Scores, scored: Sequence[int], people: People, spec: Spec, terms: Terms) -> list[JudgeValue]:
    """Return what each judge that scored anything adds to the panel of all those; nothing for a single one."""
    if len(scored) < 2:
        return []
    own = list(scored)
    found = leave_one_judge_out(
        scores._replace(numerators=scores.numerators[:, own], present=scores.present[:, own]),
        consensus(people.humans),
        terms.generator(),
        rule=spec.rule,
        resamples=terms.resamples,
        level=terms.level,
        clusters=people.clusters,
    )
    bounded = len(np.unique(people.clusters)) > 1
    return [
        each._replace(judge=own[each.judge], **({} if bounded else {"low": math.nan, "high": math.nan}))
        for each in found
    ]


def cascades(
    scores: Scores,
    scored: Sequence[int],
    entrants: Sequence[Entrant],
    judges: Sequence[Candidate],
    panels: Sequence[Candidate],
    people: People,
    spec: Spec,
    terms: Terms,
) -> list[Cascade]:
    """Ask the judges of the best panel, and all that ``scored`` anything, cheapest first; where prices are unknown,
    the best first.
    """
    if len(scored) < 2:
        return []
    priced = all(entrant.cost is not None for entrant in entrants)
    costs = np.array([(entrant.cost if priced else 1.0) or 0.0 for entrant in entrants])
    place = {each.members[0]: rank for rank, each in enumerate(judges)}
    order = sorted(scored, key=lambda each: (costs[each], place[each]))
    chosen = {"all judges": order}
    if panels:
        chosen = {panels[0].label: [each for each in order if each in panels[0].members]} | chosen
    found = []
    for label, own in chosen.items():
        made = cascade(scores, np.array(own, dtype=np.int64), costs, first=2, tolerance=spec.tolerance)
        apart = differences(made.scores, consensus(people.humans))
        intervals = figure_intervals(
            apart,
            terms.generator(),
            resamples=terms.resamples,
            level=terms.level,
            clusters=people.clusters,
        )
        (line,) = lines(intervals, Slices.of(), spread_out(apart.present, Slices.of(), people.clusters)).values()
        found.append(Cascade(label, line, float(made.asked.mean()), made.cost if priced else None))
    return found


# ---- means of ratings that nobody gave


def inferred(
    scores: Scores,
    unrated: Unrated | None,
    judges: Sequence[Candidate],
    panels: Sequence[Candidate],
    people: People,
    spec: Spec,
    terms: Terms,
) -> list[Inferred]:
    """Return the mean of human ratings in each metric over all judged items, by the best judge and the best panel."""
    if unrated is None:
        return []
    target, found = consensus(people.humans), []
    human = target.sums[:, 0] / np.maximum(target.counts[:, 0], 1)
    rated = np.array([metric for _, metric in people.keys])
    others = np.array(unrated.metrics)
    for candidate in (*judges[:1], *panels[:1]):
        seat = np.array([candidate.members], dtype=np.int64)
        own, (many, there) = (
            panel_scores(scores, seat, spec.rule),
            _values_of(panel_scores(unrated.scores, seat, spec.rule)),
        )
        judge, present = _values_of(own)
        for metric in people.metrics:
            mine, theirs = present & (rated == metric), there & (others == metric)
            try:
                powered = powered_mean(
                    human[mine],
                    judge[mine],
                    many[theirs],
                    level=terms.level,
                    clusters=people.clusters[mine],
                    judged_clusters=unrated.clusters[theirs],
                )
            except ValueError:  # fewer than two on a side
                continue
            found.append(Inferred(candidate.label, metric, powered))
    return found


def _values_of(scores: Scores) -> tuple[Array, NDArray[np.bool_]]:
    return scores.numerators[:, 0] / scores.denominator, scores.present[:, 0]
