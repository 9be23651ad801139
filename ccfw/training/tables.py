"""How rankings, selections and methods are written as tables. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ccfw.align.alignment import ALL, Figure, Group
from ccfw.report import cells
from ccfw.report.agreement import Table, number, percent, points, signed
from ccfw.stats.intervals import FEW
from ccfw.training.best_of_n import ORACLE, RANDOM, Selection
from ccfw.training.differences import Difference
from ccfw.training.figures import intervals_note
from ccfw.training.norm_match import MethodLine, Stratum
from ccfw.training.ranking import CHANCE, RankingLine

EVERY_POLICY = "all policies"
RANKINGS = {
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
        "Per cent of triplets. Ties count as if broken at random, so that rewards that know nothing score at chance "
        f"exactly. {intervals_note(level, 'norms')}"
    )
    return Table(
        "triplets",
        "Rankings of triplets",
        ("Reward model", *RANKINGS.values(), "Triplets"),
        tuple(rows),
        note,
        data_head=("scorer", "partition", "group", *bounds, "triplets"),
        data=tuple(data),
    )


def selection_table(found: Sequence[Selection], level: float) -> Table:
    """Return Best-of-N by policy, N and selector (Tables 4, 22 and 23)."""
    rows = tuple(
        (
            EVERY_POLICY if each.policy == ALL[1] else each.policy,
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
        f"always taking the best answer would gain, in per cent. {intervals_note(level, 'clusters')}"
        f"{_other_questions(found)}"
    )
    bounds = [f"{name}{end}" for name in ("score", "gain", "share") for end in ("", "_lo", "_hi")]
    return Table(
        "best_of_n",
        "Best of N",
        ("Policy", "N", "Selector", "Score", "Gain", "Of oracle", "Questions"),
        rows,
        note,
        texts=3,
        data_head=("policy", "n", "selector", *bounds, "questions"),
        data=tuple((e.policy, e.n, e.selector, *e.score, *e.gain, *e.share, e.questions) for e in found),
    )


def _other_questions(found: Sequence[Selection]) -> str:
    """Say where two N are over other questions; nothing where all N are over the same."""
    counts = {each.n: each.questions for each in found if each.policy == ALL[1]}
    if len(set(counts.values())) < 2:
        return ""
    told = ", ".join(f"{count} at N={n}" for n, count in sorted(counts.items()))
    return (
        f" Questions with answers enough: {told}, since answers without score or reward are no candidates. So scores "
        "at two N, the random baseline's too, are not over the same questions; gains compare at one N alone."
    )


def methods_table(name: str, title: str, lines: Sequence[MethodLine], note: str) -> Table:
    """Return outcome and Norm Match of each method (Tables 5, 24 and 27), with what is in neither."""
    rows = tuple(
        (
            EVERY_POLICY if line.policy == ALL[1] else line.policy,
            line.method,
            points(line.outcome),
            _gain(line.outcome_gain),
            points(line.norm_match),
            _gain(line.norm_match_gain),
            number(None if line.valid is None else 100 * line.valid, 1),
            *(str(line.items), str(line.match_items)),
            *(str(count) for count in (line.invalid, line.outcome_unscored + line.match_unscored, line.missing)),
        )
        for line in lines
    )
    figures = ("Policy", "Method", "Outcome", "Δ", "Norm Match", "Δ Norm Match", "Valid %")
    head = (*figures, "n", "n Norm Match", "Invalid", "Unscored", "Missing")
    parts = ("outcome", "outcome_gain", "norm_match", "norm_match_gain")
    bounds = [f"{part}{end}" for part in parts for end in ("", "_lo", "_hi")]
    counts = ("valid", "items", "match_items", "invalid", "outcome_unscored", "match_unscored", "missing")
    data = tuple(
        (
            *(line.policy, line.method, *(end for part in parts for end in getattr(line, part))),
            *(getattr(line, count) for count in counts),
        )
        for line in lines
    )
    named = ("valid", "n", "norm_match_n", "invalid", "outcome_unscored", "norm_match_unscored", "missing")
    columns = ("policy", "method", *bounds, *named)
    counted = (
        "n: answers that the outcome rests on. Invalid: cannot be read. Unscored: scores that valid answers lack, on "
        "both scales. Missing: asked for, and not there."
    )
    return Table(name, title, head, rows, f"{note} {counted}", texts=2, data_head=columns, data=data)


def strata_table(found: Sequence[Stratum], level: float) -> Table:
    """Return answer quality by the base policy's Norm Match (Table 28)."""
    rows = tuple(
        (f"{each.base:g}", each.method, points(each.outcome), _gain(each.gain), str(each.items)) for each in found
    )
    note = (
        "Items whose answers under every method are valid and scored, by the Norm Match of the first method's answer. "
        "That score is noisy, so part of a gain at 0 and of a loss at 2 is regression to the mean. "
        f"{intervals_note(level, 'norms')}"
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


def differences_table(
    found: Sequence[Difference],
    title: str,
    names: Mapping[str, str],
    level: float,
    units: str,
    written: Callable[[str], Callable[[Figure], str]],
) -> Table:
    """Return the differences between what was compared, the better one of two first.

    ``names`` are what measures are called; ``units`` is what is drawn as a whole; ``written`` gives how a measure's
    differences are written.
    """
    rows = tuple(
        (
            *(names[each.measure], each.first, each.second, written(each.measure)(each.figure)),
            *(cells.p_value(each.p), cells.verdict(each.p, level), str(each.items)),
        )
        for each in found
    )
    note = (
        "First minus second over what both have, the better one first. p: adjusted over all differences of the table "
        f"at once (how often any is as large when the signs of whole {units} are drawn), so that the chance of a "
        f"single wrong one is at most {1 - level:.0%}; none over fewer than {FEW} {units}. "
        f"{intervals_note(level, units)}"
    )
    return Table(
        "differences",
        title,
        ("Figure", "First", "Second", "Difference", "p", "Holds", "Shared"),
        rows,
        note,
        texts=3,
        data_head=("measure", "first", "second", "difference", "difference_lo", "difference_hi", "p", "shared"),
        data=tuple((e.measure, e.first, e.second, *e.figure, cells.number(e.p), e.items) for e in found),
    )


def _gain(figure: Figure) -> str:
    return "–" if figure.value in (None, 0.0) and figure.low in (None, 0.0) else signed(figure)
