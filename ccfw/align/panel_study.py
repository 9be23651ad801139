"""All judges and all panels of them against people: which is best, how sure that is, and what it costs. Pure.

Paper 1, section 5.2 and Appendix K.2 (Table 11), with what the table leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ccfw.align.alignment import Baseline, Lines, Terms, lines, spread_out
from ccfw.align.panel_choice import (
    cascades,
    columns_of,
    detectable,
    front,
    inferred,
    ranks,
    selections,
    values,
    versus,
)
from ccfw.align.panel_records import Candidate, Entrant, PanelStudy, Spec, Unrated
from ccfw.humans.study import People, side_by_side
from ccfw.stats.agreement import Differences, Scores, consensus, differences
from ccfw.stats.figures import figure_intervals
from ccfw.stats.panels import ensembles, panel_scores
from ccfw.stats.resampling import Ints


def panel_study(
    people: People,
    baseline: Baseline,
    entrants: Sequence[Entrant],
    columns: Sequence[Scores],
    unrated: Unrated | None,
    spec: Spec,
    terms: Terms,
) -> PanelStudy:
    """Study judges by their scores of the rated items (``columns``, items × 1 each) and of others (``unrated``).

    At least one judge; with fewer than ``spec.size`` that scored anything there are no panels.
    """
    scores, target = side_by_side(columns), consensus(people.humans)
    scored = [place for place, column in enumerate(columns) if column.present.any()]
    members = np.array(scored, dtype=np.int64)[ensembles(len(scored), spec.size)]
    everyone = side_by_side([scores, panel_scores(scores, members, spec.rule)]) if len(members) else scores
    found = differences(everyone, target)
    candidates = _candidates(entrants, members, found, people, terms)
    judges, panels = (_by_mae(part) for part in (candidates[: len(entrants)], candidates[len(entrants) :]))
    best = judges[0].members[0]
    by_calls = any(entrant.cost is None for entrant in entrants)
    costs = np.array([len(each.members) if by_calls else each.cost for each in candidates], dtype=np.float64)
    own = columns_of(found, range(len(entrants)))
    return PanelStudy(
        people=people,
        baseline=baseline,
        entrants=tuple(entrants),
        judges=judges,
        panels=panels,
        ranks=ranks(entrants, own, best, people, terms),
        detectable=detectable(own, judges, people),
        versus=versus(found, len(entrants), members, judges, panels, people, terms),
        selections=selections(found, scored, len(entrants), best, people, spec, terms),
        front=tuple(candidates[place] for place in front(costs, candidates)),
        by_calls=by_calls,
        values=tuple(values(scores, scored, people, spec, terms)),
        cascades=tuple(cascades(scores, scored, entrants, judges, panels, people, spec, terms)),
        inferred=tuple(inferred(scores, unrated, judges, panels, people, spec, terms)),
    )


def _candidates(
    entrants: Sequence[Entrant], members: Ints, found: Differences, people: People, terms: Terms
) -> list[Candidate]:
    intervals = figure_intervals(
        found,
        terms.generator(),
        resamples=terms.resamples,
        level=terms.level,
        slices=people.slices,
        clusters=people.clusters,
    )
    seats = [*((place,) for place in range(len(entrants))), *(tuple(row) for row in members.tolist())]
    sure = spread_out(found.present, people.slices, people.clusters)
    return [
        _candidate(entrants, seat, lines(intervals, people.slices, sure, column)) for column, seat in enumerate(seats)
    ]


def _candidate(entrants: Sequence[Entrant], seat: tuple[int, ...], found: Lines) -> Candidate:
    own = [entrants[place] for place in seat]
    costs = [each.cost for each in own if each.cost is not None]
    name = own[0].name if len(own) == 1 else "+".join(each.name for each in own)
    cost = math.fsum(costs) if len(costs) == len(own) else None
    return Candidate(seat, name, " + ".join(each.label for each in own), cost, found)


def _by_mae(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    return tuple(sorted(candidates, key=lambda each: (each.mae, each.name)))
