"""How rankings, selections and methods are written as tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ccfw.align.alignment import ALL, Figure, Group
from ccfw.report.agreement import Table, number, percent, points, signed
from ccfw.training.best_of_n import ORACLE, RANDOM, Selection
from ccfw.training.norm_match import MethodLine, Stratum
from ccfw.training.ranking import CHANCE, RankingLine

_RANKINGS = {
    "appropriate_generic": "Appropriate > generic",
    "appropriate_opposite": "Appropriate > opposite",
    "generic_opposite": "Generic > opposite",
    "top_1": "Appropriate first",
    "order": "Complete order",
}


def ranking_table(found: Mapping[str, Mapping[Group, RankingLine]], level: float) -> Table:
    """Return ranking accuracies by scorer with chance beside (Figure 3); the CSV has every culture too."""
    rows = [("chance", *(f"{value:.1%}".removesuffix("%") for value in CHANCE.values()), "")]
    data: list[tuple[object, ...]] = []
    for name, lines in found.items():
        whole = lines[ALL]
        rows.append((name, *map(percent, whole.figures.values()), str(whole.triplets)))
        data += [
            (name, *group, *(end for figure in line.figures.values() for end in figure), line.triplets)
            for group, line in lines.items()
        ]
    bounds = [f"{name}{end}" for name in CHANCE for end in ("", "_lo", "_hi")]
    note = (
        f"Per cent of triplets, with {level:.0%} percentile bootstrap intervals, whole norms resampled. Ties count as "
        "if broken at random, so that rewards that know nothing score at chance exactly."
    )
    return Table(
        "triplets",
        "Rankings of triplets",
        ("Reward model", *_RANKINGS.values(), "Triplets"),
        tuple(rows),
        note,
        data_head=("scorer", "partition", "group", *bounds, "triplets"),
        data=tuple(data),
    )


def selection_table(found: Sequence[Selection], level: float) -> Table:
    """Return Best-of-N by policy, N and selector (Tables 4, 22 and 23)."""
    rows = tuple(
        (
            each.policy,
            str(each.n),
            {RANDOM: "random", ORACLE: "oracle (the judge itself)"}.get(each.selector, each.selector),
            points(each.score),
            "" if each.selector == RANDOM else signed(each.gain),
            "" if each.selector in (RANDOM, ORACLE) else percent(each.share),
            str(each.questions),
        )
        for each in found
    )
    note = (
        "Score: of the answer that a selector takes, in the mean over every choice of N of a question's answers, so "
        "that nothing here is drawn. Gain: over the random baseline, question by question. Of oracle: share of what "
        f"always taking the best answer would gain, in per cent. {level:.0%} percentile bootstrap intervals, whole "
        "clusters resampled."
    )
    bounds = [f"{name}{end}" for name in ("score", "gain", "share") for end in ("", "_lo", "_hi")]
    return Table(
        "best_of_n",
        "Best of N",
        ("Policy", "N", "Selector", "Score", "Gain", "Of oracle", "Questions"),
        rows,
        note,
        texts=1,
        data_head=("policy", "n", "selector", *bounds, "questions"),
        data=tuple((e.policy, e.n, e.selector, *e.score, *e.gain, *e.share, e.questions) for e in found),
    )


def methods_table(name: str, title: str, lines: Sequence[MethodLine], note: str) -> Table:
    """Return outcome and Norm Match of each method (Tables 5, 24 and 27)."""
    rows = tuple(
        (
            line.policy,
            line.method,
            points(line.outcome),
            _gain(line.outcome_gain),
            points(line.norm_match),
            _gain(line.norm_match_gain),
            number(None if line.valid is None else 100 * line.valid, 1),
            str(line.items),
        )
        for line in lines
    )
    head = ("Policy", "Method", "Outcome", "Δ", "Norm Match", "Δ Norm Match", "Valid %", "n")
    parts = ("outcome", "outcome_gain", "norm_match", "norm_match_gain")
    bounds = [f"{part}{end}" for part in parts for end in ("", "_lo", "_hi")]
    data = tuple(
        (line.policy, line.method, *(end for part in parts for end in getattr(line, part)), line.valid, line.items)
        for line in lines
    )
    columns = ("policy", "method", *bounds, "valid", "n")
    return Table(name, title, head, rows, note, texts=2, data_head=columns, data=data)


def strata_table(found: Sequence[Stratum], level: float) -> Table:
    """Return answer quality by the base policy's Norm Match (Table 28)."""
    rows = tuple(
        (f"{each.base:g}", each.method, points(each.outcome), _gain(each.gain), str(each.items)) for each in found
    )
    note = (
        "Items whose answers under every method are valid and scored, by the Norm Match of the first method's answer. "
        "That score is noisy, so part of a gain at 0 and of a loss at 2 is regression to the mean. "
        f"{level:.0%} percentile bootstrap intervals, whole norms resampled."
    )
    return Table(
        "table_28",
        "Quality by the Norm Match of the base policy",
        ("Base", "Method", "Outcome", "Δ", "n"),
        rows,
        note,
        texts=2,
        data_head=("base", "method", "outcome", "outcome_lo", "outcome_hi", "gain", "gain_lo", "gain_hi", "n"),
        data=tuple((e.base, e.method, *e.outcome, *e.gain, e.items) for e in found),
    )


def _gain(figure: Figure) -> str:
    return "–" if figure.value in (None, 0.0) and figure.low in (None, 0.0) else signed(figure)
