"""All judges and panels written down: Tables 3, 11, 12 and 13, and how to choose among them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ccfw.align.alignment import ALL, Figure, Line, known
from ccfw.align.panel_records import Candidate, PanelStudy, Rank
from ccfw.align.published import Agreement, GroupTable, Published
from ccfw.report.agreement import (
    LINE_HEAD,
    Table,
    counted,
    line_cells,
    number,
    percent,
    points,
    signed,
    signed_percent,
)
from ccfw.report.agreement_judge import about_people
from ccfw.report.writing import NONE, as_markdown, comma_separated

_MARK = "(published)"
_CHOICES = {
    "judges": ("Single judges", "a judge picked by chance"),
    "panels": ("Panels", "a panel picked by chance"),
    "either": ("Judges and panels", "the best single judge"),
}
_FIGURES = ("within_one", "within_one_lo", "within_one_hi", "mae", "mae_lo", "mae_hi", "bias", "bias_lo", "bias_hi")


def tables(study: PanelStudy, published: Published | None, best: int) -> list[Table]:
    """Return Tables 3, 11, 12 and 13 from one's own data, the published rows beside them and marked so.

    ``best`` is how many panels Table 11 lists.
    """
    return [
        table_3(study, published),
        table_11(study, published, best),
        *(by_group(study, published, partition) for partition in ("metric", "region") if _has(study, partition)),
    ]


def _has(study: PanelStudy, partition: str) -> bool:
    return any(kind == partition for kind, _ in study.people.groups)


def table_3(study: PanelStudy, published: Published | None) -> Table:
    """Return the layout of Table 3, for the best judge and the best panel."""
    baseline, candidates = study.baseline, [*study.judges[:1], *study.panels[:1]]
    rows: list[tuple[str, Line, bool]] = [
        ("Human–human (mean pairwise)", baseline.pairs[ALL], False),
        ("Human vs mean of the others", baseline.others[ALL], False),
        *((f"{each.label} vs human consensus", each.whole, True) for each in candidates),
    ]
    shown = [
        (name, percent(line.within_one), points(line.mae), signed(line.bias) if sign else NONE)
        for name, line, sign in rows
    ]
    data: list[tuple[object, ...]] = [(name, "own", *_numbers(line, bias=sign)) for name, line, sign in rows]
    if published:
        told = published.table_3
        judge = published.table_11.label(told.judge.judge)
        for name, found in (
            ("Human–human (mean pairwise)", told.human_pairs),
            (f"{judge} vs human consensus", told.judge),
        ):
            shown.append((f"{name} {_MARK}", *_shown(found)))
            data.append((name, "published", *_published_numbers(found)))
    return Table(
        "table_3",
        "Agreement with people",
        ("Comparison", "%±1", "MAE", "Bias"),
        tuple(shown),
        "Bias is judge minus human. A human against the others has the same kind of target as a judge against the "
        "consensus; a pair of humans has a harder one.",
        data_head=("comparison", "source", *_FIGURES),
        data=tuple(data),
    )


def table_11(study: PanelStudy, published: Published | None, best: int) -> Table:
    """Return the layout of Table 11: judges by MAE, the best panels, the best panel minus the best judge."""
    shown: list[tuple[str, ...]] = []
    data: list[tuple[object, ...]] = []
    for judge in study.judges:
        rank = study.ranks[judge.name]
        places = (rank.low, rank.high, rank.group) if rank.rank else (None, None, None)
        shown.append((judge.label, *_line(judge.whole), *_place(rank), points(rank.behind), *_counts(judge)))
        data.append((judge.name, "judge", "own", *_numbers(judge.whole), judge.cost, *places))
    for panel in study.panels[:best]:
        shown.append((panel.label, *_line(panel.whole), NONE, NONE, NONE, *_counts(panel)))
        data.append((panel.name, "panel", "own", *_numbers(panel.whole), panel.cost, None, None, None))
    blank = (NONE,) * 6
    if study.versus:
        apart = study.versus
        cells = (signed_percent(apart.within_one), signed(apart.mae), signed(apart.bias))
        shown.append(("Best panel − best judge", *cells, *blank))
        numbers = [bound for figure in apart for bound in figure]
        data.append(("best panel - best judge", "difference", "own", *numbers, None, None, None, None))
    for name, label, kind, found in _published_rows(published):
        cells = _shown(found) if kind != "difference" else _differences(found)
        shown.append((f"{label} {_MARK}", *cells, *blank))
        data.append((name, kind, "published", *_published_numbers(found), None, None, None, None))
    return Table(
        "table_11",
        f"Judges, and the best of {counted(len(study.panels), 'panel')}, by MAE" if study.panels else "Judges, by MAE",
        ("Judge or panel", "%±1", "MAE", "Bias", "Rank", "Group", "MAE behind best", "Cost", "Items", "Missing"),
        tuple(shown),
        "Rank: places that cannot be ruled out, all of them at once. Group: every judge of a group is surely better "
        "than those of later groups. MAE behind best: paired on the same items. Cost: US dollars for one item in one "
        "metric. Panels are chosen by the items that they are measured on, which flatters the first: see the choice of "
        "the best.",
        data_head=("name", "kind", "source", *_FIGURES, "cost_usd", "rank_low", "rank_high", "group"),
        data=tuple(data),
    )


def _place(rank: Rank) -> tuple[str, str]:
    """Write the ranks that cannot be ruled out, and the group."""
    if not rank.rank:
        return NONE, NONE
    return str(rank.low) if rank.low == rank.high else f"{rank.low}–{rank.high}", str(rank.group)


def _published_rows(published: Published | None) -> Iterator[tuple[str, str, str, Agreement]]:
    if published is None:
        return
    table = published.table_11
    for judge in table.judges:
        yield judge.judge, table.label(judge.judge), "judge", judge
    for panel in table.panels:
        yield "+".join(panel.members), " + ".join(table.label(each) for each in panel.members), "panel", panel
    yield "best panel - best judge", "Best panel − best judge", "difference", table.best_panel_minus_best_judge


def by_group(study: PanelStudy, published: Published | None, partition: str) -> Table:
    """Return the layout of Table 12 (``metric``) or 13 (``region``), of the best judge."""
    judge = study.judges[0]
    groups = [*(group for group in study.people.groups if group[0] == partition), ALL]
    name = "table_12" if partition == "metric" else "table_13"
    told = _told(published, name, {group for _, group in groups})
    shown: list[tuple[str, ...]] = []
    data: list[tuple[object, ...]] = []
    for group in groups:
        human, found = study.baseline.pairs[group], judge.lines[group]
        label = "Overall" if group == ALL else group[1]
        cells = (percent(human.within_one), points(human.mae), *_line(found), f"{found.items:,}", f"{found.missing:,}")
        shown.append((label, *cells))
        data.append((label, judge.name, "own", *_hh(human), *_numbers(found), found.items, found.missing))
    for row in told:
        hh = (f"{row.hh_within_one:.1f}", f"{row.hh_mae:.3f}")
        shown.append((f"{row.group} {_MARK}", *hh, *_shown(row), NONE, NONE))
        hh_numbers = (row.hh_within_one / 100, None, None, row.hh_mae, None, None)
        data.append((row.group, "gpt5mini", "published", *hh_numbers, *_published_numbers(row), None, None))
    by_paper = f" Published rows are of {published.table_11.label('gpt5mini')}." if told and published else ""
    return Table(
        name,
        f"Agreement by {partition}: {judge.label}",
        (partition.capitalize(), "HH %±1", "HH MAE", "%±1", "MAE", "Bias", "Items", "Missing"),
        tuple(shown),
        f"HH: any two humans. Missing: rated items without a score, in no figure.{by_paper}",
        data_head=(
            *(partition, "judge", "source", *(f"hh_{each}" for each in _FIGURES[:6])),
            *(*_FIGURES, "items", "missing"),
        ),
        data=tuple(data),
    )


def _told(published: Published | None, name: str, groups: set[str]) -> list[Any]:
    """Return the published rows of groups that there are here, and their overall row."""
    if published is None:
        return []
    table: GroupTable = getattr(published, name)
    rows = [row for row in table.rows if row.group in groups]
    return [*rows, *([table.overall] if rows and table.overall else [])]


def _line(line: Line) -> tuple[str, str, str]:
    return percent(line.within_one), points(line.mae), signed(line.bias)


def _counts(candidate: Candidate) -> tuple[str, str, str]:
    cost = NONE if candidate.cost is None else f"{candidate.cost:.6f}"
    return cost, f"{candidate.whole.items:,}", f"{candidate.whole.missing:,}"


def _shown(found: Agreement) -> tuple[str, str, str]:
    return f"{found.within_one:.1f}", f"{found.mae:.3f}", NONE if found.bias is None else f"{found.bias:+.3f}"


def _differences(found: Agreement) -> tuple[str, str, str]:
    return f"{found.within_one:+.1f} pp", f"{found.mae:+.3f}", NONE if found.bias is None else f"{found.bias:+.3f}"


def _hh(line: Line) -> list[float | None]:
    return [*line.within_one, *line.mae]


def _numbers(line: Line, *, bias: bool = True) -> list[float | None]:
    return [*line.within_one, *line.mae, *(line.bias if bias else (None, None, None))]


def _published_numbers(found: Agreement) -> list[float | None]:
    return [found.within_one / 100, None, None, found.mae, None, None, found.bias, None, None]


# ---- how to choose


def choice(study: PanelStudy) -> list[Table]:
    """Return what choosing is worth, what judges add, what cascades and fewer ratings save."""
    made = [_selections(study), _front(study), _values(study), _cascades(study), _inferred(study)]
    return [table for table in made if table.rows]


def _selections(study: PanelStudy) -> Table:
    candidates = {"judges": study.judges, "panels": study.panels}
    rows = []
    for name, found in study.selections.items():
        label, reference = _CHOICES[name]
        best = min((*candidates.get(name, (*study.judges, *study.panels)),), key=lambda each: each.mae).label
        gain = Figure(found.gain, found.gain_low, found.gain_high)
        optimism = f"{found.optimism:+z.3f}"
        rows.append((label, best, f"{found.apparent:.3f}", f"{found.honest:.3f}", optimism, reference, signed(gain)))
    return Table(
        "selection",
        "Choosing the best of many",
        ("Among", "Best", "Its MAE", "MAE of choosing", "Optimism", "Instead of", "Gain"),
        tuple(rows),
        "MAE of choosing: on items that did not choose, over repeated cross-validation by item; optimism is how much "
        "better the best looks than that. A gain whose interval holds 0 is none.",
    )


def _front(study: PanelStudy) -> Table:
    unit = "Judges asked" if study.by_calls else "Cost"
    return Table(
        "front",
        "What no other beats in both cost and MAE",
        ("Judge or panel", unit, "%±1", "MAE"),
        tuple(
            (
                each.label,
                str(len(each.members)) if study.by_calls or each.cost is None else f"{each.cost:.6f}",
                percent(each.whole.within_one),
                points(each.whole.mae),
            )
            for each in study.front
        ),
        "Cost: US dollars for one item in one metric."
        if not study.by_calls
        else "Prices are not all known (align.costs), so cost is the number of judges asked.",
    )


def _values(study: PanelStudy) -> Table:
    ordered = sorted(study.values, key=lambda each: (math.isnan(each.value), -each.value))
    return Table(
        "values",
        "What each judge adds to the panel of all",
        ("Judge", "MAE of all", "MAE without it", "What it adds"),
        tuple(
            (
                study.entrants[each.judge].label,
                number(known(each.everyone)),
                number(known(each.without)),
                signed(Figure(known(each.value), known(each.low), known(each.high))),
            )
            for each in ordered
        ),
        "Above 0 the judge helps: without it the panel is farther from people.",
    )


def _cascades(study: PanelStudy) -> Table:
    first = "best judges by MAE" if study.by_calls else "cheapest judges"
    return Table(
        "cascade",
        "Further judges only on disagreement",
        ("Judges", "Asked", "Cost", "%±1", "MAE", "Bias"),
        tuple(
            (each.label, f"{each.asked:.2f}", NONE if each.cost is None else f"{each.cost:.6f}", *_line(each.line))
            for each in study.cascades
        ),
        f"The two {first} are asked first, and one more at a time as long as their scores differ by more than the "
        "tolerance; the answer is the mean of those asked. Asked and cost are per item.",
    )


def _inferred(study: PanelStudy) -> Table:
    return Table(
        "inferred",
        "Mean human rating over all judged items",
        ("Judge", "Metric", "Mean", "From ratings alone", "λ", "Rated", "Judged", "Worth as many rated"),
        tuple(
            (
                *(each.judge, each.metric, number(each.found.estimate, 3)),
                *(number(each.found.classical, 3), number(each.found.weight, 2)),
                *(f"{each.found.rated:,}", f"{each.found.judged:,}", f"{each.found.effective:,.0f}"),
            )
            for each in study.inferred
        ),
        "Prediction-powered inference: the judge's mean over items that nobody rated, corrected by what it is off by "
        "on those that people rated. λ is the weight of the judge; 0 ignores it.",
        texts=2,
    )


def page(study: PanelStudy, made: Sequence[Table], level: float, source: str) -> str:
    """Write the whole study in Markdown."""
    about = [
        f"# {counted(len(study.judges), 'judge')} and {counted(len(study.panels), 'panel')} against people",
        "",
        *(f"- {line}" for line in (*about_people(study.people), *_missing(study), *_certainty(study))),
        "",
        f"Brackets are {level:.0%} bootstrap intervals over items (dialogues with all their metrics), the same "
        "resamples for all.",
        *(["", f"Rows marked {_MARK} are those of {as_markdown(source)}, on the paper's own data."] if source else []),
        "",
    ]
    return "\n".join([*about, *(table.markdown() for table in made)])


def _certainty(study: PanelStudy) -> Iterator[str]:
    """Say what difference can be told, and why there is no choice of the best where there is none."""
    if study.detectable is not None:
        yield (
            f"so many items show a difference in MAE of {study.detectable:.3f} between the first two judges in 80 % of "
            "studies"
        )
    elif len(study.judges) < 2:
        yield "one judge: nothing to tell apart"
    else:
        yield "the first two judges scored too few items in common to say what difference would show"
    unchosen = [name for name, among in (("judges", study.judges), ("panels", study.panels)) if len(among) > 1]
    if without := [name for name in unchosen if name not in study.selections]:
        yield (
            f"no choice of the best among {' and '.join(without)}: too few items that all of them scored, or fewer "
            "than two with a score"
        )


def _missing(study: PanelStudy) -> Iterator[str]:
    for entrant in study.entrants:
        if entrant.missing:
            reasons = ", ".join(f"{as_markdown(reason)} {count:,}" for reason, count in sorted(entrant.missing.items()))
            yield f"no score of {as_markdown(entrant.label)}: {reasons}"


def every_row(study: PanelStudy) -> str:
    """Write every judge and panel in every group as CSV."""
    return comma_separated(
        ("name", "members", "cost_usd", "partition", "group", *LINE_HEAD),
        [
            (each.name, len(each.members), each.cost, *group, *line_cells(each.lines[group]))
            for each in (*study.judges, *study.panels)
            for group in study.people.groups
        ],
    )


def metrics(study: PanelStudy) -> dict[str, float]:
    """Return what the MLflow run of the study holds."""
    found = {"judges": float(len(study.judges)), "panels": float(len(study.panels))}
    for name, candidates in (("best_judge", study.judges), ("best_panel", study.panels)):
        for each in candidates[:1]:
            whole = {"mae": each.whole.mae, "within_one": each.whole.within_one, "bias": each.whole.bias}
            for key, figure in whole.items():
                ends = zip(("", "_lo", "_hi"), figure, strict=True)
                found |= {f"{name}/{key}{end}": value for end, value in ends if value is not None}
    for name, made in study.selections.items():
        values = {"apparent": made.apparent, "honest": made.honest, "optimism": made.optimism, "gain": made.gain}
        found |= {f"selection/{name}/{key}": value for key, value in values.items()}
    return found
